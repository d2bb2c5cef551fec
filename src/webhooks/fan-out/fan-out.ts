import type { BaseLogger } from 'pino';
import { webhooks } from '../../../projections/webhooks.ts';
import { isDeliverable } from '../../contract/webhook-payload.ts';
import type { DocumentStore } from '../../document-store/document-store.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { FailedEvents } from '../../outbox/failed-events.ts';
import { type FanOut, followKinds } from '../../outbox/follow-kinds.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Deliverer } from '../deliverer.ts';
import type { DeliveryQueue } from '../queue.ts';
import type { Registrations } from '../registrations.ts';
import { FAN_OUT_GROUPS } from './groups.ts';
import { storeDeliveries } from './store-deliveries.ts';

export type FanOutDeps = {
  readonly events: EventStore;
  readonly documents: Pick<DocumentStore, 'open' | 'ping'>;
  readonly readModels: ReadModels;
  readonly registrations: Pick<Registrations, 'matching' | 'ping'>;
  readonly queue: Pick<DeliveryQueue, 'add' | 'existing'>;
  readonly deliverer: Pick<Deliverer, 'add' | 'wake'>;
  readonly failedEvents: FailedEvents;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn' | 'error'>;
  readonly readModelWaitMs?: number | undefined;
  readonly pollIntervalMs?: number | undefined;
  readonly markEveryMs?: number | undefined;
};

/**
 * Turns each event into one delivery per matching registration. An event is done once its deliveries are stored; one that comes again
 * adds nothing (docs/decisions/webhook-deliveries.md).
 */
export async function startFanOut(deps: FanOutDeps): Promise<FanOut> {
  const { events, documents, readModels, failedEvents, logger, readModelWaitMs, pollIntervalMs, markEveryMs } = deps;
  return followKinds({
    events,
    documents,
    readModels,
    failedEvents,
    logger,
    readModelWaitMs,
    pollIntervalMs,
    markEveryMs,
    role: 'webhooks',
    kinds: FAN_OUT_GROUPS.map(({ kind }) => kind),
    groups: FAN_OUT_GROUPS,
    // Once past an event, it has every registration made before the event; one made after the event has a later position.
    reads: [webhooks],
    ping: deps.registrations.ping,
    async handle(event) {
      if (isDeliverable(event)) await storeDeliveries(deps, event);
    },
  });
}
