import { beforeEach, describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import {
  addMarks,
  advanceMarks,
  type Beginning,
  highestMark,
  lowerMarks,
  prepareMarks,
  readMarks,
  replaceMarks,
} from '../../src/outbox/marks.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';
import { newEventsDisk, openMemoryEvents } from '../simulation/memory-events.ts';

let documents: OperatedDocumentStore;
let writes: string[];
beforeEach(() => {
  writes = [];
  const after = (method: string) => /insert|replace/.test(method) && writes.push(method);
  documents = openMemoryDocuments(newDocumentsDisk(), { watch: { after } });
});
const webhooks = () => readMarks(documents, 'webhooks');

test('each role has its own marks, and none at first', async () => {
  expect(await webhooks()).toEqual({});
  expect(await highestMark(documents)).toBe('');
  await addMarks(documents, 'mail', { a: '2' });
  expect(await webhooks()).toEqual({});
  expect(await readMarks(documents, 'mail')).toEqual({ a: '2' });
});

test('marks only move forward', async () => {
  await addMarks(documents, 'webhooks', { a: '2', b: '2' });
  expect(await advanceMarks(documents, 'webhooks', { a: '1', b: '3', c: '1' })).toEqual({ a: '2', b: '3', c: '1' });
  expect(await advanceMarks(documents, 'webhooks', { a: '2', b: '2' })).toEqual({ a: '2', b: '3', c: '1' });
  expect(await webhooks()).toEqual({ a: '2', b: '3', c: '1' });
});

test('those that are missing are added, and the others stay', async () => {
  expect(await addMarks(documents, 'webhooks', { a: '2' })).toEqual({ a: '2' });
  expect(await addMarks(documents, 'webhooks', { a: '9', b: '1' })).toEqual({ a: '2', b: '1' });
});

test('nothing is stored where nothing changes', async () => {
  await addMarks(documents, 'webhooks', {});
  await addMarks(documents, 'webhooks', { a: '2' });
  await advanceMarks(documents, 'webhooks', { a: '2' });
  await lowerMarks(documents, '2');
  expect(writes).toHaveLength(1);
});

test('a restored log lowers the marks beyond its end, of both roles', async () => {
  await addMarks(documents, 'webhooks', { a: '2', b: '5', c: '3' });
  await addMarks(documents, 'mail', { a: '4' });
  expect(await highestMark(documents)).toBe('5');
  await lowerMarks(documents, '3');
  expect(await webhooks()).toEqual({ a: '2', b: '3', c: '3' });
  expect(await readMarks(documents, 'mail')).toEqual({ a: '3' });
  expect(await highestMark(documents)).toBe('3');
});

test('the marks of another log are replaced, also by lower ones', async () => {
  await addMarks(documents, 'webhooks', { a: '5', b: '5' });
  await replaceMarks(documents, 'webhooks', { a: '1' });
  expect(await webhooks()).toEqual({ a: '1' });
});

describe('before a process answers requests', () => {
  let events: OperatedEventStore;
  let end: string;
  let first: number;
  beforeEach(async () => {
    events = openMemoryEvents(newEventsDisk());
    const one = { type: 'BookingRequested', data: {}, metadata: {} };
    end = (await events.append('s', [one, one], { expectedRevision: 'none' })).position;
    first = 0;
  });
  const prepare = (kinds: readonly string[], beginning: Beginning) =>
    prepareMarks({
      events,
      documents,
      role: 'webhooks',
      kinds,
      beginning,
      beforeFirst: async () => {
        expect(await webhooks()).toEqual({});
        first += 1;
      },
    });

  test.each<[Beginning, () => string]>([
    ['start', () => ''],
    ['end', () => end],
  ])('each kind has its mark at the %s of the log', async (beginning, mark) => {
    await prepare(['a', 'b'], beginning);
    expect(await webhooks()).toEqual({ a: mark(), b: mark() });
    expect(first).toBe(1);
  });

  test('a kind that a new release adds begins with the mark that is furthest behind, or at the end', async () => {
    await addMarks(documents, 'webhooks', { a: '1', b: '0' });
    await prepare(['a', 'c'], 'start');
    expect(await webhooks()).toEqual({ a: '1', b: '0', c: '0' });
    await prepare(['a', 'd'], 'end');
    expect(await webhooks()).toEqual({ a: '1', b: '0', c: '0', d: end });
    expect(first).toBe(0);
  });

  test('nothing is done where each has its mark', async () => {
    await addMarks(documents, 'webhooks', { a: '1' });
    events.lastEvent = () => Promise.reject(new Error('Nothing is to be read'));
    await prepare(['a'], 'end');
    expect(await webhooks()).toEqual({ a: '1' });
  });
});
