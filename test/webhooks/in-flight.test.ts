import { expect, test } from 'vitest';
import { createPermits } from '../../src/webhooks/in-flight.ts';

test('a permit that is released goes to whoever waited, and to nobody beside it', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const order: string[] = [];
  const first = await permits.acquire('prompt');
  const acquire = async (who: string) => {
    const permit = await permits.acquire('prompt');
    order.push(who);
    return permit;
  };
  const waiting = acquire('waited');
  first.release();
  const late = acquire('came late');
  const second = await waiting;
  await Promise.resolve();
  expect(order).toEqual(['waited']);
  second.release();
  (await late).release();
  expect(order).toEqual(['waited', 'came late']);
});

test('an attempt that turns out slow gives its permit to the next, and no class waits for another', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 5 });
  const hanging = await permits.acquire('unknown');
  const turnedSlow = new Promise<void>((resolve) => hanging.begin(resolve));
  await permits.acquire('prompt');
  await turnedSlow;
  expect(hanging.isSlow()).toBe(true);
  const next = await permits.acquire('unknown');
  expect(next.isSlow()).toBe(false);
  // It continues as a hanging one, of which there may be one.
  (await permits.acquire('slow')).release();
  let isAcquired = false;
  const slow = permits.acquire('hanging').then((permit) => {
    isAcquired = true;
    return permit;
  });
  await Promise.resolve();
  expect(isAcquired).toBe(false);
  hanging.release();
  (await slow).release();
});

test('when it stops, nobody goes on waiting', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const waiting = Array.from({ length: 3_000 }, () => permits.acquire('unknown'));
  permits.stop();
  for (const permit of await Promise.all(waiting)) permit.release();
});

test('prompt receivers that suddenly hang give their permits up long before they count as slow', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const hanging = await permits.acquire('prompt');
  hanging.begin();
  const next = await permits.acquire('prompt');
  expect(hanging.isSlow()).toBe(false);
  hanging.release();
  next.release();
  (await permits.acquire('prompt')).release();
});
