import { webhooks } from '../../projections/webhooks.ts';
import { isDeliverable, payloadOf } from '../contract/webhook-payload.ts';
import { upcast } from '../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { Consumer, EventStore } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Deliveries } from './deliveries.ts';
import type { Registrations } from './registrations.ts';

export const CONSUMER_GROUP = 'webhook-deliveries';

/** How long an event waits for the read models before it is retried later. A stop waits as long. */
const READ_MODEL_WAIT_MS = 3_000;
/** An event is parked only after the read models have stood still for more than ten minutes. */
const MAX_RETRIES = 100;

/**
 * Joins the consumer group that turns each event into one delivery per matching registration. Any number of processes can join.
 * An event is acknowledged once its deliveries are stored; when it is redelivered, it adds nothing.
 *
 * The read model of registrations may lag behind the event, so it is queried only after the read models have passed the event's
 * position. By then it has every registration made before the event; one made after the event has a later position.
 */
export function startFanOut(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly registrations: Registrations;
  readonly deliveries: Deliveries;
  /** Called for each registration that has something to send. */
  readonly wake: (webhookId: string) => void;
}): Promise<Consumer> {
  const { events, readModels, registrations, deliveries, wake } = deps;
  const options = { types: Object.keys(WEBHOOK_EVENTS), maxRetries: MAX_RETRIES, concurrency: 32 };
  return events.consume(CONSUMER_GROUP, options, async (stored) => {
    const event = upcast(stored);
    if (!isDeliverable(event)) return;
    if (!(await readModels.waitFor(event.position, { projections: [webhooks], timeoutMs: READ_MODEL_WAIT_MS }))) {
      throw new Error(`The read models have not reached position ${event.position} yet`);
    }
    const recipients = await registrations.matching(event);
    if (recipients.length === 0) return;
    const payload = payloadOf(event);
    await Promise.all(
      recipients.map(async ({ webhookId, account }) => {
        const { id: eventId, position } = event;
        const added = await deliveries.add({ webhookId, account, eventId, position, payload });
        if (added !== undefined) wake(webhookId);
      }),
    );
  });
}
