import { toBookingDto } from '../contract/booking.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { unhurried } from '../queries/booking-pages.ts';
import type { BookingRows } from '../queries/bookings.ts';
import type { Queries } from '../queries/queries.ts';

/** In characters. A booking has about 400, and its message up to 500 more. */
const MAX_CACHED = 8_000_000;
/** Bookings whose messages are opened in one batch. */
const OPENED_TOGETHER = 200;

type Rows = BookingRows['rows'];

/** Serialises bookings, and caches the JSON, because most are the same in the next list. */
export function createBookingTexts({ open }: Pick<Queries['bookings'], 'open'>) {
  const cache = new Map<string, { readonly version: number; readonly text: string }>();
  /** What the cached JSON was made of: the collection, and the erasures until then. */
  let cachedOf = '';
  let cachedSize = 0;

  function empty(): void {
    cache.clear();
    cachedSize = 0;
  }

  /** The JSON of bookings by their keys. */
  async function textsOf(rows: Rows, of: string): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    for await (const some of unhurried(inPages(rows, OPENED_TOGETHER))) {
      const bookings = await open(some.map((row) => row.read()));
      for (const [index, booking] of bookings.entries()) {
        texts.set(some[index]?.key ?? '', JSON.stringify(toBookingDto(booking)));
      }
    }
    // Meanwhile another list may have found a text erased.
    if (of === cachedOf) for (const row of rows) store(row, texts.get(row.key));
    return texts;
  }

  function store({ key, version }: Rows[number], text: string | undefined): void {
    if (text === undefined) return;
    if (cachedSize > MAX_CACHED) empty();
    cachedSize += text.length - (cache.get(key)?.text.length ?? 0);
    cache.set(key, { version, text });
  }

  return async ({ collection, rows, erasures }: BookingRows): Promise<readonly string[]> => {
    const of = `${collection} ${erasures}`;
    if (of !== cachedOf) empty();
    cachedOf = of;
    const known = rows.map(({ key, version }) => {
      const cached = cache.get(key);
      return cached?.version === version ? cached.text : undefined;
    });
    if (known.every((text) => text !== undefined)) return known;
    const unknown = rows.filter((_, index) => known[index] === undefined);
    const made = await textsOf(unknown, of);
    return rows.flatMap(({ key }, index) => known[index] ?? made.get(key) ?? []);
  };
}
