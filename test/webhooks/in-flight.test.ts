import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createPermits } from '../../src/webhooks/in-flight.ts';

test('a released permit goes to the waiting request, and to no other', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const order: string[] = [];
  const first = await permits.acquire('prompt', 'Brand:1');
  const acquire = async (name: string) => {
    const permit = await permits.acquire('prompt', 'Brand:1');
    order.push(name);
    return permit;
  };
  const waiting = acquire('waited');
  first.release();
  const late = acquire('came late');
  const second = await waiting;
  await nextTurn();
  expect(order).toEqual(['waited']);
  second.release();
  (await late).release();
  expect(order).toEqual(['waited', 'came late']);
});

test('an attempt that turns out slow passes its permit on, and no class waits for another', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 5 });
  const hanging = await permits.acquire('unknown', 'Brand:1');
  const turnedSlow = new Promise<void>((resolve) => hanging.begin(resolve));
  await permits.acquire('prompt', 'Brand:1');
  await turnedSlow;
  expect(hanging.isSlow()).toBe(true);
  const next = await permits.acquire('unknown', 'Brand:1');
  expect(next.isSlow()).toBe(false);
  // It continues as a hanging attempt, of which one is allowed.
  (await permits.acquire('slow', 'Brand:1')).release();
  let isAcquired = false;
  const slow = permits.acquire('hanging', 'Brand:1').then((permit) => {
    isAcquired = true;
    return permit;
  });
  await nextTurn();
  expect(isAcquired).toBe(false);
  hanging.release();
  (await slow).release();
});

test('stopping grants a permit to every waiting request', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const waiting = Array.from({ length: 3_000 }, () => permits.acquire('unknown', 'Brand:1'));
  permits.stop();
  for (const permit of await Promise.all(waiting)) permit.release();
});

test('prompt receivers that suddenly hang release their permits long before they count as slow', async () => {
  const permits = createPermits({ prompt: 1, unknown: 1, slow: 1, hanging: 1, slowAfterMs: 60_000 });
  const hanging = await permits.acquire('prompt', 'Brand:1');
  hanging.begin();
  const next = await permits.acquire('prompt', 'Brand:1');
  expect(hanging.isSlow()).toBe(false);
  hanging.release();
  next.release();
  (await permits.acquire('prompt', 'Brand:1')).release();
});

test('the next permit goes to the account with the fewest, counting slow attempts but not released permits', async () => {
  const permits = createPermits({ prompt: 2, unknown: 1, slow: 1, hanging: 2, slowAfterMs: 1 });
  /** The order in which accounts get a permit when they start to wait in this order, while `blocking` holds the last one. */
  async function orderOf(receiverClass: 'prompt' | 'hanging', accounts: readonly string[]): Promise<string[]> {
    const blocking = await permits.acquire(receiverClass, 'blocking');
    const order: string[] = [];
    const waiting = accounts.map(async (account) => {
      const permit = await permits.acquire(receiverClass, account);
      order.push(account);
      permit.release();
    });
    blocking.release();
    await Promise.all(waiting);
    return order;
  }
  for (let i = 0; i < 3; i++) (await permits.acquire('prompt', 'released')).release();
  const holding = await permits.acquire('prompt', 'holding');
  expect(await orderOf('prompt', ['holding', 'released', 'new'])).toEqual(['released', 'new', 'holding']);
  holding.release();

  const slow = await permits.acquire('unknown', 'slow');
  await new Promise<void>((resolve) => slow.begin(resolve));
  expect(await orderOf('hanging', ['slow', 'new'])).toEqual(['new', 'slow']);
  slow.release();
});
