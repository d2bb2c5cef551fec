import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder, and those that it is in, unless it exists. Node's own way to do so never returns where a file system says that a
 * folder does not exist although the one it would be in does, as /proc says.
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
