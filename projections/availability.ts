import type { BookingCancelled, BookingRequested } from '../src/domain/events.ts';
import type { BookingId, PlainDate, SpaceId } from '../src/domain/ids.ts';
import type { Interval } from '../src/domain/time-slots.ts';
import { projection } from './projection.ts';

export type AvailabilityDocument = {
  readonly spaceId: SpaceId;
  readonly date: PlainDate;
  /** Hours held by Pending and Approved bookings. */
  readonly taken: readonly (Interval & { readonly bookingId: BookingId })[];
};

export const availabilityKey = (spaceId: number, date: string): string => `${spaceId}:${date}`;

/** Which hours of a space are taken on a date. Without a document the whole day is open. */
export const availability = projection<AvailabilityDocument, BookingRequested | BookingCancelled>({
  name: 'availability',
  version: 2,
  indexes: [],
  key: (event) => availabilityKey(event.data.spaceId, event.data.date),
  on: {
    BookingRequested: (document, { data }) => ({
      spaceId: data.spaceId,
      date: data.date,
      taken: [...(document?.taken ?? []), { bookingId: data.bookingId, start: data.startHour, until: data.freeFrom }],
    }),
    BookingCancelled: (document, { data }) =>
      document && { ...document, taken: document.taken.filter(({ bookingId }) => bookingId !== data.bookingId) },
  },
});
