import { toBookingDto } from '../contract/booking.ts';
import { BookingDto } from '../contract/schemas/booking.ts';
import type { BookingRows } from '../queries/bookings.ts';
import { serializerOf } from './serializer.ts';

/** About 400 bytes each. */
const KEPT_TEXTS = 20_000;

const stringify = serializerOf(BookingDto);

type Kept = {
  readonly key: string;
  readonly version: number;
  readonly text: string;
  /** What followed it in the last list: most likely it does again, and comparing takes a third of the time of looking up. */
  next: Kept | undefined;
};

/**
 * Makes the JSON of bookings, and keeps it: most are the same in the next list, and neither have to be read nor serialised again
 * (docs/decisions/rest-api.md).
 */
export function createBookingTexts(): (page: BookingRows) => readonly string[] {
  let of = '';
  const kept = new Map<string, Kept>();
  return ({ collection, rows }) => {
    if (collection !== of) kept.clear();
    of = collection;
    let before: Kept | undefined;
    return rows.map((row) => {
      const { key, version } = row;
      const likely = before?.next;
      const known = likely?.key === key ? likely : kept.get(key);
      if (known?.version === version) {
        if (before !== undefined) before.next = known;
        before = known;
        return known.text;
      }
      // Flat: what the serialiser returns is a tree of pieces, which takes more memory and is put together with each list.
      const text = Buffer.from(stringify(toBookingDto(row.read()))).toString();
      if (kept.size >= KEPT_TEXTS) kept.clear();
      const made: Kept = { key, version, text, next: known?.next };
      kept.set(key, made);
      if (before !== undefined) before.next = made;
      before = made;
      return text;
    });
  };
}
