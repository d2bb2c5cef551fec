import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { type CalendarFeedDocument, calendarFeeds } from '../../projections/calendar-feeds.ts';
import { type ClosureDocument, closures, type ReadableClosure } from '../../projections/closures.ts';
import type { CommunityDocument } from '../../projections/communities.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Account, type AccountKey, accountKey } from '../domain/account.ts';
import { endOf, startOf } from '../domain/booking-moments.ts';
import { daysLater, FIRST_ZONE, LAST_ZONE, localDate, wallDay } from '../domain/calendar.ts';
import { datesOf } from '../domain/closure.ts';
import { defined } from '../domain/defined.ts';
import type { FeedContent } from '../domain/events.ts';
import { latestOf } from '../domain/extremes.ts';
import { closedTime } from '../domain/held-times.ts';
import type { CommunityId, PlainDate, SpaceId, Timestamp } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import type { Space } from '../domain/space.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { byDate } from './bookings.ts';
import { reachingInto } from './closures.ts';
import type { QueryDeps } from './query-deps.ts';
import type { createSpaceQueries } from './spaces.ts';

/** How many days a feed reaches back and ahead. */
type Reach = { readonly back: number; readonly ahead: number };
const OF_CALENDAR: Reach = { back: 30, ahead: 400 };
/** What began yesterday may go on today. */
const OF_DOOR: Reach = { back: 1, ahead: 0 };
/** Closed times whose titles are opened in one batch. */
const OPENED_TOGETHER = 100;
/** How long a feed holds the event loop at once, in milliseconds. */
const SLICE_MS = 2;

/** What a feed shows, and to whom. */
export type Feed = FeedContent & { readonly account: Account };

/** A time in a feed, in milliseconds since the epoch. */
type FeedTime = { readonly start: number; readonly end: number };

/** A booking that is held, or a day of a closed time or an own event. */
export type FeedEntry = FeedTime &
  (
    | { readonly kind: 'Booking'; readonly booking: BookingDocument; readonly community: CommunityDocument | undefined }
    | {
        readonly kind: 'Closure';
        readonly closure: ReadableClosure;
        readonly changedAt: Timestamp;
        readonly date: PlainDate;
        readonly spaceNames: readonly string[];
      }
  );

/** The day of a space, as a sheet at its door shows it. */
type AtDoor = { readonly space: Space; readonly date: PlainDate; readonly entries: readonly FeedEntry[] };

const newestOf = declareQuery(
  calendarFeeds,
  (account: AccountKey | undefined): Find<CalendarFeedDocument> => ({
    ...(account !== undefined && { where: { account } }),
    sort: [
      { field: 'account', direction: 'descending' },
      { field: 'addedAt', direction: 'descending' },
    ],
  }),
  [undefined],
  ['Brand:1'],
);

export function createCalendarFeedQueries(
  deps: QueryDeps,
  spaces: Pick<ReturnType<typeof createSpaceQueries>, 'get' | 'list' | 'community'>,
) {
  const { readModels, personalData, clock } = deps;

  async function* bookingsOf(feed: Feed, reach: Reach): AsyncGenerator<FeedEntry> {
    const now = clock();
    const ranges = new Map<string, ReturnType<typeof datesAround>>();
    const communities = new Map<CommunityId, Promise<CommunityDocument | undefined>>();
    // Wide enough for every zone; each booking is then compared with the dates of its own.
    const startDate = daysLater(localDate(now, LAST_ZONE), -reach.back);
    const endDate = daysLater(localDate(now, FIRST_ZONE), reach.ahead);
    const around = byDate(feed.account, { startDate, endDate, ...defined({ spaceId: feed.spaceId }) });
    for await (const booking of readModels.collection(bookings).find(around)) {
      if (booking.status === 'Cancelled') continue;
      const { first, last } = ranges.getOrInsertComputed(booking.timeZone, (zone) => datesAround(now, zone, reach));
      if (booking.date < first || booking.date > last) continue;
      const community = await communities.getOrInsertComputed(booking.communityId, spaces.community);
      yield { kind: 'Booking', booking, community, start: startOf(booking), end: endOf(booking) };
    }
  }

  async function* closuresOf({ account, spaceId: only }: Feed, reach: Reach): AsyncGenerator<FeedEntry> {
    if (account.kind !== 'Community') return;
    const community = await spaces.community(account.id);
    if (community === undefined) return;
    const { timeZone } = community;
    const { first, last } = datesAround(clock(), timeZone, reach);
    const shown = new Map((await spaces.list(account)).map((each) => [each.spaceId, each]));
    const reaching = readModels.collection(closures).find(reachingInto(account.id, first, last));
    for await (const page of inPages(reaching, OPENED_TOGETHER)) {
      const current = page.filter((closure) => isCurrent(closure, only));
      for (const closure of await personalData.openClosures(current)) {
        for (const { date, spaceIds } of closedDays(closure, first, last, only)) {
          const { from: start, until: end } = closedTime(wallDay(date, timeZone), closure);
          const closed = spaceIds.map((id) => shown.get(id));
          yield {
            kind: 'Closure',
            closure,
            changedAt: latestOf(closure.addedAt, community.changedAt, ...closed.map((space) => space?.renamedAt)),
            date,
            spaceNames: spaceIds.map((id) => shown.get(id)?.name ?? `Space ${id}`),
            start,
            end,
          };
        }
      }
    }
  }

  /** Without times that a change of the clocks skips. */
  async function* entriesOf(feed: Feed, reach: Reach): AsyncGenerator<FeedEntry> {
    const pause = yieldEvery(SLICE_MS);
    for (const entries of [bookingsOf(feed, reach), closuresOf(feed, reach)])
      for await (const entry of entries) {
        await pause();
        if (entry.start < entry.end) yield entry;
      }
  }

  return {
    /** The feeds of an account, or of all accounts, newest first. Their secrets are not stored. */
    list: (account: Account | undefined): Promise<CalendarFeedDocument[]> =>
      readModels.collection(calendarFeeds).list(newestOf(account && accountKey(account))),

    /** What a feed shows: 30 days back and 400 ahead by the clock of each space. */
    entries: (feed: Feed): AsyncGenerator<FeedEntry> => entriesOf(feed, OF_CALENDAR),

    /**
     * What takes the space of a sheet at its door today, by hour: approved bookings, closed times and own events. Undefined if there is no such
     * space.
     */
    async atDoor(feed: Feed): Promise<AtDoor | undefined> {
      const space = feed.spaceId === undefined ? undefined : await spaces.get(feed.account, feed.spaceId);
      if (space === undefined) return undefined;
      const date = localDate(clock(), space.timeZone);
      const day = wallDay(date, space.timeZone);
      const entries = (await Array.fromAsync(entriesOf(feed, OF_DOOR)))
        .filter((entry) => entry.kind === 'Closure' || entry.booking.status !== 'Pending')
        .filter(({ start, end }) => start < day.end && end > day.start)
        .sort((a, b) => a.start - b.start);
      return { space, date, entries };
    },
  };
}

const datesAround = (
  now: number,
  zone: string,
  { back, ahead }: Reach,
): { readonly first: PlainDate; readonly last: PlainDate } => {
  const today = localDate(now, zone);
  return { first: daysLater(today, -back), last: daysLater(today, ahead) };
};

const isCurrent = ({ endedAt, spaceIds }: ClosureDocument, only: SpaceId | undefined): boolean =>
  endedAt === undefined && (only === undefined || spaceIds.includes(only));

/** The dates of a closed time or an own event between two dates, with the spaces that it closes on each. */
function* closedDays(
  { leftOut, from, to, ...closure }: ReadableClosure,
  first: PlainDate,
  last: PlainDate,
  only: SpaceId | undefined,
): Generator<{ readonly date: PlainDate; readonly spaceIds: readonly SpaceId[] }> {
  const open = new Set(leftOut.map((day) => `${day.spaceId} ${day.date}`));
  const within = {
    from: from < first ? first : from,
    to: to > last ? last : to,
    ...defined(picked(closure, ['weekdays'])),
  };
  for (const date of datesOf(within)) {
    const spaceIds = closure.spaceIds.filter((id) => (only === undefined || id === only) && !open.has(`${id} ${date}`));
    if (spaceIds.length > 0) yield { date, spaceIds };
  }
}
