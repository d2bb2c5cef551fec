import type { WebhookDocument } from '../../projections/webhooks.ts';
import { DELIVERY_STATES, type DeliveryState } from '../contract/delivery.ts';
import { type DeliverableEvent, type DeliveryKind, isDeliverable } from '../contract/webhook-payload.ts';
import type { DocumentStore, Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Recorded } from '../domain/events.ts';
import type { Timestamp } from '../domain/ids.ts';
import { streamOf } from '../domain/streams.ts';
import { isKnown, upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import { type DeliveryDocument, deliveryCollection } from './deliveries.ts';
import { concerns } from './registrations.ts';

/** A place in a list of deliveries, which is ordered by creation, newest first, and by id among those of a millisecond. */
export type DeliveryCursor = Pick<DeliveryDocument, 'createdAt' | 'deliveryId'>;

export type SearchDeliveries = {
  /** The registrations whose deliveries are searched. */
  readonly webhookIds: readonly string[];
  readonly state?: DeliveryState;
  readonly event?: DeliveryKind;
  /** Only those further down the list. */
  readonly after?: DeliveryCursor;
  readonly limit: number;
};

/** A part of what a search finds, newest first. Texts in the bodies are those of somebody who was forgotten. */
export type FoundDeliveries = {
  readonly deliveries: readonly DeliveryDocument[];
  /**
   * Where to go on; undefined once everything has been looked at. A search that has looked at {@link MOST_READ} stops, whatever
   * it has found by then.
   */
  readonly next: DeliveryCursor | undefined;
};

/** Which booking, and where its events are. */
export type BookingPlace = { readonly bookingId: number; readonly spaceId: number; readonly date: string };

/** An event that a registration is to be sent, and the delivery that was made of it, if there is one. */
export type EventDelivery = {
  readonly webhook: WebhookDocument;
  readonly event: Recorded<DeliverableEvent>;
  readonly delivery: DeliveryDocument | undefined;
};

/**
 * How many deliveries a search looks at before it answers, some 10 ms of work: no index knows the kinds of the events, because every
 * index makes each delivery dearer (docs/decisions/webhook-deliveries.md).
 */
const MOST_READ = 500;

const MAX_PAGE = 256;

const newestUpTo = declareQuery(
  deliveryCollection,
  (webhookId: string, state: DeliveryState, to: Timestamp | undefined, limit: number): Find<DeliveryDocument> => ({
    where: { state, webhookId, ...defined({ createdAt: to && { to } }) },
    sort: [{ field: 'createdAt', direction: 'descending' }],
    limit,
  }),
  ['wh_1', 'Failed', undefined, 10],
  ['wh_1', 'Failed', toTimestamp(0), 10],
  ['wh_1', 'Pending', undefined, 10],
  ['wh_1', 'Pending', toTimestamp(0), 10],
);

/** Finds deliveries: the newest ones of some registrations, or those of a booking. */
export async function openDeliverySearch(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly events: Pick<EventStore, 'readStream'>;
}) {
  const collection = await deps.documents.open(deliveryCollection);

  /** The deliveries of a registration in one state, newest first, in pages that grow. */
  async function* newestOf(
    webhookId: string,
    state: DeliveryState,
    after: DeliveryCursor | undefined,
    firstPage: number,
  ): AsyncGenerator<DeliveryDocument> {
    let cursor = after;
    for (let limit = firstPage; ; ) {
      const page = await Array.fromAsync(
        collection.find(newestUpTo(webhookId, state, cursor?.createdAt, limit)),
        ({ document }) => document,
      );
      // The page begins with what was created in the same millisecond as the cursor.
      const fresh = page.filter((delivery) => cursor === undefined || compare(cursor, delivery) < 0);
      yield* fresh;
      if (page.length < limit) return;
      cursor = fresh.at(-1) ?? cursor;
      // However many there are of that millisecond, a page must get beyond them.
      limit = fresh.length === 0 ? 2 * limit : Math.min(2 * limit, Math.max(limit, MAX_PAGE));
    }
  }

  /** @throws {Unavailable} if the log cannot be read */
  async function eventsOf({ bookingId, spaceId, date }: BookingPlace): Promise<Recorded<DeliverableEvent>[]> {
    const found: Recorded<DeliverableEvent>[] = [];
    for (const stream of [streamOf.spaceDay(spaceId, date), streamOf.review(bookingId)]) {
      try {
        for await (const stored of deps.events.readStream(stream)) {
          if (stored.data.bookingId !== bookingId || !isKnown(stored)) continue;
          const event: Recorded = upcast(stored);
          if (isDeliverable(event)) found.push(event);
        }
      } catch (error) {
        throw new Unavailable(`The event log cannot be read: ${stream}`, error);
      }
    }
    return found;
  }

  return {
    eventsOf,

    async search({ webhookIds, state, event, after, limit }: SearchDeliveries): Promise<FoundDeliveries> {
      const states = state === undefined ? DELIVERY_STATES : [state];
      const sources = webhookIds.flatMap((id) => states.map((each) => newestOf(id, each, after, limit + 1)));
      const heads = await Promise.all(sources.map(async (source) => ({ source, head: await source.next() })));
      // One that changes its state meanwhile may be found in both.
      const found = new Map<string, DeliveryDocument>();
      let last = after;
      for (let read = 0; ; read += 1) {
        let newest: (typeof heads)[number] | undefined;
        for (const each of heads) {
          if (each.head.done === true) continue;
          if (newest === undefined || compare(each.head.value, newest.head.value) < 0) newest = each;
        }
        if (newest === undefined) return { deliveries: [...found.values()], next: undefined };
        if (found.size === limit || read === MOST_READ) return { deliveries: [...found.values()], next: last };
        const delivery: DeliveryDocument = newest.head.value;
        if (event === undefined || delivery.event === event) found.set(delivery.deliveryId, delivery);
        last = delivery;
        newest.head = await newest.source.next();
      }
    },

    /**
     * What happened to a booking that these registrations are to be sent, newest first. Reads the booking's own events and then the
     * deliveries by their ids, which follow from event and registration: no index.
     * @throws {Unavailable} if the log cannot be read
     */
    async ofBooking(registered: readonly WebhookDocument[], booking: BookingPlace): Promise<EventDelivery[]> {
      const events = await eventsOf(booking);
      const due = events
        .sort((a, b) => (a.position < b.position ? 1 : -1))
        .flatMap((event) =>
          registered
            .filter((webhook) => concerns(webhook, event))
            .map((webhook) => ({ webhook, event, deliveryId: `${event.id}:${webhook.webhookId}` })),
        );
      const stored = await collection.getMany(due.map(({ deliveryId }) => deliveryId));
      const deliveries = new Map(stored.map(({ key, document }) => [key, document]));
      return due.map(({ deliveryId, ...rest }) => ({ ...rest, delivery: deliveries.get(deliveryId) }));
    },

    /** The deliveries of these ids that exist. */
    async withIds(deliveryIds: readonly string[]): Promise<DeliveryDocument[]> {
      return (await collection.getMany(deliveryIds)).map(({ document }) => document);
    },
  };
}

/** Negative if `a` comes first in a list. */
function compare(a: DeliveryCursor, b: DeliveryCursor): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.deliveryId === b.deliveryId ? 0 : a.deliveryId > b.deliveryId ? -1 : 1;
}
