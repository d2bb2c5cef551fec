import { describe, expect, onTestFinished, test } from 'vitest';
import { LOG_START } from '../../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { file, startSecured } from './secured-server.ts';
import { EventStoreDbServer } from './server.ts';

const secured: typeof startSecured = async (...args) => {
  const started = await startSecured(...args);
  onTestFinished(() => started.server.stop());
  return started;
};

const made = (n: number) => ({ type: 'Made', data: { n }, metadata: {} });

/** Opens the log there, and makes every kind of call once. */
async function use(url: string): Promise<void> {
  const store = await openEventStoreDb({ url, startWithinMs: 5_000 });
  try {
    await store.append('thing', [made(0)], { expectedRevision: 'none' });
    expect(await Array.fromAsync(store.readStream('thing'))).toMatchObject([{ data: { n: 0 } }]);
    const handled = Promise.withResolvers<unknown>();
    const consumer = await store.consume('group', { types: ['Made'], after: () => LOG_START }, async ({ data }) =>
      handled.resolve(data.n),
    );
    expect(await handled.promise).toBe(0);
    await consumer.close();
    for await (const { events } of store.subscribe({ types: ['Made'] })) if (events.length > 0) break;
  } finally {
    await store.close();
  }
}

test.for(['localhost', '127.0.0.1'])('connects over TLS to %s, as the user in the URL', async (host) => {
  const { urlAt } = await secured('node');
  await use(urlAt(host));
});

test.for([
  { seeds: 'localhost', advertised: '127.0.0.1' },
  { seeds: '127.0.0.1', advertised: '127.0.0.1' },
  { seeds: 'localhost', advertised: 'localhost' },
])('connects over TLS to a cluster at $seeds whose nodes advertise $advertised', async ({ seeds, advertised }) => {
  const { urlAt } = await secured('node', { nodes: 3, advertised });
  await use(urlAt(seeds));
});

test('a broken TLS connection is re-established, and the password must be correct', async () => {
  const { server, urlAt } = await secured('node');
  const store = await openEventStoreDb({ url: urlAt('127.0.0.1') });
  onTestFinished(() => store.close());
  await store.append('thing', [made(0)], { expectedRevision: 'none' });
  server.dropConnections();
  await store.append('thing', [made(1)], { expectedRevision: 0 });
  expect(await Array.fromAsync(store.readStream('thing'))).toHaveLength(2);
  await expect(openEventStoreDb({ url: urlAt('127.0.0.1', 'venue:wrong@') })).rejects.toThrow('password');
});

test('connects over TLS to one name for all nodes, which is the name in their certificate', async () => {
  const { server, urlAt } = await secured('named', { nodes: 3, advertised: 'localhost' });
  // One name for all nodes; on the test server each node has its own port.
  const [, ...others] = server.nodes.map(({ port }) => `,localhost:${port}`);
  await use(urlAt('localhost').replace(others.join(''), '').replace('esdb:', 'esdb+discover:'));
});

test('a wrong password is reported at once, by every node', async () => {
  const { urlAt } = await secured('node', { nodes: 3 });
  await expect(openEventStoreDb({ url: urlAt('localhost', 'venue:wrong@') })).rejects.toThrow(
    'rejected the user or the password',
  );
});

describe('a start ends at once on errors that waiting cannot fix, with one line that names the change to make', () => {
  /** Longer than a test may take. */
  const open = (url: string) => openEventStoreDb({ url, startWithinMs: 600_000 });
  const refused = (line: RegExp) => ({ name: 'UnusableStore', message: expect.stringMatching(line) });
  const NAMED = /tlsCAFile=.*$/;

  test.for([1, 3] as const)('without TLS to a secure server of %i nodes', async (nodes) => {
    const { urlAt } = await secured('node', { nodes });
    const line = /^EVENTSTORE_URL: EventStoreDB at localhost:\d+ uses TLS: remove tls=false, .*tlsCAFile$/;
    await expect(open(urlAt('localhost').replace(NAMED, 'tls=false'))).rejects.toMatchObject(refused(line));
  });

  test.for([1, 3] as const)('with a certificate of %i nodes that no given authority has signed', async (nodes) => {
    const { urlAt } = await secured('node', { nodes });
    const line = /^EVENTSTORE_URL: the certificate of .* is not signed by a known authority \(.*\): .* tlsCAFile$/;
    for (const authority of [`tlsCAFile=${encodeURIComponent(file('named.crt'))}`, 'tls=true'])
      await expect(open(urlAt('localhost').replace(NAMED, authority))).rejects.toMatchObject(refused(line));
  });

  test('with TLS to a server without TLS', async () => {
    const server = await EventStoreDbServer.start();
    onTestFinished(() => server.stop());
    const line = /^EVENTSTORE_URL: EventStoreDB at .* does not use TLS: add tls=false$/;
    await expect(open(server.url.replace('tls=false', 'tls=true'))).rejects.toMatchObject(refused(line));
  });

  test('with a certificate for another address', async () => {
    const { urlAt } = await secured('named');
    await use(urlAt('localhost'));
    const line = /is for another name \(.*altnames.*\): name the node as its certificate does$/;
    await expect(open(urlAt('127.0.0.1'))).rejects.toMatchObject(refused(line));
  });
});

test('one reachable node of a cluster is enough', async () => {
  const { urlAt } = await secured('named', { nodes: 3, advertised: 'localhost' });
  await use(urlAt('localhost').replace('localhost', '127.0.0.1'));
});
