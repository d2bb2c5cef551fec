import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isBusy, isDamage } from './busy.ts';

/**
 * Takes databases for this process alone: nobody else may have them open, and nobody can open them until they are released. A file
 * that is absent or damaged is passed over.
 * @returns how to release them; undefined if someone, this process included, has one of them open
 */
export function takeAlone(paths: readonly string[]): (() => void) | undefined {
  const taken: DatabaseSync[] = [];
  const release = () => {
    for (const database of taken) database.close();
  };
  for (const path of paths.filter((each) => existsSync(each))) {
    const database = new DatabaseSync(path, { timeout: 0 });
    taken.push(database);
    try {
      // Every connection in WAL mode keeps a shared lock on the file for as long as it is open, which this one conflicts with
      // (sqlite.org/wal.html, "Use of WAL Without Shared-Memory").
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
