import { isDeliverable, payloadOf } from '../contract/webhook-payload.ts';
import { upcast } from '../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { Consumer, EventStore } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Deliveries } from './deliveries.ts';
import type { Registrations } from './registrations.ts';

export const CONSUMER_GROUP = 'webhook-deliveries';

/** How long an event waits for the read models before it is tried again later, in milliseconds: a stop waits as long. */
const PATIENCE_MS = 3_000;
/** Ten minutes and more of read models that stand still, before an event is parked. */
const MAX_RETRIES = 100;

/**
 * Joins the consumer group that turns each event into one delivery per matching registration. Any number of processes may.
 * The event is acknowledged once its deliveries are stored; one that comes again finds them there and adds nothing.
 *
 * The read model of registrations may stand behind the event. So it is asked only after the read models have passed the
 * event's position: every registration made before the event is in it by then, and one made after it shows by its own
 * position that it is younger.
 */
export function startFanOut(deps: {
  readonly events: EventStore;
  readonly readModels: ReadModels;
  readonly registrations: Registrations;
  readonly deliveries: Deliveries;
  /** Is told of each registration that has something to send. */
  readonly wake: (webhookId: string) => void;
}): Promise<Consumer> {
  const { events, readModels, registrations, deliveries, wake } = deps;
  const options = { types: Object.keys(WEBHOOK_EVENTS), maxRetries: MAX_RETRIES, concurrency: 32 };
  return events.consume(CONSUMER_GROUP, options, async (stored) => {
    const event = upcast(stored);
    if (!isDeliverable(event)) return;
    if (!(await readModels.waitFor(event.position, PATIENCE_MS))) {
      throw new Error(`The read models have not reached position ${event.position} yet`);
    }
    const recipients = await registrations.matching(event);
    if (recipients.length === 0) return;
    const payload = payloadOf(event);
    await Promise.all(
      recipients.map(async ({ webhookId, account }) => {
        const added = await deliveries.add({ webhookId, account, eventId: event.id, payload });
        if (added !== undefined) wake(webhookId);
      }),
    );
  });
}
