import type { DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { dueCorrected } from '../outbox/due.ts';
import type { Clock } from '../runtime/clock.ts';
import {
  type Attempt,
  afterAttempts,
  type DeliveryDocument,
  DUE_NOW,
  deliveryCollection,
  ended,
  type NewDelivery,
  newDelivery,
  restarted,
} from './delivery.ts';
import {
  dueOf,
  firstPendingAfter,
  notDueBefore,
  oldestPending,
  pendingInSequences,
  pendingOf,
} from './delivery-queries.ts';
import type { Outcome } from './schedule.ts';

/** Page size of the query for registrations with pending deliveries. */
const MAX_WAITING_PAGE = 64;
/** Deliveries per commit. */
const PAGE = 100;

export type Listener = (delivery: DeliveryDocument) => void;

type Delivery = Stored<DeliveryDocument>;
type Change = (delivery: DeliveryDocument) => DeliveryDocument | undefined;

/** The deliveries, in the document store. Each is stored as pending before it is sent. One process at a time sends, so none is claimed. */
export class DeliveryQueue {
  readonly #collection: Documents<DeliveryDocument>;
  readonly #clock: Clock;
  readonly #listeners = new Set<Listener>();

  private constructor(collection: Documents<DeliveryDocument>, clock: Clock) {
    this.#collection = collection;
    this.#clock = clock;
  }

  static async open({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
    return new DeliveryQueue(await documents.open(deliveryCollection), clock);
  }

  /** Calls `listener` with every delivery that this process creates or changes. @returns a function that stops it */
  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Stores a pending delivery.
   * @param due default: now
   * @returns undefined if the registration already has one for that event
   */
  async add(added: NewDelivery, due?: Timestamp): Promise<Delivery | undefined> {
    const document = newDelivery(added, this.#clock(), due);
    if (!(await this.#collection.insert(document.deliveryId, document))) return undefined;
    this.#notify(document);
    return { key: document.deliveryId, version: 1, document };
  }

  /** The deliveries of these ids that exist, by id. */
  async existing(deliveryIds: readonly string[]): Promise<ReadonlyMap<string, Delivery>> {
    if (deliveryIds.length === 0) return new Map();
    return new Map((await this.#collection.getMany(deliveryIds)).map((stored) => [stored.key, stored]));
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
    const now = toTimestamp(this.#clock());
    const most = limit + inFlight.size;
    const page = await Array.fromAsync(this.#collection.find(dueOf(webhookId, most, now)));
    const due = new Map(page.filter(({ key }) => !inFlight.has(key)).map((stored) => [stored.key, stored]));
    if (page.length < most) return { deliveries: [...due.values()], hasMore: false };
    const sequences = new Set(Array.from(due.values(), ({ document }) => document.sequence));
    const ofSequences = pendingInSequences(webhookId, [...sequences]);
    // Usually there are no others; the index answers that without reading a delivery.
    if ((await this.#collection.count(ofSequences)) > due.size) {
      for await (const stored of this.#collection.find(ofSequences))
        if (stored.document.due <= now && !inFlight.has(stored.key)) due.set(stored.key, stored);
    }
    return { deliveries: [...due.values()], hasMore: true };
  }

  /** Stores attempts of a delivery and their outcome. */
  async complete(stored: Delivery, attempts: readonly Attempt[], outcome: Outcome): Promise<void> {
    await this.#change(stored.key, (delivery) => afterAttempts(delivery, attempts, outcome, this.#clock()), stored);
  }

  /**
   * Every registration with pending deliveries, and the first one due. Seeks from registration to registration, so that a long queue does
   * not delay the others; where each has only a few deliveries, one query covers many registrations.
   */
  async *waiting(): AsyncGenerator<DeliveryDocument> {
    let above = '';
    for (let limit = 1; ; ) {
      let registrations = 0;
      const page = await Array.fromAsync(this.#collection.find(firstPendingAfter(above, limit)));
      for (const { document } of page) {
        if (document.webhookId === above) continue;
        above = document.webhookId;
        registrations += 1;
        yield document;
      }
      if (page.length < limit) return;
      limit = Math.min(2 * registrations, MAX_WAITING_PAGE);
    }
  }

  /** The pending delivery that was created first, of all registrations. */
  async oldest(): Promise<DeliveryDocument | undefined> {
    for await (const { document } of this.#collection.find(oldestPending())) return document;
    return undefined;
  }

  /** Makes deliveries due now that a wrong clock has put off. @returns whether there were any */
  async correctDue(webhookId: string): Promise<boolean> {
    const now = this.#clock();
    const correct: Change = (delivery) => dueCorrected(delivery, now);
    let isAny = false;
    for await (const page of inPages(this.#collection.find(notDueBefore(webhookId, toTimestamp(now))), PAGE)) {
      const corrected = await Promise.all(page.map((stored) => this.#change(stored.key, correct, stored)));
      isAny ||= corrected.some((delivery) => delivery !== undefined);
    }
    return isAny;
  }

  /** Cancels the pending deliveries of a registration. */
  async cancelAll(webhookId: string, reason: string): Promise<void> {
    const cancel: Change = (delivery) =>
      delivery.state === 'Pending' ? ended(delivery, { state: 'Cancelled', reason }, this.#clock()) : undefined;
    for await (const page of inPages(this.#collection.find(pendingOf(webhookId)), PAGE))
      await Promise.all(page.map((stored) => this.#change(stored.key, cancel, stored)));
  }

  /** Makes a delivery due before all others, with a full schedule ahead of it, from any state. */
  resend(deliveryId: string): Promise<DeliveryDocument | undefined> {
    return this.#change(deliveryId, (delivery) => restarted(delivery, DUE_NOW, this.#clock()));
  }

  /** Makes a delivery due again if it has failed or was cancelled. @returns whether it was */
  async revive(deliveryId: string): Promise<boolean> {
    const revived = await this.#change(deliveryId, (delivery) => {
      const now = this.#clock();
      const hasEnded = delivery.state === 'Failed' || delivery.state === 'Cancelled';
      return hasEnded ? restarted(delivery, toTimestamp(now), now) : undefined;
    });
    return revived !== undefined;
  }

  async get(deliveryId: string): Promise<DeliveryDocument | undefined> {
    return (await this.#collection.get(deliveryId))?.document;
  }

  /**
   * @param stored as it was read, if it was; need not be the latest version
   * @returns undefined if it does not exist, or `next` left it as it was
   */
  async #change(key: string, next: Change, stored?: Delivery): Promise<DeliveryDocument | undefined> {
    const change = (delivery: DeliveryDocument | undefined) => delivery && next(delivery);
    const updated = await this.#collection.update(key, change, stored && { stored });
    if (!updated.isChanged) return undefined;
    this.#notify(updated.stored.document);
    return updated.stored.document;
  }

  #notify(delivery: DeliveryDocument): void {
    for (const listener of this.#listeners) listener(delivery);
  }
}
