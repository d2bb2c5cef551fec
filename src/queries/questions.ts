import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import {
  type QuestionMessageDocument,
  questionMessages,
  type ReadableQuestionMessage,
} from '../../projections/question-messages.ts';
import { type QuestionDocument, questions } from '../../projections/questions.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { isStranger } from '../domain/brand.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type BrandId, brandId, type SpaceId, spaceId, type Timestamp } from '../domain/ids.ts';
import { type QuestionKey, questionKey } from '../domain/question.ts';
import type { Space } from '../domain/space.ts';
import { isUnread, type ReadMarks } from '../domain/thread.ts';
import { ownedBy } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { BRAND, COMMUNITY } from './samples.ts';
import { isVisibleSpace } from './spaces.ts';
import { LOOKED_AT, otherKind, UNREAD_FOR_MS } from './threads.ts';

/** Questions in the list of an account. */
export const MOST_QUESTIONS = 100;

type About = { readonly spaceId: SpaceId; readonly brandId: BrandId };

/** A question in a list: the last message about it, with names. */
export type ListedQuestion = QuestionDocument & {
  readonly spaceName: string;
  /** The name of the brand for a community, that of the community for a brand. */
  readonly otherName: string;
};

/** What a brand asks about a space, and the answers. */
export type QuestionThread = {
  readonly space: Space;
  readonly brandId: BrandId;
  readonly brandName: string;
  readonly communityName: string;
  /** The newest last. None: the brand has not asked yet. */
  readonly messages: readonly ReadableQuestionMessage[];
};

const messagesAbout = declareQuery(
  questionMessages,
  ({ spaceId, brandId }: About): Find<QuestionMessageDocument> => ({
    where: { spaceId, brandId },
    sort: [{ field: 'revision' }],
  }),
  [{ spaceId: spaceId(1), brandId: brandId(1) }],
);

const latest = declareQuery(
  questions,
  (account: Account): Find<QuestionDocument> => ({
    where: ownedBy(account),
    sort: [{ field: 'at', direction: 'descending' }],
    limit: MOST_QUESTIONS,
  }),
  [COMMUNITY],
  [BRAND],
);

const lastOfOthers = declareQuery(
  questions,
  (account: Account, since: Timestamp): Find<QuestionDocument> => ({
    where: { ...ownedBy(account), from: otherKind(account), at: { above: since } },
    sort: [{ field: 'at', direction: 'descending' }],
    limit: LOOKED_AT,
  }),
  [COMMUNITY, toTimestamp(0)],
  [BRAND, toTimestamp(0)],
);

/** Questions of brands about spaces, for both sides. */
export function createQuestionQueries({ readModels, personalData, clock }: QueryDeps) {
  return {
    /** The latest questions of an account, with the last message first. */
    async list(account: Account): Promise<readonly ListedQuestion[]> {
      const found = await readModels.collection(questions).list(latest(account));
      const keysOf = (id: (one: QuestionDocument) => number) => [...new Set(found.map((one) => String(id(one))))];
      const [ofSpaces, ofBrands, ofCommunities] = await Promise.all([
        readModels.collection(spaces).getMany(keysOf((one) => one.spaceId)),
        account.kind === 'Community' ? readModels.collection(brands).getMany(keysOf((one) => one.brandId)) : undefined,
        account.kind === 'Brand'
          ? readModels.collection(communities).getMany(keysOf((one) => one.communityId))
          : undefined,
      ]);
      return found.map((one) => ({
        ...one,
        spaceName: ofSpaces.get(String(one.spaceId))?.name ?? `Space ${one.spaceId}`,
        otherName:
          ofBrands?.get(String(one.brandId))?.name ?? ofCommunities?.get(String(one.communityId))?.name ?? 'Unknown',
      }));
    },

    /**
     * What was written about a space. Undefined if the account may not see the space, if it is another brand, and for a community that was asked
     * nothing.
     */
    async thread(account: Account, about: About): Promise<QuestionThread | undefined> {
      const space = await readModels.collection(spaces).get(String(about.spaceId));
      if (space === undefined || !isVisibleSpace(account, space)) return undefined;
      if (account.kind === 'Brand' && account.id !== about.brandId) return undefined;
      const [brand, community, stored] = await Promise.all([
        readModels.collection(brands).get(String(about.brandId)),
        readModels.collection(communities).get(String(space.communityId)),
        readModels.collection(questionMessages).list(messagesAbout(about)),
      ]);
      if (brand === undefined || (account.kind === 'Community' && stored.length === 0)) return undefined;
      return {
        space,
        brandId: brand.brandId,
        brandName: brand.name,
        communityName: community?.name ?? 'The community',
        messages: await personalData.openQuestions(stored),
      };
    },

    /** The questions of an account with an unread message, the latest first, as `threads.unread` finds bookings. */
    async unread(account: Account, read: ReadMarks): Promise<readonly QuestionKey[]> {
      const since = toTimestamp(clock() - UNREAD_FOR_MS);
      const found = await readModels.collection(questions).list(lastOfOthers(account, since));
      return found.filter((last) => isUnread(last, questionKey(last), account, read)).map(questionKey);
    },

    /** Whether no community knows a brand that signed up by itself. */
    async isOfStranger(account: Account): Promise<boolean> {
      if (account.kind === 'Community') return false;
      const brand = await readModels.collection(brands).get(String(account.id));
      return brand !== undefined && isStranger(brand);
    },
  };
}
