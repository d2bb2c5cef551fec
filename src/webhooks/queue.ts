import type { DocumentStore, Find, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { dueCorrected, endedEarly, restarted } from '../outbox/progress.ts';
import { OutboxQueue } from '../outbox/queue.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  type DeliveryDocument,
  DUE_NOW,
  deliveryCollection,
  MAX_ATTEMPTS,
  type NewDelivery,
  newDelivery,
  PENDING_RETENTION_MS,
} from './delivery.ts';

type Delivery = Stored<DeliveryDocument>;

const dueOf = declareQuery(
  deliveryCollection,
  (webhookId: string, limit: number, to: Timestamp): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId, due: { to } },
    sort: [{ field: 'due' }],
    limit,
  }),
  ['wh_1', 10, toTimestamp(1)],
);

/** The first pending deliveries of the first registrations after `webhookId`. */
const firstPendingAfter = declareQuery(
  deliveryCollection,
  (webhookId: string, limit: number): Find<DeliveryDocument> => ({
    where: { state: 'Pending', webhookId: { above: webhookId } },
    sort: [{ field: 'webhookId' }, { field: 'due' }],
    limit,
  }),
  ['', 1],
);

type Which = { readonly due?: { readonly from: Timestamp }; readonly sequence?: { readonly in: readonly string[] } };

/** The pending deliveries of a registration: all, those not due before a moment, or those of some sequences. */
const pendingOf = declareQuery(
  deliveryCollection,
  (webhookId: string, which: Which = {}): Find<DeliveryDocument> => ({
    where: { ...which, state: 'Pending', webhookId },
  }),
  ['wh_1'],
  ['wh_1', { due: { from: toTimestamp(0) } }],
  ['wh_1', { sequence: { in: ['booking-1', 'booking-2'] } }],
);

const oldestPending = declareQuery(
  deliveryCollection,
  (): Find<DeliveryDocument> => ({ where: { state: 'Pending' }, sort: [{ field: 'createdAt' }], limit: 1 }),
  [],
);

/** The deliveries, in the document store. */
export class DeliveryQueue extends OutboxQueue<DeliveryDocument> {
  static async open({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
    const deliveries = await documents.open(deliveryCollection);
    return new DeliveryQueue(deliveries, clock, { oldest: oldestPending() }, MAX_ATTEMPTS);
  }

  /**
   * Stores a pending delivery.
   * @param due default: now
   * @returns undefined if the registration already has one for that event
   */
  add(added: NewDelivery, due?: Timestamp): Promise<Delivery | undefined> {
    const document = newDelivery(added, this.clock(), due);
    return this.insert(document.deliveryId, document);
  }

  /**
   * The deliveries of a registration that have been due for longest, and the other due ones of the same sequences, in any order.
   * `hasMore`: whether the page was full.
   * @param inFlight keys of deliveries that are left out
   */
  async due(
    webhookId: string,
    limit: number,
    inFlight: ReadonlySet<string>,
  ): Promise<{ readonly deliveries: readonly Delivery[]; readonly hasMore: boolean }> {
    const now = toTimestamp(this.clock());
    const most = limit + inFlight.size;
    const page = await Array.fromAsync(this.records.find(dueOf(webhookId, most, now)));
    const due = new Map(page.filter(({ key }) => !inFlight.has(key)).map((stored) => [stored.key, stored]));
    if (page.length < most) return { deliveries: [...due.values()], hasMore: false };
    const sequences = new Set(Array.from(due.values(), ({ document }) => document.sequence));
    const ofSequences = pendingOf(webhookId, { sequence: { in: [...sequences] } });
    // Usually there are no others; the index answers that without reading a delivery.
    if ((await this.records.count(ofSequences)) > due.size) {
      for await (const stored of this.records.find(ofSequences))
        if (stored.document.due <= now && !inFlight.has(stored.key)) due.set(stored.key, stored);
    }
    return { deliveries: [...due.values()], hasMore: true };
  }

  /** Every registration with pending deliveries: the first one due. */
  waiting(): AsyncGenerator<DeliveryDocument> {
    return this.firstOfEach(({ webhookId }) => webhookId, firstPendingAfter);
  }

  /** Makes deliveries due now that a wrong clock has put off. @returns whether there were any */
  correctDue(webhookId: string): Promise<boolean> {
    const now = this.clock();
    const notDue = pendingOf(webhookId, { due: { from: toTimestamp(now) } });
    return this.changeAll(notDue, (delivery) => dueCorrected(delivery, now));
  }

  /** Keeps the pending deliveries of a registration for longer, because they wait. */
  async prolong(webhookId: string): Promise<void> {
    const expiresAt = toTimestamp(this.clock() + PENDING_RETENTION_MS);
    await this.changeAll(pendingOf(webhookId), (delivery) =>
      delivery.state === 'Pending' ? { ...delivery, expiresAt } : undefined,
    );
  }

  /** Cancels the pending deliveries of a registration. */
  async cancelAll(webhookId: string, reason: string): Promise<void> {
    const how = { state: 'Cancelled', reason } as const;
    await this.changeAll(pendingOf(webhookId), (delivery) => endedEarly(delivery, how, this.clock()));
  }

  /** Makes a delivery due before all others, with a full schedule ahead of it, from any state. */
  resend(deliveryId: string): Promise<DeliveryDocument | undefined> {
    return this.change(deliveryId, (delivery) => restarted(delivery, DUE_NOW, this.clock(), PENDING_RETENTION_MS));
  }

  /** Makes a delivery due again if it has failed or was cancelled. @returns whether it was */
  async revive(deliveryId: string): Promise<boolean> {
    const revived = await this.change(deliveryId, (delivery) => {
      const now = this.clock();
      const hasEnded = delivery.state === 'Failed' || delivery.state === 'Cancelled';
      return hasEnded ? restarted(delivery, toTimestamp(now), now, PENDING_RETENTION_MS) : undefined;
    });
    return revived !== undefined;
  }
}
