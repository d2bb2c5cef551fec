import { MessageChannel } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { OutcomeUnknown } from '../../src/runtime/unavailable.ts';
import { answer, createCaller } from '../../src/threads/calls.ts';

type Doubling = { readonly double: { readonly argument: number; readonly result: number } };

afterEach(() => vi.useRealTimers());

/** A thread that answers, or one that ends before it answers. */
function startThread(isAnswering: boolean) {
  const { port1, port2 } = new MessageChannel();
  if (isAnswering) answer<Doubling>(port2, { double: async (n) => n * 2 });
  return port1;
}

test('a call is repeated on the next thread', async () => {
  const { ask, connect, disconnect } = createCaller<Doubling>();
  connect(startThread(false));
  const answered = ask('double', 2);
  disconnect();
  const next = startThread(true);
  connect(next);
  expect(await answered).toBe(4);
  next.close();
});

test('a call is refused after several threads end without an answer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { ask, connect, disconnect } = createCaller<Doubling>();
  // It may have been carried out.
  const refused = expect(ask('double', 2)).rejects.toThrow(OutcomeUnknown);
  for (let restarts = 0; restarts < 4; restarts += 1) {
    const port = startThread(false);
    connect(port);
    vi.advanceTimersByTime(3_000);
    disconnect();
    port.close();
  }
  await refused;

  const last = startThread(true);
  connect(last);
  expect(await ask('double', 3)).toBe(6);
  last.close();
});

test('the first start of a thread may take longer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { ask, connect } = createCaller<Doubling>();
  const answered = ask('double', 2);
  const port = startThread(true);
  vi.advanceTimersByTime(20_000);
  connect(port);
  expect(await answered).toBe(4);
  port.close();
});

test('a thread that was idle for long answers calls as usual', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { ask, connect } = createCaller<Doubling>();
  const port = startThread(true);
  connect(port);
  vi.advanceTimersByTime(60_000);
  expect(await ask('double', 2)).toBe(4);
  port.close();
});

test('a call soon after a restart without calls is not refused', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { ask, connect, disconnect } = createCaller<Doubling>();
  connect(startThread(true));
  disconnect();
  const port = startThread(true);
  connect(port);
  vi.advanceTimersByTime(7_900);
  const answered = ask('double', 2);
  vi.advanceTimersByTime(200);
  expect(await answered).toBe(4);
  port.close();
});
