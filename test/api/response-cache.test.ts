import { expect, test } from 'vitest';
import { createResponseCache, type ResponseCache } from '../../src/api/response-cache.ts';

const version = (id: string) => ({ id, isShown: async () => true });
const V1 = version('1');
const chunk = (fill: string, bytes = 40_000) => Buffer.alloc(bytes, fill);
const LONG = [chunk('a'), chunk('b')];

async function* chunksOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}
const read = (cache: ResponseCache, key: string, of = V1, chunks: readonly Buffer[] = LONG) =>
  Array.fromAsync(cache.caching(key, of, chunksOf(chunks)));

test('caches a long list by key and version', async () => {
  const cache = createResponseCache();
  expect(cache.get('one', V1)).toBeUndefined();
  expect(await read(cache, 'one')).toEqual(LONG);
  expect(cache.get('one', V1)).toEqual(LONG);
  expect(cache.get('one', version('2'))).toBeUndefined();
  expect(cache.get('other', V1)).toBeUndefined();
  const later = [chunk('c'), chunk('d')];
  await read(cache, 'one', version('2'), later);
  expect(cache.get('one', version('2'))).toEqual(later);
  expect(cache.get('one', V1)).toBeUndefined();
});

test('does not cache a list under 64 KiB or over 8 MiB', async () => {
  const cache = createResponseCache();
  await read(cache, 'short', V1, [chunk('a', 1_000)]);
  const huge = Array.from({ length: 9 }, () => chunk('a', 2 ** 20));
  expect(await read(cache, 'huge', V1, huge)).toEqual(huge);
  expect([cache.get('short', V1), cache.get('huge', V1)]).toEqual([undefined, undefined]);
});

test('does not cache a list that fails or whose reader stops early', async () => {
  const cache = createResponseCache();
  for await (const first of cache.caching('stopped', V1, chunksOf(LONG))) {
    expect(first).toEqual(LONG[0]);
    break;
  }
  async function* failing() {
    yield* LONG;
    throw new Error('no more');
  }
  await expect(Array.fromAsync(cache.caching('failed', V1, failing()))).rejects.toThrow('no more');
  expect([cache.get('stopped', V1), cache.get('failed', V1)]).toEqual([undefined, undefined]);
});

test('a reader that never finishes does not prevent other lists from being cached', async () => {
  const cache = createResponseCache();
  const stuck = cache.caching('stuck', V1, chunksOf(LONG));
  await stuck.next();
  await read(cache, 'one');
  expect(cache.get('one', V1)).toEqual(LONG);
  // The cached list is complete.
  expect([await stuck.next(), (await stuck.next()).done]).toEqual([{ done: false, value: LONG[1] }, true]);
  expect([cache.get('stuck', V1), cache.get('one', V1)]).toEqual([undefined, LONG]);
});
