import type { BookingApproved, BookingCancelled, BookingRequested } from '../src/domain/events.ts';
import type { BookingId, PlainDate, SpaceId } from '../src/domain/ids.ts';
import type { TakenHours } from '../src/domain/time-slots.ts';
import { projection } from './projection.ts';

export type AvailabilityDocument = {
  readonly spaceId: SpaceId;
  readonly date: PlainDate;
  /** Hours held by Pending and Approved bookings. */
  readonly taken: readonly (TakenHours & { readonly bookingId: BookingId })[];
};

export const availabilityKey = (spaceId: number, date: string): string => `${spaceId}:${date}`;

/** Which hours of a space are taken on a date, by whom, and how firmly. Without a document the whole day is open. */
export const availability = projection<AvailabilityDocument, BookingRequested | BookingApproved | BookingCancelled>({
  name: 'availability',
  version: 3,
  indexes: [],
  key: (event) => availabilityKey(event.data.spaceId, event.data.date),
  on: {
    BookingRequested: (document, { data: { spaceId, date, bookingId, brandId, startHour, freeFrom } }) => ({
      spaceId,
      date,
      taken: [...(document?.taken ?? []), { bookingId, brandId, status: 'Pending', start: startHour, until: freeFrom }],
    }),
    BookingApproved: (document, { data }) =>
      document && {
        ...document,
        taken: document.taken.map((hours) =>
          hours.bookingId === data.bookingId ? { ...hours, status: 'Approved' as const } : hours,
        ),
      },
    BookingCancelled: (document, { data }) =>
      document && { ...document, taken: document.taken.filter(({ bookingId }) => bookingId !== data.bookingId) },
  },
});
