import { type Community, evolveCommunity } from '../src/domain/community.ts';
import type { CommunityEvent, CommunityPhotosChanged } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type CommunityDocument = Community & {
  /** When its name, zone or address was changed last. All show in calendars. */
  readonly changedAt?: Timestamp;
  /** The name that it had a day before it was renamed last, and when that was. */
  readonly renamed?: { readonly from: string; readonly at: Timestamp };
};

/** A name that was changed again within a day was hardly seen. */
const DAY_MS = 24 * 3_600_000;

function renamed(before: CommunityDocument, at: Timestamp): NonNullable<CommunityDocument['renamed']> {
  const isShortLived = before.renamed !== undefined && Date.parse(at) - Date.parse(before.renamed.at) < DAY_MS;
  return { from: isShortLived ? (before.renamed?.from ?? before.name) : before.name, at };
}

/** Every community with its name and time zone. */
export const communities = projection<CommunityDocument, Exclude<CommunityEvent, CommunityPhotosChanged>>({
  name: 'communities',
  version: 7,
  indexes: [{ fields: ['communityId'] }],
  key: (event) => String(event.data.communityId),
  on: {
    CommunityAdded: evolveCommunity,
    CommunityNewBrandsChanged: evolveCommunity,
    CommunityDescribed(community, event) {
      const next = evolveCommunity(community, event);
      const isElsewhere = event.data.address !== undefined || event.data.coordinates !== undefined;
      return next && isElsewhere ? { ...next, changedAt: event.metadata.at } : next;
    },
    CommunityChanged(community, event) {
      const next = evolveCommunity(community, event);
      const { name } = event.data;
      const { at } = event.metadata;
      return (
        community &&
        next && {
          ...next,
          changedAt: at,
          ...(name !== undefined && name !== community.name && { renamed: renamed(community, at) }),
        }
      );
    },
  },
});
