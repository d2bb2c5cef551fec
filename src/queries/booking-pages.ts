import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Condition, Find, Query, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { endOf } from '../domain/booking-moments.ts';
import { FIRST_ZONE, isPlainDate, LAST_ZONE, localDate } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import {
  type BookingId,
  brandId,
  communityId,
  type PlainDate,
  spaceId,
  bookingId as toBookingId,
} from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { merged } from '../runtime/merged.ts';
import type { QueryDeps } from './query-deps.ts';

/** Pages of long lists of bookings, in the order of all lists: date, start hour, id (docs/decisions/bookings.md). */

export type Direction = 'ascending' | 'descending';

/** A community sees the bookings of its spaces, a brand its own (docs/guides/rest-api.md#accounts-and-visibility). */
export const isVisibleBooking = (account: Account, booking: BookingDocument): boolean =>
  account.id === (account.kind === 'Community' ? booking.communityId : booking.brandId);

/** Those of the bookings that the account may see, by start hour. */
export const visibleByHour = (account: Account, found: readonly BookingDocument[]): BookingDocument[] =>
  found.filter((booking) => isVisibleBooking(account, booking)).sort((a, b) => a.startHour - b.startHour);

/** Where a page ends. The hour is looked up: it never changes. */
export type BookingCursor = { readonly date: PlainDate; readonly bookingId: number };

/** A cursor as addresses and MCP clients carry it: `2026-11-20:17`. */
export const cursorText = ({ date, bookingId }: BookingCursor): string => `${date}:${bookingId}`;

/** Undefined if the text is not a cursor. */
export function cursorIn(text: string): BookingCursor | undefined {
  const [, date = '', id] = /^(\d{4}-\d{2}-\d{2}):(\d{1,15})$/.exec(text) ?? [];
  return isPlainDate(date) ? { date, bookingId: Number(id) } : undefined;
}

/** Inclusive at both ends. */
export type Dates = { readonly startDate?: PlainDate; readonly endDate?: PlainDate };

/** The same as a range of a query; undefined if neither end is given. */
export const rangeOf = ({ startDate: from, endDate: to }: Dates) =>
  (from ?? to) === undefined ? undefined : defined({ from, to });

/** Filter of a list by fields other than the date. One of the first three equals a value. */
export type BookingList = {
  readonly communityId?: Condition;
  readonly brandId?: Condition;
  readonly spaceId?: Condition;
  readonly status?: BookingStatus;
};

/** Before its end by the clock of its space a booking is upcoming, then past. */
type Period = 'upcoming' | 'past';

/** A booking's place in the order. */
type Place = Pick<BookingDocument, 'date' | 'startHour' | 'bookingId'>;

/** The ranges after a cursor: the rest of its hour, the later hours of its day, the later days. */
type Part = {
  readonly date?: PlainDate | { readonly above?: PlainDate; readonly below?: PlainDate };
  readonly startHour?: number | { readonly above?: number; readonly below?: number };
  readonly bookingId?: { readonly above?: BookingId; readonly below?: BookingId };
};

const ORDER = ['date', 'startHour', 'bookingId'] as const;

const DATE = '2026-12-01' as PlainDate;
const LISTS: readonly BookingList[] = [
  { brandId: brandId(1) },
  { communityId: communityId(1), status: 'Pending' },
  { communityId: communityId(1), brandId: { in: [1, 2] } },
  { communityId: communityId(1), spaceId: { in: [1, 2] }, brandId: { in: [1, 2] } },
  { communityId: communityId(1), spaceId: { in: [1, 2] }, status: 'Approved' },
  { brandId: brandId(1), spaceId: { in: [1, 2] }, status: 'Approved' },
  { brandId: brandId(1), communityId: { in: [1, 2] } },
  { brandId: brandId(1), communityId: communityId(1), status: 'Approved' },
  { brandId: brandId(1), communityId: communityId(1), status: 'Approved', spaceId: spaceId(1) },
  { spaceId: spaceId(1) },
  { spaceId: spaceId(1), status: 'Pending' },
];
const DIRECTIONS = ['ascending', 'descending'] as const;
const PLACE: Place = { date: DATE, startHour: 10, bookingId: toBookingId(7) };
const RANGE: Dates = { startDate: DATE, endDate: DATE };

const inOrder = declareQuery(
  bookings,
  (list: BookingList, dates: Dates, direction: Direction, part: Part, limit: number): Find<BookingDocument> => {
    const { startDate: from, endDate: to } = dates;
    const ofDay = typeof part.date === 'string';
    const range = ofDay ? part.date : { ...defined({ from, to }), ...part.date };
    const hasRange = ofDay || Object.keys(range ?? {}).length > 0;
    return {
      where: { ...list, ...part, ...defined({ date: hasRange ? range : undefined }) },
      sort: ORDER.map((field) => ({ field, direction })),
      limit,
    };
  },
  [{ communityId: communityId(1) }, {}, 'ascending', {}, 1],
  // Both directions of the two most common lists. An index serves both directions.
  ...LISTS.flatMap((list, at) =>
    DIRECTIONS.filter((_, which) => at < 2 || at % 2 === which).flatMap((direction) =>
      [{}, ...partsAfter(PLACE, direction)].map((part): [BookingList, Dates, Direction, Part, number] => [
        list,
        RANGE,
        direction,
        part,
        1,
      ]),
    ),
  ),
);

function partsAfter({ date, startHour, bookingId }: Place, direction: Direction): readonly Part[] {
  return direction === 'ascending'
    ? [
        { date, startHour, bookingId: { above: bookingId } },
        { date, startHour: { above: startHour } },
        { date: { above: date } },
      ]
    : [
        { date, startHour, bookingId: { below: bookingId } },
        { date, startHour: { below: startHour } },
        { date: { below: date } },
      ];
}

export type BookingPart = {
  readonly bookings: readonly BookingDocument[];
  /** Pass as `before` to get the previous page. Undefined on the first page. */
  readonly previous: BookingCursor | undefined;
  /** Pass as `after` to get the next page. Undefined on the last page. */
  readonly next: BookingCursor | undefined;
  /** Total number of bookings, at most `countUpTo`, if requested. */
  readonly count?: number;
};

export type PartQuery = Dates & {
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
  /** Whether to count the bookings of all pages, up to this number. */
  readonly countUpTo?: number;
  /** A condition that the engine cannot check. */
  readonly holds?: (booking: BookingDocument) => boolean;
};

/** From this many lists on, each is read in small steps, because most of a large first step would not fit on the page. */
const MANY_LISTS = 4;
const SMALL_STEP = 8;

/** The bookings of one list after a cursor, read `step` at a time. */
async function* bookingsOf(
  find: (query: Query<BookingDocument>) => AsyncIterable<Stored<BookingDocument>>,
  list: BookingList,
  { dates, direction, from, step }: { dates: Dates; direction: Direction; from: Place | undefined; step: number },
) {
  let place = from;
  for (;;) {
    let last: BookingDocument | undefined;
    for (const part of place === undefined ? [{}] : partsAfter(place, direction)) {
      let read = 0;
      for await (const { document } of find(inOrder(list, dates, direction, part, step))) {
        read += 1;
        last = document;
        yield document;
      }
      // This list may have more. The next round continues after its last booking.
      if (read === step) break;
      last = undefined;
    }
    if (last === undefined) return;
    place = last;
  }
}

/**
 * Reads a page of several lists merged: in order, each booking once. Reads little more than it returns, on any page. A booking that
 * arrives meanwhile is on its page; none is shown twice or skipped.
 */
export function createBookingPages({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);
  const find = (query: Query<BookingDocument>) => documents.find(query);

  async function placeOf(account: Account, cursor: BookingCursor | undefined): Promise<Place | undefined> {
    if (cursor === undefined) return undefined;
    const { date } = cursor;
    const bookingId = toBookingId(cursor.bookingId);
    const found = (await documents.get(String(bookingId)))?.document;
    // A made-up cursor begins at its date, so that it does not reveal the hour of a booking that the account may not see.
    const isPlace = found !== undefined && found.date === date && isVisibleBooking(account, found);
    return { date, startHour: isPlace ? found.startHour : 0, bookingId };
  }

  async function count(account: Account, lists: readonly BookingList[], query: PartQuery): Promise<number | undefined> {
    const { countUpTo: limit, after: _, before: __, ...whole } = query;
    return limit === undefined ? undefined : (await page(account, lists, { ...whole, limit })).bookings.length;
  }

  /** @param lists bookings that the account may see */
  async function page(account: Account, lists: readonly BookingList[], query: PartQuery): Promise<BookingPart> {
    const { limit, after, before, holds = () => true } = query;
    const backwards = before !== undefined;
    const direction = backwards ? opposite(query.direction) : query.direction;
    const dates = datesOf(query);
    const place = await placeOf(account, before ?? after);
    const found: BookingDocument[] = [];
    if (place === undefined || isWithin(place.date, dates)) {
      const step = lists.length < MANY_LISTS ? limit + 1 : Math.min(SMALL_STEP, limit + 1);
      const streams = lists.map((list) => bookingsOf(find, list, { dates, direction, from: place, step }));
      for await (const booking of merged(streams, (a, b) => compare(a, b, direction))) {
        if (!holds(booking) || !isIn(query.period, booking)) continue;
        found.push(booking);
        if (found.length > limit) break;
      }
    }
    const more = found.length > limit;
    // Near the beginning a page read backwards would be short, and the last page may have become empty.
    if (backwards ? !more : after !== undefined && found.length === 0) {
      const { before: _, after: __, ...first } = query;
      return page(account, lists, first);
    }
    const shown = found.slice(0, limit);
    if (backwards) shown.reverse();
    const [top, last] = [shown[0], shown.at(-1)];
    return {
      bookings: shown,
      previous: top && (backwards || after !== undefined) ? cursorAt(top) : undefined,
      next: last && (backwards || more) ? cursorAt(last) : undefined,
      ...defined({ count: await count(account, lists, query) }),
    };
  }

  return { page };
}

const opposite = (direction: Direction): Direction => (direction === 'ascending' ? 'descending' : 'ascending');

const cursorAt = ({ date, bookingId }: BookingDocument): BookingCursor => ({ date, bookingId });

const isWithin = (date: PlainDate, { startDate, endDate }: Dates): boolean =>
  (startDate === undefined || date >= startDate) && (endDate === undefined || date <= endDate);

/** The dates that are upcoming or past in some zone. {@link isIn} then checks the zone of the space. */
function datesOf({ startDate, endDate, period }: PartQuery): Dates {
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
function compare(a: Place, b: Place, direction: Direction): number {
  const order = a.date === b.date ? a.startHour - b.startHour || a.bookingId - b.bookingId : a.date < b.date ? -1 : 1;
  return direction === 'ascending' ? order : -order;
}
