import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import { type Until, until } from '../domain/as-of.ts';
import { streamsOf } from '../domain/booking-days.ts';
import { type HistoryStep, historySteps, isBookingEvent, type NamedStep } from '../domain/booking-history.ts';
import type { BookingEvent, Recorded } from '../domain/events.ts';
import type { BookingId, PlainDate } from '../domain/ids.ts';
import { knownEvent } from '../domain/known-event.ts';
import type { Viewer } from '../domain/shown-actor.ts';
import { streamOf } from '../domain/streams.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { isVisibleBooking } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';

/** The events of a booking up to a point, and its state then; undefined if it had not been requested. */
export type BookingHistory = { readonly steps: readonly NamedStep[]; readonly booking: ReadableBooking | undefined };

/** The events of a space on a day up to a point, and the bookings then, by start hour. */
export type DayHistory = { readonly steps: readonly NamedStep[]; readonly bookings: readonly ReadableBooking[] };

/** The history of bookings from the log, now or as of an earlier time (docs/decisions/accounts.md). */
export function createBookingHistory({ events, readModels, personalData, names }: QueryDeps) {
  /** The booking events of the stream of a space on a day, or only those of one booking. Keeps no others, because a day may have thousands. */
  async function ofStream(name: string, to: Until, bookingId?: BookingId): Promise<Recorded<BookingEvent>[]> {
    const history: Recorded<BookingEvent>[] = [];
    const stream = knownEvents(events.readStream(name));
    for await (const event of until(stream, to))
      if (isBookingEvent(event) && (bookingId === undefined || event.data.bookingId === bookingId)) history.push(event);
    return history;
  }

  /** The events of a booking on all days that it has been on. */
  async function ofDays(booking: BookingDocument, to: Until): Promise<Recorded<BookingEvent>[]> {
    const each = await Promise.all(streamsOf(booking).map((stream) => ofStream(stream, to, booking.bookingId)));
    return each.flat().sort((a, b) => (a.position < b.position ? -1 : 1));
  }

  async function named(steps: readonly HistoryStep[], viewer: Viewer): Promise<NamedStep[]> {
    const nameOf = names.for(viewer);
    return Promise.all(steps.map(async (step) => ({ ...step, by: await nameOf(step.event.metadata.actor) })));
  }

  return {
    /** The history of a booking, or undefined if the viewer may not see it. */
    async ofBooking(viewer: Viewer, id: number, to: Until = {}): Promise<BookingHistory | undefined> {
      const stored = await readModels.collection(bookings).get(String(id));
      if (stored === undefined || !(viewer === 'operator' || isVisibleBooking(viewer, stored))) return undefined;
      const ownEvents = await ofDays(stored, to);
      const [booking] = await personalData.openBookings(folded(ownEvents));
      return { steps: await named(historySteps(await personalData.openEvents(ownEvents)), viewer), booking };
    },

    /** The history of a space on one day. For the operator, who may see the bookings of every brand. */
    async ofDay(spaceId: number, date: PlainDate, to: Until = {}): Promise<DayHistory> {
      const stream = streamOf.spaceDay(spaceId, date);
      const day = await ofStream(stream, to);
      const stored = await readModels
        .collection(bookings)
        .getMany([...new Set(day.map(({ data }) => String(data.bookingId)))]);
      const whole = ([id, ownEvents]: readonly [BookingId, Recorded<BookingEvent>[]]) => {
        const booking = stored.get(String(id));
        // Most bookings were never on another day.
        return booking?.formerDays === undefined ? ownEvents : ofDays(booking, to);
      };
      const each = await Promise.all([...Map.groupBy(day, ({ data }) => data.bookingId)].map(whole));
      const opened = await Promise.all(
        each.map(async (ownEvents) => historySteps(await personalData.openEvents(ownEvents))),
      );
      const steps = opened.flat().filter(({ event }) => event.stream === stream);
      const onDay = each.flatMap(folded).filter((booking) => booking.spaceId === spaceId && booking.date === date);
      const readable = await personalData.openBookings(onDay);
      return {
        steps: await named(
          steps.sort((a, b) => a.event.revision - b.event.revision),
          'operator',
        ),
        bookings: readable.sort((a, b) => a.startHour - b.startHour || a.bookingId - b.bookingId),
      };
    },
  };
}

async function* knownEvents(stream: AsyncIterable<StoredEvent>): AsyncGenerator<Recorded> {
  for await (const stored of stream) yield knownEvent(stored);
}

/** Folds the events of a booking, if any, with the read model's fold, so that both agree. */
function folded(events: readonly Recorded<BookingEvent>[]): BookingDocument[] {
  let booking: BookingDocument | undefined;
  for (const event of events) booking = bookings.evolve(booking, event);
  return booking === undefined ? [] : [booking];
}
