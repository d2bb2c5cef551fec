import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents. Node's recursive `mkdir` never returns on file systems such as /proc, which report ENOENT
 * although the parent exists.
 * @throws the error of the file system
 */
export function makeFolder(folder: string, mode?: number): void {
  try {
    mkdirSync(folder, mode);
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const within = dirname(folder);
    if (statSync(within, { throwIfNoEntry: false }) !== undefined) throw error;
    makeFolder(within, mode);
    mkdirSync(folder, mode);
  }
}
