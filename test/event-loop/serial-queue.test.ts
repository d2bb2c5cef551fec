import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, expect, test } from 'vitest';
import { SerialQueue } from '../../src/event-loop/serial-queue.ts';

let queue: SerialQueue;
const log: string[] = [];
beforeEach(() => {
  queue = new SerialQueue();
  log.length = 0;
});

/** A job that logs when it begins and ends, and takes a few turns of the event loop. */
const job =
  (name: string, turns = 3) =>
  async () => {
    log.push(`${name} begins`);
    for (let i = 0; i < turns; i++) await nextTurn();
    log.push(`${name} ends`);
    return name;
  };

test('runs jobs with the same key one at a time, in order of arrival, and returns the result of each', async () => {
  const results = await Promise.all([
    queue.run('k', job('a', 5)),
    queue.run('k', job('b')),
    queue.run('k', job('c', 0)),
  ]);
  expect(results).toEqual(['a', 'b', 'c']);
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

test('runs jobs with different keys concurrently', async () => {
  await Promise.all([queue.run('k', job('a')), queue.run('l', job('b'))]);
  expect(log).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
});

test('starts the first job at once, and a later one only after all earlier ones', async () => {
  const first = queue.run('k', job('a'));
  expect(log).toEqual(['a begins']);
  await first;
  const second = queue.run('k', job('b'));
  const third = queue.run('k', job('c'));
  await nextTurn();
  const fourth = queue.run('k', job('d'));
  await Promise.all([second, third, fourth]);
  expect(log.filter((line) => line.endsWith('begins'))).toEqual(['a begins', 'b begins', 'c begins', 'd begins']);
});

test.each([
  ['rejects', () => Promise.reject(new Error('broken'))],
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
])('a job that %s rejects for its caller, and the next one still runs', async (_, broken) => {
  const outcomes = await Promise.allSettled([
    queue.run('k', broken),
    queue.run('k', job('a')),
    queue.run('k', broken),
    queue.run('k', job('b')),
  ]);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
  expect(log).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
});

test('holds no memory for keys whose jobs have ended', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const results: WeakRef<object>[] = [];
  for (let i = 0; i < 1_000; i++) {
    const key = `key ${i}`;
    const made = await Promise.all([queue.run(key, async () => ({ i })), queue.run(key, async () => ({ i }))]);
    results.push(...made.map((result) => new WeakRef(result)));
  }
  await nextTurn();
  collectGarbage();
  // The last ones may still be referenced by their callers.
  expect(results.filter((result) => result.deref() !== undefined).length).toBeLessThan(10);
  await queue.run('another', job('a'));
});
