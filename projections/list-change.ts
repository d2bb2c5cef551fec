import type { BookingEvent, Recorded } from '../src/domain/events.ts';
import { projection } from './projection.ts';

/**
 * The last event that changed a list. Its id distinguishes this state of the list from every other, also after a restore, when the log
 * gives positions a second time.
 */
type ListChange = { readonly eventId: string; readonly position: string };

/** What last changed the list of an account's bookings. */
type AccountChanges = { readonly bookings: ListChange };

/**
 * Declares a read model with a document for each account: when its bookings last changed, so that a client learns from one document
 * that it has the current list.
 */
export function bookingChanges(of: {
  readonly name: string;
  readonly version: number;
  /** The account whose list an event changes. */
  readonly key: (event: Recorded<BookingEvent>) => string;
}) {
  const changed = (_: AccountChanges | undefined, { id, position }: Pick<Recorded, 'id' | 'position'>) => ({
    bookings: { eventId: id, position },
  });
  return projection<AccountChanges, BookingEvent>({
    ...of,
    indexes: [],
    createdBy: ['BookingRequested', 'BookingApproved', 'BookingCancelled', 'BookingCompleted'],
    on: {
      BookingRequested: changed,
      BookingApproved: changed,
      BookingCancelled: changed,
      BookingCompleted: changed,
    },
  });
}
