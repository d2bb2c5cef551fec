import { beforeEach, expect, test } from 'vitest';
import type { Documents, Query } from '../../src/document-store/document-store.ts';
import { declareQuery } from '../../src/document-store/queries.ts';
import { type Progress, untried } from '../../src/outbox/progress.ts';
import { type Change, OutboxQueue } from '../../src/outbox/queue.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';

type Parcel = Progress<'Pending' | 'Sent' | 'Failed', { readonly number: number }> & {
  readonly group: string;
  readonly number: number;
};

const NOON = Date.parse('2026-12-01T12:00:00Z');
const COLLECTION = {
  name: 'parcels',
  kind: 'record',
  indexes: [{ fields: ['state', 'createdAt'] }, { fields: ['state', 'group', 'number'] }],
} as const;

const oldest = declareQuery<Parcel, []>(
  COLLECTION,
  () => ({ where: { state: 'Pending' }, sort: [{ field: 'createdAt' }], limit: 1 }),
  [],
);
const pendingAfter = declareQuery<Parcel, [string, number]>(
  COLLECTION,
  (above, limit) => ({
    where: { state: 'Pending', group: { above } },
    sort: [{ field: 'group' }, { field: 'number' }],
    limit,
  }),
  ['a', 1],
);
const all = declareQuery<Parcel, []>(COLLECTION, () => ({ where: { state: 'Pending' } }), []);

class Parcels extends OutboxQueue<Parcel> {
  constructor(records: Documents<Parcel>, clock: () => number) {
    super(records, clock, { oldest: oldest() }, 2);
  }
  add = (number: number, group: string) => this.insert(`${number}`, { ...untried(this.clock(), 1_000), number, group });
  changeOne = (number: number, next: Change<Parcel>) => this.change(`${number}`, next);
  changeEach = (next: Change<Parcel>, query: Query<Parcel> = all()) => this.changeAll(query, next);
  firsts = (above?: string) => Array.fromAsync(this.firstOfEach(({ group }) => group, pendingAfter, above));
}

let now: number;
let parcels: Parcels;
/** The limits of the queries for groups. */
let limits: number[];
let heard: Parcel[];
let reads: number;
beforeEach(async () => {
  now = NOON;
  limits = [];
  heard = [];
  reads = 0;
  const before = () => {
    reads += 1;
  };
  const documents = openMemoryDocuments(newDocumentsDisk(), { watch: { before } });
  const records = await documents.open<Parcel>(COLLECTION);
  const find: typeof records.find = (query) => {
    if (query?.limit !== undefined) limits.push(query.limit);
    return records.find(query);
  };
  parcels = new Parcels({ ...records, find }, () => now);
  parcels.onChange((record) => void heard.push(record));
});

test('a record is stored once, and listeners hear of it', async () => {
  const stored = await parcels.add(1, 'a');
  expect(stored).toEqual({ key: '1', version: 1, document: heard[0] });
  expect(await parcels.add(1, 'b')).toBeUndefined();
  expect(await parcels.get('1')).toEqual(stored?.document);
  expect(await parcels.get('2')).toBeUndefined();
  expect(heard).toHaveLength(1);
});

test('of some ids, those that exist are found', async () => {
  await parcels.add(1, 'a');
  expect([...(await parcels.existing(['1', '2'])).keys()]).toEqual(['1']);
  reads = 0;
  expect((await parcels.existing([])).size).toBe(0);
  expect(reads).toBe(0);
});

test('the oldest pending record is the one that was created first', async () => {
  expect(await parcels.oldest()).toBeUndefined();
  await parcels.add(2, 'a');
  now += 1;
  await parcels.add(1, 'a');
  expect((await parcels.oldest())?.number).toBe(2);
});

test('what was sent, or ended otherwise, is stored with the time and the last two attempts', async () => {
  const stored = await parcels.add(1, 'a');
  if (stored === undefined) throw new Error('Not stored');
  now += 5;
  await parcels.complete(
    stored,
    [1, 2, 3].map((number) => ({ number })),
    { state: 'Sent' },
  );
  const due = new Date(NOON + 5).toISOString();
  expect(await parcels.get('1')).toMatchObject({ state: 'Sent', due, attempts: [{ number: 2 }, { number: 3 }] });

  const other = await parcels.add(2, 'a');
  if (other === undefined) throw new Error('Not stored');
  now += 5;
  await parcels.end(other, { state: 'Failed', reason: 'unsubscribed' });
  expect(await parcels.get('2')).toMatchObject({ state: 'Failed', reason: 'unsubscribed' });
  expect(heard.map(({ state }) => state)).toEqual(['Pending', 'Sent', 'Pending', 'Failed']);
});

test('a change that leaves a record as it was is none', async () => {
  await parcels.add(1, 'a');
  expect(await parcels.changeOne(1, () => undefined)).toBeUndefined();
  expect(await parcels.changeOne(2, (record) => record)).toBeUndefined();
  expect(heard).toHaveLength(1);
  expect(await parcels.changeOne(1, (record) => ({ ...record, group: 'b' }))).toMatchObject({ group: 'b' });
});

test('all are changed, over several pages, and whether any was', async () => {
  for (let number = 0; number < 250; number += 1) await parcels.add(number, 'a');
  heard.length = 0;
  expect(await parcels.changeEach((record) => (record.number > 240 ? { ...record, group: 'b' } : undefined))).toBe(
    true,
  );
  expect(heard.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual([
    ...[241, 242, 243, 244, 245, 246, 247, 248, 249],
  ]);
  expect(await parcels.changeEach((record) => (record.number === 0 ? { ...record, group: 'b' } : undefined))).toBe(
    true,
  );
  expect(await parcels.changeEach(() => undefined)).toBe(false);
});

test('a listener hears nothing once it has ended', async () => {
  const others: Parcel[] = [];
  const end = parcels.onChange((record) => void others.push(record));
  await parcels.add(1, 'a');
  end();
  await parcels.add(2, 'a');
  expect([others.length, heard.length]).toEqual([1, 2]);
});

test('the first of each group is found, from a group on', async () => {
  for (const [number, group] of ['b', 'a', 'b', 'c', 'a', 'a'].entries()) await parcels.add(number, group);
  expect((await parcels.firsts()).map(({ number }) => number)).toEqual([1, 0, 3]);
  expect((await parcels.firsts('a')).map(({ number }) => number)).toEqual([0, 3]);
});

test('groups with long queues are sought one after another, and short ones up to 64 at once', async () => {
  for (let number = 0; number < 10; number += 1) await parcels.add(number, 'a');
  for (let number = 10; number < 310; number += 1) await parcels.add(number, `b${number}`);
  expect(await parcels.firsts()).toHaveLength(301);
  expect(limits).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64, 64]);
});

test('a query that finds several of one group yields the first, and asks for fewer', async () => {
  let number = 0;
  for (const group of 'abbbccc') {
    number += 1;
    await parcels.add(number, group);
  }
  expect((await parcels.firsts()).map((each) => each.group)).toEqual(['a', 'b', 'c']);
  expect(limits).toEqual([1, 2, 2, 2]);
});
