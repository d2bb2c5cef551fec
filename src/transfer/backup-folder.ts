import { open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isTrailer, readText } from './read-export.ts';
import { UnusableCopy } from './unusable-copy.ts';

/** Backups in a folder are named by the time at which they began, so that names sort by time. */
const NAME = /^venue-\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z\.ndjson$/;
/** In bytes. The last line, with counts and a digest, is shorter. */
const TAIL = 1_024;

/** The file of a backup that begins now. */
export function backupIn(folder: string, now: number): string {
  const time = new Date(now).toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length).replaceAll(':', '-');
  return join(folder, `venue-${time}Z.ndjson`);
}

/** The file of the secret key that belongs to a backup. */
export const keyFileOf = (backup: string): string => `${backup}.key`;

type Newest = { readonly file: string; readonly logId: string };

/**
 * Deletes the oldest complete backups of a log, so that `keep` are left, the newest among them. Backups of other logs, interrupted ones and
 * all other files stay.
 * @param newest the backup just made, which stays even if the clock was set back
 * @returns the files that were deleted, and those of interrupted backups
 */
export async function pruneBackups(
  folder: string,
  keep: number,
  newest: Newest,
): Promise<{ readonly deleted: readonly string[]; readonly interrupted: readonly string[] }> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name)).toSorted();
  const complete: string[] = [];
  const interrupted: string[] = [];
  for (const file of names.map((name) => join(folder, name))) {
    if (file === newest.file) continue;
    const logId = await logIdIn(file);
    if (logId !== undefined && logId !== newest.logId) continue;
    (logId !== undefined && (await isComplete(file)) ? complete : interrupted).push(file);
  }
  const deleted = complete.slice(0, Math.max(0, complete.length - (keep - 1)));
  for (const file of deleted) {
    // The key first: it must not outlive its backup.
    await rm(keyFileOf(file), { force: true });
    await rm(file);
  }
  return { deleted, interrupted };
}

/** The log of which a file is a backup. Undefined if not even its first line is complete. */
async function logIdIn(file: string): Promise<string | undefined> {
  for await (const { text, isWhole } of readText(file)) {
    if (!isWhole) return undefined;
    try {
      const logId: unknown = JSON.parse(text).export?.logId;
      // Another file that only has such a name.
      return typeof logId === 'string' ? logId : '';
    } catch {
      return '';
    }
  }
  return undefined;
}

/** Whether a file ends with the last line of an export, which is written only once everything before it is. */
async function isComplete(file: string): Promise<boolean> {
  const handle = await open(file).catch((error: unknown) => {
    throw new UnusableCopy(`${file} cannot be read: ${error instanceof Error ? error.message : error}`, error);
  });
  try {
    const { size } = await handle.stat();
    const { buffer, bytesRead } = await handle.read({
      buffer: Buffer.alloc(TAIL),
      position: Math.max(0, size - TAIL),
    });
    const lines = buffer.toString('utf8', 0, bytesRead).trimEnd().split('\n');
    return isTrailer(lines.at(-1) ?? '');
  } finally {
    await handle.close();
  }
}
