import { brands } from '../../projections/brands.ts';
import {
  type QuestionMessageDocument,
  questionMessages,
  type ReadableQuestionMessage,
} from '../../projections/question-messages.ts';
import { type QuestionDocument, questions } from '../../projections/questions.ts';
import { spaces as spacesModel } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, accountInWords, brandOf, communityOf } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type BrandId, brandId, type SpaceId, spaceId, type Timestamp } from '../domain/ids.ts';
import { type QuestionKey, questionKey } from '../domain/question.ts';
import type { Space } from '../domain/space.ts';
import { isUnread, type ReadMarks } from '../domain/thread.ts';
import type { createAccountQueries } from './accounts.ts';
import { ownedBy } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { BRAND, COMMUNITY } from './samples.ts';
import type { createSpaceQueries } from './spaces.ts';
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

type Sources = {
  readonly spaces: Pick<ReturnType<typeof createSpaceQueries>, 'getNamed' | 'communitiesOf'>;
  readonly accounts: Pick<ReturnType<typeof createAccountQueries>, 'name'>;
};

/** Questions of brands about spaces, for both sides. */
export function createQuestionQueries({ readModels, personalData, clock }: QueryDeps, { spaces, accounts }: Sources) {
  /** Finds the name of the other side of questions. */
  async function othersOf(account: Account, of: readonly QuestionDocument[]) {
    if (account.kind === 'Brand') {
      const found = await spaces.communitiesOf(of);
      return (one: QuestionDocument) => found.get(one.communityId)?.name ?? accountInWords(communityOf(one));
    }
    const found = await readModels.collection(brands).getMany([...new Set(of.map((one) => String(one.brandId)))]);
    return (one: QuestionDocument) => found.get(String(one.brandId))?.name ?? accountInWords(brandOf(one));
  }

  return {
    /** The latest questions of an account, with the last message first. */
    async list(account: Account): Promise<readonly ListedQuestion[]> {
      const found = await readModels.collection(questions).list(latest(account));
      const [about, otherName] = await Promise.all([
        readModels.collection(spacesModel).getMany([...new Set(found.map((one) => String(one.spaceId)))]),
        othersOf(account, found),
      ]);
      return found.map((one) => ({
        ...one,
        spaceName: about.get(String(one.spaceId))?.name ?? `Space ${one.spaceId}`,
        otherName: otherName(one),
      }));
    },

    /**
     * What was written about a space. Undefined if the account may not see the space, if it is another brand, and for a community that was asked
     * nothing.
     */
    async thread(account: Account, about: About): Promise<QuestionThread | undefined> {
      if (account.kind === 'Brand' && account.id !== about.brandId) return undefined;
      const [named, brandName, stored] = await Promise.all([
        spaces.getNamed(account, about.spaceId),
        accounts.name(brandOf(about)),
        readModels.collection(questionMessages).list(messagesAbout(about)),
      ]);
      if (named === undefined || brandName === undefined) return undefined;
      if (account.kind === 'Community' && stored.length === 0) return undefined;
      const { space, communityName } = named;
      const messages = await personalData.openQuestions(stored);
      return { space, brandId: about.brandId, brandName, communityName, messages };
    },

    /** The questions of an account with an unread message, the latest first, as `threads.unread` finds bookings. */
    async unread(account: Account, read: ReadMarks): Promise<readonly QuestionKey[]> {
      const since = toTimestamp(clock() - UNREAD_FOR_MS);
      const found = await readModels.collection(questions).list(lastOfOthers(account, since));
      return found.filter((last) => isUnread(last, questionKey(last), account, read)).map(questionKey);
    },
  };
}
