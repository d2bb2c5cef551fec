import { expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { createSearchTurns, type Searcher } from '../../src/queries/search-turns.ts';

const brand = (id: number): Account => ({ kind: 'Brand', id: brandId(id) });
const stranger = (network: string): Searcher => ({ kind: 'Stranger', network });

/** Lets searches wait for one that has a turn. @returns their names in the order of their turns */
async function orderOf(waiting: readonly (readonly [name: string, by: Searcher])[]): Promise<readonly string[]> {
  const inTurn = createSearchTurns();
  const { promise: isRunning, resolve: end } = Promise.withResolvers<void>();
  const first = inTurn(brand(99), () => isRunning);
  const order: string[] = [];
  const others = waiting.map(([name, by]) =>
    inTurn(by, async () => {
      order.push(name);
    }),
  );
  end();
  await Promise.all([first, ...others]);
  return order;
}

test('an account does not wait longer the more strangers search', async () => {
  const strangers = Array.from({ length: 50 }, (_, at) => [`s${at}`, stranger(`192.0.2.${at}`)] as const);
  const order = await orderOf([...strangers, ['a', brand(1)], ['b', brand(2)], ['a again', brand(1)]]);
  expect(order.filter((_, at) => at < 6)).toEqual(['a', 'b', 's0', 'a again', 's1', 's2']);
  expect(order).toHaveLength(53);
});

test('strangers have the turns that they have one network after the other', async () => {
  const greedy = Array.from({ length: 20 }, (_, at) => [`g${at}`, stranger('192.0.2.1')] as const);
  const order = await orderOf([...greedy, ['other', stranger('198.51.100.7')]]);
  expect(order.indexOf('other')).toBeLessThanOrEqual(2);
});

test('a search that fails gives its turn to the next', async () => {
  const inTurn = createSearchTurns();
  const failing = inTurn(stranger('192.0.2.1'), async () => {
    throw new Error('The store is away');
  });
  const next = inTurn(brand(1), async () => 'answered');
  await expect(failing).rejects.toThrow('The store is away');
  expect(await next).toBe('answered');
});
