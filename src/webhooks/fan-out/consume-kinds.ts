import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../../document-store/document-store.ts';
import type { Recorded } from '../../domain/events.ts';
import { UnknownEvent, upcast } from '../../domain/upcast.ts';
import type { Consumer, EventStore, StoredEvent } from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import { createLruCache } from '../../runtime/lru-cache.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { FailedEvents } from './failed-events.ts';
import { startRetries } from './retries.ts';

/** How long an event waits for the read models before it is handled again. A stop waits as long. */
const READ_MODEL_WAIT_MS = 3_000;
/** After so many waits in vain, another process should try: perhaps the read models of its release are kept up to date. */
const STUCK_AFTER_WAITS = 3;
/** Events of one kind in progress, most of which wait for a commit. */
const CONCURRENCY = 256;

type ConsumeKindsDeps = {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'ping'>;
  readonly readModels: Pick<ReadModels, 'waitFor'>;
  readonly failedEvents: FailedEvents;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  /** Kinds of events, and the consumer group of each. */
  readonly groups: readonly { readonly kind: string; readonly group: string }[];
  /** The read models that `handle` reads. Each event waits until they have passed it. */
  readonly reads: readonly { readonly name: string }[];
  /**
   * Stores what an event leads to. An event that comes again must add nothing.
   * @throws {Unavailable} if a dependency is unavailable. Any other error is a failure
   */
  readonly handle: (event: Recorded) => Promise<void>;
  /** Resolves if everything that `handle` needs besides the stores is available. */
  readonly ping: () => Promise<void>;
  readonly readModelWaitMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
};

export type FanOut = Consumer & {
  /** Whether the read models of this process have lagged behind the events for long. */
  isStuck(): boolean;
};

/**
 * Joins the consumer groups of kinds of events. An event is acknowledged once `handle` has stored what it leads to, or once its failure is
 * stored. Waiting never counts as a failure of the event: while its dependencies are unavailable, it is tried again
 * (docs/decisions/webhook-deliveries.md).
 */
export async function consumeKinds(deps: ConsumeKindsDeps): Promise<FanOut> {
  const { events, documents, readModels, reads, failedEvents, handle: store, ping } = deps;
  const { readModelWaitMs = READ_MODEL_WAIT_MS } = deps;
  /** Since when they have not reached it (monotonic, ms). */
  let behindSince: number | undefined;
  /** Events whose dependencies were unavailable before, read models excepted: the next time only the event waits. */
  const unavailableBefore = createLruCache<string, true>(10_000);

  /** @throws {Unavailable} if a dependency is unavailable. Any other error is a failure. */
  async function fanOut(stored: StoredEvent): Promise<void> {
    const event: Recorded = upcast(stored);
    const { position } = event;
    const startedAt = performance.now();
    const hasPassed = await readModels.waitFor(position, { projections: reads, timeoutMs: readModelWaitMs });
    behindSince = hasPassed ? undefined : (behindSince ?? startedAt);
    if (!hasPassed) throw new Behind(`The read models have not reached position ${position} yet`);
    await store(event);
  }

  /** @throws if the event has to be handled again */
  async function handle(stored: StoredEvent): Promise<void> {
    try {
      await fanOut(stored);
    } catch (error) {
      if (error instanceof Behind) throw error;
      if (error instanceof Unavailable && !(unavailableBefore.has(stored.id) && (await isAvailable()))) {
        unavailableBefore.set(stored.id, true);
        throw error;
      }
      // The dependencies are back but this event still fails, so only this event must wait.
      if (error instanceof Unavailable || error instanceof UnknownEvent) return failedEvents.postponed(stored, error);
      await failedEvents.failed(stored, error);
      const { id: eventId, type } = stored;
      deps.logger.error({ err: error, eventId, type }, 'An event could not be fanned out; retrying');
    }
  }

  let checking: Promise<boolean> | undefined;
  /** Whether the dependencies that every event needs are available. Events that wait share a check. */
  function isAvailable(): Promise<boolean> {
    checking ??= Promise.all([documents.ping(), events.ping(), ping()])
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        checking = undefined;
      });
    return checking;
  }

  const { logger, pollIntervalMs } = deps;
  const retries = startRetries({ events, failedEvents, fanOut, logger, pollIntervalMs });
  const consumers = await Promise.all(
    deps.groups.map(({ kind, group }) => events.consume(group, { types: [kind], concurrency: CONCURRENCY }, handle)),
  );
  return {
    isStuck: () => behindSince !== undefined && performance.now() - behindSince > STUCK_AFTER_WAITS * readModelWaitMs,
    async close() {
      await Promise.all([retries.close(), ...consumers.map((consumer) => consumer.close())]);
    },
  };
}

/** The read models lag. */
class Behind extends Unavailable {}
