import type { CommunityPhotosChanged } from '../src/domain/events.ts';
import type { CommunityId } from '../src/domain/ids.ts';
import { evolvePhotos, type Photos } from '../src/domain/photos.ts';
import { projection } from './projection.ts';

export type HousePhotosDocument = Photos & { readonly communityId: CommunityId };

/** The photos of the house of each community. */
export const housePhotos = projection<HousePhotosDocument, CommunityPhotosChanged>({
  name: 'housePhotos',
  version: 1,
  indexes: [],
  key: ({ data }) => String(data.communityId),
  on: {
    CommunityPhotosChanged: (before, { data }) => ({
      ...evolvePhotos(before, data),
      communityId: data.communityId,
    }),
  },
});
