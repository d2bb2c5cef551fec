import { expect, test } from 'vitest';
import { createSignUpLimits } from '../../src/auth/sign-up-limits.ts';

/** Counts without windows. */
function counting() {
  const counts = new Map<string, number>();
  return {
    counts,
    async add(of: readonly string[], { max }: { readonly max: number }) {
      const key = of.join(' ');
      const count = counts.get(key) ?? 0;
      if (count >= max) return 1_000;
      counts.set(key, count + 1);
      return 0;
    },
  };
}

/** How many of these sign-ups are taken. */
async function taken(perDay: number, sent: Iterable<readonly [email: string, from: string]>): Promise<number> {
  const limit = createSignUpLimits({ counts: counting(), perDay });
  let count = 0;
  for (const [email, from] of sent) if ((await limit(email, from)) === 0) count += 1;
  return count;
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

test('one network, one block, one address and everybody together are taken so many sign-ups of', async () => {
  const address = (n: number) => `${n}@example.com`;
  expect(
    await taken(
      1_000,
      times(500).map((n) => [address(n), '203.0.113.7']),
    ),
  ).toBe(20);
  expect(
    await taken(
      1_000,
      times(500).map((n) => [address(n), `2001:db8:1:2::${n.toString(16)}`]),
    ),
  ).toBe(20);
  expect(
    await taken(
      1_000,
      times(1_000).map((n) => [address(n), `203.0.113.${n % 256}`]),
    ),
  ).toBe(100);
  expect(
    await taken(
      1_000,
      times(1_000).map((n) => [address(n), `2001:db8:1:${n.toString(16)}::1`]),
    ),
  ).toBe(100);
  expect(
    await taken(
      1_000,
      times(500).map((n) => [n % 2 ? 'ada@example.com' : ' Ada@Example.com', `10.0.${n % 250}.1`]),
    ),
  ).toBe(5);
  expect(
    await taken(
      1_000,
      times(5_000).map((n) => [address(n), `10.${n >> 8}.${n % 256}.1`]),
    ),
  ).toBe(1_000);
});

test('sign-ups that are refused for one network use up nothing of those from everywhere', async () => {
  const flood = times(5_000).map((n) => [`${n}@example.com`, '203.0.113.7'] as const);
  const people = times(80).map((n) => [`person${n}@example.com`, `10.0.${n}.1`] as const);
  expect(await taken(100, [...flood, ...people])).toBe(100);
});
