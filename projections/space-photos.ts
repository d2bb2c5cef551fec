import type { SpacePhotosChanged } from '../src/domain/events.ts';
import type { CommunityId, SpaceId } from '../src/domain/ids.ts';
import { evolvePhotos, type Photos } from '../src/domain/photos.ts';
import { projection } from './projection.ts';

export type SpacePhotosDocument = Photos & { readonly spaceId: SpaceId; readonly communityId: CommunityId };

/** The photos of each space. */
export const spacePhotos = projection<SpacePhotosDocument, SpacePhotosChanged>({
  name: 'spacePhotos',
  version: 1,
  indexes: [{ fields: ['communityId'] }],
  key: ({ data }) => String(data.spaceId),
  on: {
    SpacePhotosChanged(before, { data }) {
      const { spaceId, communityId } = data;
      return { ...evolvePhotos(before, data), spaceId, communityId };
    },
  },
});
