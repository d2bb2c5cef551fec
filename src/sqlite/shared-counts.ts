import { createHash } from 'node:crypto';
import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Files that have counts of their own. */
const FILES = 1_024;
/** What is counted of each file; the first count tells which file it is. */
const PER_FILE = 8;
/** Collections that are told apart. */
const COLLECTIONS = 4_096;

/** Where among the counts of a file each of them is. */
export const COUNT = {
  /** Threads that wait for its lock. */
  waiting: 0,
  /** How often the lock was released. */
  released: 1,
  /** How many commits the file had after the last one that was accounted for. */
  accounted: 2,
  /** How often a commit has been found that was not. */
  found: 3,
} as const;

/** What the threads of this process count together of a file. */
export type FileCounts = {
  /** Zero at first. All threads see the same counts, those of other processes do not. */
  readonly counts: Int32Array;
  /** False if there are so many files that this one shares its counts with another. */
  readonly isOwn: boolean;
};

/** The counts of a file, for threads that were started after this one first asked for some, and this one. */
export function fileCounts(path: string): FileCounts {
  const digest = digestOf(path);
  const tag = digest.readInt32BE(4) || 1;
  const first = digest.readUInt32BE() % FILES;
  for (let i = 0; i < FILES; i += 1) {
    const at = ((first + i) % FILES) * PER_FILE;
    const found = Atomics.compareExchange(memory(), at, 0, tag);
    if (found === 0 || found === tag) return { counts: countsAt(at), isOwn: true };
  }
  return { counts: countsAt(first * PER_FILE), isOwn: false };
}

const countsAt = (at: number) => memory().subarray(at + 1, at + PER_FILE);

/** Tells whether other threads of this process have written to a collection. */
export type CollectionStamp = {
  /** Whether another thread has written to it, or to one that it cannot be told from, since the last call. */
  hasChanged(): boolean;
  /** Call after a commit that wrote to it. */
  note(): void;
};

export function collectionStamp(path: string, collection: string): CollectionStamp {
  const counts = memory();
  const at = FILES * PER_FILE + (digestOf(`${path} ${collection}`).readUInt32BE() % COLLECTIONS);
  let seen = Atomics.load(counts, at);
  return {
    hasChanged() {
      const now = Atomics.load(counts, at);
      if (now === seen) return false;
      seen = now;
      return true;
    },
    note() {
      // Unless another thread has written meanwhile, too.
      if (Atomics.add(counts, at, 1) === seen) seen = (seen + 1) | 0;
    },
  };
}

const digestOf = (name: string): Buffer => createHash('sha256').update(name).digest();

const KEY = 'counts of files';
let known: Int32Array | undefined;

function memory(): Int32Array {
  if (known !== undefined) return known;
  const shared: unknown = getEnvironmentData(KEY);
  known = new Int32Array(shared instanceof SharedArrayBuffer ? shared : share());
  return known;
}

function share(): SharedArrayBuffer {
  const shared = new SharedArrayBuffer((FILES * PER_FILE + COLLECTIONS) * Int32Array.BYTES_PER_ELEMENT);
  setEnvironmentData(KEY, shared);
  return shared;
}
