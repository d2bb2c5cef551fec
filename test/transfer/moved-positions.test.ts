import { expect, test } from 'vitest';
import { createMovedPositions } from '../../src/transfer/moved-positions.ts';

test('a position maps to that of its event in the new log, or of the last event before it', () => {
  const moved = createMovedPositions(['', '3', '4', '9', '1', '4'], 'start');
  for (const [from, to] of [
    ['1', 'a'],
    ['3', 'b'],
    ['5', 'c'],
  ] as const)
    moved.stored(from, to);
  moved.end();
  expect(['', '1', '3', '4', '9', '5'].map(moved.of)).toEqual(['start', 'a', 'b', 'b', 'c', undefined]);
});
