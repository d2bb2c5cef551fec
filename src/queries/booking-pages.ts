import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find, Range } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import type { CancelledBy } from '../domain/booking-events.ts';
import { daysLater, FIRST_ZONE, isPlainDate, LAST_ZONE, localDate, toTimestamp } from '../domain/calendar.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import { type BookingId, type PlainDate, bookingId as toBookingId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { merged } from '../event-loop/merged.ts';
import { isTurnUsedUp, nextSlice } from '../event-loop/slices.ts';
import type { QueryDeps } from './query-deps.ts';
import { readPage } from './read-page.ts';
import { BRAND, COMMUNITY, FROM } from './samples.ts';

/** Pages of long lists of bookings, in the order of all lists: date, start hour, id (docs/decisions/bookings.md). */

export type Direction = 'ascending' | 'descending';

/** A community sees the bookings of its spaces, a brand its own (docs/guides/rest-api.md#accounts-and-visibility). */
export const isVisibleBooking = (account: Account, booking: BookingDocument): boolean =>
  account.id === (account.kind === 'Community' ? booking.communityId : booking.brandId);

/** The booking at the end of a page. Its hour is looked up, because it never changes. */
export type BookingCursor = { readonly date: PlainDate; readonly bookingId: number };

/** A cursor as text, for addresses and MCP: `2026-11-20:17`. */
export const cursorText = ({ date, bookingId }: BookingCursor): string => `${date}:${bookingId}`;

/** Undefined if the text is not a cursor. */
export function cursorIn(text: string): BookingCursor | undefined {
  const [, date = '', id] = /^(\d{4}-\d{2}-\d{2}):(\d{1,15})$/.exec(text) ?? [];
  return isPlainDate(date) ? { date, bookingId: Number(id) } : undefined;
}

/** The same as a range of a query; undefined if neither end is given. */
export const rangeOf = ({ startDate: from, endDate: to }: DateRange) =>
  (from ?? to) === undefined ? undefined : defined({ from, to });

/** A list of an account's bookings: what its filter selects, besides dates. */
export type BookingList = {
  readonly status?: BookingStatus;
  /** Spaces or parties, by id. */
  readonly spaceId?: { readonly in: readonly number[] };
  readonly brandId?: { readonly in: readonly number[] };
  readonly communityId?: { readonly in: readonly number[] };
  readonly cancelledBy?: CancelledBy;
  /** Whether it was ever approved. */
  readonly charge?: { readonly exists: boolean };
};

/** A booking is upcoming until its end, then past. By its stored end, which the engine finds (docs/decisions/time.md). */
type Period = 'upcoming' | 'past';

/** The fields that lists are sorted by. */
type SortKey = Pick<BookingDocument, 'date' | 'startHour' | 'bookingId'>;

export const ownedBy = (account: Account) =>
  account.kind === 'Community' ? { communityId: account.id } : { brandId: account.id };

const RANGE: DateRange = { startDate: FROM, endDate: FROM };
const SOME = { in: [1, 2] };
const DECLINED: BookingList = { status: 'Cancelled', cancelledBy: 'Community', charge: { exists: false } };

/** Part of a list, which is its own range of dates. */
type Segment = DateRange & {
  /** Only bookings that end after a moment, or until then. */
  readonly endsAt?: Pick<Range, 'above' | 'to'>;
};

/** Where to begin, and how many to read. */
type Position = { readonly direction: Direction; readonly after?: SortKey; readonly limit?: number };

const inOrder = declareQuery(
  bookings,
  (
    account: Account,
    list: BookingList,
    { endsAt, ...dates }: Segment,
    { direction, after, limit }: Position,
  ): Find<BookingDocument> => ({
    where: { ...list, ...ownedBy(account), ...defined({ date: rangeOf(dates), endsAt }) },
    sort: (['date', 'startHour', 'bookingId'] as const).map((field) => ({ field, direction })),
    ...defined({ after: after && [after.date, after.startHour, after.bookingId], limit }),
  }),
  [COMMUNITY, {}, {}, { direction: 'ascending' }],
  [BRAND, {}, {}, { direction: 'descending' }],
  [COMMUNITY, {}, RANGE, { direction: 'descending' }],
  [BRAND, {}, RANGE, { direction: 'ascending' }],
  [COMMUNITY, {}, { ...RANGE, endsAt: { above: toTimestamp(0) } }, { direction: 'ascending', limit: 31 }],
  [
    COMMUNITY,
    { status: 'Pending' },
    { ...RANGE, endsAt: { to: toTimestamp(0) } },
    { direction: 'descending', limit: 31 },
  ],
  [COMMUNITY, { status: 'Pending' }, RANGE, { direction: 'ascending' }],
  [BRAND, { status: 'Pending' }, RANGE, { direction: 'descending' }],
  [COMMUNITY, { spaceId: SOME }, RANGE, { direction: 'descending' }],
  [COMMUNITY, { brandId: SOME, status: 'Approved' }, RANGE, { direction: 'ascending' }],
  [COMMUNITY, { spaceId: SOME, brandId: SOME }, {}, { direction: 'ascending' }],
  [BRAND, { spaceId: SOME, status: 'Approved' }, RANGE, { direction: 'descending' }],
  [BRAND, { communityId: SOME }, RANGE, { direction: 'ascending' }],
  [COMMUNITY, DECLINED, {}, { direction: 'descending' }],
  [BRAND, DECLINED, RANGE, { direction: 'ascending' }],
  [COMMUNITY, { charge: { exists: true } }, RANGE, { direction: 'ascending' }],
  [BRAND, { charge: { exists: true } }, RANGE, { direction: 'descending' }],
);

/** Where a page stands in its list. */
export type PagePlace = {
  /** Pass as `before` to get the previous page. Undefined on the first page. */
  readonly previous: BookingCursor | undefined;
  /** Pass as `after` to get the next page. Undefined on the last page. */
  readonly next: BookingCursor | undefined;
  /** The number of bookings on all pages, if requested. */
  readonly count?: number;
};

export type BookingPart = PagePlace & { readonly bookings: readonly BookingDocument[] };

/** Which page of a list. */
export type ListPage = {
  readonly direction: Direction;
  readonly limit: number;
  readonly after?: BookingCursor;
  /** Takes precedence over `after`. */
  readonly before?: BookingCursor;
  readonly isCounted?: boolean;
};

export type PageRange = DateRange &
  ListPage & {
    readonly period?: {
      readonly is: Period;
      /** Milliseconds since the epoch. */
      readonly now: number;
    };
  };

/** A whole list, which is read in pages. */
export type WholeList = Pick<PageRange, 'startDate' | 'endDate' | 'period' | 'direction'>;

/** Bookings of a whole list whose texts are opened and formatted in the same turn of the event loop: 1 to 2 ms. */
export const SHOWN_TOGETHER = 50;

export type PartQuery = PageRange & {
  /** Lists that have no booking in common, and are shown as one. Default: all bookings of the account. */
  readonly lists?: readonly BookingList[];
  /** A booking that is shown elsewhere. */
  readonly except?: BookingId | undefined;
  /** What no stored field tells. Most bookings of the lists are wanted, or the dates are few. Default: all. */
  readonly isWanted?: (booking: BookingDocument) => boolean;
};

/**
 * Reads a page of an account's bookings, in order, beginning at the cursor. No booking is shown twice or skipped if others arrive
 * meanwhile.
 */
export function createBookingPages({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);

  async function sortKeyOf(account: Account, cursor: BookingCursor | undefined): Promise<SortKey | undefined> {
    if (cursor === undefined) return undefined;
    const { date } = cursor;
    const bookingId = toBookingId(cursor.bookingId);
    const booking = await documents.get(String(bookingId));
    // A made-up cursor gets hour 0, so that it does not reveal the hour of a booking that the account may not see.
    const isVisible = booking !== undefined && booking.date === date && isVisibleBooking(account, booking);
    return { date, startHour: isVisible ? booking.startHour : 0, bookingId };
  }

  /** The bookings of one list in one segment, in order. Reads as many at a time as a page shows, or all over one cursor. */
  async function* ofSegment(
    account: Account,
    list: BookingList,
    segment: Segment,
    { direction, after: begin, limit }: Position,
  ): AsyncGenerator<BookingDocument> {
    for (let after = begin; ; ) {
      const query = inOrder(account, list, segment, { direction, ...defined({ after, limit }) });
      if (limit === undefined) {
        yield* documents.find(query);
        return;
      }
      const page = await documents.list(query);
      yield* page;
      if (page.length < limit) return;
      after = page.at(-1);
    }
  }

  /** The bookings of a query after a sort key, or all of them. */
  async function* bookingsAfter(
    account: Account,
    query: Omit<PartQuery, 'limit'>,
    { direction, after, limit }: Position,
  ): AsyncGenerator<BookingDocument> {
    const { except, isWanted } = query;
    const segments = segmentsOf(query);
    // How many are read until a page is full is not known.
    const atOnce = isWanted === undefined ? limit : undefined;
    for (const segment of direction === 'ascending' ? segments : segments.toReversed()) {
      const lists = listsOf(query).map((list) =>
        ofSegment(account, list, segment, { direction, ...defined({ after, limit: atOnce }) }),
      );
      for await (const booking of merged(lists, (a, b) => compare(a, b, direction)))
        if (booking.bookingId !== except && (isWanted?.(booking) ?? true)) yield booking;
    }
  }

  async function count(account: Account, query: PartQuery): Promise<number> {
    const counts = segmentsOf(query).flatMap((segment) =>
      listsOf(query).map((list) => documents.count(inOrder(account, list, segment, { direction: query.direction }))),
    );
    return (await Promise.all(counts)).reduce((sum, one) => sum + one, 0);
  }

  async function page(account: Account, query: PartQuery): Promise<BookingPart> {
    const { items, previous, next } = await readPage(query, cursorAt, async function* ({ isBackwards, after, limit }) {
      const start = await sortKeyOf(account, after);
      if (start !== undefined && !isWithin(start.date, query)) return;
      const direction = isBackwards ? opposite(query.direction) : query.direction;
      yield* bookingsAfter(account, query, { direction, limit, ...defined({ after: start }) });
    });
    return { bookings: items, previous, next, ...(query.isCounted && { count: await count(account, query) }) };
  }

  return {
    page,

    /** Every booking of a list, in order, in pages, over one cursor for each list: a sorted read for each page would take a server seconds. */
    pages: (
      account: Account,
      query: WholeList & Pick<PartQuery, 'lists' | 'except'>,
    ): AsyncGenerator<BookingDocument[]> => {
      const { direction } = query;
      return unhurried(inPages(bookingsAfter(account, query, { direction }), SHOWN_TOGETHER));
    },
  };
}

/** Pages whose reader lets others have a turn of the event loop between them. */
export async function* unhurried<T>(pages: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const page of pages) {
    yield page;
    if (isTurnUsedUp()) await nextSlice();
  }
}

const listsOf = ({ lists = [{}] }: Pick<PartQuery, 'lists'>): readonly BookingList[] => lists;

const opposite = (direction: Direction): Direction => (direction === 'ascending' ? 'descending' : 'ascending');

const cursorAt = ({ date, bookingId }: BookingDocument): BookingCursor => ({ date, bookingId });

const isWithin = (date: PlainDate, { startDate, endDate }: DateRange): boolean =>
  (startDate === undefined || date >= startDate) && (endDate === undefined || date <= endDate);

/** The segments of a query in order of their dates. Only around the present does the end of a booking tell more than its date. */
function segmentsOf({ startDate, endDate, period }: Pick<PartQuery, 'startDate' | 'endDate' | 'period'>): Segment[] {
  const range = defined({ startDate, endDate });
  if (period === undefined) return [range];
  const { is, now } = period;
  // In zones east and west of each other it is today on up to three dates.
  const [first, last] = [localDate(now, LAST_ZONE), localDate(now, FIRST_ZONE)];
  const isUpcoming = is === 'upcoming';
  const endsAt = isUpcoming ? { above: toTimestamp(now) } : { to: toTimestamp(now) };
  const today: Segment = { startDate: first, endDate: last, endsAt };
  const others: Segment = isUpcoming ? { startDate: daysLater(last, 1) } : { endDate: daysLater(first, -1) };
  return (isUpcoming ? [today, others] : [others, today]).flatMap((segment) => clipped(segment, range) ?? []);
}

/** A segment within some dates. Undefined if none of its dates are. */
function clipped(segment: Segment, { startDate, endDate }: DateRange): Segment | undefined {
  const from = latest(segment.startDate, startDate);
  const to = earliest(segment.endDate, endDate);
  if (from !== undefined && to !== undefined && from > to) return undefined;
  return { ...segment, ...defined({ startDate: from, endDate: to }) };
}

const latest = (a: PlainDate | undefined, b: PlainDate | undefined) =>
  a === undefined || (b !== undefined && b > a) ? b : a;
const earliest = (a: PlainDate | undefined, b: PlainDate | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a;

const isIn = (period: PartQuery['period'], booking: BookingDocument): boolean =>
  period === undefined || (period.is === 'upcoming') === booking.endsAt > toTimestamp(period.now);

/** Whether a booking is in a list. */
export const isListed = (
  { status, spaceId, brandId, communityId, cancelledBy, charge }: BookingList,
  of: BookingDocument,
) =>
  (status ?? of.status) === of.status &&
  (cancelledBy ?? of.cancelledBy) === of.cancelledBy &&
  (charge?.exists ?? of.charge !== undefined) === (of.charge !== undefined) &&
  (spaceId?.in.includes(of.spaceId) ?? true) &&
  (brandId?.in.includes(of.brandId) ?? true) &&
  (communityId?.in.includes(of.communityId) ?? true);

/** Whether a booking matches dates and period. */
export const isSearched = (
  query: Pick<PartQuery, 'startDate' | 'endDate' | 'period'>,
  booking: BookingDocument,
): boolean => isWithin(booking.date, query) && isIn(query.period, booking);

/** Negative if `a` comes first in a list in this direction. */
function compare(a: SortKey, b: SortKey, direction: Direction): number {
  const order = a.date === b.date ? a.startHour - b.startHour || a.bookingId - b.bookingId : a.date < b.date ? -1 : 1;
  return direction === 'ascending' ? order : -order;
}
