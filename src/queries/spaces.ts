import { type AdmissionDocument, admissionKey, admissions } from '../../projections/admissions.ts';
import { type CommunityDocument, communities } from '../../projections/communities.ts';
import { type SpaceDocument, spaces } from '../../projections/spaces.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import type { Community } from '../domain/community.ts';
import { defined } from '../domain/defined.ts';
import { type BrandId, type CommunityId, brandId as toBrandId, communityId as toCommunityId } from '../domain/ids.ts';
import type { NamedSpace, Space } from '../domain/space.ts';
import { grouped } from '../domain/space-groups.ts';
import type { QueryDeps } from './query-deps.ts';

const NO_COMMUNITIES: ReadonlySet<CommunityId> = new Set();

/** A community sees its own spaces, a brand every space (docs/decisions/accounts.md). */
export const isVisibleSpace = (account: Account, space: Space): boolean =>
  account.kind === 'Brand' || space.communityId === account.id;

/** Whether people without an account see a space. */
export const isPublished = ({ facts }: Space): boolean => facts?.published === true;

/** A space as a brand sees it. If its community takes no requests of the brand, it takes no bookings. */
export const asOffered = (space: Space, isBlocked: boolean): Space => (isBlocked ? { ...space, active: false } : space);

/** Whether a community takes no requests of an account. */
export async function isBlockedBy(
  { readModels }: Pick<QueryDeps, 'readModels'>,
  account: Account,
  communityId: CommunityId,
): Promise<boolean> {
  if (account.kind === 'Community') return false;
  const known = await readModels.collection(admissions).get(admissionKey({ communityId, brandId: account.id }));
  return known?.admission === 'turnedAway';
}

/** Spaces of one community, or all of them. */
export const spacesById = declareQuery(
  spaces,
  (communityId: CommunityId | undefined): Find<SpaceDocument> => ({
    ...(communityId !== undefined && { where: { communityId } }),
    sort: [{ field: 'spaceId' }],
  }),
  [undefined],
  [toCommunityId(1)],
);

/** The communities that take no requests of a brand. */
const blocking = declareQuery(
  admissions,
  (brandId: BrandId): Find<AdmissionDocument> => ({ where: { brandId, admission: 'turnedAway' } }),
  [toBrandId(1)],
);

/** Those that an account may see, by id. */
export const spacesSeenBy = (account: Account) => spacesById(account.kind === 'Community' ? account.id : undefined);

export const communitiesById = declareQuery(
  communities,
  (): Find<CommunityDocument> => ({ sort: [{ field: 'communityId' }] }),
  [],
);

export function createSpaceQueries({ readModels }: QueryDeps) {
  /** The space, or undefined if the account may not see it. */
  async function get(account: Account, spaceId: number): Promise<Space | undefined> {
    const stored = await readModels.collection(spaces).get(String(spaceId));
    return stored && isVisibleSpace(account, stored) ? stored : undefined;
  }

  /** Every space that the account may see: a community's own in the order that it chose, others by id. */
  const list = async (account: Account): Promise<SpaceDocument[]> =>
    (await listGrouped(account)).flatMap((group) => group.spaces);

  /** The same, in the groups of the community. */
  async function listGrouped(account: Account) {
    const [seen, owner, blockedBy] = await Promise.all([
      readModels.collection(spaces).list(spacesSeenBy(account)),
      account.kind === 'Community' ? community(account.id) : undefined,
      communitiesBlocking(account),
    ]);
    const offered = blockedBy.size === 0 ? seen : seen.filter(({ communityId }) => !blockedBy.has(communityId));
    return grouped(offered, owner?.house?.groups);
  }

  /** The communities that take no requests of the account. Their spaces are not offered to it. */
  async function communitiesBlocking(account: Account): Promise<ReadonlySet<CommunityId>> {
    if (account.kind === 'Community') return NO_COMMUNITIES;
    const found = await readModels.collection(admissions).list(blocking(account.id));
    return new Set(found.map(({ communityId }) => communityId));
  }

  const count = (account: Account): Promise<number> => readModels.collection(spaces).count(spacesSeenBy(account));

  async function community(communityId: number): Promise<CommunityDocument | undefined> {
    return await readModels.collection(communities).get(String(communityId));
  }

  /** The community, or undefined if the account may not see it. */
  const communityOf = async (account: Account, communityId: number): Promise<Community | undefined> =>
    account.kind === 'Brand' || account.id === communityId ? community(communityId) : undefined;

  /** The communities of bookings or reviews, by id, in one read. */
  async function communitiesOf(
    list: readonly { readonly communityId: CommunityId }[],
  ): Promise<ReadonlyMap<CommunityId, CommunityDocument>> {
    const ids = new Set(list.map(({ communityId }) => communityId));
    const found = await readModels.collection(communities).getMany([...ids].map(String));
    return new Map(found.values().map((each) => [each.communityId, each]));
  }

  async function allCommunities(): Promise<Community[]> {
    return readModels.collection(communities).list(communitiesById());
  }

  return {
    get,
    communitiesBlocking,
    list,
    listGrouped,
    count,
    community,
    communityOf,
    communitiesOf,
    communities: allCommunities,

    /** The spaces of a community, by id. */
    ofCommunity: (id: CommunityId): Promise<Space[]> => readModels.collection(spaces).list(spacesById(id)),

    /** The same as `get`, as it is offered to the account, with the name and the house of the community. */
    async getNamed(account: Account, spaceId: number): Promise<NamedSpace | undefined> {
      const space = await get(account, spaceId);
      if (space === undefined) return undefined;
      const [owner, isBlocked] = await Promise.all([
        community(space.communityId),
        isBlockedBy({ readModels }, account, space.communityId),
      ]);
      return named(asOffered(space, isBlocked), owner);
    },

    /** The same as `list`, with the names and houses of the communities. */
    async listNamed(account: Account): Promise<NamedSpace[]> {
      const [visible, owners] = await Promise.all([list(account), allCommunities()]);
      const byId = new Map(owners.map((owner) => [owner.communityId, owner]));
      return visible.map((space) => named(space, byId.get(space.communityId)));
    },
  };
}

const named = (space: Space, owner: Community | undefined): NamedSpace => ({
  space,
  communityName: owner?.name ?? '',
  ...defined({ house: owner?.house }),
});
