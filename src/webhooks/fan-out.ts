import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { webhooks } from '../../projections/webhooks.ts';
import { type DeliverableEvent, isDeliverable, type Notice, noticeOf } from '../contract/webhook-payload.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Recorded } from '../domain/events.ts';
import { keysOf } from '../domain/keys-of.ts';
import { UnknownEvent, upcast } from '../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import {
  type Consumer,
  type EventStore,
  LOG_START,
  type Position,
  type StoredEvent,
} from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { Deliverer } from './deliverer.ts';
import type { Deliveries } from './deliveries.ts';
import { type EarlierEvents, earlierEvents } from './earlier-events.ts';
import type { FailedEvents } from './failed-events.ts';
import { fanOutGroup } from './fan-out-groups.ts';
import { startRetries } from './fan-out-retries.ts';
import { type Registrations, type Subscriber, wasDue } from './registrations.ts';

/** How long an event waits for the read models before this process leaves it to others. A stop waits as long. */
const READ_MODEL_WAIT_MS = 3_000;
/** How often a process that has left looks whether it can go on. */
const LOOK_EVERY_MS = 500;
/** Events of one kind in progress: some wait for an answer, most of them for a commit. */
const CONCURRENCY = 256;

export type FanOutDeps = {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'ping'>;
  readonly readModels: ReadModels;
  readonly registrations: Registrations;
  readonly deliveries: Deliveries;
  readonly failedEvents: FailedEvents;
  /** Stores a delivery and sees to it that it is sent. Adds nothing if there is one for that event and registration. */
  readonly deliver: Deliverer['deliver'];
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly readModelWaitMs?: number;
  readonly pollIntervalMs?: number;
};

/**
 * Joins the consumer groups that turn each event into one delivery per matching registration. Any number of processes can join.
 * An event is acknowledged once its deliveries are stored, or that it failed; when it is handed out again, it adds nothing.
 *
 * What the events wait for is never counted against them: a process for which something is away leaves the groups, and rejoins
 * when it can go on (docs/decisions/webhook-deliveries.md).
 */
export async function startFanOut(deps: FanOutDeps): Promise<Consumer> {
  const { events, documents, readModels, registrations, deliveries, failedEvents, deliver } = deps;
  const { readModelWaitMs = READ_MODEL_WAIT_MS } = deps;
  /** The position for which this process waited in vain. */
  let behind: Position = LOG_START;
  /** Events for which this process has left, other than to wait for the read models. */
  const leftFor = createLruCache<string, true>(10_000);

  /** Whether the read model of registrations has passed a position. */
  const shown = (position: Position, timeoutMs: number) =>
    readModels.waitFor(position, { projections: [webhooks], timeoutMs });

  /** @throws {Unavailable} if something that it needs is away. Any other error is a failure. */
  async function fanOut(stored: StoredEvent): Promise<void> {
    const event = upcast(stored);
    if (!isDeliverable(event)) return;
    // The read model of registrations may lag behind the event. Once it has passed it, it has every registration made before the
    // event; one made after the event has a later position.
    if (!(await shown(event.position, readModelWaitMs))) {
      behind = event.position;
      throw new Behind(`The read models have not reached position ${event.position} yet`);
    }
    const subscribers = await registrations.matching(event);
    if (subscribers.length > 0) {
      const earlier = await earlierEvents(deps, event);
      await addEarlier(earlier, event, subscribers);
      const notice = noticeOf(event);
      await Promise.all(subscribers.map((subscriber) => add(subscriber, event, notice, earlier.ids)));
    }
  }

  function add(
    { webhook }: Subscriber,
    event: Recorded<DeliverableEvent>,
    notice: Notice,
    earlier: readonly string[] | undefined,
  ): Promise<void> {
    const { webhookId, account } = webhook;
    const { id: eventId, position } = event;
    return deliver({ webhookId, account, eventId, position, ...notice }, earlier);
  }

  /** What the same booking went through before comes first, even if another process has yet to get to it. */
  async function addEarlier(
    { deliverable }: EarlierEvents,
    event: Recorded<DeliverableEvent>,
    subscribers: readonly Subscriber[],
  ): Promise<void> {
    const wanted = deliverable.flatMap((earlier) =>
      subscribers
        .filter((subscriber) => wasDue(subscriber, earlier, event))
        .map((subscriber) => ({ earlier, subscriber, id: `${earlier.id}:${subscriber.webhook.webhookId}` })),
    );
    if (wanted.length === 0) return;
    const missing = await deliveries.missing(wanted.map(({ id }) => id));
    for (const { earlier, subscriber, id } of wanted) {
      const notice = missing.has(id) ? noticeIfAny(earlier) : undefined;
      // One that should be there already is stored first.
      if (notice !== undefined) await add(subscriber, earlier, notice, undefined);
    }
  }

  /** @throws if this process cannot go on */
  async function handle(stored: StoredEvent): Promise<void> {
    try {
      await fanOut(stored);
    } catch (error) {
      if (error instanceof Unavailable && (error instanceof Behind || !leftFor.has(stored.id))) {
        if (!(error instanceof Behind)) leftFor.set(stored.id, true);
        throw error;
      }
      // This process was ready again and the event was not: what is away concerns this one, which must not hold up the others.
      if (error instanceof Unavailable || error instanceof UnknownEvent) return failedEvents.postponed(stored, error);
      await failedEvents.failed(stored, error);
      const { id: eventId, type } = stored;
      deps.logger.error({ err: error, eventId, type }, 'An event could not be fanned out; retrying');
    }
  }

  /** Resolves once nothing is away that every event needs. */
  async function ready(closing: AbortSignal): Promise<void> {
    await Promise.all([documents.ping(), events.ping(), registrations.ping()]);
    while (!closing.aborted && !(await shown(behind, LOOK_EVERY_MS)))
      await sleep(LOOK_EVERY_MS, undefined, { signal: closing }).catch(() => {});
  }

  const retries = startRetries({ ...deps, fanOut });
  const consumers = await Promise.all(
    keysOf(WEBHOOK_EVENTS).map((kind) =>
      events.consume(fanOutGroup(kind), { types: [kind], concurrency: CONCURRENCY, ready }, handle),
    ),
  );
  return {
    async close() {
      await Promise.all([retries.close(), ...consumers.map((consumer) => consumer.close())]);
    },
  };
}

/** The read models lag: every later event waits, too. */
class Behind extends Unavailable {}

/** Undefined for an event that fails: that is recorded when it is its own turn, and later ones pass. */
function noticeIfAny(event: Recorded<DeliverableEvent>): Notice | undefined {
  try {
    return noticeOf(event);
  } catch {
    return undefined;
  }
}
