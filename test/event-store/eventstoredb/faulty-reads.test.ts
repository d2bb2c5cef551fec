import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LOG_START, type OperatedEventStore, type StoredEvent } from '../../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { type Passing, startProxy } from '../../proxy.ts';
import { EventStoreDbServer } from './server.ts';

const EVENTS = 60;
/** Large enough for a read to arrive in several chunks. */
const TEXT = 'x'.repeat(4_000);
/** For a read without progress to give up soon. */
const SHORT_DEADLINE_MS = 1_000;
/** For a read that succeeds, also on a busy machine. */
const LONG_DEADLINE_MS = 20_000;

const SUBSCRIPTION = 'a subscription';
const FOR_EVER = 1_000_000;
/** After the first ones, only every so many chunks, so that the test takes seconds. */
const STEP = 4;

/** The result of a read, in a comparable form. */
type Result = unknown;
const all = async (events: AsyncIterable<StoredEvent>): Promise<Result> =>
  (await Array.fromAsync(events)).map(({ data }) => data.n);

/** Every read of the port. */
const READS: Record<string, (store: OperatedEventStore) => Promise<Result>> = {
  'a stream': (store) => all(store.readStream('thing')),
  'a stream up to a limit': (store) => all(store.readStream('thing', { limit: 50 })),
  'a stream that does not exist': (store) => all(store.readStream('nothing')),
  'the log': (store) => all(store.readAll()),
  'the events of a type': (store) => all(store.readAll({ types: ['Rare'] })),
  'the last event': async (store) => (await store.lastEvent())?.data.n,
  'the last event, once more': async (store) => [
    await store.lastEvent().then((event) => event?.data.n),
    (await store.lastEvent())?.data.n,
  ],
  [SUBSCRIPTION]: async (store) => {
    const seen: unknown[] = [];
    for await (const { events, caughtUp } of store.subscribe({ after: LOG_START, types: ['Made', 'Rare'] })) {
      seen.push(...events.map(({ data }) => data.n));
      if (caughtUp) return seen;
    }
    return seen;
  },
};

let server: EventStoreDbServer;
beforeAll(async () => {
  server = await EventStoreDbServer.start();
  const store = await openEventStoreDb({ url: server.url });
  const event = (n: number) => ({ type: n % 20 === 19 ? 'Rare' : 'Made', data: { n, text: TEXT }, metadata: {} });
  for (let n = 0; n < EVENTS; n += 1)
    await store.append('thing', [event(n)], { expectedRevision: n === 0 ? 'none' : n - 1 });
  await store.close();
});
afterAll(() => server.stop());

/** Reads through a proxy that fails at the nth chunk that passes it, counted from when the log is open. */
async function readWith(
  read: (store: OperatedEventStore) => Promise<Result>,
  fault: { readonly passing: Passing; readonly nth: number; readonly times: number },
): Promise<{ readonly result: Result; readonly error: unknown; readonly passed: number }> {
  let passed = 0;
  let isOpen = false;
  const { hostname, port } = new URL(server.url.replace('esdb:', 'http:'));
  const proxy = await startProxy({ hostname, port: Number(port) }, (passing) => {
    if (!isOpen || passing !== fault.passing) return false;
    passed += 1;
    return fault.nth > 0 && passed >= fault.nth && passed < fault.nth + fault.times;
  });
  const url = `esdb://127.0.0.1:${proxy.port}?tls=false`;
  const deadlineMs = fault.times > 1 ? SHORT_DEADLINE_MS : LONG_DEADLINE_MS;
  const store = await openEventStoreDb({ url, deadlineMs, startWithinMs: LONG_DEADLINE_MS });
  try {
    isOpen = true;
    const result = await read(store);
    return { result, error: undefined, passed };
  } catch (error) {
    return { result: undefined, error, passed };
  } finally {
    await store.close();
    proxy.close();
  }
}

describe.concurrent.each(Object.entries(READS))('reading %s', (_, read) => {
  test.each(['request', 'answer'] as const)(
    'yields everything when the connection breaks at any %s, and everything or an error when it keeps breaking',
    { timeout: 120_000 },
    async (passing) => {
      const { result: expected, passed } = await readWith(read, { passing, nth: 0, times: 0 });
      expect(passed).toBeGreaterThan(0);
      for (let nth = 1; nth <= passed; nth += nth < STEP ? 1 : STEP) {
        expect(await readWith(read, { passing, nth, times: 1 })).toMatchObject({ result: expected, error: undefined });
        // A subscription retries until it makes progress.
        const often = await readWith(read, { passing, nth, times: read === READS[SUBSCRIPTION] ? 4 : FOR_EVER });
        if (often.error === undefined) expect(often.result).toEqual(expected);
      }
    },
  );
});

test('closing the log during a read ends the read with an error, not as if complete', async () => {
  const store = await openEventStoreDb({ url: server.url });
  const reading = (async () => {
    const seen: unknown[] = [];
    for await (const { data } of store.readAll()) {
      seen.push(data.n);
      if (seen.length === 1) await store.close();
    }
    return seen.length;
  })();
  await expect(reading).rejects.toThrow('closed');
});
