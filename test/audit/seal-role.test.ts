import { expect, onTestFinished, test } from 'vitest';
import { publishedKey } from '../../src/audit/seal-key.ts';
import { createSealRole } from '../../src/audit/seal-role.ts';
import { startHeartbeats } from '../../src/leases/heartbeats.ts';
import { eventually } from '../eventually.ts';
import { SECRET_KEY, sealedStore } from './sealed-store.ts';

type Store = Awaited<ReturnType<typeof sealedStore>>;

async function running(store: Store, settings = {}, periodMs = 5) {
  const heartbeats = await startHeartbeats<object>({ documents: store.documents, status: {} });
  const lines: string[] = [];
  const log = (_: unknown, text?: string) => void lines.push(text ?? '');
  let looks = 0;
  const role = createSealRole({
    events: {
      lastEvent() {
        looks += 1;
        return store.events().lastEvent();
      },
      readAll: (options) => store.events().readAll(options),
      readStream: (stream, options) => store.events().readStream(stream, options),
    },
    documents: store.documents,
    heartbeats,
    secretKey: SECRET_KEY,
    clock: Date.now,
    periodMs,
    logId: async () => 'the-log',
    settings: { sealWebhook: undefined, sealFile: undefined, sealFileLeaves: false, ...settings },
    logger: { info: log, warn: log, error: log },
  });
  onTestFinished(async () => {
    await role.stop();
    await heartbeats.stop();
  });
  /** Resolves once it has looked so often that it must have seen everything. */
  const looked = async () => {
    const before = looks;
    await eventually(() => expect(looks).toBeGreaterThan(before + 3));
  };
  return { role, lines, looked };
}

const sizes = (store: Store) => Array.fromAsync(store.records.after(0), ({ size }) => size);

test('seals when there are new events, and only then', async () => {
  const store = await sealedStore();
  const { role, looked, lines } = await running(store);
  role.start();
  await looked();
  expect(await sizes(store)).toEqual([]);
  for (const expected of [[1], [1, 2]]) {
    await store.append(1);
    await eventually(async () => expect(await sizes(store)).toEqual(expected));
    await looked();
    expect(await sizes(store)).toEqual(expected);
  }
  await role.stop();
  await store.append(1);
  expect(await sizes(store)).toEqual([1, 2]);
  expect(lines).toEqual([]);
});

test('creates the key at its start, before the first seal', async () => {
  const store = await sealedStore();
  const { role } = await running(store, {}, 3_600_000);
  role.start();
  await role.stop();
  expect((await publishedKey(store.records))?.name).toBe('venue-booking-service/the-log');
});

test('logs once why it cannot seal, and logs when it can again', async () => {
  const store = await sealedStore();
  await store.append(300);
  await (await store.sealing()).seal();
  const { role, looked, lines } = await running(store);
  const tiles = await store.documents.open<{ hashes: string }>({ name: 'sealTiles', kind: 'record', indexes: [] });
  const stored = await tiles.get('1/0000000000000000');
  await tiles.delete('1/0000000000000000');
  await store.append(1);
  role.start();
  await eventually(() => expect(lines).toEqual(['The log could not be sealed; trying again']));
  await looked();
  expect(lines).toHaveLength(1);
  expect(await sizes(store)).toEqual([300]);
  await tiles.insert('1/0000000000000000', stored?.document ?? { hashes: '' });
  await eventually(() =>
    expect(lines).toEqual(['The log could not be sealed; trying again', 'The log is being sealed again']),
  );
  expect(await sizes(store)).toEqual([300, 301]);
});

test('retries publishing checkpoints without new events', async () => {
  const store = await sealedStore();
  await store.append(1);
  const { role, looked, lines } = await running(store, { sealFile: '/nowhere/to/be/found' });
  role.start();
  await eventually(() => expect(lines).toHaveLength(1));
  await looked();
  expect(lines).toEqual([expect.stringMatching(/^SEAL_FILE: checkpoints could not be kept there; retrying\. ENOENT/)]);
  expect(await sizes(store)).toEqual([1]);
});
