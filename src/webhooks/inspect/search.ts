import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../contract/delivery.ts';
import type { DeliverableEvent, DeliveryKind } from '../../contract/webhook-payload.ts';
import type { DocumentStore, Find } from '../../document-store/document-store.ts';
import { declareQuery } from '../../document-store/queries.ts';
import { type BookingDays, streamsOf } from '../../domain/booking-days.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { Recorded } from '../../domain/events.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { streamOf } from '../../domain/streams.ts';
import { merged } from '../../event-loop/merged.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import { readStream } from '../../outbox/read-stream.ts';
import { type DeliveryDocument, deliveryCollection, deliveryIdOf } from '../delivery.ts';
import { deliverable } from '../events.ts';
import { isMeantFor } from '../registrations.ts';

/** A cursor in a list of deliveries, ordered by creation, newest first, then by id. */
export type DeliveryCursor = Pick<DeliveryDocument, 'createdAt' | 'deliveryId'>;

/** Which deliveries of a registration, newest first. */
export type ListDeliveries = {
  readonly webhookId: string;
  readonly state?: DeliveryState;
  /** Default 100. */
  readonly limit?: number;
};

export type SearchDeliveries = {
  /** The registrations whose deliveries are searched. */
  readonly webhookIds: readonly string[];
  readonly state?: DeliveryState;
  readonly event?: DeliveryKind;
  /** Only deliveries further down the list. */
  readonly after?: DeliveryCursor;
  /** The page that ends above this cursor. Takes precedence. */
  readonly before?: DeliveryCursor;
  readonly limit: number;
};

/** A page of results, newest first. Texts of forgotten subjects are erased from the bodies. */
export type DeliveryPage = {
  readonly deliveries: readonly DeliveryDocument[];
  /** Where to continue; undefined at the end. A search stops after reading {@link MAX_READ} deliveries, however few it found. */
  readonly next: DeliveryCursor | undefined;
  /** The `before` of the page above; undefined for the newest. */
  readonly previous: DeliveryCursor | undefined;
};

/** A booking and the streams of its events. */
export type BookingReference = BookingDays & { readonly bookingId: number };

/** An event for a registration, and its delivery if there is one. */
export type EventDelivery = {
  readonly webhook: WebhookDocument;
  readonly event: Recorded<DeliverableEvent>;
  readonly delivery: DeliveryDocument | undefined;
};

/**
 * How many deliveries a search reads before it answers, about 10 ms of work. The kinds of events are not indexed, because each index
 * makes every delivery more expensive (docs/decisions/webhook-deliveries.md).
 */
const MAX_READ = 500;

const MAX_PAGE = 256;

type Direction = 'ascending' | 'descending';

/** The deliveries of a registration in one state, from a moment on. */
const inStateFrom = declareQuery(
  deliveryCollection,
  (
    webhookId: string,
    state: DeliveryState,
    direction: Direction,
    from: Timestamp | undefined,
    limit: number,
  ): Find<DeliveryDocument> => ({
    where: {
      state,
      webhookId,
      ...defined({ createdAt: from && (direction === 'descending' ? { to: from } : { from }) }),
    },
    sort: [{ field: 'createdAt', direction }],
    limit,
  }),
  ['wh_1', 'Failed', 'descending', undefined, 10],
  ['wh_1', 'Failed', 'descending', toTimestamp(0), 10],
  ['wh_1', 'Failed', 'ascending', toTimestamp(0), 10],
  ['wh_1', 'Pending', 'descending', undefined, 10],
  ['wh_1', 'Pending', 'descending', toTimestamp(0), 10],
  ['wh_1', 'Pending', 'ascending', toTimestamp(0), 10],
);

export type DeliverySearch = Awaited<ReturnType<typeof openDeliverySearch>>;

/** Finds deliveries: the newest ones of some registrations, or those of a booking. */
export async function openDeliverySearch(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly events: Pick<EventStore, 'readStream'>;
}) {
  const collection = await deps.documents.open(deliveryCollection);

  /** The deliveries of a registration in one state, newest first or oldest first, in pages that grow. */
  async function* inOrder(
    webhookId: string,
    state: DeliveryState,
    direction: Direction,
    from: DeliveryCursor | undefined,
    firstPage: number,
  ): AsyncGenerator<DeliveryDocument> {
    let cursor = from;
    for (let limit = firstPage; ; ) {
      const page = await Array.fromAsync(
        collection.find(inStateFrom(webhookId, state, direction, cursor?.createdAt, limit)),
        ({ document }) => document,
      );
      // The page begins with the deliveries created in the same millisecond as the cursor.
      const fresh = page.filter((delivery) => cursor === undefined || compare(cursor, delivery, direction) < 0);
      yield* fresh;
      if (page.length < limit) return;
      cursor = fresh.at(-1) ?? cursor;
      // A page must get past all deliveries of that millisecond.
      limit = fresh.length === 0 ? 2 * limit : Math.min(2 * limit, Math.max(limit, MAX_PAGE));
    }
  }

  /** @throws {Unavailable} if the log cannot be read */
  async function eventsOf({ bookingId, ...days }: BookingReference): Promise<Recorded<DeliverableEvent>[]> {
    const ofBooking: Recorded<DeliverableEvent>[] = [];
    for (const stream of [...streamsOf(days), streamOf.review(bookingId)]) {
      for await (const stored of readStream(deps.events, stream)) {
        const event = stored.data.bookingId === bookingId ? deliverable(stored) : undefined;
        if (event !== undefined) ofBooking.push(event);
      }
    }
    return ofBooking;
  }

  /** Deliveries of some registrations in one direction. A delivery that ends meanwhile is returned once. */
  async function* inStates(
    { webhookIds, state }: Pick<SearchDeliveries, 'webhookIds' | 'state'>,
    direction: Direction,
    from: DeliveryCursor | undefined,
    firstPage: number,
  ): AsyncGenerator<DeliveryDocument> {
    const sources = (of: DeliveryState) => webhookIds.map((id) => inOrder(id, of, direction, from, firstPage));
    const [first, ...others] = state === undefined ? DELIVERY_STATES : [state];
    // Pending ones are read before the others: a delivery that ends in between is in both lists, not in neither.
    const pending = await Promise.all(sources(first).map(started));
    yield* merged([...others.flatMap(sources), ...pending], (a, b) => compare(a, b, direction));
  }

  async function list({ webhookId, state, limit = 100 }: ListDeliveries): Promise<DeliveryDocument[]> {
    const deliveries: DeliveryDocument[] = [];
    if (limit === 0) return deliveries;
    const which = { webhookIds: [webhookId], ...defined({ state }) };
    for await (const delivery of inStates(which, 'descending', undefined, limit))
      if (deliveries.push(delivery) === limit) break;
    return deliveries;
  }

  /** Reads deliveries in one direction until enough are found or {@link MAX_READ} are read. */
  async function scan(
    { event, limit, ...which }: SearchDeliveries,
    direction: Direction,
    from: DeliveryCursor | undefined,
  ): Promise<{ readonly matches: readonly DeliveryDocument[]; readonly last: DeliveryCursor | undefined }> {
    const matches: DeliveryDocument[] = [];
    let last = from;
    let read = 0;
    for await (const delivery of inStates(which, direction, from, limit + 1)) {
      if (matches.length === limit || read === MAX_READ) return { matches, last };
      if (event === undefined || delivery.event === event) matches.push(delivery);
      last = delivery;
      read += 1;
    }
    return { matches, last: undefined };
  }

  async function search(query: SearchDeliveries): Promise<DeliveryPage> {
    const { before, after, ...rest } = query;
    if (before === undefined) {
      const { matches, last } = await scan(query, 'descending', after);
      return { deliveries: matches, next: last, previous: after === undefined ? undefined : matches[0] };
    }
    const { matches, last } = await scan(query, 'ascending', before);
    // Near the newest a page would be short, so return the whole first page.
    if (last === undefined) return search(rest);
    return { deliveries: matches.toReversed(), next: matches[0] ?? before, previous: last };
  }

  return {
    eventsOf,
    list,
    search,

    /**
     * The events of a booking that these registrations get, newest first. Reads the booking's events, then the deliveries by their ids,
     * which need no index.
     * @throws {Unavailable} if the log cannot be read
     */
    async ofBooking(registered: readonly WebhookDocument[], booking: BookingReference): Promise<EventDelivery[]> {
      const events = await eventsOf(booking);
      const due = events
        .sort((a, b) => (a.position < b.position ? 1 : -1))
        .flatMap((event) =>
          registered
            .filter((webhook) => isMeantFor(event, webhook))
            .map((webhook) => ({ webhook, event, deliveryId: deliveryIdOf(event.id, webhook.webhookId) })),
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

/** A stream whose first item has been read. */
async function started<T>(stream: AsyncGenerator<T>): Promise<AsyncGenerator<T>> {
  const first = await stream.next();
  return (async function* () {
    if (!first.done) yield first.value;
    yield* stream;
  })();
}

/** Negative if `a` comes first in a list in this direction. */
function compare(a: DeliveryCursor, b: DeliveryCursor, direction: Direction): number {
  const sign = direction === 'descending' ? 1 : -1;
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -sign : sign;
  return a.deliveryId === b.deliveryId ? 0 : a.deliveryId > b.deliveryId ? -sign : sign;
}
