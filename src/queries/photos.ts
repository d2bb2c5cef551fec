import { housePhotos } from '../../projections/house-photos.ts';
import { spacePhotos } from '../../projections/space-photos.ts';
import type { CommunityId, SpaceId } from '../domain/ids.ts';
import { NO_PHOTOS, type Photo, type Photos, photosIn } from '../domain/photos.ts';
import type { QueryDeps } from './query-deps.ts';

/** The photos of spaces and houses, for all who may see these. */
export function createPhotoQueries({ readModels, personalData }: QueryDeps) {
  /** With the count of changes, for a page that changes it. */
  async function listOfSpace(spaceId: SpaceId): Promise<Photos<string>> {
    const stored = await readModels.collection(spacePhotos).get(String(spaceId));
    const [list] = await personalData.openSpaceTexts(stored === undefined ? [] : [stored]);
    return list ?? NO_PHOTOS;
  }

  /** The same for a house. */
  async function listOfHouse(communityId: CommunityId): Promise<Photos<string>> {
    const stored = await readModels.collection(housePhotos).get(String(communityId));
    const [list] = await personalData.openHouseTexts(stored === undefined ? [] : [stored]);
    return list ?? NO_PHOTOS;
  }

  return {
    listOfSpace,
    listOfHouse,

    /** The photos of spaces, in one read. A space without photos is absent. */
    async ofSpaces(spaceIds: Iterable<SpaceId>): Promise<ReadonlyMap<SpaceId, readonly Photo[]>> {
      const stored = await readModels.collection(spacePhotos).getMany([...new Set(spaceIds)].map(String));
      const opened = await personalData.openSpaceTexts([...stored.values()]);
      const lists = opened.map((each) => [each.spaceId, photosIn(each)] as const);
      return new Map(lists.filter(([, photos]) => photos.length > 0));
    },

    ofHouse: async (communityId: CommunityId): Promise<readonly Photo[]> => photosIn(await listOfHouse(communityId)),
  };
}
