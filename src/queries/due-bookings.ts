import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';

/** By their stored moments, which only help to find bookings (docs/decisions/time.md); earliest first. */
const due = (status: 'Pending' | 'Approved', at: 'expiresAt' | 'endsAt') =>
  declareQuery(
    bookings,
    (to: Timestamp, from?: Timestamp): Find<BookingDocument> => ({
      where: { status, [at]: defined({ from, to }) },
      sort: [{ field: at }],
    }),
    [toTimestamp(0)],
    [toTimestamp(1), toTimestamp(0)],
  );

/** Unanswered requests that expire at a moment at the latest, and not before another. */
export const expiring = due('Pending', 'expiresAt');
/** Approved bookings that end then. */
export const ending = due('Approved', 'endsAt');
