import { setTimeout as sleep } from 'node:timers/promises';
import { test as base, describe, expect, onTestFinished } from 'vitest';
import { type EventStore, LOG_START, type StoredEvent } from '../../../src/event-store/event-store.ts';
import { type EventStoreDbOptions, openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { eventually } from '../../eventually.ts';
import { EventStoreDbServer } from './server.ts';

/** The promise: the service writes again 3 s after the cluster can. A loaded machine needs longer. */
const AGAIN_WITHIN_MS = 3_000 + 2_000;
/** The longest delay that a hanging node may cause for calls that do not need it. It was 5 s. */
const SOON_MS = 3_000;
/** How long a cluster takes to detect the loss of its leader and elect another. */
const ELECTION_MS = 2_500;

const made = (n: number) => ({ type: 'Made', data: { n }, metadata: {} });

const test = base.extend<{
  cluster: EventStoreDbServer;
  open: (options?: Partial<EventStoreDbOptions>) => Promise<EventStore>;
}>({
  cluster: async ({ onTestFinished }, use) => {
    const cluster = await EventStoreDbServer.start({ nodes: 3 });
    onTestFinished(() => cluster.stop());
    await use(cluster);
  },
  open: async ({ cluster, onTestFinished }, use) => {
    await use(async (options = {}) => {
      const store = await openEventStoreDb({ url: cluster.url, ...options });
      onTestFinished(() => store.close());
      return store;
    });
  },
});

/** A node other than the leader. */
const another = ({ nodes, leader }: EventStoreDbServer) => nodes.find((node) => node !== leader) ?? expect.fail();

/** The result of `work`, and how long it took. */
async function timed<R>(work: Promise<R>): Promise<{ readonly result: R; readonly tookMs: number }> {
  const began = performance.now();
  return { result: await work, tookMs: performance.now() - began };
}

describe.concurrent('a cluster of three whose leader hangs', () => {
  test('unanswered appends are stored once by the next leader, within 3 s', async ({ cluster, open }) => {
    const store = await open();
    await store.append('before', [made(0)], { expectedRevision: 'none' });
    cluster.leader.hang();
    const waiting = Promise.all(
      [0, 1, 2, 3].map((n) => store.append(`thing-${n}`, [made(n)], { expectedRevision: 'none' })),
    );
    await sleep(ELECTION_MS);
    cluster.elect(another(cluster));
    const { tookMs } = await timed(waiting);
    expect(tookMs).toBeLessThan(AGAIN_WITHIN_MS);
    for (const n of [0, 1, 2, 3])
      expect(await Array.fromAsync(store.readStream(`thing-${n}`))).toMatchObject([{ data: { n } }]);
  });

  test('the first append after the election is stored within 3 s, without earlier calls', async ({ cluster, open }) => {
    const store = await open();
    await store.append('before', [made(0)], { expectedRevision: 'none' });
    cluster.leader.hang();
    await sleep(ELECTION_MS);
    cluster.elect(another(cluster));
    const { tookMs } = await timed(store.append('thing', [made(1)], { expectedRevision: 'none' }));
    expect(tookMs).toBeLessThan(AGAIN_WITHIN_MS);
  });

  test('one unanswered call moves subscriptions and consumers to the next leader, too', async ({ cluster, open }) => {
    const store = await open();
    const controller = new AbortController();
    const followed: StoredEvent[] = [];
    const following = (async () => {
      for await (const { events } of store.subscribe({ types: ['Made'], signal: controller.signal }))
        followed.push(...events);
    })();
    const handled: unknown[] = [];
    await store.consume(
      'group',
      { types: ['Made'], after: () => LOG_START },
      async ({ data }) => void handled.push(data.n),
    );
    await store.append('thing', [made(0)], { expectedRevision: 'none' });
    await eventually(() => expect([followed.length, handled.length]).toEqual([1, 1]));
    cluster.leader.hang();
    const appending = store.append('thing', [made(1)], { expectedRevision: 0 });
    await sleep(ELECTION_MS);
    cluster.elect(another(cluster));
    const began = performance.now();
    await appending;
    await eventually(() => {
      expect(followed.map(({ data }) => data.n)).toEqual([0, 1]);
      expect(new Set(handled)).toEqual(new Set([0, 1]));
    });
    expect(performance.now() - began).toBeLessThan(AGAIN_WITHIN_MS);
    controller.abort();
    await following;
  });

  test.for(['append', 'read'] as const)(
    'an unanswered %s is enough to find the next leader, without pings or deadlines',
    async (asked, { cluster, open }) => {
      const store = await open({ url: `${cluster.url}&keepAliveInterval=-1`, deadlineMs: 60_000 });
      await store.append('thing', [made(0)], { expectedRevision: 'none' });
      cluster.leader.hang();
      const waiting: Promise<unknown> =
        asked === 'append'
          ? store.append('thing', [made(1)], { expectedRevision: 0 })
          : Array.fromAsync(store.readStream('thing'));
      await sleep(ELECTION_MS);
      cluster.elect(another(cluster));
      const { tookMs } = await timed(waiting);
      expect(tookMs).toBeLessThan(AGAIN_WITHIN_MS);
    },
  );

  test('an idle subscription finds the next leader by itself', async ({ cluster, open }) => {
    const writer = await open();
    const store = await open();
    const controller = new AbortController();
    const followed: unknown[] = [];
    const following = (async () => {
      for await (const { events } of store.subscribe({ types: ['Made'], signal: controller.signal }))
        followed.push(...events.map(({ data }) => data.n));
    })();
    await writer.append('thing', [made(0)], { expectedRevision: 'none' });
    await eventually(() => expect(followed).toEqual([0]));
    cluster.leader.hang();
    await sleep(ELECTION_MS);
    cluster.elect(another(cluster));
    await writer.append('thing', [made(1)], { expectedRevision: 0 });
    // Once the connection has been silent for longer than a ping may take.
    await eventually(() => expect(followed).toEqual([0, 1]));
    controller.abort();
    await following;
  });

  test('a hanging follower delays no call', async ({ cluster, open }) => {
    another(cluster).hang();
    // The nodes are asked in random order.
    for (let n = 0; n < 10; n += 1) {
      const { result: store, tookMs } = await timed(open());
      await store.append(`thing-${n}`, [made(0)], { expectedRevision: 'none' });
      expect(tookMs).toBeLessThan(SOON_MS);
    }
  });

  test('calls fail in time while there is no leader, and succeed once there is one', async ({ cluster, open }) => {
    const store = await open({ deadlineMs: 1_000 });
    await store.append('thing', [made(0)], { expectedRevision: 'none' });
    cluster.leader.hang();
    const { result, tookMs } = await timed(
      store.append('thing', [made(1)], { expectedRevision: 0 }).catch((error: unknown) => error),
    );
    expect(result).toMatchObject({
      name: 'OutcomeUnknown',
      message: expect.stringMatching(/did not respond|no leader/),
    });
    // No node was available to send it to.
    const unsent = await store.append('thing', [made(2)], { expectedRevision: 0 }).catch((error: unknown) => error);
    expect(unsent).toMatchObject({ name: 'Unavailable', message: expect.stringContaining('no leader that answers') });
    // Twice the deadline, plus a margin for a loaded machine.
    expect(tookMs).toBeLessThan(3_000);
    await expect(Array.fromAsync(store.readStream('thing'))).rejects.toThrow(/did not respond|no leader/i);
    cluster.elect(another(cluster));
    await eventually(() => store.ping());
    expect(await Array.fromAsync(store.readStream('thing'))).toMatchObject([{ data: { n: 0 } }]);
  });

  test('the client does not return to a former leader that still claims to lead', async ({ cluster, open }) => {
    const store = await open();
    await store.append('thing', [made(0)], { expectedRevision: 'none' });
    const former = cluster.leader;
    former.hang();
    const appending = store.append('thing', [made(1)], { expectedRevision: 0 });
    await sleep(ELECTION_MS);
    cluster.elect(
      another(cluster),
      cluster.nodes.filter((node) => node !== former),
    );
    await appending;
    former.resume();
    const fresh = await open();
    for (const [n, writer] of [store, fresh, store, fresh].entries())
      await writer.append('thing', [made(2 + n)], { expectedRevision: 1 + n });
    expect((await Array.fromAsync(fresh.readStream('thing'))).map(({ data }) => data.n)).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

test.for([1_500, 7_000])(
  'calls that wait for a single node that hangs for %i ms are stored once',
  async (hangsForMs, { open }) => {
    const alone = await EventStoreDbServer.start();
    onTestFinished(() => alone.stop());
    const store = await open({ url: alone.url });
    await store.append('before', [made(0)], { expectedRevision: 'none' });
    alone.leader.hang();
    const waiting = Promise.all(
      [0, 1, 2].map((n) => store.append(`thing-${n}`, [made(n)], { expectedRevision: 'none' })),
    );
    await sleep(hangsForMs);
    alone.leader.resume();
    await waiting;
    for (const n of [0, 1, 2])
      expect(await Array.fromAsync(store.readStream(`thing-${n}`))).toMatchObject([{ data: { n } }]);
  },
);

test('a start that finds no node reports the reason for each', async ({ cluster }) => {
  await cluster.disconnect();
  const opening = openEventStoreDb({ url: cluster.url, deadlineMs: 500, startWithinMs: 1_000 });
  const [first] = cluster.nodes.map(({ port }) => `127.0.0.1:${port}`);
  await expect(opening).rejects.toMatchObject({
    name: 'Unavailable',
    cause: { message: expect.stringContaining(`${first}: connect ECONNREFUSED ${first}`) },
  });
});

test('the client leaves a leader that becomes a follower, for reads as well', async ({ cluster, open }) => {
  const store = await open();
  await store.append('thing', [made(0)], { expectedRevision: 'none' });
  cluster.elect(another(cluster));
  await store.append('thing', [made(1)], { expectedRevision: 0 });
  expect(await Array.fromAsync(store.readStream('thing'))).toHaveLength(2);
});

test('one DNS name that resolves to all nodes is enough', async ({ cluster, open }) => {
  const store = await open({ url: `esdb+discover://localhost:${another(cluster).port}?tls=false` });
  await store.append('thing', [made(0)], { expectedRevision: 'none' });
  cluster.elect(another(cluster));
  await store.append('thing', [made(1)], { expectedRevision: 0 });
  expect(await Array.fromAsync(store.readStream('thing'))).toHaveLength(2);
});

test('the address of one node that is not the leader is enough', async ({ cluster, open }) => {
  const url = `esdb://127.0.0.1:${another(cluster).port}?tls=false`;
  const store = await open({ url });
  await store.append('thing', [made(0)], { expectedRevision: 'none' });
  expect(await Array.fromAsync(store.readStream('thing'))).toHaveLength(1);
});
