import { bookings } from '../../../projections/bookings.ts';
import type { DeliverableEvent } from '../../contract/webhook-payload.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { Recorded } from '../../domain/events.ts';
import { streamOf } from '../../domain/streams.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import { RETENTION_MS } from '../delivery.ts';
import { deliverable, readStream } from '../events.ts';

/** Clocks differ: an event that is nearly as old as its delivery may get counts as older. */
const MARGIN_MS = 24 * 3_600_000;

/** What happened to the same booking before an event. */
export type EarlierEvents = {
  /** The ids of all of them. Absent if they cannot be known for now. */
  readonly ids?: readonly string[];
  /**
   * The deliverable ones, in the order of the log. Only those whose deliveries would still be kept: whether an older one was
   * delivered is not known.
   */
  readonly deliverable: readonly Recorded<DeliverableEvent>[];
};

const FIRST: EarlierEvents = { ids: [], deliverable: [] };

/** @throws {Unavailable} if the log cannot be read */
export async function earlierEvents(
  deps: { readonly events: Pick<EventStore, 'readStream'>; readonly readModels: ReadModels; readonly clock: Clock },
  event: Recorded<DeliverableEvent>,
): Promise<EarlierEvents> {
  const { events, readModels, clock } = deps;
  // Nothing has happened to the booking before, whatever has to others of that day.
  if (event.type === 'BookingRequested') return FIRST;
  const stream = event.type === 'ReviewPosted' ? await bookingStream() : event.stream;
  if (stream === undefined) return { deliverable: [] };
  if (stream === event.stream && event.revision === 0) return FIRST;
  const oldest = toTimestamp(clock() - RETENTION_MS + MARGIN_MS);
  const ids: string[] = [];
  const found: Recorded<DeliverableEvent>[] = [];
  for await (const stored of readStream(events, stream)) {
    if (stored.position >= event.position) break;
    if (stored.data.bookingId !== event.data.bookingId) continue;
    ids.push(stored.id);
    const earlier = deliverable(stored);
    if (earlier !== undefined && earlier.metadata.at > oldest) found.push(earlier);
  }
  return { ids, deliverable: found };

  /** A review has a stream of its own. It does not wait for the read model of bookings, which are days old by then. */
  async function bookingStream(): Promise<string | undefined> {
    try {
      const booking = (await readModels.collection(bookings).get(String(event.data.bookingId)))?.document;
      return booking && streamOf.spaceDay(booking.spaceId, booking.date);
    } catch (error) {
      if (error instanceof Unavailable) return undefined;
      throw error;
    }
  }
}
