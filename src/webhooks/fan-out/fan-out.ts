import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { webhooks } from '../../../projections/webhooks.ts';
import { isDeliverable } from '../../contract/webhook-payload.ts';
import type { DocumentStore } from '../../document-store/document-store.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { UnknownEvent, upcast } from '../../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import {
  type Consumer,
  type EventStore,
  LOG_START,
  type Position,
  type StoredEvent,
} from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { createLruCache } from '../../runtime/lru-cache.ts';
import { Unavailable } from '../../runtime/unavailable.ts';
import type { Deliverer } from '../deliverer.ts';
import type { DeliveryQueue } from '../queue.ts';
import type { Registrations } from '../registrations.ts';
import type { FailedEvents } from './failed-events.ts';
import { fanOutGroup } from './groups.ts';
import { startRetries } from './retries.ts';
import { storeDeliveries } from './store-deliveries.ts';

/** How long an event waits for the read models before this process leaves the groups. A stop waits as long. */
const READ_MODEL_WAIT_MS = 3_000;
/** After so many waits in vain, another process should try: perhaps the read models of its release are kept up to date. */
const STUCK_AFTER_WAITS = 3;
/** How often a process that has left the groups checks whether it can rejoin. */
const LOOK_EVERY_MS = 500;
/** Events of one kind in progress, most of which wait for a commit. */
const CONCURRENCY = 256;

export type FanOutDeps = {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'ping'>;
  readonly readModels: ReadModels;
  readonly registrations: Pick<Registrations, 'matching' | 'ping'>;
  readonly queue: Pick<DeliveryQueue, 'add' | 'existing'>;
  readonly deliverer: Pick<Deliverer, 'add' | 'wake'>;
  readonly failedEvents: FailedEvents;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly readModelWaitMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
};

export type FanOut = Consumer & {
  /** Whether the read models of this process have lagged behind the events for long. */
  isStuck(): boolean;
};

/**
 * Joins the consumer groups that turn each event into one delivery per matching registration. An event is acknowledged once its
 * deliveries, or its failure, are stored; a redelivered event adds nothing. Waiting never counts as a failure of the event: while its
 * dependencies are unavailable, the process leaves the groups (docs/decisions/webhook-deliveries.md).
 */
export async function startFanOut(deps: FanOutDeps): Promise<FanOut> {
  const { events, documents, readModels, registrations, failedEvents } = deps;
  const { readModelWaitMs = READ_MODEL_WAIT_MS } = deps;
  /** The last position that the read models did not reach in time. */
  let missedPosition: Position = LOG_START;
  /** Since when they have not reached it (monotonic, ms). */
  let behindSince: number | undefined;
  /** Events whose dependencies were unavailable before, read models excepted: the next time only the event waits. */
  const unavailableBefore = createLruCache<string, true>(10_000);

  /** Whether the read model of registrations has passed a position. */
  async function isShown(position: Position, timeoutMs: number): Promise<boolean> {
    const startedAt = performance.now();
    const hasPassed = await readModels.waitFor(position, { projections: [webhooks], timeoutMs });
    behindSince = hasPassed ? undefined : (behindSince ?? startedAt);
    return hasPassed;
  }

  /** @throws {Unavailable} if a dependency is unavailable. Any other error is a failure. */
  async function fanOut(stored: StoredEvent): Promise<void> {
    const event = upcast(stored);
    if (!isDeliverable(event)) return;
    // The read model of registrations may lag behind the event. Once past it, it has every registration made before the event; one made
    // after the event has a later position.
    if (!(await isShown(event.position, readModelWaitMs))) {
      missedPosition = event.position;
      throw new Behind(`The read models have not reached position ${event.position} yet`);
    }
    await storeDeliveries(deps, event);
  }

  /** @throws if this process cannot go on */
  async function handle(stored: StoredEvent): Promise<void> {
    try {
      await fanOut(stored);
    } catch (error) {
      if (error instanceof Unavailable && (error instanceof Behind || !unavailableBefore.has(stored.id))) {
        if (!(error instanceof Behind)) unavailableBefore.set(stored.id, true);
        throw error;
      }
      // The dependencies are back but this event still fails, so only this event must wait.
      if (error instanceof Unavailable || error instanceof UnknownEvent) return failedEvents.postponed(stored, error);
      await failedEvents.failed(stored, error);
      const { id: eventId, type } = stored;
      deps.logger.error({ err: error, eventId, type }, 'An event could not be fanned out; retrying');
    }
  }

  /** Resolves once the dependencies that every event needs are available. */
  async function ready(closing: AbortSignal): Promise<void> {
    await Promise.all([documents.ping(), events.ping(), registrations.ping()]);
    while (!closing.aborted && !(await isShown(missedPosition, LOOK_EVERY_MS)))
      await sleep(LOOK_EVERY_MS, undefined, { signal: closing }).catch(() => {});
  }

  const { logger, pollIntervalMs } = deps;
  const retries = startRetries({ events, failedEvents, fanOut, logger, pollIntervalMs });
  const consumers = await Promise.all(
    keysOf(WEBHOOK_EVENTS).map((kind) =>
      events.consume(fanOutGroup(kind), { types: [kind], concurrency: CONCURRENCY, ready }, handle),
    ),
  );
  return {
    isStuck: () => behindSince !== undefined && performance.now() - behindSince > STUCK_AFTER_WAITS * readModelWaitMs,
    async close() {
      await Promise.all([retries.close(), ...consumers.map((consumer) => consumer.close())]);
    },
  };
}

/** The read models lag, so every later event waits too. */
class Behind extends Unavailable {}
