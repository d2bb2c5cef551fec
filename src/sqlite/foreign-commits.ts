import type { DatabaseSync } from 'node:sqlite';
import { closeRemovedIndexes, openCommitCount } from './commit-count.ts';
import { DataVersion } from './data-version.ts';
import { COUNT, fileCounts } from './shared-counts.ts';

/** No number of commits that is likely to be seen. */
const NONE = -1;

/**
 * Tells whether a file has been changed by anything that nobody in this process accounts for: another process, above all. What its
 * own threads write they tell each other collection by collection, so that a commit makes nobody forget what it did not change
 * (docs/decisions/threads.md).
 */
export type ForeignCommits = {
  /** Whether there has been such a commit since the last call. Takes about 3 µs. */
  happened(): boolean;
  /**
   * Call inside a transaction whose changes are accounted for, after {@link happened}. Call the result after its commit, once the other threads can learn of
   * its changes, with whether it wrote anything.
   */
  account(): (hasWritten: boolean) => void;
  /** Call once the connection is closed. */
  close(): void;
};

export function openForeignCommits(database: DatabaseSync, path: string): ForeignCommits {
  const { counts, isOwn } = fileCounts(path);
  // What it says may be about a former file in this place.
  Atomics.store(counts, COUNT.accounted, NONE);
  const version = new DataVersion(database);
  // The version has been read, so there is an index.
  const read = isOwn ? openCommitCount(path) : undefined;
  let seen = read?.();
  let found = Atomics.load(counts, COUNT.found);

  return {
    happened() {
      const commits = read?.();
      if (commits === undefined) return version.hasChanged();
      // In this order: whoever commits notes what it has found before, and what it accounts for after.
      const foundNow = Atomics.load(counts, COUNT.found);
      if (commits === seen && foundNow === found) return false;
      const accounted = Atomics.load(counts, COUNT.accounted);
      const isForeign = commits !== accounted || foundNow !== found;
      if (commits !== accounted) Atomics.compareExchange(counts, COUNT.accounted, accounted, NONE);
      seen = commits;
      found = foundNow;
      return isForeign;
    },

    account() {
      const before = read?.();
      if (before === undefined) return () => {};
      // Nobody else counts meanwhile: this connection holds the write lock, and has just looked itself.
      if (before !== Atomics.load(counts, COUNT.accounted)) found = (Atomics.add(counts, COUNT.found, 1) + 1) | 0;
      return (hasWritten) => Atomics.store(counts, COUNT.accounted, hasWritten ? (before + 1) | 0 : before);
    },

    close: closeRemovedIndexes,
  };
}
