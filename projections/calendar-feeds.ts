import { type Account, type AccountKey, accountKey } from '../src/domain/account.ts';
import type { CalendarFeedEvent, FeedContent } from '../src/domain/events.ts';
import type { FeedId, Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

export type CalendarFeedDocument = FeedContent & {
  readonly feedId: FeedId;
  readonly userId: string;
  readonly owner: Account;
  readonly account: AccountKey;
  readonly preview: string;
  readonly addedAt: Timestamp;
};

/** The calendar feeds that have not ended, for lists. Whether an address is valid is answered from records (docs/decisions/credentials.md). */
export const calendarFeeds = projection<CalendarFeedDocument, CalendarFeedEvent>({
  name: 'calendarFeeds',
  version: 1,
  indexes: [{ fields: ['account', 'addedAt'] }],
  key: (event) => event.data.feedId,
  on: {
    CalendarFeedAdded(_, { data: { hash: _hash, account, ...feed }, metadata }) {
      return { ...feed, owner: account, account: accountKey(account), addedAt: metadata.at };
    },
    CalendarFeedEnded: () => undefined,
  },
});
