import type { BookingEvent, Recorded } from './events.ts';
import type { Readable } from './personal-text.ts';
import type { NamedActor } from './shown-actor.ts';
import { type BookingStatus, type Leading, statusAfter } from './space-day.ts';

/** One step in a booking's life: the event in the log, and the state before and after it. */
export type HistoryStep<E = Readable<Recorded<BookingEvent>>> = {
  readonly event: E;
  readonly from: BookingStatus | undefined;
  readonly to: BookingStatus;
};

/** A step and its actor. */
export type NamedStep = HistoryStep & { readonly by: NamedActor };

/** The steps of one booking, from its events in log order. */
export function historySteps<E extends Leading>(events: readonly E[]): HistoryStep<E>[] {
  const steps: HistoryStep<E>[] = [];
  for (const event of events) {
    const from = steps.at(-1)?.to;
    steps.push({ event, from, to: statusAfter(event, from) });
  }
  return steps;
}

export const isBookingEvent = (event: Recorded): event is Recorded<BookingEvent> => event.type.startsWith('Booking');
