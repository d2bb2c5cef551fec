import type { BookingEvent, Recorded } from './events.ts';
import type { BookingId } from './ids.ts';
import { type BookingStatus, statusAfter } from './space-day.ts';

/** One step in a booking's life: the event in the log, and the state before and after it. */
export type HistoryStep = {
  readonly event: Recorded<BookingEvent>;
  readonly from: BookingStatus | undefined;
  readonly to: BookingStatus;
};

/** The steps of one booking, picked from the events of its space-day in log order. */
export function historySteps(bookingId: BookingId, events: Iterable<Recorded>): HistoryStep[] {
  const steps: HistoryStep[] = [];
  for (const event of events) {
    if (!isBookingEvent(event) || event.data.bookingId !== bookingId) continue;
    steps.push({ event, from: steps.at(-1)?.to, to: statusAfter(event) });
  }
  return steps;
}

const isBookingEvent = (event: Recorded): event is Recorded<BookingEvent> => event.type.startsWith('Booking');
