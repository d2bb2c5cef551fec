import type { BookingTerms } from '../src/domain/booking-events.ts';
import type {
  BookingApproved,
  BookingCancelled,
  BookingMoved,
  BookingRequested,
  HoursLeft,
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

type Holding =
  | BookingRequested
  | BookingApproved
  | BookingCancelled
  | BookingMoved
  | HoursLeft
  | TimeClosed
  | TimeReopened;

/** The day of an event, which may be its first. */
const dayOf = (document: AvailabilityDocument | undefined, { data: { spaceId, date } }: Holding) =>
  document ?? { spaceId, date, taken: [], closed: [] };

/** The hours that a booking holds. */
const hoursOf = (
  { bookingId, brandId, timeZone, startHour, durationHours, usageHours }: BookingTerms,
  status: 'Pending' | 'Approved',
) => ({
  bookingId,
  brandId,
  status,
  timeZone,
  startHour,
  durationHours,
  ...(usageHours !== undefined && { usageHours }),
});

/** The day once a booking does not hold hours of it any more. */
const without = (document: AvailabilityDocument | undefined, { data }: BookingCancelled | HoursLeft) =>
  document && { ...document, taken: document.taken.filter(({ bookingId }) => bookingId !== data.bookingId) };

/** Which hours of a space are taken on a date, by whom, and how firmly, and which are closed. Without a document the whole day is open. */
export const availability = projection<AvailabilityDocument, Holding>({
  name: 'availability',
  version: 7,
  indexes: [{ fields: ['date'] }],
  key: (event) => availabilityKey(event.data.spaceId, event.data.date),
  on: {
    BookingRequested(document, event) {
      const day = dayOf(document, event);
      return { ...day, taken: [...day.taken, hoursOf(event.data, 'Pending')] };
    },
    BookingMoved(document, event) {
      const day = dayOf(document, event);
      const { bookingId, status } = event.data;
      const others = day.taken.filter((hours) => hours.bookingId !== bookingId);
      return { ...day, taken: [...others, hoursOf(event.data, status)] };
    },
    HoursLeft: without,
    BookingApproved: (document, { data }) =>
      document && {
        ...document,
        taken: document.taken.map((hours) =>
          hours.bookingId === data.bookingId ? { ...hours, status: 'Approved' as const } : hours,
        ),
      },
    BookingCancelled: without,
    TimeClosed(document, event) {
      const { closureId, kind, start, until } = event.data;
      const day = dayOf(document, event);
      return { ...day, closed: [...day.closed, { closureId, kind, start, until }] };
    },
    TimeReopened: (document, { data }) =>
      document && { ...document, closed: document.closed.filter(({ closureId }) => closureId !== data.closureId) },
  },
});
