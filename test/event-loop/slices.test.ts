import { expect, test } from 'vitest';
import { isTurnUsedUp, nextSlice } from '../../src/event-loop/slices.ts';

test('of computations that begin at the same moment, each gets a turn of the event loop if it takes a while', async () => {
  let turn = 0;
  const count = () => {
    turn += 1;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  await nextSlice();
  const turns = await Promise.all(
    Array.from({ length: 10 }, async () => {
      if (isTurnUsedUp()) await nextSlice();
      const end = performance.now() + 3;
      while (performance.now() < end);
      return turn;
    }),
  );
  clearImmediate(timer);
  expect(new Set(turns).size).toBe(10);
});
