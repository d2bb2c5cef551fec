import type { DeliveryState } from '../../contract/delivery.ts';
import { type DeliverableEvent, type Notice, noticeOf } from '../../contract/webhook-payload.ts';
import type { Recorded } from '../../domain/events.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { ReadModels } from '../../read-models/read-models.ts';
import type { Clock } from '../../runtime/clock.ts';
import { faultPoint } from '../../runtime/fault-point.ts';
import type { Deliverer } from '../deliverer.ts';
import { deliveryIdOf } from '../delivery.ts';
import type { DeliveryQueue } from '../queue.ts';
import { type Registrations, type Subscriber, wasDue } from '../registrations.ts';
import { type EarlierEvents, earlierEvents } from './earlier-events.ts';

type Deps = {
  readonly events: Pick<EventStore, 'readStream'>;
  readonly readModels: ReadModels;
  readonly registrations: Pick<Registrations, 'matching'>;
  readonly queue: Pick<DeliveryQueue, 'add' | 'statesOf'>;
  readonly deliverer: Pick<Deliverer, 'offer' | 'wake'>;
  readonly clock: Clock;
};

/**
 * Stores the deliveries of an event, one for each matching registration, and hands them to the deliverer of this thread.
 * @throws {Unavailable} if a dependency is unavailable
 */
export async function storeDeliveries(deps: Deps, event: Recorded<DeliverableEvent>): Promise<void> {
  const subscribers = await deps.registrations.matching(event);
  if (subscribers.length === 0) return;
  const earlier = await earlierEvents(deps, event);
  const ids = subscribers.flatMap(({ webhook }) =>
    (earlier.ids ?? []).map((id) => deliveryIdOf(id, webhook.webhookId)),
  );
  const states = await deps.queue.statesOf(ids);
  const notice = noticeOf(event);
  await Promise.all(subscribers.map((subscriber) => storeFor(subscriber, event, notice, earlier, states)));

  /** Earlier events of the booking come first, even if another process has yet to handle them. */
  async function storeFor(
    subscriber: Subscriber,
    event: Recorded<DeliverableEvent>,
    notice: Notice,
    { ids, deliverable }: EarlierEvents,
    states: ReadonlyMap<string, DeliveryState>,
  ): Promise<void> {
    const { webhookId } = subscriber.webhook;
    const arePassed = ids?.every((id) => states.get(deliveryIdOf(id, webhookId)) !== 'Pending') ?? false;
    for (const before of deliverable) {
      if (states.has(deliveryIdOf(before.id, webhookId)) || !wasDue(subscriber, before, event)) continue;
      const missing = noticeIfAny(before);
      if (missing !== undefined) await store(subscriber, before, missing, arePassed);
    }
    await store(subscriber, event, notice, arePassed);
  }

  /** @param isNext false if an earlier delivery of the booking may be pending that the deliverer does not know of */
  async function store(
    { webhook: { webhookId, account } }: Subscriber,
    { id: eventId, position }: Recorded<DeliverableEvent>,
    notice: Notice,
    isNext: boolean,
  ): Promise<void> {
    const added = await deps.queue.add({ webhookId, account, eventId, position, ...notice });
    faultPoint('worker: deliveries stored, not acknowledged');
    if (added !== undefined && isNext) deps.deliverer.offer(added);
    else deps.deliverer.wake(webhookId);
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
