import type { CalendarFeedDocument } from '../../projections/calendar-feeds.ts';
import { picked } from '../domain/picked.ts';
import { toPublicAccount } from './account.ts';

/** A calendar feed as the command line prints it with `--json`. */
export const toOperatorCalendarFeed = (feed: CalendarFeedDocument) => ({
  id: feed.feedId,
  account: toPublicAccount(feed.owner),
  ...picked(feed, ['userId', 'spaceId', 'showsNames', 'isDoor', 'preview', 'addedAt']),
});
