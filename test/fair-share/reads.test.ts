import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { ask } from '../document-store/ask.ts';

const READERS = 8;
const ITEMS = 3_000;
/** First pages are read on request. No page is longer than this. */
const FIRST = 1_000;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-reads-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** The maximum number of readers that advanced in one turn of the event loop, after their first pages. */
async function mostInTurn(read: () => AsyncIterable<unknown>): Promise<number> {
  const active = new Set<number>();
  let most = 0;
  let isOver = false;
  const endTurn = () => {
    most = Math.max(most, active.size);
    active.clear();
    if (!isOver) setImmediate(endTurn);
  };
  setImmediate(endTurn);
  const readAll = async (reader: number) => {
    let items = 0;
    for await (const _ of read()) {
      items += 1;
      if (items > FIRST) active.add(reader);
    }
    expect(items).toBe(ITEMS);
  };
  await Promise.all(Array.from({ length: READERS }, (_, reader) => readAll(reader)));
  isOver = true;
  return most;
}

/** The most items that a reader gets in one turn of the event loop. */
async function mostItemsInTurn(items: AsyncIterable<unknown>): Promise<number> {
  const inTurns = [0];
  const immediate = () => {
    inTurns.unshift(0);
    next = setImmediate(immediate);
  };
  let next = setImmediate(immediate);
  for await (const _ of items) inTurns[0] = (inTurns[0] ?? 0) + 1;
  clearImmediate(next);
  return Math.max(...inTurns);
}

test('many long reads of the log take turns on the event loop', async () => {
  const events = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const written = Array.from({ length: ITEMS }, () => ({ type: 'Test', data: {}, metadata: {} }));
  await events.append('test', written, { expectedRevision: 'none' });
  expect(await mostInTurn(() => events.readStream('test'))).toBe(1);
  expect(await mostInTurn(() => events.readAll())).toBe(1);
  await events.close();
});

test('a long read of a stream lets other work run after every 64 events', async () => {
  const events = await openSqliteEventStore({ path: join(folder, 'events.db') });
  const written = Array.from({ length: ITEMS }, () => ({ type: 'Test', data: {}, metadata: {} }));
  await events.append('test', written, { expectedRevision: 'none' });
  expect(await mostItemsInTurn(events.readStream('test'))).toBe(64);
  await events.close();
});

test('many long reads of documents take turns on the event loop', async () => {
  const documents = await openSqliteDocumentStore({ folder, clock: Date.now });
  const numbers = await documents.open<{ readonly value: number }>({ name: 'numbers', kind: 'record', indexes: [] });
  await Promise.all(Array.from({ length: ITEMS }, (_, value) => numbers.insert(String(value), { value })));
  expect(await mostInTurn(() => numbers.find(ask()))).toBe(1);
  await documents.close();
});
