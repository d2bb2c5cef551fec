import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { webhookId } from '../../src/domain/ids.ts';
import { type DeliverySearch, openDeliverySearch } from '../../src/webhooks/inspect/search.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { approved } from './deliverable-events.ts';

const HOUR_MS = 3_600_000;

describe.each(documentEngines)('the delivery queue on %s', (_, createDatabase) => {
  let now: number;
  const clock = () => now;
  let database: TestDatabase;
  let store: DocumentStore;
  let queue: DeliveryQueue;
  let search: DeliverySearch;

  beforeEach(async () => {
    // The server removes expired documents by its own clock.
    now = Date.now();
    database = await createDatabase();
    store = await database.open();
    queue = await DeliveryQueue.open({ documents: store, clock });
    const events = { readStream: () => expect.unreachable() };
    search = await openDeliverySearch({ documents: store, events });
  });
  afterEach(() => database.remove());

  const add = (id: string, eventId: string) =>
    queue.add({ webhookId: webhookId(id), account: 'Brand:9', eventId, ...noticeOf(approved()) });
  const attempt = { at: toTimestamp(0), url: 'https://a.example/', duration: 3, answer: '', status: 500 };
  const due = async (id: string, limit = 10, inFlight: readonly string[] = []) =>
    (await queue.due(id, limit, new Set(inFlight))).deliveries;
  const dueIds = async (id: string) => (await due(id)).map(({ key }) => key);
  const one = async (id: string) => {
    const [stored] = await due(id, 1);
    if (stored === undefined) throw new Error(`Nothing is due of ${id}`);
    return stored;
  };

  test('a registration has one delivery per event', async () => {
    const added = await Promise.all([add('wh_a', 'e1'), add('wh_a', 'e1'), add('wh_b', 'e1')]);
    expect(added.filter((delivery) => delivery !== undefined)).toHaveLength(2);
    expect(await add('wh_a', 'e1')).toBeUndefined();
  });

  test('returns due deliveries in order, and none that are due later', async () => {
    for (const event of ['e1', 'e2', 'e3']) {
      await add('wh_a', event);
      now += 1_000;
    }
    await queue.complete(await one('wh_a'), [attempt], { state: 'Pending', delay: HOUR_MS });
    expect(await dueIds('wh_a')).toEqual(['e2:wh_a', 'e3:wh_a']);
    now += 2 * HOUR_MS;
    expect(await dueIds('wh_a')).toEqual(['e2:wh_a', 'e3:wh_a', 'e1:wh_a']);
  });

  test('lists each registration with pending deliveries once, with its earliest due time', async () => {
    for (let i = 0; i < 20; i++) await add('wh_b', `e${i}`);
    await add('wh_a', 'e1');
    await add('wh_c', 'e1');
    await queue.complete(await one('wh_c'), [], { state: 'Delivered' });
    await queue.complete(await one('wh_a'), [attempt], { state: 'Pending', delay: HOUR_MS });
    const waiting = await Array.fromAsync(queue.waiting(), ({ webhookId, due }) => [webhookId, due]);
    expect(waiting).toEqual([
      ['wh_a', toTimestamp(now + HOUR_MS)],
      ['wh_b', toTimestamp(now)],
    ]);
  });

  test('returns a due delivery with the others of the same booking, beyond the page size', async () => {
    const addFor = async (eventId: string, bookingId: number) => {
      const { payload } = noticeOf(approved({ bookingId }));
      await queue.add({ webhookId: webhookId('wh_a'), account: 'Brand:9', eventId, payload });
      now += 1;
    };
    await addFor('e3', 1);
    await addFor('e9', 2);
    await addFor('e1', 1);
    await addFor('e2', 1);
    const ids = async (limit: number, inFlight: readonly string[] = []) => {
      const { deliveries, hasMore } = await queue.due('wh_a', limit, new Set(inFlight));
      return [!hasMore, ...deliveries.map(({ document }) => document.eventId)];
    };
    expect(await ids(1)).toEqual([false, 'e3', 'e1', 'e2']);
    expect(await ids(1, ['e3:wh_a'])).toEqual([false, 'e9']);
    expect(await ids(5, ['e9:wh_a'])).toEqual([true, 'e3', 'e1', 'e2']);
    const [first] = await due('wh_a', 1);
    if (first === undefined) throw new Error('Nothing is due');
    await queue.complete(first, [attempt], { state: 'Pending', delay: HOUR_MS });
    expect(await ids(2)).toEqual([false, 'e9', 'e1', 'e2']);
  });

  test('a due time is trusted only as far ahead as the delay that led to it', async () => {
    await add('wh_a', 'new');
    await add('wh_a', 'retry');
    await add('wh_a', 'long');
    const [first, second, third] = await due('wh_a', 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('Three are due');
    const retryIn = (of: typeof second, delay: number) => queue.complete(of, [attempt], { state: 'Pending', delay });
    await retryIn(second, 5_000);
    await retryIn(third, 4 * HOUR_MS);
    expect(await queue.correctDue('wh_a')).toBe(false);

    now -= HOUR_MS;
    expect(await dueIds('wh_a')).toEqual([]);
    expect(await queue.correctDue('wh_a')).toBe(true);
    expect(await dueIds('wh_a')).toHaveLength(3);
  });

  test('manually requested deliveries come before all others', async () => {
    for (const eventId of ['e1', 'e2', 'e3']) {
      await add('wh_a', eventId);
      now += 1_000;
    }
    await queue.resend('e3:wh_a');
    expect(await dueIds('wh_a')).toEqual(['e3:wh_a', 'e1:wh_a', 'e2:wh_a']);
  });

  test('a success counts even after a concurrent change to the delivery; a failure no longer changes its state', async () => {
    await add('wh_a', 'e1');
    await add('wh_a', 'e2');
    const [first, second] = await due('wh_a', 2);
    if (first === undefined || second === undefined) throw new Error('Two are due');
    await queue.cancelAll('wh_a', 'The registration was removed');
    await queue.complete(first, [{ ...attempt, status: 200 }], { state: 'Delivered' });
    await queue.complete(second, [attempt], { state: 'Pending', delay: 0 });
    expect(await queue.get(first.key)).toMatchObject({ state: 'Delivered', attempts: [{ status: 200 }] });
    expect(await queue.get(second.key)).toMatchObject({ state: 'Cancelled', attempts: [{ status: 500 }] });
  });

  test('cancelAll cancels everything pending for one registration and nothing else', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, i) => add('wh_a', `e${i}`)));
    await add('wh_b', 'e1');
    await queue.cancelAll('wh_a', 'gone');
    expect(await dueIds('wh_a')).toEqual([]);
    expect(await search.list({ webhookId: 'wh_a', state: 'Cancelled', limit: 300 })).toHaveLength(250);
    expect(await dueIds('wh_b')).toEqual(['e1:wh_b']);
  });

  test('a delivery that is resent many times keeps only its last attempts', async () => {
    await add('wh_a', 'e1');
    for (let i = 0; i < 60; i++) {
      await queue.complete(await one('wh_a'), [{ ...attempt, duration: i }], { state: 'Failed', reason: 'no' });
      await queue.resend('e1:wh_a');
    }
    const kept = (await queue.get('e1:wh_a'))?.attempts ?? [];
    expect(kept).toHaveLength(50);
    expect(kept.at(-1)?.duration).toBe(59);
  });

  test('a pending delivery does not expire during its schedule', async () => {
    await add('wh_a', 'e1');
    const expiresIn = async () => Date.parse((await queue.get('e1:wh_a'))?.expiresAt ?? '') - now;
    expect(await expiresIn()).toBeGreaterThan(50 * 24 * HOUR_MS);
    await queue.complete(await one('wh_a'), [], { state: 'Failed', reason: 'no' });
    expect(await expiresIn()).toBe(30 * 24 * HOUR_MS);
    now += 29 * 24 * HOUR_MS;
    await queue.resend('e1:wh_a');
    expect(await expiresIn()).toBeGreaterThan(50 * 24 * HOUR_MS);
  });
});
