import { expect, test } from 'vitest';
import { createMovedPositions } from '../../src/backup/moved-positions.ts';

test('positions move to where their event is now, those between events to the event before', () => {
  const moved = createMovedPositions(['', '3', '4', '9', '1', '4']);
  for (const [from, to] of [
    ['1', 'a'],
    ['3', 'b'],
    ['5', 'c'],
  ] as const)
    moved.stored(from, to);
  moved.end();
  expect(['', '1', '3', '4', '9', '5'].map(moved.of)).toEqual(['', 'a', 'b', 'b', 'c', '5']);
});
