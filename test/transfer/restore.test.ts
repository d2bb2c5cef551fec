import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openPhotoRecords } from '../../src/photos/photo-records.ts';
import { openStoreIdentity } from '../../src/store-identity/store-identity.ts';
import {
  busyStore,
  emptyStore,
  exportTo,
  KEY,
  LOCATIONS,
  restoreFrom,
  type TestStore,
  temporaryFolder,
} from './stores.ts';

const check = async (store: TestStore) =>
  (
    await openStoreIdentity({
      ...store,
      secretKey: KEY,
      clock: Date.now,
      logger: { warn: () => {} },
      settleMs: 0,
      locations: { ...LOCATIONS, readModels: 'the read models' },
    })
  ).check();

/** A log that calls `work` before its nth use of a method. */
const before = (events: OperatedEventStore, method: 'readAll' | 'load', nth: number, work: () => Promise<void>) => {
  let calls = 0;
  const due = async () => {
    calls += 1;
    if (calls === nth) await work();
  };
  return new Proxy(events, {
    get(target, name) {
      if (name === 'load' && method === 'load')
        return async (batch: Parameters<typeof events.load>[0]) => {
          await due();
          return target.load(batch);
        };
      if (name === 'readAll' && method === 'readAll')
        return async function* (options: Parameters<typeof events.readAll>[0]) {
          await due();
          yield* target.readAll(options);
        };
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
};

test('a backup of a store in use holds the records as they were before the log, and every event that they refer to', async () => {
  const one = await busyStore();
  const file = join(await temporaryFolder(), 'backup.ndjson');
  const header = { ...one.header, purpose: 'keep' } as const;
  const deliveries = await one.documents.open<object>({ name: 'webhookDeliveries', kind: 'record', indexes: [] });
  // Booked and fanned out after the records were copied, while the log is read.
  const events = before(one.events, 'readAll', 1, async () => {
    const event = { type: 'BookingRequested', data: { b: 99 }, metadata: {} };
    const { position } = await one.events.append('spaceDay-9-2026-12-01', [event], { expectedRevision: 'none' });
    await deliveries.insert('late:wh_1', { eventId: 'late', webhookId: 'wh_1', state: 'Pending', position });
  });
  const text = await exportTo(file, { ...one, events }, header);
  expect(text).not.toContain('late:wh_1');
  expect(JSON.parse(text.slice(0, text.indexOf('\n'))).export).toMatchObject({ purpose: 'keep' });
  const other = await emptyStore();
  await restoreFrom(file, other);
  await check(other);
  expect(
    await (await other.documents.open({ name: 'webhookDeliveries', kind: 'record', indexes: [] })).get('late:wh_1'),
  ).toBeUndefined();
  // The copy leaves out what is made from other records.
  expect(text).not.toContain('accountMembers');
  const index = await other.documents.open({ name: 'accountMembers', kind: 'record', indexes: [] });
  expect((await index.get('Brand:1'))?.document).toEqual({ members: ['usr_ada'], managers: ['usr_ada'] });
});

test('a backup has the photos that are stored while it copies the log', async () => {
  const one = await busyStore();
  const file = join(await temporaryFolder(), 'backup.ndjson');
  const records = await openPhotoRecords({ documents: one.documents, clock: Date.now });
  const sizes = new Map([
    [400, Buffer.from('small')],
    [800, Buffer.alloc(100_000, 7)],
    [1_600, Buffer.alloc(200_000, 8)],
  ] as const);
  const name = 'ab'.repeat(32);
  const events = before(one.events, 'readAll', 1, async () => {
    await records.store(name, { width: 1_600, height: 900, sizes });
  });
  await exportTo(file, { ...one, events }, { ...one.header, purpose: 'keep' });
  const other = await emptyStore();
  await restoreFrom(file, other);
  const restored = await openPhotoRecords({ documents: other.documents, clock: Date.now });
  const size = (await restored.sizeOf(name, 1_600)) ?? expect.fail('The photo is missing');
  expect(Buffer.concat(await Array.fromAsync(restored.read(size)))).toEqual(sizes.get(1_600));
});

describe('a backup has a photo that its log names, and no photo without its parts', () => {
  const HOUR_MS = 3_600_000;
  const name = 'cd'.repeat(32);
  const sizes = new Map([
    [400, Buffer.from('small')],
    [800, Buffer.alloc(70_000, 7)],
    [1_600, Buffer.alloc(70_000, 8)],
  ] as const);

  const partsOf = async (store: TestStore) => {
    const photos = await openPhotoRecords({ documents: store.documents, clock: Date.now });
    const found = await photos.sizeOf(name, 1_600);
    return found && Buffer.concat(await Array.fromAsync(photos.read(found)));
  };

  /** A store with a photo that is in use for long, and a removal that finds it unused. */
  async function storeWithPhoto() {
    const store = await busyStore();
    const time = { now: Date.now() };
    const photos = await openPhotoRecords({ documents: store.documents, clock: () => time.now });
    await photos.store(name, { width: 1_600, height: 900, sizes });
    time.now += 24 * HOUR_MS;
    const removeAfter = async (ms: number) => {
      time.now += ms;
      await photos.removeUnnamed(() => false);
    };
    return { store, removeAfter };
  }

  test('when the photo is taken from its list while the log is copied', async () => {
    const { store, removeAfter } = await storeWithPhoto();
    const file = join(await temporaryFolder(), 'backup.ndjson');
    const events = before(store.events, 'readAll', 1, async () => {
      for (let round = 0; round < 5; round += 1) await removeAfter(HOUR_MS / 6);
    });
    await exportTo(file, { ...store, events }, { ...store.header, purpose: 'keep' });
    const other = await emptyStore();
    await restoreFrom(file, other);
    expect((await partsOf(other))?.equals(sizes.get(1_600) ?? Buffer.alloc(0))).toBe(true);
  });

  test('when it is removed between its name and its parts', async () => {
    const { store, removeAfter } = await storeWithPhoto();
    await removeAfter(0);
    const file = join(await temporaryFolder(), 'backup.ndjson');
    const documents = new Proxy(store.documents, {
      get(target, property) {
        if (property !== 'open') return Reflect.get(target, property);
        return async (of: Parameters<typeof target.open>[0]) => {
          if (of.name === 'photoFiles') await removeAfter(HOUR_MS + 1);
          return target.open(of);
        };
      },
    });
    await exportTo(file, { ...store, documents }, { ...store.header, purpose: 'keep' });
    expect(await partsOf(store)).toBeUndefined();
    const other = await emptyStore();
    await restoreFrom(file, other);
    expect((await partsOf(other))?.equals(sizes.get(1_600) ?? Buffer.alloc(0))).toBe(true);
  });
});

test('an interrupted backup continues with the records as they are then', async () => {
  const one = await busyStore();
  const file = join(await temporaryFolder(), 'backup.ndjson');
  const header = { ...one.header, purpose: 'keep' } as const;
  const whole = await exportTo(file, one, header);
  const users = await one.documents.open<object>({ name: 'users', kind: 'record', indexes: [] });
  await users.insert('grace@example.com', { name: 'Grace', memberships: [] });
  await writeFile(file, whole.slice(0, whole.indexOf('\n', whole.length >> 2) + 20));
  await writeFile(`${file}.records`, 'what was left by the interrupted one');
  expect(await exportTo(file, one, header)).toContain('grace@example.com');
  await expect(readFile(`${file}.records`)).rejects.toThrow('ENOENT');
  await expect(exportTo(file, one, header)).rejects.toThrow('holds a complete export');
});

test('no process starts during an interrupted restore, which continues; other backups are refused meanwhile', async () => {
  const one = await busyStore(1_200);
  const folder = await temporaryFolder();
  const [file, later] = [join(folder, 'backup.ndjson'), join(folder, 'later.ndjson')];
  const header = { ...one.header, purpose: 'keep' } as const;
  await exportTo(file, one, header);
  const users = await one.documents.open<object>({ name: 'users', kind: 'record', indexes: [] });
  await users.insert('grace@example.com', { name: 'Grace', memberships: [] });
  await exportTo(later, one, header);

  const other = await emptyStore();
  const events = before(other.events, 'load', 2, async () => {
    throw new Error('interrupted');
  });
  await expect(restoreFrom(file, { ...other, events })).rejects.toThrow('interrupted');
  await expect(check(other)).rejects.toThrow(/has not been completed. Run it again: venue restore FILE$/);
  await expect(restoreFrom(later, other)).rejects.toThrow('There are records');
  await restoreFrom(file, other);
  await check(other);
  const ids = async ({ events: of }: TestStore) => (await Array.fromAsync(of.readAll())).map(({ id }) => id);
  expect((await ids(other)).slice(0, (await ids(one)).length)).toEqual(await ids(one));
});

test('a restore refuses a store that is in use', async () => {
  const one = await busyStore();
  const file = join(await temporaryFolder(), 'backup.ndjson');
  await exportTo(file, one, { ...one.header, purpose: 'keep' });
  const other = await emptyStore();
  await (await other.documents.open({ name: 'notes', kind: 'record', indexes: [] })).insert('1', {});
  await expect(restoreFrom(file, other)).rejects.toThrow('There are records in the records already');
});
