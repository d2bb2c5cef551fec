import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startPolling } from '../../src/outbox/poll.ts';
import { eventually } from '../eventually.ts';

/** Polls with what each look leads to: the time until something is due, or an error. After those, nothing is due. */
async function poll(looks: readonly (number | Error)[], intervalMs = 20) {
  const began = performance.now();
  /** When each look began. */
  const at: number[] = [];
  const lines: string[] = [];
  let signal: AbortSignal | undefined;
  const polling = await startPolling({
    what: 'mails',
    logger: { error: (_: unknown, text?: string) => void lines.push(text ?? '') },
    intervalMs,
    async look(given) {
      signal = given;
      const next = looks[at.length] ?? Number.POSITIVE_INFINITY;
      at.push(performance.now() - began);
      if (next instanceof Error) throw next;
      return next;
    },
  });
  return { at, lines, polling, isStopping: () => signal?.aborted };
}

test('the first look is over when it has started', async () => {
  const { at, polling, isStopping } = await poll([]);
  expect(at).toHaveLength(1);
  expect(isStopping()).toBe(false);
  await polling.stop();
  expect(isStopping()).toBe(true);
});

test('a first look that fails is an error', async () => {
  await expect(poll([new Error('the records are away')])).rejects.toThrow('the records are away');
});

test('it looks again when something is due, and after the interval at the latest', async () => {
  const { at, polling } = await poll([60, 60], 200);
  await eventually(() => expect(at).toHaveLength(4));
  await polling.stop();
  const [first = 0, second = 0, third = 0, fourth = 0] = at;
  for (const pause of [second - first, third - second]) {
    expect(pause).toBeGreaterThan(55);
    expect(pause).toBeLessThan(190);
  }
  // The next multiple of the interval.
  expect(fourth - third).toBeGreaterThan(0);
  expect(fourth - third).toBeLessThan(260);
});

test('what is due at once waits for ten milliseconds, so that other work goes on', async () => {
  const { at, polling } = await poll([0, -1_000, 0], 500);
  await eventually(() => expect(at).toHaveLength(4));
  await polling.stop();
  expect((at[3] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(28);
});

test('looking takes at most a fifth of the time', async () => {
  const at: number[] = [];
  const polling = await startPolling({
    what: 'mails',
    logger: { error: () => {} },
    intervalMs: 5,
    async look() {
      at.push(performance.now());
      await delay(30);
      return 0;
    },
  });
  await eventually(() => expect(at).toHaveLength(2));
  await polling.stop();
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(140);
});

test('a later look that fails is one line, and it looks again', async () => {
  const { at, lines, polling } = await poll([0, new Error('the records are away'), 0]);
  await eventually(() => expect(at.length).toBeGreaterThan(3));
  await polling.stop();
  expect(lines).toEqual(['Looking up due mails failed; retrying']);
});

test('once it is stopped, it looks no more, and it waits for the last look', async () => {
  const blocked = Promise.withResolvers<void>();
  let looks = 0;
  const polling = await startPolling({
    what: 'mails',
    logger: { error: () => {} },
    intervalMs: 5,
    async look() {
      looks += 1;
      if (looks > 1) await blocked.promise;
      return 0;
    },
  });
  await eventually(() => expect(looks).toBe(2));
  let isStopped = false;
  const stopped = polling.stop().then(() => {
    isStopped = true;
  });
  await delay(20);
  expect(isStopped).toBe(false);
  blocked.resolve();
  await stopped;
  await delay(30);
  expect(looks).toBe(2);
});

test('it stops at once while nothing is due', async () => {
  const { polling } = await poll([], 60_000);
  const began = performance.now();
  await polling.stop();
  expect(performance.now() - began).toBeLessThan(1_000);
});
