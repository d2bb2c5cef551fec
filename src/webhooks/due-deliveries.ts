import type { Stored } from '../document-store/document-store.ts';
import type { DeliveryDocument } from './delivery.ts';

type Delivery = Stored<DeliveryDocument>;

/**
 * The due deliveries of one registration that are in memory: one queue per sequence, in log order. One delivery
 * per sequence is in flight at a time, until its outcome is stored.
 */
export class DueDeliveries {
  readonly #queues = new Map<string, Delivery[]>();
  readonly #inFlight = new Map<string, Delivery>();
  readonly #busy = new Set<string>();
  #waiting = 0;

  /** Number of deliveries that are not in flight. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Number of deliveries in flight. */
  get inFlight(): number {
    return this.#inFlight.size;
  }

  inFlightKeys(): ReadonlySet<string> {
    return new Set(this.#inFlight.keys());
  }

  /** Whether a delivery is waiting or in flight. */
  has({ key, document }: Delivery): boolean {
    return this.#inFlight.has(key) || (this.#queues.get(document.sequence) ?? []).some((other) => other.key === key);
  }

  /** Drops the waiting deliveries. */
  clear(): void {
    this.#queues.clear();
    this.#waiting = 0;
  }

  /** Adds a delivery, unless it is queued already or in flight. */
  add(delivery: Delivery): void {
    if (this.has(delivery)) return;
    const { document } = delivery;
    const queue = this.#queues.getOrInsert(document.sequence, []);
    const after = queue.findIndex((other) => isBefore(document, other.document));
    queue.splice(after === -1 ? queue.length : after, 0, delivery);
    this.#waiting += 1;
  }

  /**
   * The next delivery that may be sent: the first of its sequence, which has none in flight.
   * @param isAllowed default: all
   */
  next(isAllowed: (queue: readonly Delivery[]) => boolean = () => true): Delivery | undefined {
    for (const [sequence, queue] of this.#queues) if (!this.#busy.has(sequence) && isAllowed(queue)) return queue[0];
    return undefined;
  }

  /** Marks the result of {@link next} as in flight. */
  start(delivery: Delivery): void {
    const { sequence } = delivery.document;
    const queue = this.#queues.get(sequence);
    queue?.shift();
    if (queue?.length === 0) this.#queues.delete(sequence);
    this.#waiting -= 1;
    this.#inFlight.set(delivery.key, delivery);
    this.#busy.add(sequence);
  }

  /** Call once its outcome is stored, or it was not sent. */
  finish({ key, document }: Delivery): void {
    this.#inFlight.delete(key);
    this.#busy.delete(document.sequence);
  }
}

/** In log order. */
function isBefore(a: DeliveryDocument, b: DeliveryDocument): boolean {
  const [left = '', right = ''] = [a.position, b.position];
  if (left !== right) return left < right;
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt;
  return a.deliveryId < b.deliveryId;
}
