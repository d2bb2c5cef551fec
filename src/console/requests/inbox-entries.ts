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

/** The days of a series, and those that wait and belong to a list. */
type SeriesOfList = Pick<Entry, 'days' | 'waiting'> & { readonly ids: ReadonlySet<number> };

/** Makes the row of each booking of a list. The days of a series are read and sorted once. */
function entryReader({ requests }: Pick<Queries, 'requests'>, list: List) {
  const known = new Map<string, Promise<SeriesOfList>>();
  async function read(booking: BookingDocument): Promise<SeriesOfList> {
    const days = await requests.series(booking);
    return { days, waiting: waitingAmong(list, days), ids: new Set(days.map(({ bookingId }) => bookingId)) };
  }
  return async (booking: BookingDocument): Promise<Entry> => {
    const { bookingId: key, brandId, series } = booking;
    const whole =
      series === undefined ? undefined : await known.getOrInsertComputed(`${brandId} ${series}`, () => read(booking));
    // Beyond the first days of a series, each request has a row of its own.
    const { days, waiting } = whole?.ids.has(key) ? whole : { days: [], waiting: waitingAmong(list, [booking]) };
    return { key, request: waiting[0] ?? booking, waiting, days };
  };
}

const waitingAmong = ({ filter, sort }: List, days: readonly BookingDocument[]): readonly BookingDocument[] =>
  days
    .filter((day) => day.status === 'Pending' && isMatching(filter, day))
    .toSorted((a, b) => (isBefore(placeIn(sort, a), placeIn(sort, b)) ? -1 : 1));

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
  const read = await Promise.all(bookings.map(entryReader(queries, list)));
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
  const entryOf = entryReader(queries, list);
  const entries: Entry[] = [];
  let place = after;
  for (let most = limit; ; most = limit + MAX_SERIES_DAYS) {
    const part = { order: list.sort, direction, after: place, limit: most };
    const page = await queries.requests.pending(id, list.filter, part);
    for (const entry of await Promise.all(page.map(entryOf)))
      if (entry.waiting[0]?.bookingId === entry.key) entries.push(entry);
    const last = page.at(-1);
    if (entries.length >= limit || page.length < most || last === undefined) return entries.slice(0, limit);
    place = placeIn(list.sort, last);
  }
}

type Direction = 'ascending' | 'descending';
