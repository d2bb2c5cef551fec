import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { type DeliverableEvent, noticeOf } from '../../contract/webhook-payload.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import type { Recorded } from '../../domain/events.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { inPages } from '../../event-loop/in-pages.ts';
import type { EventStore, Position } from '../../event-store/event-store.ts';
import { RETENTION_MS } from '../../outbox/progress.ts';
import type { Clock } from '../../runtime/clock.ts';
import { deliveryIdOf } from '../delivery.ts';
import { deliverable } from '../events.ts';
import type { DeliveryQueue } from '../queue.ts';
import { isMeantFor, type Registrations } from '../registrations.ts';

/** Events recovered together: their deliveries share a commit. */
const PAGE = 100;

/** What a recovery has made due. */
export type Recovery = {
  readonly due: number;
  /** The beginning of the 30 days, if it was asked to go further back: older events were left out. */
  readonly from?: Timestamp;
};

/**
 * Makes every event since a given time due that did not reach a registration: failed and cancelled deliveries, and events without a
 * delivery because the registration was disabled. Goes back at most 30 days: deliveries are not kept for longer, and a delivered event
 * must not be delivered again.
 * @param since milliseconds since the epoch
 * @returns how many deliveries have become due; `from`, if that is later than asked for
 */
export async function recoverDeliveries(
  deps: {
    readonly events: Pick<EventStore, 'readAll'>;
    readonly registrations: Pick<Registrations, 'find'>;
    readonly queue: Pick<DeliveryQueue, 'add' | 'revive'>;
    readonly clock: Clock;
  },
  webhookId: string,
  since: number,
): Promise<Recovery> {
  const { events, registrations, queue, clock } = deps;
  const webhook = await registrations.find(webhookId);
  if (webhook === undefined) return { due: 0 };
  const oldest = clock() - RETENTION_MS;
  const from = Math.max(since, oldest);
  const happened = deliverableSince(events, from, webhook.registeredAt);
  let due = 0;
  for await (const page of inPages(happened, PAGE)) {
    const ofBookings = Map.groupBy(page, ({ data }) => data.bookingId).values();
    for (const count of await Promise.all(Array.from(ofBookings, (ofBooking) => inOrder(webhook, ofBooking))))
      due += count;
  }
  return { due, ...(since < oldest && { from: toTimestamp(from) }) };

  /** One after another, so that the running deliverer sees them in order. */
  async function inOrder(to: WebhookDocument, ofBooking: readonly Recorded<DeliverableEvent>[]): Promise<number> {
    let count = 0;
    for (const event of ofBooking) if (isMeantFor(event, to) && (await recover(to, event))) count += 1;
    return count;
  }

  async function recover({ webhookId, account }: WebhookDocument, event: Recorded<DeliverableEvent>): Promise<boolean> {
    const { id: eventId, position } = event;
    const added = await queue.add({ webhookId, account, eventId, position, ...noticeOf(event) });
    return added !== undefined || queue.revive(deliveryIdOf(eventId, webhookId));
  }
}

/**
 * The deliverable events since a given time (milliseconds since the epoch), in log order. The search starts at a position, not a time: a
 * wrong clock may have put an older time later in the log.
 */
async function* deliverableSince(
  events: Pick<EventStore, 'readAll'>,
  from: number,
  after: Position,
): AsyncGenerator<Recorded<DeliverableEvent>> {
  for await (const stored of events.readAll({ types: Object.keys(WEBHOOK_EVENTS), after })) {
    const event = deliverable(stored);
    if (event !== undefined && event.metadata.at >= toTimestamp(from)) yield event;
  }
}
