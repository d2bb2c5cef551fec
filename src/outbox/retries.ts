import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import { inRounds } from '../event-loop/rounds.ts';
import type { Consumer, EventStore, StoredEvent } from '../event-store/event-store.ts';
import { type FailedEvent, type FailedEvents, isWaiting } from './failed-events.ts';
import { POLL_INTERVAL_MS } from './poll.ts';
import { readStream } from './read-stream.ts';

/** Failed events read per poll. */
const PAGE = 256;
/** A poll stops after this many events in a row that have to wait. */
const ENOUGH_WAITING = 8;

/** Retries failed events when they are due, one at a time. */
export function startRetries(deps: {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly failedEvents: FailedEvents;
  /** @throws {Unavailable} if a dependency is unavailable. Any other error is a failure. */
  readonly fanOut: (event: StoredEvent) => Promise<void>;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly pollIntervalMs?: number | undefined;
}): Consumer {
  const { events, failedEvents, fanOut, logger, pollIntervalMs = POLL_INTERVAL_MS } = deps;
  const closing = new AbortController();
  const polling = poll().then(() => inRounds(pollIntervalMs, closing.signal, poll));

  async function poll(): Promise<void> {
    try {
      let waiting = 0;
      for (const event of await failedEvents.due(PAGE)) {
        if (closing.signal.aborted) return;
        waiting = (await retry(event)) === 'waits' ? waiting + 1 : 0;
        if (waiting === ENOUGH_WAITING) break;
      }
    } catch (error) {
      logger.warn({ err: error }, 'Failed events could not be tried again; retrying');
    }
  }

  async function retry(failed: Stored<FailedEvent>): Promise<'tried' | 'waits'> {
    const { eventId, type, stream, revision } = failed.document;
    try {
      for await (const event of readStream(events, stream, { from: revision, limit: 1 }))
        if (event.id === eventId) await fanOut(event);
      await failedEvents.handled(failed);
    } catch (error) {
      const after = await failedEvents.failedAgain(failed, error);
      if (isWaiting(error)) return 'waits';
      const what = after?.state === 'Parked' ? 'parked; see `venue parked list`' : 'retrying';
      logger.error({ err: error, eventId, type }, `An event could not be fanned out; ${what}`);
    }
    return 'tried';
  }

  return {
    async close() {
      closing.abort();
      await polling;
    },
  };
}
