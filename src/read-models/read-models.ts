import type { Projection } from '../../projections/projection.ts';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import {
  type Build,
  type Checkpoint,
  collectionOf,
  openProjectorState,
  type ProjectorFailure,
  SINGLETON_KEY,
} from './projector-state.ts';

/** What readers may do with a read model: everything but write. */
type ReadModel<D extends object> = Pick<Documents<D>, 'get' | 'getMany' | 'find' | 'count'>;

export type ReadModels = {
  /** The live documents of a projection. Follows swaps after a rebuild, in every process. */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /**
   * Waits until the read models show everything up to `position`, whichever process projects.
   * @param timeoutMs default 2,000
   * @returns false if they do not in time; nothing is lost, they only lag (docs/decisions/read-your-writes.md)
   */
  waitFor(position: Position, timeoutMs?: number): Promise<boolean>;
};

/** The state of the read models, whichever process projects. */
export type ReadModelsStatus = {
  /** Events in the log that the read models do not show yet, counted up to a limit. */
  readonly lag: number;
  /** The failure that currently blocks the projector, if any. */
  readonly failure?: ProjectorFailure;
  /** The build in progress, if any. */
  readonly build?: Build;
};

export type LiveReadModels = ReadModels & {
  /** @param limit at which counting the lag stops, default 1,001 */
  status(limit?: number): Promise<ReadModelsStatus>;
  /** Called by a projector in this process, so that waiters need not poll. */
  reached(checkpoint: Checkpoint): void;
};

/** How long a pointer is cached: readers may use a swapped-out collection, which was current until then, for this long. */
const POINTER_MS = 100;
/** Pauses between reads of the checkpoint; the last one repeats. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;
const WAIT_MS = 2_000;

/** Opens the live read models for reading, in any process. */
export async function openReadModels({
  documents,
  events,
}: {
  readonly documents: DocumentStore;
  readonly events: EventStore;
}): Promise<LiveReadModels> {
  const { checkpoints, pointers, builds, failures } = await openProjectorState(documents);
  let known: Checkpoint = { position: LOG_START, events: 0, swaps: 0 };
  let polling = false;
  /** Polls without news, since a waiter arrived or the checkpoint moved. */
  let polls = 0;
  const waiting = new Set<{ readonly position: Position; readonly resolve: (reached: boolean) => void }>();
  const seen = new Map<string, { readonly live: unknown; readonly at: number; readonly swaps: number }>();

  function reached(checkpoint: Checkpoint): void {
    if (checkpoint.position < known.position) return;
    if (checkpoint.position > known.position) polls = 0;
    known = checkpoint;
    for (const waiter of waiting) if (waiter.position <= known.position) waiter.resolve(true);
  }

  /** Polls the checkpoint, with growing pauses, while anyone is waiting. */
  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, PAUSES_MS[polls] ?? PAUSES_MS.at(-1)));
      polls += 1;
      if (waiting.size === 0) break;
      // If the store does not answer, the wait times out. What the waiter wrote is safe already.
      const checkpoint = await checkpoints.get(SINGLETON_KEY).catch(() => undefined);
      if (checkpoint !== undefined) reached(checkpoint.document);
    }
    polling = false;
  }

  /** The live collection from the cache, which serves nearly every read. */
  function cached<D extends object>({ name }: Projection<D>): Documents<D> | undefined {
    const last = seen.get(name);
    if (last === undefined || last.swaps !== known.swaps || performance.now() - last.at >= POINTER_MS) return undefined;
    // The name implies the type, as it does in the document store.
    return last.live as Documents<D>;
  }

  async function find<D extends object>(projection: Projection<D>): Promise<Documents<D> | undefined> {
    const { swaps } = known;
    const at = performance.now();
    const pointer = await pointers.get(projection.name);
    if (pointer === undefined) return undefined;
    const live = await documents.open(collectionOf(projection, pointer.document.collection));
    seen.set(projection.name, { live, at, swaps });
    return live;
  }

  return {
    reached,

    collection<D extends object>(projection: Projection<D>): ReadModel<D> {
      return {
        get(key) {
          const live = cached(projection);
          return live === undefined ? find(projection).then((found) => found?.get(key)) : live.get(key);
        },
        async getMany(keys) {
          return (await (cached(projection) ?? find(projection)))?.getMany(keys) ?? [];
        },
        async count(query) {
          return (await (cached(projection) ?? find(projection)))?.count(query) ?? 0;
        },
        async *find(query) {
          const live = cached(projection) ?? (await find(projection));
          if (live !== undefined) yield* live.find(query);
        },
      };
    },

    async waitFor(position, timeoutMs = WAIT_MS) {
      if (position <= known.position) return true;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter = { position, resolve };
      const timer = setTimeout(resolve, timeoutMs, false);
      waiting.add(waiter);
      polls = 0;
      poll();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(waiter);
      }
    },

    async status(limit = 1_001) {
      const [checkpoint, failure, build] = await Promise.all([
        checkpoints.get(SINGLETON_KEY),
        failures.get(SINGLETON_KEY),
        builds.get(SINGLETON_KEY),
      ]);
      let lag = 0;
      const after = checkpoint?.document.position ?? LOG_START;
      for await (const _ of events.readAll({ after, limit })) lag += 1;
      return {
        lag,
        ...defined({ failure: failure?.document, build: build?.document }),
      };
    },
  };
}
