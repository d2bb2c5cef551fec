import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files in `DATA_DIR` hold keys, hashes of passwords and what guests wrote: nobody but their owner reads them. */
const OWNER_ONLY = 0o600;

/**
 * Closes a SQLite database to everybody but its owner. To be called before the first write: SQLite gives the files that it
 * puts beside a database the mode of the database.
 */
export function keepPrivate(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      chmodSync(file, OWNER_ONLY);
    } catch {
      // It is not there, or belongs to somebody else, who decides.
    }
  }
}

/**
 * Writes a private file whole or not at all, whatever happens meanwhile, a power failure included.
 * @param mode `new` throws `EEXIST` when there is such a file, and leaves it as it is
 */
export function writePrivate(path: string, text: string, mode: 'new' | 'replace'): void {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(draft, text, { mode: OWNER_ONLY, flag: 'wx', flush: true });
    if (mode === 'new') linkSync(draft, path);
    else renameSync(draft, path);
    const folder = openSync(dirname(path), 'r');
    fsyncSync(folder);
    closeSync(folder);
  } finally {
    rmSync(draft, { force: true });
  }
}
