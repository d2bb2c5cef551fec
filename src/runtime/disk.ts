import { statfs } from 'node:fs/promises';

/** A disk is nearly full below this, or below a tenth of a small disk. */
const NEARLY_FULL_BYTES = 512_000_000;
const NEARLY_FULL_SHARE = 0.1;

/** The free bytes on the disk that holds `folder`, as available to this process. */
export async function freeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** @returns a warning if the disk that holds `folder` is nearly full */
export async function diskWarning(folder: string): Promise<string | undefined> {
  const { bavail, blocks, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const enough = Math.min(NEARLY_FULL_BYTES, blocks * bsize * NEARLY_FULL_SHARE);
  return free < enough ? `nearly full: ${megabytes(free)} free` : undefined;
}

/** Formats a number of bytes for display. */
export const megabytes = (bytes: number): string => `${Math.floor(bytes / 1_000_000).toLocaleString('en')} MB`;
