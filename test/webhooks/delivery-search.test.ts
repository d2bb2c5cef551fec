import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type DeliverableEvent, noticeOf } from '../../src/contract/webhook-payload.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import type { Recorded } from '../../src/domain/events.ts';
import { timestamp, webhookId } from '../../src/domain/ids.ts';
import { type DeliveryCursor, openDeliverySearch, type SearchDeliveries } from '../../src/webhooks/inspect/search.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { approved, cancelled, requested } from './deliverable-events.ts';
import { watched } from './watched-documents.ts';

const at = timestamp('2026-04-20T10:00:00.000Z');
const attempt = { at, url: 'https://a.example/', duration: 3, answer: '', status: 500 };
const NO_LOG = {
  readStream: () => {
    throw new Error('The log is not asked');
  },
};

describe.each(documentEngines)('the search of deliveries on %s', (_, createDatabase) => {
  let now: number;
  let database: TestDatabase;
  let store: DocumentStore;
  let deliveries: DeliveryQueue;

  beforeEach(async () => {
    // The server removes expired documents by its own clock.
    now = Date.now();
    database = await createDatabase();
    store = await database.open();
    deliveries = await DeliveryQueue.open({ documents: store, clock: () => now });
  });
  afterEach(() => database.remove());

  const add = (id: string, eventId: string, event: Recorded<DeliverableEvent> = approved()) =>
    deliveries.add({ webhookId: webhookId(id), account: 'Brand:9', eventId, ...noticeOf(event) });
  async function fail(deliveryId: string): Promise<void> {
    const document = await deliveries.get(deliveryId);
    if (document === undefined) throw new Error(`There is no ${deliveryId}`);
    await deliveries.complete({ key: deliveryId, version: 1, document }, [attempt], {
      state: 'Failed',
      reason: 'Gone',
    });
  }

  test('a delivery that ends while the states are read is found once', async () => {
    await add('wh_a', 'e1');
    let finds = 0;
    const before = async (method: string) => {
      // There are four states.
      if (method === 'find' && ++finds === 4) await fail('e1:wh_a');
    };
    const { list } = await openDeliverySearch({ documents: watched(store, { before }), events: NO_LOG });
    expect((await list({ webhookId: 'wh_a' })).map(({ eventId }) => eventId)).toEqual(['e1']);
  });

  /** The ids of the events that a search finds, one list per page. */
  async function parts(asked: Omit<SearchDeliveries, 'after'>): Promise<string[][]> {
    const { search } = await openDeliverySearch({ documents: store, events: NO_LOG });
    const found: string[][] = [];
    for (let after: DeliveryCursor | undefined; ; ) {
      const part = await search({ ...asked, ...(after && { after }) });
      found.push(part.deliveries.map(({ eventId }) => eventId));
      if (part.next === undefined) return found;
      after = part.next;
    }
  }

  /** The same, from the last page back to the newest. */
  async function backwards(asked: Omit<SearchDeliveries, 'after'>): Promise<string[][]> {
    const { search } = await openDeliverySearch({ documents: store, events: NO_LOG });
    let part = await search(asked);
    while (part.next !== undefined) part = await search({ ...asked, after: part.next });
    const found: string[][] = [];
    for (;;) {
      found.push(part.deliveries.map(({ eventId }) => eventId));
      if (part.previous === undefined) return found;
      part = await search({ ...asked, before: part.previous });
    }
  }

  test('lists all registrations and states newest first, page by page, without losing one of the same millisecond', async () => {
    const expected: string[] = [];
    for (let i = 0; i < 12; i++) {
      // Seven share a millisecond, more than a page holds.
      if (i < 2 || i > 8) now += 1;
      const id = `wh_${i % 2}`;
      await add(id, `e${String(i).padStart(2, '0')}`);
      expected.unshift(`e${String(i).padStart(2, '0')}`);
      if (i % 3 === 0) await fail(`e${String(i).padStart(2, '0')}:${id}`);
    }
    const found = await parts({ webhookIds: ['wh_0', 'wh_1', 'wh_none'], limit: 3 });
    expect(found.flat()).toEqual(expected);
    expect(found.map(({ length }) => length)).toEqual([3, 3, 3, 3]);
    expect(await backwards({ webhookIds: ['wh_0', 'wh_1', 'wh_none'], limit: 3 })).toEqual(found.toReversed());
    expect((await parts({ webhookIds: ['wh_1'], limit: 2 })).flat()).toEqual(
      expected.filter((_, index) => index % 2 === 0),
    );
  });

  test('filters by state and by event type', async () => {
    await add('wh_0', 'r', requested());
    await add('wh_0', 'a');
    await add('wh_0', 'c', cancelled({ cancelledBy: 'Brand' }));
    await fail('a:wh_0');
    await fail('c:wh_0');
    expect(await parts({ webhookIds: ['wh_0'], state: 'Pending', limit: 5 })).toEqual([['r']]);
    expect(await parts({ webhookIds: ['wh_0'], event: 'BookingApproved', limit: 5 })).toEqual([['a']]);
    expect(await parts({ webhookIds: ['wh_0'], event: 'BookingApproved', state: 'Pending', limit: 5 })).toEqual([[]]);
    expect((await parts({ webhookIds: ['wh_0'], state: 'Failed', limit: 5 })).flat().sort()).toEqual(['a', 'c']);
    expect(await parts({ webhookIds: [], limit: 5 })).toEqual([[]]);
  });

  test('finds a delivery that fails during the search once, as failed', async () => {
    await add('wh_0', 'e');
    const pendingRead = Promise.withResolvers<void>();
    const documents: Pick<DocumentStore, 'open'> = {
      async open(collection) {
        const opened = await store.open(collection);
        return {
          ...opened,
          async *find(query) {
            const { state } = Object(query.where);
            if (state === 'Failed') {
              await pendingRead.promise;
              await fail('e:wh_0');
            }
            yield* await Array.fromAsync(opened.find(query));
            if (state === 'Pending') pendingRead.resolve();
          },
        };
      },
    };
    const { search } = await openDeliverySearch({ documents, events: NO_LOG });
    const found = await search({ webhookIds: ['wh_0'], limit: 5 });
    expect(found.deliveries.map(({ eventId, state }) => [eventId, state])).toEqual([['e', 'Failed']]);
    expect(found.next).toBeUndefined();
  });

  test('returns partial results while it searches for rare matches, and continues from there to the end', async () => {
    await add('wh_0', 'rare', cancelled({ cancelledBy: 'Brand' }));
    for (let i = 0; i < 15; i++) {
      now += 1;
      await Promise.all(Array.from({ length: 100 }, (_, index) => add('wh_0', `e${i}-${index}`)));
    }
    expect(await parts({ webhookIds: ['wh_0'], event: 'BookingCancelled', limit: 5 })).toEqual([[], [], [], ['rare']]);
    const { search } = await openDeliverySearch({ documents: store, events: NO_LOG });
    const [oldest] = (await search({ webhookIds: ['wh_0'], state: 'Pending', limit: 2_000 })).deliveries.slice(-1);
    const back = await search({
      webhookIds: ['wh_0'],
      event: 'BookingApproved',
      limit: 5,
      ...(oldest && { before: oldest }),
    });
    expect([back.deliveries.length, back.previous !== undefined, back.next !== undefined]).toEqual([5, true, true]);
  });
});
