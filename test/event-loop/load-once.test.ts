import { expect, test } from 'vitest';
import { loadOnce } from '../../src/event-loop/load-once.ts';

test('loads once, also for callers at the same time', async () => {
  let loads = 0;
  const value = loadOnce(async () => {
    loads += 1;
    return loads;
  });
  expect(value.loaded()).toBeUndefined();
  expect(await Promise.all([value(), value()])).toEqual([1, 1]);
  expect(await value()).toBe(1);
  expect(await value.loaded()).toBe(1);
});

test('a load that failed is tried again', async () => {
  let isAway = true;
  const value = loadOnce(async () => {
    if (isAway) throw new Error('The store is away');
    return 'loaded';
  });
  await expect(value()).rejects.toThrow('The store is away');
  expect(value.loaded()).toBeUndefined();
  isAway = false;
  expect(await value()).toBe('loaded');
});
