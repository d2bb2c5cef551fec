import { communities } from '../../projections/communities.ts';
import { type SpaceDocument, spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import type { Community } from '../domain/community.ts';
import { defined } from '../domain/defined.ts';
import type { PlainDate } from '../domain/ids.ts';
import { type CommunityId, communityId } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import type { Space } from '../domain/space.ts';
import { grouped } from '../domain/space-groups.ts';
import { createDescriptionQueries } from './descriptions.ts';
import type { createOpenDaysQuery } from './open-days.ts';
import type { QueryDeps } from './query-deps.ts';
import { createSpaceRatingQueries } from './space-ratings.ts';
import { communitiesById, isPublished } from './spaces.ts';

/** A published space, and its community. */
export type Published = { readonly space: Space; readonly community: Community };

/** Published spaces are read as by their communities, which may see the ratings and the reviews of these. */
const ownerOf = ({ communityId }: Pick<Space, 'communityId'>): Account => ({ kind: 'Community', id: communityId });

/** Published spaces of one community, or all of them. */
const publishedSpaces = declareQuery(
  spaces,
  (owner: CommunityId | undefined): Find<SpaceDocument> => ({
    where: { isPublished: 'yes', ...defined({ communityId: owner }) },
    sort: [{ field: 'spaceId' }],
  }),
  [undefined],
  [communityId(1)],
);

/**
 * What people without an account see: spaces that their communities have published, their houses, and on which days they are free. Nothing of
 * a booking: a day is free or not, and reviews come without the names of their brands.
 */
export function createPublishedQueries(deps: QueryDeps, openDays: ReturnType<typeof createOpenDaysQuery>) {
  const { readModels } = deps;
  const descriptions = createDescriptionQueries(deps);
  const ratings = createSpaceRatingQueries(deps);

  const communityOf = ({ communityId }: Pick<Space, 'communityId'>) =>
    readModels.collection(communities).get(String(communityId));

  /** A published space; undefined if there is none with this id. */
  async function space(spaceId: number): Promise<Published | undefined> {
    const stored = await readModels.collection(spaces).get(String(spaceId));
    const community = stored && isPublished(stored) ? await communityOf(stored) : undefined;
    return stored && community && { space: stored, community };
  }

  return {
    space,

    /** What is written about a published space and its house, and its rating with the latest reviews. */
    async details({ space, community }: Published) {
      const [about, house, rated] = await Promise.all([
        descriptions.ofSpace(space),
        descriptions.ofHouse(community),
        ratings.ofSpace(ownerOf(space), space),
      ]);
      const reviews = rated?.latest.map((review) =>
        picked(review, ['rating', 'title', 'content', 'createdAt', 'answer']),
      );
      // How to get in is for guests.
      const { access: _, ...shown } = about;
      return { about: shown, house, rating: rated?.rating, reviews: reviews ?? [] };
    },

    /** The days of a range on which an event can start in a published space. */
    async freeDays({ space }: Published, from: PlainDate, to: PlainDate): Promise<ReadonlySet<PlainDate>> {
      const found = await openDays({ account: ownerOf(space), spaces: [space], from, to, limit: MOST_DAYS });
      return new Set('refused' in found ? [] : found.days.map(({ date }) => date));
    },

    /** The hours of a day at which an event can start in a published space. */
    async freeHours({ space }: Published, date: PlainDate): Promise<readonly number[]> {
      const found = await openDays({ account: ownerOf(space), spaces: [space], from: date, to: date, limit: 1 });
      return 'refused' in found ? [] : (found.days[0]?.openHours ?? []);
    },

    /** A house with published spaces, in its groups; undefined if it has none. */
    async house(communityId: number) {
      const community = await readModels.collection(communities).get(String(communityId));
      if (community === undefined) return undefined;
      const published = await readModels.collection(spaces).list(publishedSpaces(community.communityId));
      if (published.length === 0) return undefined;
      const [about, rated] = await Promise.all([
        descriptions.ofHouse(community),
        ratings.list(ownerOf(community), published),
      ]);
      return { community, about, ratings: rated, groups: grouped<SpaceDocument>(published, community.house?.groups) };
    },

    /** Every published space. */
    async all(): Promise<readonly Published[]> {
      const [listed, owners] = await Promise.all([
        readModels.collection(spaces).list(publishedSpaces(undefined)),
        readModels.collection(communities).list(communitiesById()),
      ]);
      const byId = new Map(owners.map((owner) => [owner.communityId, owner]));
      return listed.flatMap((space) => {
        const community = byId.get(space.communityId);
        return community === undefined ? [] : [{ space, community }];
      });
    },
  };
}

/** More than a month has. */
const MOST_DAYS = 32;
