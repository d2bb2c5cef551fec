import type { BookingDocument } from '../../../projections/bookings.ts';
import { MAX_SERIES_DAYS } from '../../domain/series.ts';
import type { Queries } from '../../queries/queries.ts';
import { isMatching, placeIn } from '../../queries/requests.ts';
import type { AccountOf } from '../parts/visit.ts';
import type { Cursor, RequestList } from './request-list.ts';

/** A row of the inbox: a request, or those of a series (docs/decisions/bookings.md#series). */
export type Entry = {
  /** The request that names the row, also after it was answered. */
  readonly key: number;
  /** The first request that waits, or else the one that names the row. */
  readonly request: BookingDocument;
  /** The requests that wait and belong to the list, in its order. */
  readonly waiting: readonly BookingDocument[];
  /** All days of the series. Empty for a request that stands alone. */
  readonly days: readonly BookingDocument[];
};

type List = Pick<RequestList, 'filter' | 'sort'>;

/** Reads the days of the series of each booking, those of one series once. */
function seriesReader({ requests }: Pick<Queries, 'requests'>) {
  const known = new Map<string, Promise<BookingDocument[]>>();
  return (booking: BookingDocument): Promise<BookingDocument[]> | [] =>
    booking.series === undefined
      ? []
      : known.getOrInsertComputed(`${booking.brandId} ${booking.series}`, () => requests.series(booking));
}

/** The row of a booking. Beyond the first days of a series, each request has a row of its own. */
function entryOf({ filter, sort }: List, booking: BookingDocument, series: readonly BookingDocument[]): Entry {
  const days = series.some(({ bookingId }) => bookingId === booking.bookingId) ? series : [];
  const waiting = (days.length === 0 ? [booking] : days)
    .filter((day) => day.status === 'Pending' && isMatching(filter, day))
    .toSorted((a, b) => (isBefore(placeIn(sort, a), placeIn(sort, b)) ? -1 : 1));
  return { key: booking.bookingId, request: waiting[0] ?? booking, waiting, days };
}

function isBefore(a: Cursor, b: Cursor): boolean {
  const differing = a.findIndex((value, index) => value !== b[index]);
  return (a[differing] ?? '') < (b[differing] ?? '');
}

/** The rows of bookings, in their order, each series once. */
export async function entriesOf(
  queries: Pick<Queries, 'requests'>,
  list: List,
  bookings: readonly BookingDocument[],
): Promise<readonly Entry[]> {
  const seriesOf = seriesReader(queries);
  const read = await Promise.all(bookings.map(async (booking) => entryOf(list, booking, await seriesOf(booking))));
  const shown = new Set<number>();
  return read.filter(({ key, days }) => {
    if (shown.has(key)) return false;
    for (const { bookingId } of days) shown.add(bookingId);
    return true;
  });
}

/**
 * The first rows of a list from a place on. A series is where its first request is, so the others on the way are passed over: one more read
 * for each hundred.
 */
export async function entriesFrom(
  queries: Pick<Queries, 'requests'>,
  { id }: AccountOf<'Community'>,
  list: List,
  { after, limit, direction = 'ascending' }: { after?: Cursor | undefined; limit: number; direction?: Direction },
): Promise<readonly Entry[]> {
  const seriesOf = seriesReader(queries);
  const entries: Entry[] = [];
  let place = after;
  for (let most = limit; ; most = limit + MAX_SERIES_DAYS) {
    const part = { order: list.sort, direction, after: place, limit: most };
    const page = await queries.requests.pending(id, list.filter, part);
    const read = await Promise.all(page.map(async (booking) => entryOf(list, booking, await seriesOf(booking))));
    for (const entry of read) if (entry.waiting[0]?.bookingId === entry.key) entries.push(entry);
    const last = page.at(-1);
    if (entries.length >= limit || page.length < most || last === undefined) return entries.slice(0, limit);
    place = placeIn(list.sort, last);
  }
}

type Direction = 'ascending' | 'descending';
