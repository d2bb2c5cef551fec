import type { DocumentStore } from '../../document-store/document-store.ts';
import { everyDocument } from '../../document-store/queries.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { endedEarly } from '../../outbox/progress.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type DeliveryDocument, deliveryCollection } from '../delivery.ts';

/** A delivery of an event that the log no longer holds. */
export type LostDelivery = Pick<DeliveryDocument, 'deliveryId' | 'webhookId' | 'event' | 'eventAt' | 'state'> & {
  /** Whether it was sent, or may have been. */
  readonly sent: boolean;
  /** The booking in the delivery, which no longer exists. */
  readonly bookingId?: number;
};

/**
 * After a restore: deliveries whose events are missing from the log. They are kept for 30 days after they ended.
 * @param held the events that the log holds; only deliverable ones matter
 */
export async function lostDeliveries(
  documents: Pick<DocumentStore, 'open'>,
  logEvents: AsyncIterable<{ readonly id: string }>,
): Promise<LostDelivery[]> {
  const deliveries = await documents.open(deliveryCollection);
  const missing = new Set<string>();
  for await (const { document } of deliveries.find(everyDocument()))
    if (isOfEvent(document)) missing.add(document.eventId);
  if (missing.size > 0) for await (const { id } of logEvents) missing.delete(id);
  if (missing.size === 0) return [];
  const lost: LostDelivery[] = [];
  for await (const { document } of deliveries.find(everyDocument()))
    if (isOfEvent(document) && missing.has(document.eventId)) lost.push(toLost(document));
  return lost.sort((a, b) => (a.eventAt < b.eventAt ? -1 : 1));
}

/** Cancels the pending ones: their events no longer exist. */
export async function cancelLost(
  { documents, clock }: { readonly documents: Pick<DocumentStore, 'open'>; readonly clock: Clock },
  lost: readonly LostDelivery[],
): Promise<void> {
  const deliveries = await documents.open(deliveryCollection);
  for (const { deliveryId, state } of lost) {
    if (state !== 'Pending') continue;
    const end = { state: 'Cancelled', reason: 'The event was lost when the log was restored' } as const;
    await deliveries.update(deliveryId, (delivery) => delivery && endedEarly(delivery, end, clock()));
  }
}

const isOfEvent = ({ event }: DeliveryDocument): boolean => event in WEBHOOK_EVENTS;

function toLost({ deliveryId, webhookId, event, eventAt, state, attempts, body }: DeliveryDocument): LostDelivery {
  const { data }: { readonly data: { readonly bookingId?: number } } = JSON.parse(body);
  const booking = data.bookingId === undefined ? {} : { bookingId: data.bookingId };
  return { deliveryId, webhookId, event, eventAt, state, sent: attempts.length > 0, ...booking };
}
