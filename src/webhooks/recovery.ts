import { type DeliverableEvent, isDeliverable, payloadOf } from '../contract/webhook-payload.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Recorded } from '../domain/events.ts';
import { upcast } from '../domain/upcast.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Deliveries, inPages, RETENTION_MS } from './deliveries.ts';
import type { Registrations } from './registrations.ts';

/** How far events of different processes may be out of chronological order in the log. */
const SKEW_MS = 5 * 60_000;

/** Events recovered together: their deliveries share a commit. */
const PAGE = 100;

/**
 * Makes everything due that has happened since a given time and did not reach a registration: failed and cancelled deliveries,
 * and events for which no delivery was created because the registration was disabled.
 *
 * Goes back 30 days at most: deliveries are not kept for longer, and nothing that was delivered may be delivered again.
 * @param since milliseconds since the epoch
 * @returns how many deliveries have become due
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
    const { id: eventId, position } = event;
    const delivery = { webhookId: webhook.webhookId, account, eventId, position, payload: payloadOf(event) };
    return (await deliveries.add(delivery)) !== undefined || deliveries.revive(`${event.id}:${webhookId}`);
  }
}

/** The deliverable events since a given time (milliseconds since the epoch), latest first. */
async function* happenedSince(events: EventStore, from: number): AsyncGenerator<Recorded<DeliverableEvent>> {
  for await (const stored of events.readAll({ types: Object.keys(WEBHOOK_EVENTS), direction: 'backward' })) {
    const event: Recorded = upcast(stored);
    if (event.metadata.at < toTimestamp(from - SKEW_MS)) return;
    if (event.metadata.at >= toTimestamp(from) && isDeliverable(event)) yield event;
  }
}
