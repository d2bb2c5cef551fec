import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy, isDamage } from './busy.ts';

/**
 * Locks databases exclusively for this process. Skips files that are absent or damaged.
 * @returns a function that releases them; undefined if any process, including this one, has one of them open
 */
export function lockExclusively(paths: readonly string[]): (() => void) | undefined {
  const locked: DatabaseSync[] = [];
  const release = () => {
    for (const database of locked) database.close();
  };
  for (const path of paths.filter((each) => existsSync(each))) {
    const database = new DatabaseSync(path, { timeout: 0 });
    locked.push(database);
    try {
      // An open connection in WAL mode holds a shared lock on the file, which conflicts with this lock (sqlite.org/wal.html, "Use
      // of WAL Without Shared-Memory").
      database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT');
    } catch (error) {
      if (isDamage(error)) continue;
      release();
      if (isBusy(error)) return undefined;
      throw error;
    }
  }
  return release;
}
