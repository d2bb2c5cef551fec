import { type DeliverableEvent, isDeliverable, payloadOf } from '../contract/webhook-payload.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Deliveries, inPages, RETENTION_MS } from './deliveries.ts';
import type { Registrations } from './registrations.ts';

/** Events of several processes may stand in the log in a slightly other order than their times say, in milliseconds. */
const SKEW_MS = 5 * 60_000;

/** Events recovered at the same time: their deliveries share a commit. */
const PAGE = 100;

/**
 * Makes everything due again that happened since a moment and did not reach a registration: deliveries that failed or were
 * cancelled, and events for which no delivery was ever made, because the registration was disabled then.
 *
 * Goes back 30 days at most: for longer nobody remembers what was delivered, and nothing may be delivered a second time here.
 * @param since milliseconds since the epoch
 * @returns how many deliveries are due
 */
export async function recoverDeliveries(
  deps: {
    readonly events: EventStore;
    readonly registrations: Registrations;
    readonly deliveries: Deliveries;
    readonly clock: Clock;
  },
  webhookId: string,
  since: number,
): Promise<number> {
  const { events, registrations, deliveries, clock } = deps;
  const from = Math.max(since, clock() - RETENTION_MS);
  let due = 0;
  for await (const page of inPages(happenedSince(events, from), PAGE)) {
    const recovered = await Promise.all(page.map((event) => recover(event)));
    due += recovered.filter(Boolean).length;
  }
  return due;

  async function recover(event: Recorded<DeliverableEvent>): Promise<boolean> {
    const webhook = await registrations.recipientFor(webhookId, event);
    if (webhook === undefined) return false;
    const { account } = webhook;
    const delivery = { webhookId: webhook.webhookId, account, eventId: event.id, payload: payloadOf(event) };
    return (await deliveries.add(delivery)) !== undefined || deliveries.revive(`${event.id}:${webhookId}`);
  }
}

/** What subscribers can be told of since a moment (milliseconds since the epoch), latest first. */
async function* happenedSince(events: EventStore, from: number): AsyncGenerator<Recorded<DeliverableEvent>> {
  for await (const stored of events.readAll({ types: Object.keys(WEBHOOK_EVENTS), direction: 'backward' })) {
    const event: Recorded = upcast(stored);
    if (event.metadata.at < toTimestamp(from - SKEW_MS)) return;
    if (event.metadata.at >= toTimestamp(from) && isDeliverable(event)) yield event;
  }
}
