import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { MAX_RULE_CHANGE_MS } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import { ending, expiring } from './due-bookings.ts';
import type { QueryDeps } from './query-deps.ts';

/** How long reading holds the event loop at once, in milliseconds. */
const SLICE_MS = 2;

/** Bookings of all accounts that mail may remind of. Texts stay sealed. */
export function createReminderQueries({ readModels }: QueryDeps) {
  async function* found(query: typeof expiring, from: number, to: number): AsyncGenerator<BookingDocument> {
    const widened = query(toTimestamp(to + MAX_RULE_CHANGE_MS), toTimestamp(from - MAX_RULE_CHANGE_MS));
    const pause = yieldEvery(SLICE_MS);
    for await (const booking of readModels.collection(bookings).find(widened)) {
      await pause();
      yield booking;
    }
  }

  return {
    /** The unanswered requests that may expire between two moments, in milliseconds since the epoch. */
    expiring: (from: number, to: number) => found(expiring, from, to),
    /** The approved bookings that may end between two moments. */
    ending: (from: number, to: number) => found(ending, from, to),
  };
}
