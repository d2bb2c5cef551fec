import type {
  BookingApproved,
  BookingCancelled,
  BookingRequested,
  TimeClosed,
  TimeReopened,
} from '../src/domain/events.ts';
import type { ClosedHours } from '../src/domain/held-times.ts';
import type { BookingId, ClosureId, PlainDate, SpaceId } from '../src/domain/ids.ts';
import type { TakenHours } from '../src/domain/time-slots.ts';
import { projection } from './projection.ts';

export type AvailabilityDocument = {
  readonly spaceId: SpaceId;
  readonly date: PlainDate;
  /** Hours held by bookings, also by those that are over: time is kept free around them. */
  readonly taken: readonly (TakenHours & { readonly bookingId: BookingId })[];
  /** Hours that the community has closed, or keeps for an event of its own. Without titles, which brands do not see. */
  readonly closed: readonly (ClosedHours & { readonly closureId: ClosureId })[];
};

export const availabilityKey = (spaceId: number, date: string): string => `${spaceId}:${date}`;

type Holding = BookingRequested | BookingApproved | BookingCancelled | TimeClosed | TimeReopened;

/** The day of an event, which may be its first. */
const dayOf = (document: AvailabilityDocument | undefined, { data: { spaceId, date } }: Holding) =>
  document ?? { spaceId, date, taken: [], closed: [] };

/** Which hours of a space are taken on a date, by whom, and how firmly, and which are closed. Without a document the whole day is open. */
export const availability = projection<AvailabilityDocument, Holding>({
  name: 'availability',
  version: 6,
  indexes: [{ fields: ['date'] }],
  key: (event) => availabilityKey(event.data.spaceId, event.data.date),
  on: {
    BookingRequested(document, event) {
      const { bookingId, brandId, timeZone, startHour, durationHours, usageHours } = event.data;
      const day = dayOf(document, event);
      const hours = {
        bookingId,
        brandId,
        status: 'Pending' as const,
        timeZone,
        startHour,
        durationHours,
        ...(usageHours !== undefined && { usageHours }),
      };
      return { ...day, taken: [...day.taken, hours] };
    },
    BookingApproved: (document, { data }) =>
      document && {
        ...document,
        taken: document.taken.map((hours) =>
          hours.bookingId === data.bookingId ? { ...hours, status: 'Approved' as const } : hours,
        ),
      },
    BookingCancelled: (document, { data }) =>
      document && { ...document, taken: document.taken.filter(({ bookingId }) => bookingId !== data.bookingId) },
    TimeClosed(document, event) {
      const { closureId, kind, start, until } = event.data;
      const day = dayOf(document, event);
      return { ...day, closed: [...day.closed, { closureId, kind, start, until }] };
    },
    TimeReopened: (document, { data }) =>
      document && { ...document, closed: document.closed.filter(({ closureId }) => closureId !== data.closureId) },
  },
});
