import { bookings } from '../../../projections/bookings.ts';
import type { DeliverableEvent } from '../../contract/webhook-payload.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { BookingMoved, Recorded } from '../../domain/events.ts';
import { isKnown, knownEvent } from '../../domain/known-event.ts';
import { streamOf } from '../../domain/streams.ts';
import type { EventStore, StoredEvent } from '../../event-store/event-store.ts';
import { RETENTION_MS } from '../../outbox/progress.ts';
import { readStream } from '../../outbox/read-stream.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import { deliverable } from '../events.ts';

/** Allowance for clock differences: an event this close to the age limit counts as older. */
const MARGIN_MS = 24 * 3_600_000;

/**
 * The earlier deliverable events of the same booking, in log order, as far back as deliveries are kept: whether an older event was
 * delivered is unknown.
 * @throws {Unavailable} if the log cannot be read
 */
export async function earlierEvents(
  deps: { readonly events: Pick<EventStore, 'readStream'>; readonly readModels: ReadModels; readonly clock: Clock },
  event: Recorded<DeliverableEvent>,
): Promise<Recorded<DeliverableEvent>[]> {
  const { events, readModels, clock } = deps;
  // The booking has no earlier events, though the stream of its day may have some.
  if (event.type === 'BookingRequested') return [];
  const stream = event.type === 'ReviewPosted' ? await bookingStream() : event.stream;
  const former = formerStream(event);
  if (stream === undefined || (former === undefined && stream === event.stream && event.revision === 0)) return [];
  const oldest = toTimestamp(clock() - RETENTION_MS + MARGIN_MS);
  const ofBooking: Recorded<DeliverableEvent>[] = [];
  const streams = new Set(former === undefined ? [stream] : [stream, former]);
  // Streams that are added meanwhile are read, too.
  for (const each of streams)
    for await (const stored of readStream(events, each)) {
      if (stored.position >= event.position) break;
      if (stored.data.bookingId !== event.data.bookingId) continue;
      const before = formerStream(stored);
      if (before !== undefined) streams.add(before);
      const earlier = deliverable(stored);
      if (earlier !== undefined && earlier.metadata.at > oldest) ofBooking.push(earlier);
    }
  return streams.size === 1 ? ofBooking : ofBooking.sort((a, b) => (a.position < b.position ? -1 : 1));

  /** A review has a stream of its own. It does not wait for the read model of bookings, which has long passed the booking. */
  async function bookingStream(): Promise<string | undefined> {
    try {
      const booking = await readModels.collection(bookings).get(String(event.data.bookingId));
      return booking && streamOf.spaceDay(booking.spaceId, booking.date);
    } catch (error) {
      if (error instanceof Unavailable) return undefined;
      throw error;
    }
  }
}

/** The stream of the day that a booking left with this event. */
function formerStream(stored: StoredEvent): string | undefined {
  if (stored.type !== 'BookingMoved' || !isKnown(stored)) return undefined;
  const { from } = knownEvent<BookingMoved>(stored).data;
  return streamOf.spaceDay(from.spaceId, from.date);
}
