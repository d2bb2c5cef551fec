import { bookings } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import { eventsOfBooking, type HistoryStep, historySteps } from '../domain/booking-history.ts';
import { streamOf } from '../domain/streams.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { isVisibleBooking } from './bookings.ts';

export function createBookingHistory(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly personalData: PersonalData;
}) {
  const { events, readModels, personalData } = deps;

  /** The events of a booking in order, or undefined if the account may not see it. */
  return async function historyOf(account: Account, id: number): Promise<HistoryStep[] | undefined> {
    const found = await readModels.collection(bookings).get(String(id));
    if (found === undefined || !isVisibleBooking(account, found.document)) return undefined;
    const { bookingId, spaceId, date } = found.document;
    const stream = await Array.fromAsync(events.readStream(streamOf.spaceDay(spaceId, date)), upcast);
    return historySteps(await personalData.openEvents(eventsOfBooking(bookingId, stream)));
  };
}
