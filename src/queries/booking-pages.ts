import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { endOf } from '../domain/booking-moments.ts';
import { FIRST_ZONE, isPlainDate, LAST_ZONE, localDate } from '../domain/calendar.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import { brandId, communityId, type PlainDate, bookingId as toBookingId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import type { QueryDeps } from './query-deps.ts';

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

/** The filter of an account's list, besides dates. */
export type BookingList = {
  readonly status?: BookingStatus;
  /** Spaces or parties, by id. */
  readonly spaceId?: { readonly in: readonly number[] };
  readonly brandId?: { readonly in: readonly number[] };
  readonly communityId?: { readonly in: readonly number[] };
};

/** A booking is upcoming until its end by the clock of its space, then past. */
type Period = 'upcoming' | 'past';

/** The fields that lists are sorted by. */
type SortKey = Pick<BookingDocument, 'date' | 'startHour' | 'bookingId'>;

export const ownedBy = (account: Account) =>
  account.kind === 'Community' ? { communityId: account.id } : { brandId: account.id };

const BRAND: Account = { kind: 'Brand', id: brandId(1) };
const COMMUNITY: Account = { kind: 'Community', id: communityId(1) };
const DATE = '2026-12-01' as PlainDate;
const RANGE: DateRange = { startDate: DATE, endDate: DATE };
const SOME = { in: [1, 2] };

const inOrder = declareQuery(
  bookings,
  (account: Account, list: BookingList, dates: DateRange, direction: Direction): Find<BookingDocument> => ({
    where: { ...list, ...ownedBy(account), ...defined({ date: rangeOf(dates) }) },
    sort: (['date', 'startHour', 'bookingId'] as const).map((field) => ({ field, direction })),
  }),
  [COMMUNITY, {}, {}, 'ascending'],
  [BRAND, {}, {}, 'descending'],
  [COMMUNITY, {}, RANGE, 'descending'],
  [BRAND, {}, RANGE, 'ascending'],
  [COMMUNITY, { status: 'Pending' }, RANGE, 'ascending'],
  [BRAND, { status: 'Pending' }, RANGE, 'descending'],
  [COMMUNITY, { spaceId: SOME }, RANGE, 'descending'],
  [COMMUNITY, { brandId: SOME, status: 'Approved' }, RANGE, 'ascending'],
  [BRAND, { spaceId: SOME, status: 'Approved' }, RANGE, 'descending'],
  [BRAND, { communityId: SOME }, RANGE, 'ascending'],
);

export type BookingPart = {
  readonly bookings: readonly BookingDocument[];
  /** Pass as `before` to get the previous page. Undefined on the first page. */
  readonly previous: BookingCursor | undefined;
  /** Pass as `after` to get the next page. Undefined on the last page. */
  readonly next: BookingCursor | undefined;
  /** Total number of bookings, at most `countUpTo`, if requested. */
  readonly count?: number;
};

export type PartQuery = DateRange & {
  /** Default: all bookings of the account. */
  readonly list?: BookingList;
  readonly direction: Direction;
  readonly limit: number;
  readonly after?: BookingCursor;
  /** Takes precedence over `after`. */
  readonly before?: BookingCursor;
  readonly period?: {
    readonly is: Period;
    /** Milliseconds since the epoch. */
    readonly now: number;
    /** The zone of all these bookings, if it is the same. Narrows the reads. */
    readonly zone?: string;
  };
  /** If given, the bookings of all pages are counted, up to this number. */
  readonly countUpTo?: number;
  /** A condition that the engine cannot check. */
  readonly holds?: (booking: BookingDocument) => boolean;
};

/**
 * Reads a page of an account's bookings, in order, from the day of the cursor. No booking is shown twice or skipped if others arrive
 * meanwhile.
 */
export function createBookingPages({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);

  async function sortKeyOf(account: Account, cursor: BookingCursor | undefined): Promise<SortKey | undefined> {
    if (cursor === undefined) return undefined;
    const { date } = cursor;
    const bookingId = toBookingId(cursor.bookingId);
    const found = (await documents.get(String(bookingId)))?.document;
    // A made-up cursor gets hour 0, so that it does not reveal the hour of a booking that the account may not see.
    const isVisible = found !== undefined && found.date === date && isVisibleBooking(account, found);
    return { date, startHour: isVisible ? found.startHour : 0, bookingId };
  }

  /** The bookings after a sort key, or all of them. */
  async function* bookingsAfter(
    start: SortKey | undefined,
    account: Account,
    { list = {}, dates, direction }: { list: BookingList | undefined; dates: DateRange; direction: Direction },
  ): AsyncGenerator<BookingDocument> {
    if (start !== undefined && !isWithin(start.date, dates)) return;
    const begin = start && { [direction === 'ascending' ? 'startDate' : 'endDate']: start.date };
    for await (const { document } of documents.find(inOrder(account, list, { ...dates, ...begin }, direction)))
      if (start === undefined || compare(start, document, direction) < 0) yield document;
  }

  async function count(account: Account, query: PartQuery): Promise<number | undefined> {
    const { countUpTo: limit, after: _, before: __, ...whole } = query;
    return limit === undefined ? undefined : (await page(account, { ...whole, limit })).bookings.length;
  }

  async function page(account: Account, query: PartQuery): Promise<BookingPart> {
    const { limit, after, before, list, holds = () => true } = query;
    const backwards = before !== undefined;
    const direction = backwards ? opposite(query.direction) : query.direction;
    const start = await sortKeyOf(account, before ?? after);
    const found: BookingDocument[] = [];
    for await (const booking of bookingsAfter(start, account, { list, dates: datesOf(query), direction })) {
      if (!holds(booking) || !isIn(query.period, booking)) continue;
      found.push(booking);
      if (found.length > limit) break;
    }
    const more = found.length > limit;
    // A page read backwards that reaches the beginning may be short, and the last page may have become empty: read the first page.
    if (backwards ? !more : after !== undefined && found.length === 0) {
      const { before: _, after: __, ...first } = query;
      return page(account, first);
    }
    const shown = found.slice(0, limit);
    if (backwards) shown.reverse();
    const [top, last] = [shown[0], shown.at(-1)];
    return {
      bookings: shown,
      previous: top && (backwards || after !== undefined) ? cursorAt(top) : undefined,
      next: last && (backwards || more) ? cursorAt(last) : undefined,
      ...defined({ count: await count(account, query) }),
    };
  }

  return { page };
}

const opposite = (direction: Direction): Direction => (direction === 'ascending' ? 'descending' : 'ascending');

const cursorAt = ({ date, bookingId }: BookingDocument): BookingCursor => ({ date, bookingId });

const isWithin = (date: PlainDate, { startDate, endDate }: DateRange): boolean =>
  (startDate === undefined || date >= startDate) && (endDate === undefined || date <= endDate);

/** The dates that are upcoming or past in some zone. {@link isIn} then checks each booking in its own zone. */
function datesOf({ startDate, endDate, period }: PartQuery): DateRange {
  if (period === undefined) return defined({ startDate, endDate });
  if (period.is === 'upcoming') {
    const today = localDate(period.now, period.zone ?? LAST_ZONE);
    return defined({ startDate: startDate === undefined || startDate < today ? today : startDate, endDate });
  }
  const today = localDate(period.now, period.zone ?? FIRST_ZONE);
  return defined({ startDate, endDate: endDate === undefined || endDate > today ? today : endDate });
}

const isIn = (period: PartQuery['period'], booking: BookingDocument): boolean =>
  period === undefined || (period.is === 'upcoming') === endOf(booking) > period.now;

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
