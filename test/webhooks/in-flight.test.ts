import { expect, test } from 'vitest';
import { createPermits } from '../../src/webhooks/in-flight.ts';

test('a permit that is released goes to whoever waited, and to nobody beside it', async () => {
  const permits = createPermits({ prompt: 1, slow: 1, slowAfterMs: 60_000 });
  const order: string[] = [];
  const first = await permits.acquire(false);
  const acquire = async (who: string) => {
    const permit = await permits.acquire(false);
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
