import { expect, test } from 'vitest';
import { createKeptLists, type KeptLists } from '../../src/api/kept-lists.ts';

const version = (id: string) => ({ id, isShown: async () => true });
const V1 = version('1');
const chunk = (fill: string, bytes = 40_000) => Buffer.alloc(bytes, fill);
const LONG = [chunk('a'), chunk('b')];

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
const read = (lists: KeptLists, key: string, of = V1, chunks: readonly Buffer[] = LONG) =>
  Array.fromAsync(lists.keep(key, of, chunksOf(chunks)));

test('a long list is kept under its key, in its version', async () => {
  const lists = createKeptLists();
  expect(lists.get('one', V1)).toBeUndefined();
  expect(await read(lists, 'one')).toEqual(LONG);
  expect(lists.get('one', V1)).toEqual(LONG);
  expect(lists.get('one', version('2'))).toBeUndefined();
  expect(lists.get('other', V1)).toBeUndefined();
  const later = [chunk('c'), chunk('d')];
  await read(lists, 'one', version('2'), later);
  expect(lists.get('one', version('2'))).toEqual(later);
  expect(lists.get('one', V1)).toBeUndefined();
});

test('a short list is not, nor one that takes more than 8 MiB', async () => {
  const lists = createKeptLists();
  await read(lists, 'short', V1, [chunk('a', 1_000)]);
  const huge = Array.from({ length: 9 }, () => chunk('a', 2 ** 20));
  expect(await read(lists, 'huge', V1, huge)).toEqual(huge);
  expect([lists.get('short', V1), lists.get('huge', V1)]).toEqual([undefined, undefined]);
});

test('nor one whose reader stops, or that fails', async () => {
  const lists = createKeptLists();
  for await (const first of lists.keep('stopped', V1, chunksOf(LONG))) {
    expect(first).toEqual(LONG[0]);
    break;
  }
  async function* failing() {
    yield* LONG;
    throw new Error('no more');
  }
  await expect(Array.fromAsync(lists.keep('failed', V1, failing()))).rejects.toThrow('no more');
  expect([lists.get('stopped', V1), lists.get('failed', V1)]).toEqual([undefined, undefined]);
});

test('a reader that never goes on keeps nobody else from it', async () => {
  const lists = createKeptLists();
  const stuck = lists.keep('stuck', V1, chunksOf(LONG));
  await stuck.next();
  await read(lists, 'one');
  expect(lists.get('one', V1)).toEqual(LONG);
  // What it has missed is not missing in what is kept.
  expect([await stuck.next(), (await stuck.next()).done]).toEqual([{ done: false, value: LONG[1] }, true]);
  expect([lists.get('stuck', V1), lists.get('one', V1)]).toEqual([undefined, LONG]);
});
