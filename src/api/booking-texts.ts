import { toBookingDto } from '../contract/booking.ts';
import { BookingDto } from '../contract/schemas/booking.ts';
import type { BookingRows } from '../queries/bookings.ts';
import { serializerOf } from './serializer.ts';

/** About 400 bytes each. */
const MAX_TEXTS = 20_000;

const stringify = serializerOf(BookingDto);

/** Serialises bookings, and caches the JSON, because most are the same in the next list. */
export function createBookingTexts(): (page: BookingRows) => readonly string[] {
  let cachedCollection = '';
  const texts = new Map<string, { readonly version: number; readonly text: string }>();
  return ({ collection, rows }) => {
    if (collection !== cachedCollection) texts.clear();
    cachedCollection = collection;
    return rows.map((row) => {
      const { key, version } = row;
      const cached = texts.get(key);
      if (cached?.version === version) return cached.text;
      // Flattened: the serialiser returns a rope, which takes more memory and would be joined again for each list.
      const text = Buffer.from(stringify(toBookingDto(row.read()))).toString();
      if (texts.size >= MAX_TEXTS) texts.clear();
      texts.set(key, { version, text });
      return text;
    });
  };
}
