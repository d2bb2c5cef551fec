import type { Community } from '../src/domain/community.ts';
import type { CommunityAdded } from '../src/domain/events.ts';
import { projection } from './projection.ts';

/** Every community with its time zone. */
export const communities = projection<Community, CommunityAdded>({
  name: 'communities',
  version: 2,
  indexes: [{ fields: ['communityId'] }],
  key: (event) => String(event.data.communityId),
  on: { CommunityAdded: (_, event) => event.data },
});
