import { type Account, accountKey } from '../domain/account.ts';
import { createFairQueue } from '../event-loop/fair-queue.ts';

/** Whom a search is for: an account, or people without one. */
export type Searcher = Account | { readonly kind: 'Stranger'; readonly network: string };

/** One at a time: a search computes nearly all of its time. Those that wait longer are refused before their request is answered as late. */
const TURNS = { atOnce: 1, withinMs: 5_000 };

/**
 * Takes turns between searches: one account after the other, and all strangers together are one of them, so that accounts do not wait for more
 * of them the more there are. Strangers take the turns that they have one network after the other.
 */
export function createSearchTurns() {
  const all = createFairQueue(TURNS);
  const strangers = createFairQueue(TURNS);

  return <T>(by: Searcher, work: () => Promise<T>): Promise<T> =>
    by.kind === 'Stranger' ? strangers.run(by.network, () => all.run(by.kind, work)) : all.run(accountKey(by), work);
}
