import { randomBytes } from 'node:crypto';
import { chmodSync, closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Files in `DATA_DIR` hold keys, password hashes and the messages of brands (docs/decisions/processes.md). */
export const OWNER_ONLY = 0o600;
/** The same for the folder itself. */
export const FOLDER_OWNER_ONLY = 0o700;

/**
 * Restricts a SQLite database to its owner. Call it before the first write: SQLite creates its side files with the mode of
 * the database.
 */
export function restrictToOwner(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    try {
      chmodSync(file, OWNER_ONLY);
    } catch {
      // The file does not exist, or belongs to another user.
    }
  }
}

/**
 * Writes a private file atomically: after a crash or power failure it is there as a whole or not at all.
 * @param mode `new` throws `EEXIST` when the file exists, and leaves it alone
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
