import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';

const MIB = 2 ** 20;

/** Starts a thread that makes `objects` objects, drops them, and first checks at `firstCheckAt` whether it is idle. */
function startThread(objects: number, firstCheckAt: number): Worker {
  // In a separate thread: other tests have left garbage in this one.
  const thread = new Worker(new URL('burst-thread.ts', import.meta.url), { workerData: { objects, firstCheckAt } });
  onTestFinished(async () => void (await thread.terminate()));
  return thread;
}

test('an idle thread gives back unused memory', async () => {
  const thread = startThread(4_000_000, 0);
  const [{ before, during }] = await once(thread, 'message');
  expect(during - before).toBeGreaterThan(30 * MIB);
  await eventually(async () => {
    thread.postMessage('size');
    const [after] = await once(thread, 'message');
    expect(during - after).toBeGreaterThan(30 * MIB);
  });
});

test('threads can give back memory at the same time', async () => {
  const firstCheckAt = Date.now() + 4_000;
  const threads = Array.from({ length: 12 }, () => startThread(800_000, firstCheckAt));
  await Promise.all(threads.map(givesBack));
});

/** Waits until the thread has given back the memory of its burst. Throws if the thread ends with an error. */
async function givesBack(thread: Worker): Promise<void> {
  let error: unknown;
  thread.on('error', (cause) => (error = cause));
  const [{ during }] = await once(thread, 'message');
  await eventually(async () => {
    expect(error).toBeUndefined();
    thread.postMessage('size');
    const [after] = await once(thread, 'message', { signal: AbortSignal.timeout(5_000) });
    expect(during - after).toBeGreaterThan(8 * MIB);
  });
}
