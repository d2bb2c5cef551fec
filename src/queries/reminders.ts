import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { MAX_RULE_CHANGE_MS } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import type { QueryDeps } from './query-deps.ts';

/** How long reading holds the event loop at once, in milliseconds. */
const SLICE_MS = 2;

/** Unanswered requests whose stored moment of expiry is in a range, earliest first. */
const expiringBetween = declareQuery(
  bookings,
  (from: Timestamp, to: Timestamp): Find<BookingDocument> => ({
    where: { status: 'Pending', expiresAt: { from, to } },
    sort: [{ field: 'expiresAt' }],
  }),
  [toTimestamp(0), toTimestamp(1)],
);

/** Approved bookings whose stored end is in a range, earliest first. */
const endingBetween = declareQuery(
  bookings,
  (from: Timestamp, to: Timestamp): Find<BookingDocument> => ({
    where: { status: 'Approved', endsAt: { from, to } },
    sort: [{ field: 'endsAt' }],
  }),
  [toTimestamp(0), toTimestamp(1)],
);

/** Bookings of all accounts that mail may remind of. Texts stay sealed. The stored moments only help to find them (docs/decisions/time.md). */
export function createReminderQueries({ readModels }: QueryDeps) {
  async function* found(query: ReturnType<typeof expiringBetween>): AsyncGenerator<BookingDocument> {
    const pause = yieldEvery(SLICE_MS);
    for await (const { document } of readModels.collection(bookings).find(query)) {
      await pause();
      yield document;
    }
  }

  const widened = (from: number, to: number): [Timestamp, Timestamp] => [
    toTimestamp(from - MAX_RULE_CHANGE_MS),
    toTimestamp(to + MAX_RULE_CHANGE_MS),
  ];

  return {
    /** The unanswered requests that may expire between two moments, in milliseconds since the epoch. */
    expiring: (from: number, to: number) => found(expiringBetween(...widened(from, to))),
    /** The approved bookings that may end between two moments. */
    ending: (from: number, to: number) => found(endingBetween(...widened(from, to))),
  };
}
