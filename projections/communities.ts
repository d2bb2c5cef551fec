import { type Community, evolveCommunity } from '../src/domain/community.ts';
import type { CommunityEvent } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type CommunityDocument = Community & {
  /** When its name or zone was changed last. Both show in calendars. */
  readonly changedAt?: Timestamp;
};

/** Every community with its name and time zone. */
export const communities = projection<CommunityDocument, CommunityEvent>({
  name: 'communities',
  version: 5,
  indexes: [{ fields: ['communityId'] }],
  key: (event) => String(event.data.communityId),
  on: {
    CommunityAdded: evolveCommunity,
    CommunityChanged(community, event) {
      const next = evolveCommunity(community, event);
      return next && { ...next, changedAt: event.metadata.at };
    },
  },
});
