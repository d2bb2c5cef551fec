import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { type DeliverableEvent, type Notice, noticeOf } from '../../contract/webhook-payload.ts';
import type { Stored } from '../../document-store/document-store.ts';
import type { Recorded } from '../../domain/events.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { faultPoint } from '../../runtime/fault-point.ts';
import type { Deliverer } from '../deliverer.ts';
import { type DeliveryDocument, deliveryIdOf, isUntried } from '../delivery.ts';
import type { DeliveryQueue } from '../queue.ts';
import { type Registrations, wasDue } from '../registrations.ts';
import { earlierEvents } from './earlier-events.ts';

type Deps = {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly readModels: ReadModels;
  readonly registrations: Pick<Registrations, 'matching'>;
  readonly queue: Pick<DeliveryQueue, 'add' | 'existing'>;
  readonly deliverer: Pick<Deliverer, 'add' | 'wake'>;
  readonly clock: Clock;
};

/**
 * Stores the deliveries of an event, one for each matching registration, and hands them to the deliverer. Earlier events of the booking
 * come first, even if their own turn is still to come.
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
    /** Deliveries that go first. */
    const first: Stored<DeliveryDocument>[] = [];
    for (const before of earlier) {
      const stored = existing.get(deliveryIdOf(before.id, webhookId));
      if (stored !== undefined && isUntried(stored.document)) first.push(stored);
      if (stored !== undefined || !wasDue(subscriber, before, event)) continue;
      const missing = noticeIfAny(before);
      // If it was stored meanwhile, at its own turn, it need not be in memory yet.
      if (missing !== undefined && !(await store(subscriber, before, missing, first))) deliverer.wake(webhookId);
    }
    // If it was stored before, it is in memory, or it is found by polling.
    await store(subscriber, event, notice, first);
  }

  /** @returns false if it was stored before */
  async function store(
    { webhookId, account }: WebhookDocument,
    { id: eventId, position }: Recorded<DeliverableEvent>,
    notice: Notice,
    first: readonly Stored<DeliveryDocument>[],
  ): Promise<boolean> {
    const added = await queue.add({ webhookId, account, eventId, position, ...notice });
    faultPoint('deliveries stored, not acknowledged');
    if (added !== undefined) deliverer.add(added, first);
    return added !== undefined;
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
