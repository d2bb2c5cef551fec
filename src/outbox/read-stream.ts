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
