import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { status } from '@grpc/grpc-js';
import { afterAll, test as base, describe, expect, vi } from 'vitest';
import {
  type Batch,
  type ExpectedRevision,
  LOG_START,
  type OperatedEventStore,
  type StoredEvent,
  type Subscribe,
  WrongExpectedRevision,
} from '../../../src/event-store/event-store.ts';
import { type EventStoreDbOptions, openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { Unavailable } from '../../../src/runtime/unavailable.ts';
import { eventStoreContract } from '../../contract/event-store.ts';
import { eventually } from '../../eventually.ts';
import { lacks } from '../../lacks.ts';
import type { Tool } from '../../tool.ts';
import { writeAsAnother } from './own-log.ts';
import { startRealServer } from './real-server.ts';
import { startSecured } from './secured-server.ts';
import { type AppendFault, EventStoreDbServer } from './server.ts';

eventStoreContract('EventStoreDB, gRPC test server, three nodes with TLS and a user', async () => {
  const { server, urlAt } = await startSecured('node', { nodes: 3, advertised: 'localhost' });
  const url = urlAt('localhost');
  await writeAsAnother(EventStoreDBClient.connectionString(url));
  const open = () => openEventStoreDb({ url, prefix: 'suite', kinds: ['thing', 'taken'] });
  return { open, stop: () => server.stop() };
});

const real = await startRealServer();
const REAL_EVENTSTOREDB: Tool = {
  name: 'a real EventStoreDB',
  look: () => ('missing' in real ? real : { found: real.name }),
};
if (!lacks(REAL_EVENTSTOREDB) && 'url' in real) {
  eventStoreContract(real.name, async () => {
    await writeAsAnother(EventStoreDBClient.connectionString(real.url));
    // A new store each time that the suite requests one.
    const prefix = `suite-${randomUUID()}`;
    return { open: () => openEventStoreDb({ url: real.url, prefix }), stop: async () => {} };
  });
  afterAll(real.stop);
}

const made = (n: number) => ({ type: 'Made', data: { n }, metadata: {} });
const range = (count: number, from = 0): number[] => Array.from({ length: count }, (_, n) => from + n);
/** The revision of a stream with this many events. */
const revisionOf = (count: number): ExpectedRevision => (count === 0 ? 'none' : count - 1);
const numbers = (events: readonly StoredEvent[]): unknown[] => events.map(({ data }) => data.n);

type Disruption = (server: EventStoreDbServer) => void;
type Followed = { readonly batches: Batch[]; readonly events: StoredEvent[] };

/** Each test has its own server. */
const test = base.extend<{
  server: EventStoreDbServer;
  open: (options?: Partial<EventStoreDbOptions>) => Promise<OperatedEventStore>;
  follow: (store: OperatedEventStore, options?: Subscribe) => Followed;
}>({
  server: async ({ onTestFinished }, use) => {
    const server = await EventStoreDbServer.start();
    onTestFinished(() => server.stop());
    await use(server);
  },
  open: async ({ server, onTestFinished }, use) => {
    await use(async (options = {}) => {
      const store = await openEventStoreDb({ url: server.url, ...options });
      onTestFinished(() => store.close());
      return store;
    });
  },
  follow: async ({ onTestFinished }, use) => {
    await use((store, options = {}) => {
      const controller = new AbortController();
      onTestFinished(() => controller.abort());
      const followed: Followed = { batches: [], events: [] };
      void (async () => {
        for await (const batch of store.subscribe({ ...options, signal: controller.signal })) {
          followed.batches.push(batch);
          followed.events.push(...batch.events);
        }
      })();
      return followed;
    });
  },
});

test('repeated lookups of the last event read the system events after it only once', async ({ server, open }) => {
  const store = await open();
  expect(await store.lastEvent()).toBeUndefined();
  const { position } = await store.append('thing', [made(0)], { expectedRevision: 'none' });
  server.addSystemEvents(3_000);
  expect(await store.lastEvent()).toMatchObject({ position });
  const before = server.eventsRead;
  for (let look = 0; look < 5; look += 1) {
    server.addSystemEvents(1);
    expect(await store.lastEvent()).toMatchObject({ position });
  }
  // A server sends ahead before it notices that the client has stopped reading.
  expect(server.eventsRead - before).toBeLessThan(3_000);
  const next = await store.append('thing', [made(1)], { expectedRevision: 0 });
  expect(await store.lastEvent()).toMatchObject({ position: next.position });
});

test('full reads of a log shared with another store receive only matching events', async ({ server, open }) => {
  const [store, other] = [await open({ prefix: 'one' }), await open({ prefix: 'other' })];
  for (const n of range(4)) {
    await other.append('thing', range(700).map(made), { expectedRevision: revisionOf(n * 700) });
    await store.append('thing', [made(n), { ...made(n), type: 'Rare' }], { expectedRevision: revisionOf(n * 2) });
  }
  const before = server.eventsRead;
  expect(numbers(await Array.fromAsync(store.readAll()))).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
  expect(numbers(await Array.fromAsync(store.readAll({ types: ['Rare'] })))).toEqual([0, 1, 2, 3]);
  expect(server.eventsRead - before).toBe(12);
});

// Concurrent, because they spend most of their time waiting for deadlines and servers.
describe.concurrent('EventStoreDB failures', () => {
  describe('append', () => {
    const faults: AppendFault[] = [
      'connection lost before storing',
      'connection lost after storing',
      'neither stored nor acknowledged',
      'stored, not acknowledged',
      'refused as unavailable',
      'server killed before storing',
      'server killed after storing',
      'not stored, timed out',
      'stored, timed out',
      'another node is the leader',
    ];
    const revisions: ExpectedRevision[] = ['none', 1];
    test.for(faults.flatMap((fault) => revisions.map((expected) => ({ fault, expected }))))(
      '$fault, expecting revision $expected: stored once, with the usual result',
      async ({ fault, expected }, { server, open }) => {
        const store = await open({ deadlineMs: 3_000 });
        if (expected === 1) await store.append('thing', [made(0), made(1)], { expectedRevision: 'none' });
        server.appendFaults.push(fault);
        const appended = await store.append('thing', [made(2), made(3)], { expectedRevision: expected });
        const events = await Array.fromAsync(store.readStream('thing'));
        expect(numbers(events)).toEqual(expected === 1 ? [0, 1, 2, 3] : [2, 3]);
        expect(appended).toEqual({ revision: events.at(-1)?.revision, position: events.at(-1)?.position });
      },
    );

    test('an append whose response was lost is recognised even after others have appended', async ({
      server,
      open,
    }) => {
      const [store, other] = [await open({ deadlineMs: 3_000 }), await open({ deadlineMs: 1_500 })];
      server.appendFaults.push('stored, not acknowledged');
      const appending = store.append('thing', [made(0)], { expectedRevision: 'none' });
      await eventually(async () => expect(await Array.fromAsync(other.readStream('thing'))).toHaveLength(1));
      await other.append('thing', [made(1)], { expectedRevision: 0 });
      expect((await appending).revision).toBe(0);
      expect(numbers(await Array.fromAsync(store.readStream('thing')))).toEqual([0, 1]);
    });

    test('a lost append that another one overtook is a conflict', async ({ server, open }) => {
      const [store, other] = [await open({ deadlineMs: 3_000 }), await open({ deadlineMs: 1_500 })];
      server.appendFaults.push('neither stored nor acknowledged');
      const appending = store.append('thing', [made(0)], { expectedRevision: 'none' }).catch((error: unknown) => error);
      await eventually(() => expect(server.appendFaults).toEqual([]));
      await other.append('thing', [made(1)], { expectedRevision: 'none' });
      expect(await appending).toMatchObject({ name: 'WrongExpectedRevision', expected: 'none', actual: 0 });
      expect(numbers(await Array.fromAsync(store.readStream('thing')))).toEqual([1]);
    });

    test('calls to an unresponsive server fail, and succeed once it responds again', async ({ server, open }) => {
      const store = await open({ deadlineMs: 500 });
      server.unresponsive = true;
      const noAnswer = /did not respond|no leader/;
      await expect(store.append('thing', [made(0)], { expectedRevision: 'none' })).rejects.toThrow(noAnswer);
      await expect(Array.fromAsync(store.readStream('thing'))).rejects.toThrow(noAnswer);
      await expect(store.ping()).rejects.toThrow(noAnswer);
      server.unresponsive = false;
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      await store.ping();
    });

    // Not concurrent: a broken connection of any client in the process rejects that append.
    const alone = { concurrent: false };
    test(
      'the client library’s batch append, which hangs if the server does not respond, is not used',
      alone,
      async ({ server, open }) => {
        server.ignoresBatchAppends = true;
        const client = EventStoreDBClient.connectionString(server.url);
        const raw = client.appendToStream('raw', jsonEvent({ type: 'Made', data: {} }), { deadline: 50 });
        expect(await Promise.race([raw, sleep(500, 'hangs')])).toBe('hangs');
        server.ignoresBatchAppends = false;
        const store = await open();
        await store.append('thing', [made(0)], { expectedRevision: 'none' });
        expect(server.batchCalls).toBe(2);
        const ended = expect(raw).rejects.toThrow();
        await client.dispose();
        await ended;
      },
    );

    test('appends are not affected when the connection of another client in the process breaks', async ({
      server,
      open,
      onTestFinished,
    }) => {
      const elsewhere = await EventStoreDbServer.start();
      onTestFinished(() => elsewhere.stop());
      const [store, other] = [await open({ deadlineMs: 5_000 }), await open({ url: elsewhere.url })];
      await other.append('thing', [made(0)], { expectedRevision: 'none' });
      server.appendFaults.push('acknowledged late');
      elsewhere.appendFaults.push('connection lost after storing');
      const slow = store.append('thing', [made(0)], { expectedRevision: 'none' });
      await other.append('thing', [made(1)], { expectedRevision: 0 });
      expect((await slow).revision).toBe(0);
    });

    test('concurrent appends share one call, for any number and duration', async ({ server, open }) => {
      const store = await open();
      for (const round of range(3)) {
        await Promise.all(
          range(40).map((n) => store.append(`thing-${round}-${n}`, [made(n)], { expectedRevision: 'none' })),
        );
      }
      expect(server).toMatchObject({ batchCalls: 1, appends: { batch: 120, unary: 0 } });
    });

    test.for(faults)(
      '%s: each of several concurrent appends is stored once, or meets a conflict',
      async (fault, { server, open }) => {
        const store = await open({ deadlineMs: 2_000 });
        server.appendFaults.push('acknowledged late', fault);
        const appends = await Promise.allSettled(
          range(10).map((n) => store.append('thing', [made(n)], { expectedRevision: revisionOf(n) })),
        );
        for (const append of appends)
          if (append.status === 'rejected') expect(append.reason).toBeInstanceOf(WrongExpectedRevision);
        const stored = await Array.fromAsync(store.readStream('thing'));
        const appended = appends.flatMap((append) => (append.status === 'fulfilled' ? [append.value] : []));
        expect(appended).toEqual(stored.map(({ revision, position }) => ({ revision, position })));
        expect(numbers(stored)).toEqual(range(stored.length));
      },
    );

    test('killing the server ends all pending appends; each is stored once', async ({ server, open }) => {
      const store = await open({ deadlineMs: 2_000 });
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      server.appendFaults.push(
        'stored, not acknowledged',
        'neither stored nor acknowledged',
        'server killed after storing',
      );
      await Promise.all(range(20).map((n) => store.append(`thing-${n}`, [made(n)], { expectedRevision: 'none' })));
      for (const n of range(20)) expect(numbers(await Array.fromAsync(store.readStream(`thing-${n}`)))).toEqual([n]);
    });

    test('events with their own ids are stored once, even when appended repeatedly', async ({ open }) => {
      const store = await open();
      const events = [made(0), made(1)].map((event) => ({ ...event, id: randomUUID() }));
      const first = await store.append('thing', events, { expectedRevision: 'none' });
      expect(await store.append('thing', events, { expectedRevision: 'none' })).toEqual(first);
      expect(numbers(await Array.fromAsync(store.readStream('thing')))).toEqual([0, 1]);
    });

    test('an append above the size limit of the server is refused before it is sent', async ({ server, open }) => {
      const store = await open();
      const large = { type: 'Made', data: { text: 'x'.repeat(600_000) }, metadata: {} };
      await expect(store.append('thing', [large, large], { expectedRevision: 'none' })).rejects.toThrow(
        /^An append to thing is of 12000\d\d bytes; EventStoreDB takes 1048576 at most$/,
      );
      expect(server.appends).toEqual({ batch: 0, unary: 0 });
      await store.append('thing', [large], { expectedRevision: 'none' });
      // A server with a lower limit reports only a time-out.
      server.maxAppendBytes = 100_000;
      const impatient = await open({ deadlineMs: 3_000 });
      await expect(impatient.append('other', [large], { expectedRevision: 'none' })).rejects.toThrow('took too long');
    });

    test('a missing right is reported at once, and affects nothing else', async ({ open, onTestFinished }) => {
      const { server, urlAt } = await startSecured('node');
      onTestFinished(() => server.stop());
      const store = await open({ url: urlAt('localhost') });
      server.readOnly.add('secret');
      const [denied, stored] = await Promise.allSettled([
        store.append('secret', [made(0)], { expectedRevision: 'none' }),
        store.append('thing', [made(0)], { expectedRevision: 'none' }),
      ]);
      expect(denied).toMatchObject({
        reason: { name: 'UnusableStore', message: expect.stringContaining('may not append to secret; it needs') },
      });
      expect(stored.status).toBe('fulfilled');
      expect(server).toMatchObject({ batchCalls: 1, appends: { batch: 2 } });
    });

    test('closing waits for pending calls, but not for a server that does not answer', async ({ server, open }) => {
      const store = await open();
      // Closing waits a second, which a busy machine uses up.
      server.lateMs = 100;
      server.appendFaults.push('acknowledged late');
      const pending = store.append('thing', [made(0)], { expectedRevision: 'none' });
      await eventually(() => expect(server.appends.batch).toBe(1));
      await store.close();
      expect((await pending).revision).toBe(0);

      const hung = await open();
      server.ignoresBatchAppends = true;
      const unanswered = hung.append('thing', [made(1)], { expectedRevision: 0 }).catch(String);
      await eventually(() => expect(server.appends.batch).toBe(2));
      await hung.close();
      expect(await unanswered).toContain('closed');
      await expect(hung.append('thing', [made(1)], { expectedRevision: 0 })).rejects.toThrow('closed');
    });

    test('a conflict is reported even if the URL tells the client not to throw', async ({ server, open }) => {
      const store = await open({ url: `${server.url}&throwOnAppendFailure=false` });
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      const conflict = store.append('thing', [made(1)], { expectedRevision: 'none' });
      await expect(conflict).rejects.toThrow(WrongExpectedRevision);
      await expect(conflict).rejects.toMatchObject({ expected: 'none', actual: 0 });
      const missing = store.append('nothing', [made(1)], { expectedRevision: 3 });
      await expect(missing).rejects.toMatchObject({ expected: 3, actual: 'none' });
    });
  });

  describe('connection', () => {
    test('opens once a server that was down at first comes up', async ({ server, open, follow }) => {
      const url = `${server.url.replace('?', ',127.0.0.1:1?')}&maxDiscoverAttempts=1&discoveryInterval=10`;
      await server.disconnect();
      const logger = { warn: vi.fn() };
      const opening = open({ url, deadlineMs: 1_000, logger });
      await eventually(() => expect(logger.warn).toHaveBeenCalled());
      await server.connect();
      const store = await opening;
      const followed = follow(store);
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      await eventually(() => expect(numbers(followed.events)).toEqual([0]));
    });

    test('an unreachable server is reported when the wait is over', async ({ server, open }) => {
      await server.disconnect();
      const error = await open({ startWithinMs: 500 }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Unavailable);
      expect(error).toHaveProperty('message', 'Connecting to EventStoreDB failed');
      expect(error).toHaveProperty('cause.message', expect.stringContaining('ECONNREFUSED'));
    });

    test('calls fail during an outage of the server, and succeed afterwards', async ({ server, open, follow }) => {
      const store = await open({ deadlineMs: 1_000 });
      const followed = follow(store);
      await server.disconnect();
      await expect(store.append('thing', [made(0)], { expectedRevision: 'none' })).rejects.toThrow();
      await expect(store.ping()).rejects.toThrow();
      await server.connect();
      await eventually(() => store.ping());
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      await eventually(() => expect(numbers(followed.events)).toEqual([0]));
    });

    test('accepts KurrentDB URLs, and refuses invalid URLs', async ({ server, open }) => {
      const store = await open({ url: server.url.replace('esdb:', 'kurrentdb:') });
      await store.ping();
      await expect(openEventStoreDb({ url: 'localhost:2113' })).rejects.toThrow();
    });

    test('a read that starts long after its request has the full deadline', async ({ open }) => {
      const store = await open({ deadlineMs: 2_000 });
      await store.append('thing', range(3).map(made), { expectedRevision: 'none' });
      const reads = [store.readStream('thing'), store.readAll()];
      await sleep(2_500);
      for (const read of reads) expect(await Array.fromAsync(read)).toHaveLength(3);
    });

    test('a read resumes where the connection broke, without gaps or duplicates', async ({ server, open }) => {
      const store = await open();
      for (const n of range(20))
        await store.append('thing', range(100, n * 100).map(made), { expectedRevision: revisionOf(n * 100) });
      const [all, stream, first]: [StoredEvent[], StoredEvent[], StoredEvent[]] = [[], [], []];
      for (const [list, read] of [
        [all, store.readAll()],
        [stream, store.readStream('thing')],
        [first, store.readStream('thing', { limit: 1_500 })],
      ] as const) {
        for await (const event of read) {
          list.push(event);
          if (list.length % 700 === 0) {
            server.dropConnections();
            await sleep(5);
          }
        }
      }
      expect(numbers(all)).toEqual(range(2_000));
      expect(numbers(stream)).toEqual(range(2_000));
      expect(numbers(first)).toEqual(range(1_500));
    });
  });

  describe('subscribe', () => {
    const disruptions: Record<string, Disruption> = {
      'the connection is cut': (server) => server.dropConnections(),
      'the server ends the stream': (server) => server.endSubscriptions(),
      'the server cancels the call': (server) => server.failSubscriptions(status.CANCELLED),
      'the server is unavailable': (server) => server.failSubscriptions(status.UNAVAILABLE),
      'the server fails': (server) => server.failSubscriptions(status.INTERNAL),
    };
    test.for(Object.entries(disruptions))(
      'resumes without gaps or duplicates when %s',
      async ([, disrupt], { server, open, follow }) => {
        const store = await open();
        const [all, filtered] = [follow(store), follow(store, { types: ['Made'] })];
        for (const n of range(10)) {
          await store.append('thing', range(20, n * 20).map(made), { expectedRevision: revisionOf(n * 20) });
          if (n % 3 === 2) {
            await eventually(() => expect(all.events.length).toBeGreaterThan(n * 20));
            disrupt(server);
          }
        }
        await eventually(() => expect(Math.min(all.events.length, filtered.events.length)).toBeGreaterThanOrEqual(200));
        expect(numbers(all.events)).toEqual(range(200));
        expect(numbers(filtered.events)).toEqual(range(200));
      },
    );

    test('survives an outage and a server that does not confirm the subscription', async ({ server, open, follow }) => {
      const store = await open();
      const followed = follow(await open({ deadlineMs: 200 }));
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      await eventually(() => expect(numbers(followed.events)).toEqual([0]));
      await server.disconnect();
      await sleep(500);
      server.unresponsive = true;
      await server.connect();
      await sleep(500);
      server.unresponsive = false;
      await store.append('thing', [made(1)], { expectedRevision: 0 });
      await eventually(() => expect(numbers(followed.events)).toEqual([0, 1]));
    });

    test('aborting the subscription or leaving its loop ends the call on the server', async ({ server, open }) => {
      const store = await open();
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      const controller = new AbortController();
      const aborted = (async () => {
        for await (const batch of store.subscribe({ signal: controller.signal })) expect(batch).toBeDefined();
      })();
      await eventually(() => expect(server.subscriptions.size).toBe(1));
      for await (const batch of store.subscribe({})) if (batch.events.length > 0) break;
      controller.abort();
      await aborted;
      await eventually(() => expect(server.subscriptions.size).toBe(0));
    });

    test('only moves forward, even when the checkpoints of its filter arrive late', async ({
      server,
      open,
      follow,
    }) => {
      server.checkpointLag = 400;
      const store = await open();
      const followed = follow(store, { types: ['Wanted'] });
      for (const n of range(10)) {
        await store.append('thing', range(150).map(made), { expectedRevision: revisionOf(n * 151) });
        await store.append('thing', [{ ...made(n), type: 'Wanted' }], {
          expectedRevision: revisionOf(n * 151 + 150),
        });
      }
      const { position } = await store.append('thing', range(900).map(made), { expectedRevision: revisionOf(1_510) });
      await eventually(() => expect(numbers(followed.events)).toEqual(range(10)));
      const last = followed.events.at(-1)?.position ?? '';
      await eventually(() => expect((followed.batches.at(-1)?.position ?? '') > last).toBe(true));
      const positions = followed.batches.map((batch) => batch.position);
      expect(positions).toEqual(positions.toSorted());
      expect((positions.at(-1) ?? '') < position).toBe(true);
    });
  });

  describe('consume', () => {
    const disruptions: Record<string, Disruption> = {
      'the connection is cut': (server) => server.dropConnections(),
      'the server ends the stream': (server) => server.endSubscriptions(),
      'the server is unavailable': (server) => server.failSubscriptions(status.UNAVAILABLE),
      'the connection is cut by an acknowledgement': (server) => {
        server.dropOnNextAck = true;
      },
    };
    test.for(Object.entries(disruptions))(
      'every event is handled even when %s',
      async ([, disrupt], { server, open }) => {
        const store = await open();
        const handled: unknown[] = [];
        let attempts = 0;
        await store.consume('group', { types: ['Made'], after: () => LOG_START }, async ({ data }) => {
          attempts += 1;
          if (attempts % 30 === 0) disrupt(server);
          await sleep(1);
          handled.push(data.n);
        });
        for (const n of range(10)) {
          // More disruptions than it has retries may hit an append. Repeated with the same ids, it is stored once.
          const events = range(10, n * 10).map((one) => ({ ...made(one), id: randomUUID() }));
          await eventually(() => store.append('thing', events, { expectedRevision: revisionOf(n * 10) }));
        }
        await eventually(() => expect(new Set(handled)).toEqual(new Set(range(100))));
        expect(server.parkedBy('group')).toBe(0);
      },
    );

    test('a group starts at the beginning of the log and receives no system events', async ({ server, open }) => {
      const store = await open();
      await store.append('thing', range(30).map(made), { expectedRevision: 'none' });
      const seen: StoredEvent[] = [];
      await store.consume('group', { types: ['Made'], after: () => LOG_START }, async (event) => void seen.push(event));
      await eventually(() => expect(seen).toHaveLength(30));
      expect(new Set(seen.map(({ type }) => type))).toEqual(new Set(['Made']));
      expect(server.created[0]?.getAll()?.hasStart()).toBe(true);
    });

    test('a group of an earlier release gets the settings of this one, and goes on where it was', async ({
      server,
      open,
    }) => {
      const options = { types: ['Made'], after: () => LOG_START };
      const handled: unknown[] = [];
      const settings = async () => {
        const client = EventStoreDBClient.connectionString(server.url);
        const info = await client.getPersistentSubscriptionToAllInfo('group').finally(() => client.dispose());
        return info.settings;
      };
      for (const [n, messageTimeoutMs] of [60_000, 5_000].entries()) {
        const store = await open({ messageTimeoutMs });
        const consumer = await store.consume('group', options, async ({ data }) => void handled.push(data.n));
        await store.append(`thing-${n}`, [made(n)], { expectedRevision: 'none' });
        await eventually(() => expect(handled).toContain(n));
        expect(await settings()).toMatchObject({ messageTimeout: messageTimeoutMs });
        await consumer.close();
      }
      expect(handled).toEqual([0, 1]);
    });

    test('no event times out in the queue of a slow consumer', async ({ open }) => {
      const store = await open({ messageTimeoutMs: 2_000 });
      await store.append('thing', range(8).map(made), { expectedRevision: 'none' });
      const handled: unknown[] = [];
      await store.consume('group', { types: ['Made'], after: () => LOG_START, concurrency: 1 }, async ({ data }) => {
        await sleep(400);
        handled.push(data.n);
      });
      await eventually(() => expect(handled.length).toBeGreaterThanOrEqual(8));
      await sleep(2_100);
      expect(handled).toEqual(range(8));
    });

    test('an event whose handler hangs is redelivered to another consumer', async ({ open }) => {
      const [store, other] = [await open({ messageTimeoutMs: 300 }), await open({ messageTimeoutMs: 300 })];
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      let release = (): void => {};
      let started = 0;
      const handled: unknown[] = [];
      const handler = async ({ data }: StoredEvent): Promise<void> => {
        started += 1;
        if (started === 1) await new Promise<void>((resolve) => (release = resolve));
        handled.push(data.n);
      };
      await store.consume('group', { types: ['Made'], after: () => LOG_START, concurrency: 1 }, handler);
      await eventually(() => expect(started).toBe(1));
      await other.consume('group', { types: ['Made'], after: () => LOG_START, concurrency: 1 }, handler);
      await eventually(() => expect(handled).toEqual([0]));
      release();
    });

    test('an event that times out while it is handled is not handled twice at once, and never parked', async ({
      server,
      open,
    }) => {
      const store = await open({ messageTimeoutMs: 50 });
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      let [calls, running, atOnce] = [0, 0, 0];
      await store.consume('group', { types: ['Made'], after: () => LOG_START, concurrency: 4 }, async () => {
        calls += 1;
        running += 1;
        atOnce = Math.max(atOnce, running);
        // Far more than the ten retries after which a server parks an event by default.
        await sleep(1_000);
        running -= 1;
        if (calls === 1) throw new Error('not now');
      });
      await eventually(() => expect(calls).toBeGreaterThanOrEqual(2));
      await eventually(() => expect(running).toBe(0));
      expect(atOnce).toBe(1);
      expect(server.parkedBy('group')).toBe(0);
    });
  });
});
