import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import type { Collection, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import { LOG_START, type OperatedEventStore } from '../../src/event-store/event-store.ts';
import { readMarks } from '../../src/outbox/marks.ts';
import { openStoreIdentity } from '../../src/store-identity/store-identity.ts';
import { checkPurpose } from '../../src/transfer/fill-store.ts';
import { readWholeExport } from '../../src/transfer/read-export.ts';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { lacks } from '../lacks.ts';
import {
  asExport,
  busyStore,
  emptyStore,
  exportTo,
  importFrom,
  KEY,
  LOCATIONS,
  type TestStore,
  temporaryFolder,
} from './stores.ts';

const identityOf = (store: TestStore) =>
  openStoreIdentity({
    ...store,
    secretKey: KEY,
    clock: Date.now,
    logger: { warn: () => {} },
    settleMs: 0,
    locations: { ...LOCATIONS, readModels: 'the read models' },
  });

/** A store whose writes fail from the nth on, as if the process had been killed. */
function failingFrom(nth: number, { events, documents }: TestStore): TestStore & { writes: () => number } {
  let writes = 0;
  const written =
    <A extends readonly unknown[], R>(write: (...args: A) => R) =>
    (...args: A): R => {
      writes += 1;
      if (writes >= nth) throw new Error('killed');
      return write(...args);
    };
  const failingEvents: OperatedEventStore = {
    ...events,
    readAll: (options) => events.readAll(options),
    lastEvent: () => events.lastEvent(),
    readStream: (stream, options) => events.readStream(stream, options),
    checkGroupRights: () => events.checkGroupRights(),
    load: written(async (batch) => events.load(batch)),
  };
  const failingDocuments: OperatedDocumentStore = {
    ...documents,
    drop: written(async (name) => documents.drop(name)),
    async open(collection) {
      const opened = await documents.open(collection);
      return {
        ...opened,
        insert: written(async (key, document) => opened.insert(key, document)),
        update: written(async (key, change, known) => opened.update(key, change, known)),
      };
    },
  };
  return { events: failingEvents, documents: failingDocuments, writes: () => writes };
}

test('an import moves events and records to their positions in the new log, and gives the store its identity', async () => {
  const one = await busyStore();
  const folder = await temporaryFolder();
  const file = join(folder, 'store.ndjson');
  const whole = await exportTo(file, one, one.header);
  const other = await emptyStore();
  // Positions begin elsewhere.
  await importFrom(file, other);

  const events = await Array.fromAsync(other.events.readAll());
  expect(events.map(({ id }) => id)).toEqual((await Array.fromAsync(one.events.readAll())).map(({ id }) => id));
  expect(await readMarks(other.documents, 'webhooks')).toEqual({
    BookingRequested: events[3]?.position,
    ReviewPosted: LOG_START,
  });
  await (await identityOf(other)).check();
  expect(await (await identityOf(other)).logId()).toBe(one.header.logId);
  expect(await exportTo(join(folder, 'again.ndjson'), other, one.header)).toBe(whole);
  // Done before: it does nothing.
  await other.events.append('later', [{ type: 'Later', data: {}, metadata: {} }], { expectedRevision: 'none' });
  await importFrom(file, other);
});

test('an import destroys the keys of subjects that the log says were forgotten', async () => {
  const one = await busyStore();
  const keys: Collection<object> = { name: 'subjectKeys', kind: 'record', indexes: [] };
  // As in a file combined from copies of different times.
  for (const subject of ['brand:1', 'brand:2'])
    await (await one.documents.open(keys)).insert(subject, { state: 'live', sealedKey: 'v1.x', createdAt: 'then' });
  const forgotten = { type: 'SubjectForgotten', data: { subject: 'brand:1' }, metadata: { at: 'now', schema: 1 } };
  await one.events.append('subject-brand:1', [forgotten], { expectedRevision: 'none' });
  const file = join(await temporaryFolder(), 'store.ndjson');
  await exportTo(file, one, one.header);
  const other = await emptyStore();
  await importFrom(file, other);
  const imported = await (await other.documents.open(keys)).getMany(['brand:1', 'brand:2']);
  expect(imported.map(({ document }) => document)).toEqual([
    { state: 'forgotten', forgottenAt: 'now' },
    { state: 'live', sealedKey: 'v1.x', createdAt: 'then' },
  ]);
});

test('an import interrupted at any write continues to the same store, and no process starts before it ends', {
  timeout: 120_000,
}, async () => {
  const one = await busyStore(620);
  const folder = await temporaryFolder();
  const file = join(folder, 'store.ndjson');
  const whole = await exportTo(file, one, one.header);
  const counting = failingFrom(Number.POSITIVE_INFINITY, await emptyStore());
  await importFrom(file, counting);
  const total = counting.writes();
  // The mark, batches of events, some of the records, and each of the last writes.
  const points = [1, 2, 3, 4, 5, total >> 1, ...Array.from({ length: 12 }, (_, before) => total - before)];
  for (const nth of points) {
    const other = await emptyStore();
    await expect(importFrom(file, failingFrom(nth, other)), `write ${nth}`).rejects.toThrow('killed');
    if (nth > 1)
      await expect((await identityOf(other)).check()).rejects.toThrow(
        'An import into the records and the log has not been completed. Run it again: venue import FILE',
      );
    await importFrom(file, other);
    await (await identityOf(other)).check();
    expect(await exportTo(join(folder, `after-${nth}`), other, one.header), `write ${nth}`).toBe(whole);
  }
});

test.skipIf(lacks(MONGODB))(
  'records that expire on one engine expire on the other, and a new export equals the first',
  async () => {
    const one = await busyStore();
    const folder = await temporaryFolder();
    const file = join(folder, 'store.ndjson');
    const whole = await exportTo(file, one, one.header);
    const url = ownDatabase();
    const documents = await openMongoDocumentStore({ url });
    onTestFinished(() => documents.close());
    const other = { events: (await emptyStore()).events, documents };
    await importFrom(file, other);
    expect(await exportTo(join(folder, 'again.ndjson'), other, one.header)).toBe(whole);

    const client = new MongoClient(url);
    onTestFinished(() => client.close());
    const deliveries = client.db().collection('webhookDeliveries');
    expect(await deliveries.findOne({ t: { $not: { $type: 'date' } } })).toBeNull();
    expect(await deliveries.indexes()).toContainEqual(
      expect.objectContaining({ key: { t: 1 }, expireAfterSeconds: 0 }),
    );
  },
);

test('an import refuses a store that is not empty and changes nothing in it', async () => {
  const one = await busyStore();
  const folder = await temporaryFolder();
  const file = join(folder, 'store.ndjson');
  await exportTo(file, one, one.header);
  const used = await busyStore();
  const before = await exportTo(join(folder, 'before'), used, used.header);
  const says = `The event log in the log holds other events than ${file}. An import needs an empty store`;
  await expect(importFrom(file, used)).rejects.toThrow(says);
  expect(await exportTo(join(folder, 'after'), used, used.header)).toBe(before);

  const onlyRecords = await emptyStore();
  const users = await onlyRecords.documents.open({ name: 'users', kind: 'record', indexes: [] });
  await users.insert('ada', {});
  await expect(importFrom(file, onlyRecords)).rejects.toThrow(
    'There are records in the records already. An import needs',
  );
  expect(await users.count({} as Parameters<typeof users.count>[0])).toBe(1);
  expect(await Array.fromAsync(onlyRecords.events.readAll())).toEqual([]);

  // Another export has been begun there.
  const later = await busyStore();
  const another = join(folder, 'another.ndjson');
  await exportTo(another, later, later.header);
  const half = await emptyStore();
  await expect(importFrom(file, failingFrom(3, half))).rejects.toThrow('killed');
  await expect(importFrom(another, half)).rejects.toThrow(/holds other events than|There are records/);
  await importFrom(file, half);
});

test('an import refuses an export that is not of a whole store', async () => {
  const store = await busyStore();
  const folder = await temporaryFolder();
  const { probe: _, ...header } = store.header;
  const file = join(folder, 'events.ndjson');
  await exportTo(file, store, header);
  const refusal = async () => checkPurpose('FILE', await readWholeExport(file), 'move');
  await expect(refusal()).rejects.toThrow('FILE holds no records. Export the whole store: venue export --with-records');
  await writeFile(file, '');
  await exportTo(file, store, { ...header, stream: 'spaceDay-1-2026-12-01' });
  await expect(refusal()).rejects.toThrow('FILE holds only some of the events');
  await writeFile(file, '');
  await exportTo(file, store, { ...store.header, purpose: 'keep' });
  await expect(refusal()).rejects.toThrow('FILE is a backup: venue restore FILE');
});

/** Changes the first line that contains a text. */
const inFirst =
  (text: string, change: (line: string) => string) =>
  (lines: readonly string[]): readonly string[] => {
    const at = lines.findIndex((line) => line.includes(text));
    return lines.with(at, change(lines[at] ?? ''));
  };
const twice =
  (text: string) =>
  (lines: readonly string[]): readonly string[] =>
    lines.flatMap((line) => (line.includes(text) ? [line, line] : [line]));
const ELSEWHERE = /(?<="(?:position|BookingRequested)":")[^"]+/;
const moved = (collection: string) => (line: string) => line.replace('"users"', `"${collection}"`);

test.each<[string, string, (lines: readonly string[]) => readonly string[]]>([
  [
    'a record of a missing event',
    'a reference to an event that the file does not contain',
    inFirst('"webhookDeliveries"', (line) => line.replace(ELSEWHERE, 'missing')),
  ],
  [
    'a mark at a missing event',
    'a reference to an event that the file does not contain',
    inFirst('"outboxMarks"', (line) => line.replace(ELSEWHERE, 'missing')),
  ],
  [
    'a gap between revisions',
    'revision 3 of spaceDay-1-2026-12-01 instead of 2',
    (lines) => lines.filter((line) => !/"revision":2,"stream":"spaceDay-1/.test(line)),
  ],
  ['an event twice', 'twice', twice('"revision":2,"stream":"spaceDay-1')],
  [
    'a stream of the engine',
    'a stream or type that event',
    inFirst('"stream":"spaceDay-1', (line) => line.replace('spaceDay-1-2026-12-01', '$settings')),
  ],
  ['a record twice', 'a record of users twice', twice('"users"')],
  ['a table of SQLite', 'a collection of records that cannot exist', inFirst('"users"', moved('sqlite_master'))],
  ['the collection __proto__', 'a collection of records that cannot exist', inFirst('"users"', moved('__proto__'))],
  ['the mark of a store', 'a record that belongs to one store', inFirst('"users"', moved('storeIdentity'))],
  [
    'collections that differ in case',
    'the collections users and Users',
    (lines) => lines.flatMap((line) => (line.includes('"users"') ? [line, moved('Users')(line)] : [line])),
  ],
])('an import of %s is refused before anything is written', async (_, problem, alter) => {
  const store = await busyStore();
  const file = join(await temporaryFolder(), 'store.ndjson');
  const lines = (await exportTo(file, store, store.header)).trimEnd().split('\n').slice(0, -1);
  await writeFile(file, asExport(alter(lines)));
  const target = failingFrom(1, await emptyStore());
  await expect(importFrom(file, target)).rejects.toThrow(problem);
  expect(target.writes()).toBe(0);
});

test('an import detects an event that another writer appends meanwhile', async () => {
  const one = await busyStore();
  const file = join(await temporaryFolder(), 'store.ndjson');
  await exportTo(file, one, one.header);
  const other = await emptyStore();
  const load: OperatedEventStore['load'] = async (batch) => {
    const positions = await other.events.load(batch);
    await other.events.append('stranger', [{ type: 'Made', data: {}, metadata: {} }], { expectedRevision: 'none' });
    return positions;
  };
  const { events, documents } = failingFrom(Number.POSITIVE_INFINITY, other);
  await expect(importFrom(file, { documents, events: { ...events, load } })).rejects.toThrow(
    'The 14 events in the log are not the 13 of the file',
  );
});
