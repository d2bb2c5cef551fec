import { type DeliverableEvent, isDeliverable } from '../contract/webhook-payload.ts';
import type { Recorded } from '../domain/events.ts';
import { isKnown, upcast } from '../domain/upcast.ts';
import type { EventStore, StoredEvent } from '../event-store/event-store.ts';
import { Unavailable } from '../runtime/unavailable.ts';

/**
 * Reads a stream of the log.
 * @throws {Unavailable} if the log cannot be read
 */
export async function* readStream(
  events: Pick<EventStore, 'readStream'>,
  ...[stream, options]: Parameters<EventStore['readStream']>
): AsyncGenerator<StoredEvent> {
  try {
    yield* events.readStream(stream, options);
  } catch (error) {
    throw new Unavailable(`The event log cannot be read: ${stream}`, error);
  }
}

/** An event as webhooks send it; undefined if it is not deliverable or only a newer release knows it. */
export function deliverable(stored: StoredEvent): Recorded<DeliverableEvent> | undefined {
  if (!isKnown(stored)) return undefined;
  const event: Recorded = upcast(stored);
  return isDeliverable(event) ? event : undefined;
}
