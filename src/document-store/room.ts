import { megabytes } from '../runtime/disk.ts';
import type { DocumentStoreOperations } from './document-store.ts';

/** Kept free during a build, because the log and the records keep growing. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * Checks that the disk has room for a second copy of the read models, which is at most as large as the first.
 * @returns a sentence with the shortage; undefined if there is room, or the engine does not report it
 */
export async function roomProblem(documents: Pick<DocumentStoreOperations, 'room'>): Promise<string | undefined> {
  const room = await documents.room();
  if (room === undefined) return undefined;
  const needed = room.readModels + RESERVE_BYTES;
  if (room.free >= needed) return undefined;
  return `The disk has no room to build read models: ${megabytes(needed)} are needed, ${megabytes(room.free)} are free.`;
}
