import { type AdmissionDocument, admissionKey, admissions } from '../../projections/admissions.ts';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import { type QuestionDocument, questions } from '../../projections/questions.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Standing, standingOf } from '../domain/admission.ts';
import { defined } from '../domain/defined.ts';
import { type BrandId, brandId, type CommunityId, communityId } from '../domain/ids.ts';
import type { QueryDeps } from './query-deps.ts';

/** Brands that were turned away and are listed. */
export const MOST_TURNED_AWAY = 100;

const turnedAway = declareQuery(
  admissions,
  (owner: CommunityId): Find<AdmissionDocument> => ({
    where: { communityId: owner, admission: 'turnedAway' },
    sort: [{ field: 'brandId', direction: 'descending' }],
    limit: MOST_TURNED_AWAY,
  }),
  [communityId(1)],
);

const pendingOf = declareQuery(
  bookings,
  (community: CommunityId, brand: BrandId): Find<BookingDocument> => ({
    where: { brandId: brand, communityId: community, status: 'Pending' },
  }),
  [communityId(1), brandId(1)],
);

const askedBy = declareQuery(
  questions,
  (community: CommunityId, brand: BrandId): Find<QuestionDocument> => ({
    where: { brandId: brand, communityId: community },
    limit: 1,
  }),
  [communityId(1), brandId(1)],
);

/** What a community should know of a brand before it decides. */
export type BrandFacts = {
  readonly standing: Standing;
  /** Whether the community has neither decided about it nor ever approved a booking of it. */
  readonly isNew: boolean;
  readonly isSuspended: boolean;
};

/** How brands stand with a community. */
export function createAdmissionQueries({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(admissions);
  return {
    /** By the id of the brand. */
    async ofBrands(owner: CommunityId, ids: readonly BrandId[]): Promise<ReadonlyMap<BrandId, BrandFacts>> {
      const asked = [...new Set(ids)];
      if (asked.length === 0) return new Map();
      const [community, known, named] = await Promise.all([
        readModels.collection(communities).get(String(owner)),
        documents.getMany(asked.map((brandId) => admissionKey({ communityId: owner, brandId }))),
        readModels.collection(brands).getMany(asked.map(String)),
      ]);
      return new Map(
        asked.map((brandId) => {
          const { admission, isKnown = false } = known.get(admissionKey({ communityId: owner, brandId })) ?? {};
          const facts: BrandFacts = {
            standing: standingOf({ isKnown, ...defined({ admission }) }, community?.newBrands),
            isNew: admission === undefined && !isKnown,
            isSuspended: named.get(String(brandId))?.isSuspended === true,
          };
          return [brandId, facts];
        }),
      );
    },

    /** The name of a brand that has sent a request or a question to a community, or about which it has decided. */
    async nameOfAsking(owner: CommunityId, brandId: BrandId): Promise<string | undefined> {
      const [known, brand, requests, asked] = await Promise.all([
        documents.get(admissionKey({ communityId: owner, brandId })),
        readModels.collection(brands).get(String(brandId)),
        readModels.collection(bookings).count(pendingOf(owner, brandId)),
        readModels.collection(questions).list(askedBy(owner, brandId)),
      ]);
      return known === undefined && requests === 0 && asked.length === 0 ? undefined : brand?.name;
    },

    /** The brands that a community has turned away, the newest first, with their names. */
    async turnedAway(owner: CommunityId): Promise<readonly { readonly brandId: BrandId; readonly name: string }[]> {
      const found = await documents.list(turnedAway(owner));
      const named = await readModels.collection(brands).getMany(found.map(({ brandId }) => String(brandId)));
      return found.map(({ brandId }) => ({ brandId, name: named.get(String(brandId))?.name ?? `Brand ${brandId}` }));
    },
  };
}
