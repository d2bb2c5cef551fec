import { type Community, evolveCommunity } from '../src/domain/community.ts';
import type { CommunityEvent } from '../src/domain/events.ts';
import { projection } from './projection.ts';

/** Every community with its name and time zone. */
export const communities = projection<Community, CommunityEvent>({
  name: 'communities',
  version: 3,
  indexes: [{ fields: ['communityId'] }],
  key: (event) => String(event.data.communityId),
  on: { CommunityAdded: evolveCommunity, CommunityChanged: evolveCommunity },
});
