import type { AnyBulkWriteOperation, Collection } from 'mongodb';
import type { Checkpoint, NextCheckpoint } from '../document-store.ts';
import { existingKeys } from './duplicate-keys.ts';
import type { Retry } from './failures.ts';

/** The collection that holds the checkpoints of the others. */
export const CHECKPOINTS = 'readModelCheckpoints';

export type CheckpointEntry = Checkpoint & { readonly _id: string };

type Step = {
  readonly name: string;
  readonly checkpoint: NextCheckpoint;
  readonly done: PromiseWithResolvers<boolean>;
};

/** The checkpoints of collections, each written after the documents it covers. */
export function createCheckpoints(entries: Collection<CheckpointEntry>, retry: Retry) {
  async function read(names?: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>> {
    const found = await retry(() => entries.find(names === undefined ? {} : { _id: { $in: [...names] } }).toArray());
    return new Map(found.map(({ _id, position, events }) => [_id, { position, events }]));
  }

  let waiting: Step[] = [];
  let isWriting = false;

  /** Checkpoints that arrive during a write share the next round trip. */
  async function writeWaiting(): Promise<void> {
    isWriting = true;
    while (waiting.length > 0) {
      const steps = waiting;
      waiting = [];
      await write(steps);
    }
    isWriting = false;
  }

  async function write(steps: readonly Step[]): Promise<void> {
    try {
      const operations = steps.map(
        ({ name, checkpoint: { position, events, after } }): AnyBulkWriteOperation<CheckpointEntry> => ({
          updateOne: {
            filter: { _id: name, position: after },
            update: { $set: { position, events } },
            upsert: after === '',
          },
        }),
      );
      const written = await retry(async () => {
        try {
          const { upsertedCount, matchedCount } = await entries.bulkWrite(operations, { ordered: false });
          return upsertedCount + matchedCount;
        } catch (error) {
          existingKeys(error);
          return 0;
        }
      });
      // A repeated write finds its own result, so read which steps were applied.
      const now = written < steps.length ? await read(steps.map(({ name }) => name)) : undefined;
      for (const { name, checkpoint, done } of steps)
        done.resolve(now === undefined || now.get(name)?.position === checkpoint.position);
    } catch (error) {
      for (const { done } of steps) done.reject(error);
    }
  }

  return {
    read,
    remove: (name: string): Promise<unknown> => retry(() => entries.deleteOne({ _id: name })),

    /** @returns false if the stored checkpoint is not at `after` */
    advance(name: string, checkpoint: NextCheckpoint): Promise<boolean> {
      const done = Promise.withResolvers<boolean>();
      waiting.push({ name, checkpoint, done });
      if (!isWriting) void writeWaiting();
      return done.promise;
    },
  };
}
