import { expect, test } from 'vitest';
import type { Change } from './change.ts';
import { problemsOf, type RoomLog } from './room-log.ts';

const NAME = 'ab'.repeat(32);
const log: RoomLog = {
  marks: new Map([
    ['1', [1]],
    ['2', [2]],
    ['twice', [3, 4]],
  ]),
  photos: new Map([[7, { names: [NAME], added: new Map([[NAME, 2]]), removed: new Map([[NAME, 1]]) }]]),
  areas: new Map(),
};
const change = (what: Change['what'], mark: string, calledAt: number, answeredAt = calledAt + 1): Change => ({
  place: 7,
  what,
  mark,
  calledAt,
  answeredAt,
});
const UNKNOWN = Number.POSITIVE_INFINITY;

test('changes that are in the log, and those without an answer that may be, are no problem', () => {
  const changes = [change('described', '1', 1), change('told', '2', 1.5), change('described', '3', 9, UNKNOWN)];
  const ofPhotos = [change('added', NAME, 1), change('added', NAME, 5, UNKNOWN), change('removed', NAME, 3)];
  expect(problemsOf(log, [...changes, ...ofPhotos])).toEqual([]);
});

test('a change that is lost, doubled or out of order is one, and a photo that was added more or less often than answered', () => {
  for (const [problem, ...changes] of [
    ['0 times in the log', change('described', '3', 1)],
    ['2 times in the log', change('described', 'twice', 1)],
    ['stands behind', change('described', '1', 5), change('described', '2', 1)],
    ['2 times in the log, not 3 to 3', ...[1, 3, 5].map((at) => change('added', NAME, at))],
    ['1 times in the log, not 2 to 2', change('removed', NAME, 1), change('removed', NAME, 3)],
  ] as const)
    expect(problemsOf(log, changes).join('\n')).toContain(problem);
});
