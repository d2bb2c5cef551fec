import { type Account, accountKey } from './account.ts';
import { type Decision, refuse, refuseField } from './decision.ts';
import type { CalendarFeedAdded, CalendarFeedEnded, CalendarFeedEvent } from './events.ts';
import { type FeedId, feedId } from './ids.ts';
import { MAX_FEEDS } from './limits.ts';

type Feed = Pick<CalendarFeedAdded['data'], 'feedId' | 'userId' | 'account'>;

/** The calendar feeds of a user. */
export type CalendarFeeds = {
  /** How many the user ever had. They are numbered, so an id that is not active has ended. */
  readonly added: number;
  /** At most {@link MAX_FEEDS}. */
  readonly active: readonly Feed[];
};

export const NO_FEEDS: CalendarFeeds = { added: 0, active: [] };

export function evolveCalendarFeeds({ added, active }: CalendarFeeds, event: CalendarFeedEvent): CalendarFeeds {
  switch (event.type) {
    case 'CalendarFeedAdded': {
      const { feedId: id, userId, account } = event.data;
      return { added: added + 1, active: [...active, { feedId: id, userId, account }] };
    }
    case 'CalendarFeedEnded':
      return { added, active: active.filter((feed) => feed.feedId !== event.data.feedId) };
    default:
      return event satisfies never;
  }
}

/** The user's third feed: `usr_Ab3.3`. So the id names the stream, and a feed is found without a read model. */
const idOf = (userId: string, number: number): FeedId => feedId(`${userId}.${number}`);

/** The user of a feed and its number, from its id. The number is 0 if it is no id of a feed. */
export function ownerOfFeed(id: string): { readonly userId: string; readonly number: number } {
  const [, userId = '', number = '0'] = /^([\w-]+)\.([1-9]\d{0,8})$/.exec(id) ?? [];
  return { userId, number: Number(number) };
}

/** Adds a feed. Refuses more than {@link MAX_FEEDS} of a user: one stream holds them all, so no race gets past it. */
export function addCalendarFeed(
  { added, active }: CalendarFeeds,
  command: Omit<CalendarFeedAdded['data'], 'feedId'>,
): Decision<CalendarFeedAdded> {
  if (active.length >= MAX_FEEDS)
    return refuse('ValidationError', `A user can have at most ${MAX_FEEDS} calendar feeds; revoke one first.`);
  if (command.isDoor && command.spaceId === undefined)
    return refuseField('space', 'must be one space for a sheet at its door');
  return [{ type: 'CalendarFeedAdded', data: { ...command, feedId: idOf(command.userId, added + 1) } }];
}

/** Ends a feed; `by` limits it to one account's feeds. No event if it has ended. */
export function endCalendarFeed(
  { added, active }: CalendarFeeds,
  { feedId: id, by }: { readonly feedId: string; readonly by?: Account },
): Decision<CalendarFeedEnded> {
  const { number } = ownerOfFeed(id);
  const feed = active.find((each) => each.feedId === id);
  const isOthers = feed !== undefined && by !== undefined && accountKey(by) !== accountKey(feed.account);
  if (number < 1 || number > added || isOthers) return refuse('ResourceNotFound', `There is no calendar feed ${id}.`);
  return feed === undefined ? [] : [{ type: 'CalendarFeedEnded', data: feed }];
}

/** Ends the feeds of a user who left an account, or every account. */
export const endFeedsOfUser = ({ active }: CalendarFeeds, account: Account | undefined): CalendarFeedEnded[] =>
  active
    .filter((feed) => account === undefined || accountKey(feed.account) === accountKey(account))
    .map((data) => ({ type: 'CalendarFeedEnded', data }));
