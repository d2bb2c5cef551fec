import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';

const MIB = 2 ** 20;

test('an idle thread gives back unused memory', async () => {
  // In a separate thread: other tests have left garbage in this one.
  const thread = new Worker(new URL('burst-thread.ts', import.meta.url));
  onTestFinished(async () => void (await thread.terminate()));
  const [{ before, during }] = await once(thread, 'message');
  expect(during - before).toBeGreaterThan(30 * MIB);
  await eventually(async () => {
    thread.postMessage('size');
    const [after] = await once(thread, 'message');
    expect(during - after).toBeGreaterThan(30 * MIB);
  });
});
