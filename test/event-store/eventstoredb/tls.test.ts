import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/event-store.ts';
import { EventStoreDbServer, type ServerOptions } from './server.ts';

const USER = { username: 'venue', password: 'p@ss:w/rd' };
const AS_USER = 'venue:p%40ss%3Aw%2Frd@';

const file = (name: string) => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
/** `node` is for localhost and 127.0.0.1, as EventStoreDB's own tool makes them; `named` for localhost only. */
type Certificate = 'node' | 'named';

async function startSecured(certificate: Certificate, options: ServerOptions = {}) {
  const secured = {
    ...{
      certificate: readFileSync(file(`${certificate}.crt`), 'utf8'),
      key: readFileSync(file(`${certificate}.key`), 'utf8'),
    },
    ...USER,
  };
  const server = await EventStoreDbServer.start({ secured, ...options });
  onTestFinished(() => server.stop());
  const urlAt = (host: string, user = AS_USER) =>
    `esdb://${user}${server.nodes.map(({ port }) => `${host}:${port}`).join(',')}?tlsCAFile=${encodeURIComponent(file(`${certificate}.crt`))}`;
  return { server, urlAt };
}

const made = (n: number) => ({ type: 'Made', data: { n }, metadata: {} });

/** Opens the log there, and uses every kind of call once. */
async function use(url: string): Promise<void> {
  const store = await openEventStoreDb({ url, startWithinMs: 5_000 });
  try {
    await store.append('thing', [made(0)], { expectedRevision: 'none' });
    expect(await Array.fromAsync(store.readStream('thing'))).toMatchObject([{ data: { n: 0 } }]);
    const handled = Promise.withResolvers<unknown>();
    const consumer = await store.consume('group', { types: ['Made'] }, async ({ data }) => handled.resolve(data.n));
    expect(await handled.promise).toBe(0);
    await consumer.close();
    for await (const { events } of store.subscribe({ types: ['Made'] })) if (events.length > 0) break;
  } finally {
    await store.close();
  }
}

test.for(['localhost', '127.0.0.1'])('over TLS to %s, as the user that the URL names', async (host) => {
  const { urlAt } = await startSecured('node');
  await use(urlAt(host));
});

test.for([
  { seeds: 'localhost', advertised: '127.0.0.1' },
  { seeds: '127.0.0.1', advertised: '127.0.0.1' },
  { seeds: 'localhost', advertised: 'localhost' },
])('over TLS to a cluster at $seeds whose nodes say that they are at $advertised', async ({ seeds, advertised }) => {
  const { urlAt } = await startSecured('node', { nodes: 3, advertised });
  await use(urlAt(seeds));
});

test('a connection over TLS that breaks is made again, and the password has to be right', async () => {
  const { server, urlAt } = await startSecured('node');
  const store = await openEventStoreDb({ url: urlAt('127.0.0.1') });
  onTestFinished(() => store.close());
  await store.append('thing', [made(0)], { expectedRevision: 'none' });
  server.dropConnections();
  await store.append('thing', [made(1)], { expectedRevision: 0 });
  expect(await Array.fromAsync(store.readStream('thing'))).toHaveLength(2);
  await expect(openEventStoreDb({ url: urlAt('127.0.0.1', 'venue:wrong@') })).rejects.toThrow('401');
});

test('the certificate has to be for the address', async () => {
  const { urlAt } = await startSecured('named');
  await use(urlAt('localhost'));
  const opening = openEventStoreDb({ url: urlAt('127.0.0.1'), startWithinMs: 1_000 });
  await expect(opening).rejects.toMatchObject({ cause: { message: expect.stringContaining('altnames') } });
});
