import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { ReadableClosure } from '../../projections/closures.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { communityOf } from '../domain/account.ts';
import { wallDay } from '../domain/calendar.ts';
import { type Closure, covers } from '../domain/closure.ts';
import { isOpenDay, termsOn } from '../domain/day-terms.ts';
import { defined } from '../domain/defined.ts';
import { bookedTime, closedTime, overlaps, widened } from '../domain/held-times.ts';
import { type CommunityId, type PlainDate, type SpaceId, spaceId as toSpaceId } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { type BookingPart, createBookingPages, type PageRange } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { COMMUNITY, FROM, TO } from './samples.ts';

/** How many bookings of a day or space wait for an answer, and how many are approved or completed. */
export type BookingCounts = { readonly pending: number; readonly booked: number };

export const NO_BOOKINGS: BookingCounts = { pending: 0, booked: 0 };

export type CountsBySpace = ReadonlyMap<SpaceId, BookingCounts>;

/** The sum of some counts. */
export const totalOf = (counts: Iterable<BookingCounts>): BookingCounts =>
  Array.from(counts).reduce(
    (sum, { pending, booked }) => ({ pending: sum.pending + pending, booked: sum.booked + booked }),
    NO_BOOKINGS,
  );

/** How many days a space is open, and how many of these have bookings that are approved or completed. */
export type OpenDays = { readonly space: Space; readonly open: number; readonly booked: number };

/** A closed time or own event on one of its days, and the spaces that it closes then. */
export type DayClosure = { readonly closure: ReadableClosure; readonly spaceIds: readonly SpaceId[] };

type ClosedHours = Pick<Closure, 'kind' | 'communityId' | 'spaceIds' | 'from' | 'to' | 'weekdays' | 'start' | 'until'>;

/** With the days that it does not close, if it has been carried out. */
type LeavingOut = ClosedHours & Partial<Pick<ReadableClosure, 'leftOut' | 'datesLeftOut'>>;

/** What a house can still decline, cancel or move. */
const OPEN: readonly BookingStatus[] = ['Pending', 'Approved'];
const BOOKED: readonly BookingStatus[] = ['Approved', 'Completed'];
const HELD: readonly BookingStatus[] = ['Pending', ...BOOKED];

const SPACES: readonly SpaceId[] = [toSpaceId(1), toSpaceId(2)];

const heldBetween = declareQuery(
  bookings,
  (community: CommunityId, from: PlainDate, to: PlainDate, spaceId?: SpaceId): Find<BookingDocument> => ({
    where: { communityId: community, status: { in: HELD }, date: { from, to }, ...defined({ spaceId }) },
  }),
  [COMMUNITY.id, FROM, TO],
  [COMMUNITY.id, FROM, TO, toSpaceId(1)],
);

const openBetween = declareQuery(
  bookings,
  (community: CommunityId, from: PlainDate, to: PlainDate): Find<BookingDocument> => ({
    where: { communityId: community, status: { in: OPEN }, date: { from, to } },
  }),
  [COMMUNITY.id, FROM, TO],
);

const ofDay = declareQuery(
  bookings,
  (
    community: CommunityId,
    date: PlainDate,
    statuses: readonly BookingStatus[],
    spaces?: readonly SpaceId[],
    limit?: number,
  ): Find<BookingDocument> => ({
    where: {
      communityId: community,
      date,
      status: { in: statuses },
      ...defined({ spaceId: spaces && { in: spaces } }),
    },
    sort: [{ field: 'startHour' }, { field: 'bookingId' }],
    ...defined({ limit }),
  }),
  [COMMUNITY.id, FROM, HELD],
  [COMMUNITY.id, FROM, ['Pending'], undefined, 3],
  [COMMUNITY.id, FROM, BOOKED, SPACES, 3],
);

/**
 * Whether a booking is inside a closed time, or in the way of an own event: holds its hours, or the gap beside them, on one of the days that it
 * has left out, from today on. All days of an own event that has not been carried out count as left out.
 * @param today by the clock of the community
 */
function isConcerned(closure: LeavingOut, today: PlainDate, spaces: readonly Space[]) {
  const { kind, datesLeftOut = [] } = closure;
  const leftOut = closure.leftOut && new Set(closure.leftOut.map(({ spaceId, date }) => `${spaceId} ${date}`));
  const gaps = new Map(spaces.map(({ spaceId, gapHours = 0 }) => [spaceId, gapHours]));
  return (booking: BookingDocument): boolean => {
    const { spaceId, date, timeZone } = booking;
    if (!covers(closure, booking)) return false;
    const isLeftOut = leftOut?.has(`${spaceId} ${date}`) ?? kind === 'OwnEvent';
    const isDay = kind === 'Closure' ? !isLeftOut : isLeftOut && date >= today && !datesLeftOut.includes(date);
    const day = wallDay(date, timeZone);
    const gap = kind === 'Closure' ? 0 : (gaps.get(spaceId) ?? 0);
    return isDay && overlaps(bookedTime(day, booking), widened(closedTime(day, closure), gap));
  };
}

/** The bookings of a community by day. Texts stay sealed. */
export function createCalendarQueries({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);
  const parts = createBookingPages({ readModels });

  /** By space, for spaces that have bookings on a date; of all spaces or of one. */
  async function bySpace(community: CommunityId, date: PlainDate, only?: SpaceId): Promise<CountsBySpace> {
    const totals = new Map<SpaceId, BookingCounts>();
    const query = heldBetween(community, date, date, only);
    for (const { values, count } of await documents.groups(query, ['spaceId', 'status'])) {
      const { pending, booked } = totals.get(values.spaceId) ?? NO_BOOKINGS;
      const isPending = values.status === 'Pending';
      totals.set(values.spaceId, {
        pending: pending + (isPending ? count : 0),
        booked: booked + (isPending ? 0 : count),
      });
    }
    return totals;
  }

  return {
    bySpace,

    /** The counts of some dates by space, of all spaces or of one. Each date is a read of its own, so that none takes long. */
    async byDate(
      community: CommunityId,
      dates: readonly PlainDate[],
      spaceId?: SpaceId,
    ): Promise<ReadonlyMap<PlainDate, CountsBySpace>> {
      const read = dates.map(
        async (date): Promise<[PlainDate, CountsBySpace]> => [date, await bySpace(community, date, spaceId)],
      );
      return new Map(await Promise.all(read));
    },

    /** How many of some dates each space has hours that no closed time takes, and how many of these have bookings. */
    async openDays(
      spaces: readonly Space[],
      byDate: ReadonlyMap<PlainDate, CountsBySpace>,
      closures: readonly ClosedHours[],
    ): Promise<readonly OpenDays[]> {
      const nextSlice = yieldEvery(1);
      const result: OpenDays[] = [];
      for (const space of spaces) {
        await nextSlice();
        const { spaceId } = space;
        const own = closures.filter(({ kind, spaceIds }) => kind === 'Closure' && spaceIds.includes(spaceId));
        const open = [...byDate].filter(([date]) =>
          isOpenDay(
            termsOn(space, date),
            date,
            own.filter((closure) => covers(closure, { spaceId, date })),
          ),
        );
        const booked = open.filter(([, counts]) => (counts.get(spaceId)?.booked ?? 0) > 0);
        result.push({ space, open: open.length, booked: booked.length });
      }
      return result;
    },

    /** The closed times and own events of each date, by their hour, that close some of these spaces then. */
    async closuresOn(
      dates: readonly PlainDate[],
      closures: readonly ReadableClosure[],
      shown: readonly SpaceId[],
    ): Promise<ReadonlyMap<PlainDate, readonly DayClosure[]>> {
      const nextSlice = yieldEvery(1);
      const byDate = new Map<PlainDate, DayClosure[]>();
      for (const closure of closures) {
        await nextSlice();
        const leftOut = new Set(closure.leftOut.map(({ spaceId, date }) => `${spaceId} ${date}`));
        const ofShown = closure.spaceIds.filter((spaceId) => shown.includes(spaceId));
        for (const date of dates) {
          const spaceIds = ofShown.filter(
            (spaceId) => covers(closure, { spaceId, date }) && !leftOut.has(`${spaceId} ${date}`),
          );
          if (spaceIds.length > 0) byDate.getOrInsertComputed(date, () => []).push({ closure, spaceIds });
        }
      }
      for (const list of byDate.values()) list.sort((a, b) => a.closure.start - b.closure.start);
      return byDate;
    },

    /** The first bookings of a day, of all spaces or of one: pending ones, then by hour. */
    async firstOn(
      community: CommunityId,
      date: PlainDate,
      { pending, booked }: BookingCounts,
      { limit, spaceId }: { readonly limit: number; readonly spaceId?: SpaceId | undefined },
    ): Promise<BookingDocument[]> {
      const spaces = spaceId && [spaceId];
      const find = (statuses: readonly BookingStatus[], most: number) =>
        most <= 0 ? [] : documents.list(ofDay(community, date, statuses, spaces, most));
      const pages = await Promise.all([
        find(['Pending'], Math.min(limit, pending)),
        find(BOOKED, Math.min(limit - pending, booked)),
      ]);
      return pages.flat();
    },

    /** The bookings of some spaces on a day, by start hour. */
    heldOn: (community: CommunityId, date: PlainDate, spaces: readonly SpaceId[]): Promise<BookingDocument[]> =>
      documents.list(ofDay(community, date, HELD, spaces)),

    /**
     * The first requests and approved bookings inside a closed time or in the way of an own event, and how many there are.
     * @param today by the clock of the community
     */
    async concerned(closure: LeavingOut, today: PlainDate, spaces: readonly Space[], limit: number) {
      const isWanted = isConcerned(closure, today, spaces);
      const first: BookingDocument[] = [];
      let count = 0;
      for await (const booking of documents.find(openBetween(closure.communityId, closure.from, closure.to))) {
        if (!isWanted(booking)) continue;
        count += 1;
        if (first.length < limit) first.push(booking);
      }
      return { first, count };
    },

    /** A page of those that can also be moved, in the order of lists. */
    concernedPage(
      closure: LeavingOut,
      today: PlainDate,
      spaces: readonly Space[],
      page: Omit<PageRange, 'direction'> & { readonly isWanted: (booking: BookingDocument) => boolean },
    ): Promise<BookingPart> {
      const isInHours = isConcerned(closure, today, spaces);
      return parts.page(communityOf(closure), {
        ...page,
        direction: 'ascending',
        startDate: closure.from,
        endDate: closure.to,
        lists: OPEN.map((status) => ({ status })),
        isWanted: (booking) => isInHours(booking) && page.isWanted(booking),
      });
    },

    /** The first bookings of some spaces on a day that were declined, withdrawn or cancelled or expired, and how many there are. */
    async cancelledOn(community: CommunityId, date: PlainDate, spaces: readonly SpaceId[], limit: number) {
      const [first, count] = await Promise.all([
        documents.list(ofDay(community, date, ['Cancelled'], spaces, limit)),
        documents.count(ofDay(community, date, ['Cancelled'], spaces)),
      ]);
      return { first, count };
    },
  };
}
