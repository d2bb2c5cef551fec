import { housePhotos } from '../../projections/house-photos.ts';
import { spacePhotos } from '../../projections/space-photos.ts';
import type { CommunityId, SpaceId } from '../domain/ids.ts';
import { NO_PHOTOS, type Photo, type PhotoOwner, type Photos, photosIn } from '../domain/photos.ts';
import type { QueryDeps } from './query-deps.ts';

/** The photos of spaces and houses, for all who may see these. */
export function createPhotoQueries({ readModels, personalData }: QueryDeps) {
  async function ofSpace(id: number): Promise<Photos<string> | undefined> {
    const stored = await readModels.collection(spacePhotos).get(String(id));
    const [list] = await personalData.openSpaceTexts(stored === undefined ? [] : [stored]);
    return list;
  }

  async function ofCommunity(id: number): Promise<Photos<string> | undefined> {
    const stored = await readModels.collection(housePhotos).get(String(id));
    const [list] = await personalData.openHouseTexts(stored === undefined ? [] : [stored]);
    return list;
  }

  /** With the count of changes, for what changes the list. */
  const listOf = async ({ kind, id }: PhotoOwner): Promise<Photos<string>> =>
    (await (kind === 'space' ? ofSpace(id) : ofCommunity(id))) ?? NO_PHOTOS;

  return {
    listOf,

    /** The photos of spaces, in one read. A space without photos is absent. */
    async ofSpaces(spaceIds: Iterable<SpaceId>): Promise<ReadonlyMap<SpaceId, readonly Photo[]>> {
      const stored = await readModels.collection(spacePhotos).getMany([...new Set(spaceIds)].map(String));
      const opened = await personalData.openSpaceTexts([...stored.values()]);
      const lists = opened.map((each) => [each.spaceId, photosIn(each)] as const);
      return new Map(lists.filter(([, photos]) => photos.length > 0));
    },

    ofHouse: async (communityId: CommunityId): Promise<readonly Photo[]> =>
      photosIn(await listOf({ kind: 'house', id: communityId })),
  };
}
