import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { defined } from '../../src/domain/defined.ts';
import { webhookId } from '../../src/domain/ids.ts';
import { type Deliveries, openDeliveries } from '../../src/webhooks/deliveries.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { approved } from './deliverable-events.ts';

const HOUR_MS = 3_600_000;

describe.each(documentEngines)('deliveries on %s', (_, createDatabase) => {
  let now: number;
  const clock = () => now;
  let database: TestDatabase;
  let store: DocumentStore;
  let deliveries: Deliveries;

  beforeEach(async () => {
    now = Date.parse('2026-04-20T10:00:00Z');
    database = await createDatabase();
    store = await database.open();
    deliveries = await openDeliveries({ documents: store, clock });
  });
  afterEach(() => database.remove());

  const add = (id: string, eventId: string) =>
    deliveries.add({ webhookId: webhookId(id), account: 'Brand:9', eventId, ...noticeOf(approved()) });
  const attempt = { at: toTimestamp(0), url: 'https://a.example/', duration: 3, answer: '', status: 500 };
  const dueIds = async (id: string, from?: number) =>
    (await deliveries.due(id, 10, from === undefined ? undefined : toTimestamp(from))).map(({ key }) => key);
  const one = async (id: string) => {
    const [stored] = await deliveries.due(id, 1);
    if (stored === undefined) throw new Error(`Nothing is due of ${id}`);
    return stored;
  };

  test('a registration has one delivery per event', async () => {
    const added = await Promise.all([add('wh_a', 'e1'), add('wh_a', 'e1'), add('wh_b', 'e1')]);
    expect(added.filter((delivery) => delivery !== undefined)).toHaveLength(2);
    expect(await add('wh_a', 'e1')).toBeUndefined();
  });

  test('a draft is stored with its result, even if somebody else has stored it meanwhile', async () => {
    const draft = (eventId: string) =>
      deliveries.draft({ webhookId: webhookId('wh_a'), account: 'Brand:9', eventId, ...noticeOf(approved()) });
    const success = { ...attempt, status: 200 };
    expect(await deliveries.get('e1:wh_a')).toBeUndefined();
    await deliveries.record(draft('e1'), [success], { state: 'Delivered' });
    expect(await deliveries.get('e1:wh_a')).toMatchObject({
      state: 'Delivered',
      tries: 1,
      attempts: [{ status: 200 }],
    });
    expect(await deliveries.insert(draft('e1'))).toBeUndefined();

    const late = draft('e2');
    await add('wh_a', 'e2');
    await deliveries.record(late, [attempt], { state: 'Pending', delay: HOUR_MS, running: 0 });
    expect(await deliveries.get('e2:wh_a')).toMatchObject({ state: 'Pending', tries: 1, attempts: [{ status: 500 }] });
    expect(await dueIds('wh_a')).toEqual([]);

    const kept = await deliveries.insert(draft('e3'));
    if (kept === undefined) throw new Error('It was there already');
    await deliveries.record(kept, [success], { state: 'Delivered' });
    expect(await deliveries.get('e3:wh_a')).toMatchObject({ state: 'Delivered', tries: 1 });
  });

  test('a draft is new, or stored, or behind an earlier event whose delivery is pending', async () => {
    const standing = (eventId: string, earlier: readonly string[]) =>
      deliveries.standingOf(
        deliveries.draft({ webhookId: webhookId('wh_a'), account: 'Brand:9', eventId, ...noticeOf(approved()) }),
        earlier,
      );
    expect(await standing('e2', [])).toBe('new');
    expect(await standing('e2', ['e1'])).toBe('new');
    await add('wh_b', 'e1');
    expect(await standing('e2', ['e1'])).toBe('new');
    await add('wh_a', 'e1');
    expect(await standing('e2', ['e1'])).toBe('behind');
    await deliveries.record(await one('wh_a'), [], { state: 'Delivered' });
    expect(await standing('e2', ['e1'])).toBe('new');
    await add('wh_a', 'e2');
    expect(await standing('e2', ['e1'])).toBe('stored');
    expect(await standing('e2', [])).toBe('stored');
  });

  test('returns what is due, in order, and not what is due later', async () => {
    for (const event of ['e1', 'e2', 'e3']) {
      await add('wh_a', event);
      now += 1_000;
    }
    await deliveries.record(await one('wh_a'), [attempt], { state: 'Pending', delay: HOUR_MS, running: 0 });
    expect(await dueIds('wh_a')).toEqual(['e2:wh_a', 'e3:wh_a']);
    expect(await dueIds('wh_a', now - 1_000)).toEqual(['e3:wh_a']);
    now += 2 * HOUR_MS;
    expect(await dueIds('wh_a')).toEqual(['e2:wh_a', 'e3:wh_a', 'e1:wh_a']);
  });

  test('lists each registration with pending deliveries once, with the time the first is due', async () => {
    for (let i = 0; i < 20; i++) await add('wh_b', `e${i}`);
    await add('wh_a', 'e1');
    await add('wh_c', 'e1');
    await deliveries.record(await one('wh_c'), [], { state: 'Delivered' });
    await deliveries.record(await one('wh_a'), [attempt], { state: 'Pending', delay: HOUR_MS, running: 0 });
    const waiting = await Array.fromAsync(deliveries.waiting(), ({ webhookId, due }) => [webhookId, due]);
    expect(waiting).toEqual([
      ['wh_a', toTimestamp(now + HOUR_MS)],
      ['wh_b', toTimestamp(now)],
    ]);
  });

  const addFor = async (eventId: string, bookingId: number, position?: string) => {
    const payload = noticeOf(approved({ bookingId })).payload;
    await deliveries.add({
      webhookId: webhookId('wh_a'),
      account: 'Brand:9',
      eventId,
      payload,
      ...defined({ position }),
    });
    now += 1;
  };
  const queues = async (limit: number, inFlight: readonly string[] = []) => {
    const page = (await deliveries.due('wh_a', limit)).filter(({ key }) => !inFlight.includes(key));
    const found = await deliveries.queues('wh_a', page, new Set(inFlight));
    return Array.from(found, ([sequence, queue]) => [sequence, queue.map(({ document }) => document.eventId)]);
  };

  test('a queue has everything that is due of its booking, in the order of the log, whatever the page showed', async () => {
    await addFor('e3', 1, '03');
    await addFor('e9', 2, '09');
    await addFor('e1', 1, '01');
    await addFor('e2', 1, '02');
    expect(await queues(2)).toEqual([
      ['booking-1', ['e1', 'e2', 'e3']],
      ['booking-2', ['e9']],
    ]);
    expect(await queues(2, ['e1:wh_a'])).toEqual([
      ['booking-1', ['e2', 'e3']],
      ['booking-2', ['e9']],
    ]);
    const [first] = await deliveries.due('wh_a', 1);
    if (first === undefined) throw new Error('Nothing is due');
    await deliveries.record(first, [attempt], { state: 'Pending', delay: HOUR_MS, running: 0 });
    expect(await queues(10)).toEqual([
      ['booking-2', ['e9']],
      ['booking-1', ['e1', 'e2']],
    ]);
  });

  test('due is not believed further ahead than the delay that led to it', async () => {
    await add('wh_a', 'new');
    await add('wh_a', 'retry');
    await add('wh_a', 'long');
    const [first, second, third] = await deliveries.due('wh_a', 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('Three are due');
    const retryIn = (of: typeof second, delay: number) =>
      deliveries.record(of, [attempt], { state: 'Pending', delay, running: 0 });
    await retryIn(second, 5_000);
    await retryIn(third, 4 * HOUR_MS);
    expect(await deliveries.correctDue('wh_a')).toBe(false);

    now -= HOUR_MS;
    expect(await dueIds('wh_a')).toEqual([]);
    expect(await deliveries.correctDue('wh_a')).toBe(true);
    expect(await dueIds('wh_a')).toHaveLength(3);
  });

  test('what was first tried too long ago is given up, what was never tried is not', async () => {
    await add('wh_a', 'old');
    await deliveries.record(await one('wh_a'), [attempt], { state: 'Pending', delay: 5_000, running: 100 });
    await add('wh_a', 'young');
    await deliveries.record(await one('wh_a'), [attempt], { state: 'Pending', delay: 5_000, running: 200 });
    await add('wh_a', 'untried');
    await deliveries.giveUp('wh_a', 150, 'too long ago');
    const states = (await deliveries.list({ webhookId: 'wh_a' })).map(({ eventId, state }) => [eventId, state]);
    expect(new Map(states as [string, string][])).toEqual(
      new Map([
        ['old', 'Failed'],
        ['young', 'Pending'],
        ['untried', 'Pending'],
      ]),
    );
  });

  test('a delivery that somebody asked for comes before all others', async () => {
    for (const eventId of ['e1', 'e2', 'e3']) {
      await add('wh_a', eventId);
      now += 1_000;
    }
    await deliveries.resend('e3:wh_a');
    expect(await dueIds('wh_a')).toEqual(['e3:wh_a', 'e1:wh_a', 'e2:wh_a']);
  });

  test('a success still counts after a concurrent change to the delivery; a failure no longer changes its state', async () => {
    await add('wh_a', 'e1');
    await add('wh_a', 'e2');
    const [first, second] = await deliveries.due('wh_a', 2);
    if (first === undefined || second === undefined) throw new Error('Two are due');
    await deliveries.cancelAll('wh_a', 'The registration was removed');
    await deliveries.record(first, [{ ...attempt, status: 200 }], { state: 'Delivered' });
    await deliveries.record(second, [attempt], { state: 'Pending', delay: 0, running: 0 });
    expect(await deliveries.get(first.key)).toMatchObject({ state: 'Delivered', attempts: [{ status: 200 }] });
    expect(await deliveries.get(second.key)).toMatchObject({ state: 'Cancelled', attempts: [{ status: 500 }] });
  });

  test('cancelAll cancels everything pending for one registration and nothing else', async () => {
    await Promise.all(Array.from({ length: 250 }, (_, i) => add('wh_a', `e${i}`)));
    await add('wh_b', 'e1');
    await deliveries.cancelAll('wh_a', 'gone');
    expect(await dueIds('wh_a')).toEqual([]);
    expect(await deliveries.list({ webhookId: 'wh_a', state: 'Cancelled', limit: 300 })).toHaveLength(250);
    expect(await dueIds('wh_b')).toEqual(['e1:wh_b']);
  });

  test('a delivery that is resent many times keeps only its last attempts', async () => {
    await add('wh_a', 'e1');
    for (let i = 0; i < 60; i++) {
      await deliveries.record(await one('wh_a'), [{ ...attempt, duration: i }], { state: 'Failed', reason: 'no' });
      await deliveries.resend('e1:wh_a');
    }
    const kept = (await deliveries.get('e1:wh_a'))?.attempts ?? [];
    expect(kept).toHaveLength(50);
    expect(kept.at(-1)?.duration).toBe(59);
  });

  test('a pending delivery does not expire during its schedule', async () => {
    await add('wh_a', 'e1');
    const expiresIn = async () => Date.parse((await deliveries.get('e1:wh_a'))?.expiresAt ?? '') - now;
    expect(await expiresIn()).toBeGreaterThan(50 * 24 * HOUR_MS);
    await deliveries.record(await one('wh_a'), [], { state: 'Failed', reason: 'no' });
    expect(await expiresIn()).toBe(30 * 24 * HOUR_MS);
    now += 29 * 24 * HOUR_MS;
    await deliveries.resend('e1:wh_a');
    expect(await expiresIn()).toBeGreaterThan(50 * 24 * HOUR_MS);
  });
});
