import type { Collection } from 'mongodb';
import type { Checkpoint, NextCheckpoint } from '../document-store.ts';
import { isDuplicate } from './duplicate-keys.ts';
import type { Retry } from './failures.ts';

/** The collection with the checkpoints of the generations. */
export const CHECKPOINTS = 'readModelCheckpoints';

export type CheckpointEntry = Checkpoint & { readonly _id: string };

/** The checkpoints of generations, each written after the documents it covers. */
export function createCheckpoints(entries: Collection<CheckpointEntry>, retry: Retry) {
  async function read(names?: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>> {
    const checkpoints = await retry(() =>
      entries.find(names === undefined ? {} : { _id: { $in: [...names] } }).toArray(),
    );
    return new Map(checkpoints.map(({ _id, ...checkpoint }) => [_id, checkpoint]));
  }

  return {
    read,
    remove: (name: string): Promise<unknown> => retry(() => entries.deleteOne({ _id: name })),

    /** @returns false if the stored checkpoint is not at `after` */
    async advance(name: string, { after, ...checkpoint }: NextCheckpoint): Promise<boolean> {
      const isWritten = await retry(async () => {
        try {
          const filter = { _id: name, position: after };
          const { matchedCount, upsertedCount } = await entries.updateOne(
            filter,
            { $set: checkpoint },
            { upsert: after === '' },
          );
          return matchedCount + upsertedCount > 0;
        } catch (error) {
          if (!isDuplicate(error)) throw error;
          return false;
        }
      });
      // A repeated write finds its own result.
      return isWritten || (await read([name])).get(name)?.position === checkpoint.position;
    },
  };
}
