import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createPermits } from '../../src/outbox/permits.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd'];
const LIMITS = { perAccount: 3, all: 6 };

const action = fc.record({
  kind: fc.constantFrom('acquire' as const, 'acquire' as const, 'release' as const),
  account: fc.constantFrom(...ACCOUNTS),
  isUnproven: fc.boolean(),
});

test('no limit is exceeded, no permit lies idle, and the account with the fewest is next', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: 'max' }), async (actions) => {
      const permits = createPermits(LIMITS);
      const held: { readonly account: string; readonly isUnproven: boolean; readonly release: () => void }[] = [];
      const waiting: { readonly account: string; readonly isUnproven: boolean }[] = [];
      const heldBy = (name: string) => held.filter(({ account }) => account === name).length;
      const unproven = () => held.filter(({ isUnproven }) => isUnproven).length;
      for (const { kind, account, isUnproven } of actions) {
        if (kind === 'acquire') {
          const waiter = { account, isUnproven };
          waiting.push(waiter);
          void permits.acquire(account, isUnproven).then((release) => {
            const others = waiting.filter((each) => !each.isUnproven && each.account !== account);
            for (const other of others) expect(heldBy(other.account)).toBeGreaterThanOrEqual(heldBy(account));
            waiting.splice(waiting.indexOf(waiter), 1);
            held.push({ ...waiter, release });
          });
        } else held.splice(held.findIndex((each) => each.account === account) >>> 0, 1)[0]?.release();
        await nextTurn();
        expect(held.length).toBeLessThanOrEqual(LIMITS.all);
        expect(unproven()).toBeLessThanOrEqual(LIMITS.all / 2);
        for (const name of ACCOUNTS) expect(heldBy(name)).toBeLessThanOrEqual(LIMITS.perAccount);
        const mayStart = waiting.filter(
          (each) => heldBy(each.account) < LIMITS.perAccount && (!each.isUnproven || unproven() < LIMITS.all / 2),
        );
        expect(held.length === LIMITS.all || mayStart.length === 0).toBe(true);
      }
    }),
  );
});

test('of two accounts, one with a hundred attempts waiting and one with a single one, each gets every second permit', async () => {
  const permits = createPermits({ perAccount: 1, all: 1 });
  const order: string[] = [];
  const attempt = async (account: string) => {
    const release = await permits.acquire(account, false);
    order.push(account);
    await nextTurn();
    if (account === 'one' && order.length < 12) void attempt('one');
    release();
  };
  const first = attempt('many');
  const all = Promise.all(Array.from({ length: 100 }, () => attempt('many')));
  void attempt('one');
  await Promise.all([first, all]);
  expect(order.slice(1, 11).filter((account) => account === 'one')).toHaveLength(5);
});
