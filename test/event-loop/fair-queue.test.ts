import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { createFairQueue } from '../../src/event-loop/fair-queue.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';

afterEach(() => vi.restoreAllMocks());

/** Work of several keys, which is finished by hand. */
function held(atOnce = 2) {
  const queue = createFairQueue({ atOnce, withinMs: 8_000 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string) =>
    queue.run(name[0] ?? '', () => {
      begun.push(name);
      const { promise, resolve } = Promise.withResolvers<string>();
      ends.push(() => resolve(name));
      return promise;
    });
  const end = async () => {
    ends.shift()?.();
    await nextTurn();
  };
  return { begun, run, end };
}

test('runs so many at once, and takes turns between keys', async () => {
  const { begun, run, end } = held();
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(run);
  await nextTurn();
  expect(begun).toEqual(['a1', 'a2']);
  for (let ended = 0; ended < all.length; ended += 1) await end();
  expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']);
  expect(await Promise.all(all)).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']);
  // It starts again after it was empty.
  const last = run('a5');
  await nextTurn();
  await end();
  expect(await last).toBe('a5');
});

test('work that fails makes room for the next', async () => {
  const queue = createFairQueue({ atOnce: 1, withinMs: 8_000 });
  const failed = queue.run('a', () => Promise.reject(new Error('Broken')));
  const next = queue.run('a', async () => 'done');
  await expect(failed).rejects.toThrow('Broken');
  expect(await next).toBe('done');
});

test('what has waited for too long never begins', async () => {
  const { begun, run, end } = held(1);
  const first = run('a1');
  await nextTurn();
  const late = Promise.allSettled([run('a2'), run('b1')]);
  const now = performance.now();
  vi.spyOn(performance, 'now').mockReturnValue(now + 9_000);
  const inTime = run('c1');
  await end();
  const refused = { status: 'rejected', reason: expect.any(Unavailable) };
  expect(await late).toEqual([refused, refused]);
  expect(begun).toEqual(['a1', 'c1']);
  await end();
  expect(await Promise.all([first, inTime])).toEqual(['a1', 'c1']);
});
