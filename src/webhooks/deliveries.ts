import { DELIVERY_STATES, type DeliveryState } from '../contract/delivery.ts';
import type { Notice } from '../contract/webhook-payload.ts';
import type { DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { inPages } from '../runtime/in-pages.ts';
import {
  AT_ONCE,
  type Attempt,
  CLOCK_SLACK_MS,
  type DeliveryDocument,
  deliveryCollection,
  isDueBelieved,
  MAX_ATTEMPTS,
  PENDING_RETENTION_MS,
  RETENTION_MS,
  sequenceOf,
} from './delivery.ts';
import { dueOf, firstPendingAfter, newestOf, notDueBefore, pendingInSequences, pendingOf } from './delivery-queries.ts';

/** How many deliveries a query reads at most that looks for registrations with pending ones. */
const MAX_WAITING_PAGE = 64;
/** The version of a delivery that is not stored yet. */
const NOT_STORED = 0;

export type NewDelivery = Pick<DeliveryDocument, 'webhookId' | 'account' | 'eventId' | 'position'> &
  Notice & {
    /** Somebody is waiting for it. */
    readonly isAsked?: true;
  };

/** What an attempt means for its delivery. */
export type Outcome =
  | { readonly state: 'Delivered' }
  /** @param delay milliseconds from now; `running` is the running time of the attempt */
  | { readonly state: 'Pending'; readonly delay: number; readonly running: number }
  | { readonly state: 'Failed'; readonly reason: string };

/** Which deliveries of a registration, newest first. */
export type ListDeliveries = {
  readonly webhookId: string;
  readonly state?: DeliveryState;
  /** Only deliveries created before then, for paging. */
  readonly before?: Timestamp;
  /** Default 100. */
  readonly limit?: number;
};

export type Listener = (delivery: DeliveryDocument) => void;
export type Deliveries = Awaited<ReturnType<typeof openDeliveries>>;

/** The delivery documents, and the listeners to their changes. */
export async function openDeliveries({
  documents,
  clock,
}: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
}) {
  const collection: Documents<DeliveryDocument> = await documents.open(deliveryCollection);
  const listeners = new Set<Listener>();
  const notifyListeners = (delivery: DeliveryDocument) => {
    for (const listener of listeners) listener(delivery);
  };

  /**
   * Changes a delivery, retrying on conflict. One that is not stored yet is stored as changed: that is its only write, unless
   * somebody else has stored it meanwhile.
   * @returns undefined if it no longer exists, or `next` left it as it was
   */
  async function change(
    known: Stored<DeliveryDocument> | undefined,
    next: (delivery: DeliveryDocument) => DeliveryDocument | undefined,
  ): Promise<DeliveryDocument | undefined> {
    let stored = known;
    while (stored !== undefined) {
      const changed = next(stored.document);
      if (changed === undefined) return undefined;
      const isWritten =
        stored.version === NOT_STORED
          ? await collection.insert(stored.key, changed)
          : await collection.replace(stored.key, changed, stored.version);
      if (isWritten) {
        notifyListeners(changed);
        return changed;
      }
      stored = await collection.get(stored.key);
    }
    return undefined;
  }

  let lastEnded: Pick<DeliveryDocument, 'due' | 'expiresAt'> | undefined;
  /** Those whose results share a commit have mostly ended in the same millisecond. */
  const ended = (): Pick<DeliveryDocument, 'due' | 'expiresAt'> => {
    const now = clock();
    const due = toTimestamp(now);
    if (lastEnded?.due !== due) lastEnded = { due, expiresAt: toTimestamp(now + RETENTION_MS) };
    return lastEnded;
  };

  /** A delivery that is not stored yet. */
  function draft(added: NewDelivery): Stored<DeliveryDocument> {
    const { webhookId, account, eventId, position, payload, sealed, isAsked = false } = added;
    const now = clock();
    const createdAt = toTimestamp(now);
    const deliveryId = `${eventId}:${webhookId}`;
    const document: DeliveryDocument = {
      deliveryId,
      webhookId,
      account,
      eventId,
      event: payload.event,
      ...defined({ position }),
      sequence: sequenceOf(payload, deliveryId),
      body: JSON.stringify(payload),
      ...defined({ sealed }),
      state: 'Pending',
      due: isAsked ? AT_ONCE : createdAt,
      tries: 0,
      attempts: [],
      eventAt: payload.timestamp,
      createdAt,
      expiresAt: toTimestamp(now + PENDING_RETENTION_MS),
    };
    return { key: deliveryId, version: NOT_STORED, document };
  }

  /** Stores a draft as pending. @returns it as stored, or `undefined` if the registration already has a delivery for that event */
  async function insert({ key, document }: Stored<DeliveryDocument>): Promise<Stored<DeliveryDocument> | undefined> {
    if (!(await collection.insert(key, document))) return undefined;
    notifyListeners(document);
    return { key, version: 1, document };
  }

  const restarted = (delivery: DeliveryDocument, due: Timestamp): DeliveryDocument => {
    const { reason: _, delayMs: __, triedFrom: ___, ...kept } = delivery;
    const expiresAt = toTimestamp(clock() + PENDING_RETENTION_MS);
    return { ...kept, state: 'Pending', due, tries: 0, expiresAt };
  };

  return {
    draft,
    insert,

    /** @returns the delivery, or `undefined` if the registration already has one for that event */
    async add(added: NewDelivery): Promise<DeliveryDocument | undefined> {
      return (await insert(draft(added)))?.document;
    },

    /**
     * What the store says to a draft: `stored` if it holds that delivery, `behind` if that of an earlier event is pending, so that
     * the draft may have to wait for it.
     * @param earlier the ids of the earlier events of its sequence
     */
    async standingOf(
      { key, document: { webhookId } }: Stored<DeliveryDocument>,
      earlier: readonly string[],
    ): Promise<'new' | 'stored' | 'behind'> {
      // Nearly always it is the first of its sequence.
      if (earlier.length === 0) return (await collection.get(key)) === undefined ? 'new' : 'stored';
      const found = await collection.getMany([key, ...earlier.map((eventId) => `${eventId}:${webhookId}`)]);
      if (found.some((stored) => stored.key === key)) return 'stored';
      return found.some(({ document }) => document.state === 'Pending') ? 'behind' : 'new';
    },

    /** Those of these deliveries that do not exist. */
    async missing(deliveryIds: readonly string[]): Promise<ReadonlySet<string>> {
      const missing = new Set(deliveryIds);
      for (const { key } of await collection.getMany(deliveryIds)) missing.delete(key);
      return missing;
    },

    /** The due deliveries of a registration, longest due first; with `from`, only those that became due then or later. */
    due(webhookId: string, limit: number, from?: Timestamp): Promise<Stored<DeliveryDocument>[]> {
      return Array.fromAsync(collection.find(dueOf(webhookId, limit, toTimestamp(clock()), from)));
    },

    /**
     * What else is due in the sequences of these deliveries: a queue for each sequence, in the order of the log.
     * @param inFlight keys of deliveries that are left out
     */
    async queues(
      webhookId: string,
      deliveries: readonly Stored<DeliveryDocument>[],
      inFlight: ReadonlySet<string>,
    ): Promise<Map<string, Stored<DeliveryDocument>[]>> {
      const found = new Map<string, Stored<DeliveryDocument>[]>();
      const enqueue = (stored: Stored<DeliveryDocument>) => {
        const { sequence } = stored.document;
        const queue = found.get(sequence);
        if (queue === undefined) found.set(sequence, [stored]);
        else if (!queue.some(({ key }) => key === stored.key)) queue.push(stored);
      };
      for (const stored of deliveries) enqueue(stored);
      // Nearly always there are no others, which the index knows without reading a delivery.
      const others = pendingInSequences(webhookId, [...found.keys()]);
      if ((await collection.count(others)) > deliveries.length) {
        const now = toTimestamp(clock());
        for await (const stored of collection.find(others)) {
          if (stored.document.due <= now && !inFlight.has(stored.key)) enqueue(stored);
        }
      }
      for (const queue of found.values()) if (queue.length > 1) queue.sort(inLogOrder);
      return found;
    },

    /**
     * Makes due what is due further ahead than its delay, or than any delay can be: it was stored by a clock that was ahead, or
     * this one has been set back. @returns whether there was any
     */
    async correctDue(webhookId: string): Promise<boolean> {
      const now = clock();
      let corrected = false;
      for await (const page of inPages(
        collection.find(notDueBefore(webhookId, toTimestamp(now + CLOCK_SLACK_MS))),
        100,
      )) {
        const wrong = page.filter(({ document }) => !isDueBelieved(document, now));
        corrected ||= wrong.length > 0;
        await Promise.all(
          wrong.map((stored) =>
            change(stored, (delivery) =>
              delivery.state === 'Pending' && !isDueBelieved(delivery, now)
                ? { ...delivery, due: toTimestamp(now) }
                : undefined,
            ),
          ),
        );
      }
      return corrected;
    },

    /** Fails the pending deliveries of a registration whose first attempt was made at this running time or earlier. */
    async giveUp(webhookId: string, triedUntil: number, reason: string): Promise<void> {
      const isOver = ({ state, triedFrom }: DeliveryDocument) =>
        state === 'Pending' && triedFrom !== undefined && triedFrom <= triedUntil;
      for await (const { document, ...stored } of collection.find(pendingOf(webhookId))) {
        if (!isOver(document)) continue;
        await change({ ...stored, document }, (delivery) =>
          isOver(delivery) ? { ...delivery, ...ended(), state: 'Failed', reason } : undefined,
        );
      }
    },

    /**
     * Every registration with pending deliveries, and the first of them that is due. Seeks from registration to registration, so
     * that the hundred thousand deliveries of one do not hold up the single delivery of another; where each has but a few, one
     * query reads those of many.
     */
    async *waiting(): AsyncGenerator<DeliveryDocument> {
      let above = '';
      for (let limit = 1; ; ) {
        let found = 0;
        const page = await Array.fromAsync(collection.find(firstPendingAfter(above, limit)));
        for (const { document } of page) {
          if (document.webhookId === above) continue;
          above = document.webhookId;
          found += 1;
          yield document;
        }
        if (page.length < limit) return;
        limit = Math.min(2 * found, MAX_WAITING_PAGE);
      }
    },

    /**
     * Stores attempts and their outcome. A success counts whatever else has happened meanwhile; a failure changes only a delivery
     * that is still pending.
     */
    record(stored: Stored<DeliveryDocument>, attempts: readonly Attempt[], outcome: Outcome) {
      return change(stored, (delivery) => {
        const tried = { ...delivery, attempts: [...delivery.attempts, ...attempts].slice(-MAX_ATTEMPTS) };
        if (outcome.state === 'Delivered')
          return { ...tried, ...ended(), state: 'Delivered', tries: delivery.tries + 1 };
        if (delivery.state !== 'Pending') return tried;
        const tries = delivery.tries + 1;
        const { triedFrom } = delivery;
        return outcome.state === 'Pending'
          ? {
              ...tried,
              tries,
              due: toTimestamp(clock() + outcome.delay),
              delayMs: outcome.delay,
              triedFrom: triedFrom ?? outcome.running,
            }
          : { ...tried, ...ended(), tries, state: 'Failed', reason: outcome.reason };
      });
    },

    /** Cancels the pending deliveries of a registration. */
    async cancelAll(webhookId: string, reason: string): Promise<void> {
      const pending = collection.find(pendingOf(webhookId));
      for await (const page of inPages(pending, 100)) {
        await Promise.all(
          page.map((stored) =>
            change(stored, (delivery) =>
              delivery.state === 'Pending' ? { ...delivery, ...ended(), state: 'Cancelled', reason } : undefined,
            ),
          ),
        );
      }
    },

    /** Makes a delivery due before all others, with a full schedule ahead of it, whatever its state. */
    async resend(deliveryId: string): Promise<DeliveryDocument | undefined> {
      return change(await collection.get(deliveryId), (delivery) => restarted(delivery, AT_ONCE));
    },

    /** Makes a delivery due again if it has failed or was cancelled. @returns whether it was */
    async revive(deliveryId: string): Promise<boolean> {
      const revived = await change(await collection.get(deliveryId), (delivery) =>
        delivery.state === 'Failed' || delivery.state === 'Cancelled'
          ? restarted(delivery, toTimestamp(clock()))
          : undefined,
      );
      return revived !== undefined;
    },

    async get(deliveryId: string): Promise<DeliveryDocument | undefined> {
      return (await collection.get(deliveryId))?.document;
    },

    async list({ webhookId, state, before, limit = 100 }: ListDeliveries): Promise<DeliveryDocument[]> {
      // One index seek per state, so that a rare state costs no scan.
      const found = await Promise.all(
        (state === undefined ? DELIVERY_STATES : [state]).map((each) =>
          Array.fromAsync(collection.find(newestOf(webhookId, each, before, limit)), ({ document }) => document),
        ),
      );
      return found.flat().sort(newestFirst).slice(0, limit);
    },

    /** Calls `listener` with every delivery that this process creates or changes. @returns a function that stops it */
    onChange(listener: Listener): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function inLogOrder(a: Stored<DeliveryDocument>, b: Stored<DeliveryDocument>): number {
  const [{ position: left = '', createdAt }, { position: right = '' }] = [a.document, b.document];
  if (left !== right) return left < right ? -1 : 1;
  if (createdAt !== b.document.createdAt) return createdAt < b.document.createdAt ? -1 : 1;
  return a.key < b.key ? -1 : 1;
}

const newestFirst = (a: DeliveryDocument, b: DeliveryDocument) =>
  a.createdAt < b.createdAt ? 1 : a.createdAt > b.createdAt ? -1 : 0;
