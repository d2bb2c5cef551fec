import { getHeapStatistics } from 'node:v8';
import { expect, test } from 'vitest';
import { collectAtRest } from '../../src/runtime/rest.ts';
import { eventually } from '../eventually.ts';

const MIB = 2 ** 20;

test('a thread at rest gives back what it no longer needs', async () => {
  const before = getHeapStatistics().total_heap_size;
  let burst: object[] | undefined = Array.from({ length: 4_000_000 }, (_, i) => ({ i }));
  const during = getHeapStatistics().total_heap_size;
  expect(during - before).toBeGreaterThan(30 * MIB);
  expect(burst).toHaveLength(4_000_000);
  burst = undefined;
  collectAtRest({ lookEveryMs: 100 });
  await eventually(() => expect(during - getHeapStatistics().total_heap_size).toBeGreaterThan(30 * MIB));
});
