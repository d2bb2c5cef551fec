import { megabytes } from '../runtime/disk.ts';
import type { DocumentStoreOperations } from './document-store.ts';

/** Left free beside what a build writes: for the log and the records, which go on growing meanwhile. */
const RESERVE_BYTES = 64 * 1024 * 1024;

/**
 * Whether the disk has room to build read models beside those that are there. The copy is taken to be as large as they are, which
 * is the most that it can be while nothing new is added.
 * @returns what is missing, in a sentence; undefined if there is room, or the engine does not tell
 */
export async function roomProblem(documents: Pick<DocumentStoreOperations, 'room'>): Promise<string | undefined> {
  const room = await documents.room();
  if (room === undefined) return undefined;
  const needed = room.readModels + RESERVE_BYTES;
  if (room.free >= needed) return undefined;
  return `The disk has no room to build read models: ${megabytes(needed)} are needed, ${megabytes(room.free)} are free.`;
}
