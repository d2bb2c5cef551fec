import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairQueue } from '../../src/webhooks/fair-queue.ts';

const ACCOUNTS = ['a', 'b', 'c', 'd'];

/** Steps on the permits of a class. A `hold` is that of an attempt that turned slow. */
const action = fc.record({
  kind: fc.constantFrom('wait' as const, 'wait' as const, 'next' as const, 'release' as const, 'hold' as const),
  account: fc.constantFrom(...ACCOUNTS),
});

test('no account gets another permit while a waiting one has fewer, or as many and no turn in between', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 200, size: 'max' }), (actions) => {
      const queue = new FairQueue<{ readonly account: string; readonly number: number }>();
      const held = new Map(ACCOUNTS.map((account) => [account, 0]));
      const heldBy = (account: string) => held.get(account) ?? 0;
      /** Waiting requests, first come first served. */
      const waiting = new Map<string, number[]>(ACCOUNTS.map((account) => [account, []]));
      /** Turns of each account since another started to wait or had its own turn. */
      const turns = new Map(ACCOUNTS.map((account) => [account, new Map<string, number>()]));
      for (const [number, { kind, account }] of actions.entries()) {
        if (kind === 'wait') {
          if (waiting.get(account)?.length === 0) turns.set(account, new Map());
          waiting.get(account)?.push(number);
          queue.wait(account, { account, number });
        } else if (kind === 'hold') {
          held.set(account, heldBy(account) + 1);
          queue.hold(account);
        } else if (kind === 'release') {
          if (heldBy(account) === 0) continue;
          held.set(account, heldBy(account) - 1);
          queue.release(account);
        } else {
          const given = queue.next();
          const others = ACCOUNTS.filter((each) => waiting.get(each)?.length !== 0 && each !== given?.account);
          if (given === undefined) {
            expect(others).toEqual([]);
            continue;
          }
          expect(waiting.get(given.account)?.shift()).toBe(given.number);
          for (const other of others) {
            expect(heldBy(other)).toBeGreaterThanOrEqual(heldBy(given.account));
            const before = turns.get(other)?.get(given.account) ?? 0;
            if (heldBy(other) === heldBy(given.account)) expect(before).toBe(0);
            turns.get(other)?.set(given.account, before + 1);
          }
          turns.set(given.account, new Map());
          held.set(given.account, heldBy(given.account) + 1);
        }
        expect(queue.isEmpty).toBe([...waiting.values()].every((each) => each.length === 0));
      }
    }),
  );
});

test('of two accounts, one with a hundred requests waiting and one with a single one, each gets every second permit', () => {
  const queue = new FairQueue<string>();
  for (let i = 0; i < 100; i++) queue.wait('many', 'many');
  const given: (string | undefined)[] = [];
  for (let i = 0; i < 6; i++) {
    queue.wait('one', 'one');
    for (let turn = 0; turn < 2; turn++) {
      const account = queue.next() ?? '';
      given.push(account);
      queue.release(account);
    }
  }
  expect(given.join(' ')).toBe('many one '.repeat(6).trim());
});
