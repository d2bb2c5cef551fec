import { bookings } from '../../projections/bookings.ts';
import { streamOf } from '../commands/aggregates.ts';
import type { Account } from '../domain/account.ts';
import type { BookingEvent, Recorded } from '../domain/events.ts';
import { type BookingStatus, statusAfter } from '../domain/space-day.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { isVisibleBooking } from './bookings.ts';

/** One step in the life of a booking: the event as it stands in the log, and what it did to the state. */
export type HistoryStep = {
  readonly event: Recorded<BookingEvent>;
  readonly from: BookingStatus | undefined;
  readonly to: BookingStatus;
};

export function createBookingHistory(deps: { readonly events: EventStore; readonly readModels: ReadModels }) {
  const { events, readModels } = deps;

  /** The events of a booking in order, or undefined when there is none that the account may see. */
  return async function historyOf(account: Account, bookingId: number): Promise<HistoryStep[] | undefined> {
    const found = await readModels.collection(bookings).get(String(bookingId));
    if (found === undefined || !isVisibleBooking(account, found.document)) return undefined;
    const { spaceId, date } = found.document;
    const steps: HistoryStep[] = [];
    for await (const stored of events.readStream(streamOf.spaceDay(spaceId, date))) {
      const event = upcast(stored);
      if (!isBookingEvent(event) || event.data.bookingId !== bookingId) continue;
      steps.push({ event, from: steps.at(-1)?.to, to: statusAfter(event) });
    }
    return steps;
  };
}

const isBookingEvent = (event: Recorded): event is Recorded<BookingEvent> => event.type.startsWith('Booking');
