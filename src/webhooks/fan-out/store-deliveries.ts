import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { type DeliverableEvent, type Notice, noticeOf } from '../../contract/webhook-payload.ts';
import type { Recorded } from '../../domain/events.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { faultPoint } from '../../runtime/fault-point.ts';
import type { Deliverer } from '../deliverer.ts';
import { deliveryIdOf } from '../delivery.ts';
import type { DeliveryQueue } from '../queue.ts';
import { type Registrations, wasDue } from '../registrations.ts';
import { earlierEvents } from './earlier-events.ts';

type Deps = {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly readModels: ReadModels;
  readonly registrations: Pick<Registrations, 'matching'>;
  readonly queue: Pick<DeliveryQueue, 'add' | 'existing'>;
  readonly deliverer: Pick<Deliverer, 'wake'>;
  readonly clock: Clock;
};

/**
 * Stores the deliveries of an event, one for each matching registration, and wakes the deliverer of this thread. Earlier events of the
 * booking come first, even if another process has yet to handle them.
 * @throws {Unavailable} if a dependency is unavailable
 */
export async function storeDeliveries(deps: Deps, event: Recorded<DeliverableEvent>): Promise<void> {
  const { registrations, queue, deliverer } = deps;
  const subscribers = await registrations.matching(event);
  if (subscribers.length === 0) return;
  const earlier = await earlierEvents(deps, event);
  const existing = await queue.existing(
    subscribers.flatMap(({ webhookId }) => earlier.map(({ id }) => deliveryIdOf(id, webhookId))),
  );
  const notice = noticeOf(event);
  await Promise.all(subscribers.map(storeFor));

  async function storeFor(subscriber: WebhookDocument): Promise<void> {
    const { webhookId } = subscriber;
    for (const before of earlier) {
      if (existing.has(deliveryIdOf(before.id, webhookId)) || !wasDue(subscriber, before, event)) continue;
      const missing = noticeIfAny(before);
      if (missing !== undefined) await store(subscriber, before, missing);
    }
    await store(subscriber, event, notice);
    deliverer.wake(webhookId);
  }

  async function store(
    { webhookId, account }: WebhookDocument,
    { id: eventId, position }: Recorded<DeliverableEvent>,
    notice: Notice,
  ): Promise<void> {
    await queue.add({ webhookId, account, eventId, position, ...notice });
    faultPoint('deliveries stored, not acknowledged');
  }
}

/** Undefined for a failing event: its failure is recorded at its own turn, and later events pass. */
function noticeIfAny(event: Recorded<DeliverableEvent>): Notice | undefined {
  try {
    return noticeOf(event);
  } catch {
    return undefined;
  }
}
