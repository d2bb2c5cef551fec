import { BookingDto, publicBooking } from '../contract/booking.ts';
import type { BookingRows } from '../queries/bookings.ts';
import { serializerOf } from './serializer.ts';

/** About 400 bytes each. */
const KEPT_TEXTS = 20_000;

const stringify = serializerOf(BookingDto);

/**
 * Makes the JSON of bookings, and keeps it: most are the same in the next list, and neither have to be read nor serialised again
 * (docs/decisions/streamed-lists.md).
 */
export function createBookingTexts(): (page: BookingRows) => readonly string[] {
  let of = '';
  const kept = new Map<string, { readonly version: number; readonly text: string }>();
  return ({ collection, rows }) => {
    if (collection !== of) kept.clear();
    of = collection;
    return rows.map(({ key, version, read }) => {
      const known = kept.get(key);
      if (known?.version === version) return known.text;
      // Flat: what the serialiser returns is a tree of pieces, which takes more memory and is put together with each list.
      const text = Buffer.from(stringify(publicBooking(read()))).toString();
      if (kept.size >= KEPT_TEXTS) kept.clear();
      kept.set(key, { version, text });
      return text;
    });
  };
}
