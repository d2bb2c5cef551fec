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
  /** The live documents of a projection; follows the swap after a rebuild, in every process. */
  collection<D extends object>(projection: Projection<D>): ReadModel<D>;
  /**
   * Waits until the read models show everything up to `position`, whichever process projects.
   * @param timeoutMs default 2,000
   * @returns false when they did not in time; nothing is lost then, they only lag
   */
  waitFor(position: Position, timeoutMs?: number): Promise<boolean>;
};

/** How the read models are doing, whichever process projects. */
export type ReadModelsStatus = {
  /** Events of the log that the read models do not show yet, counted up to a limit. */
  readonly lag: number;
  /** What keeps the projector from getting on. */
  readonly trouble?: ProjectorFailure;
  /** The build under way, if one is. */
  readonly build?: Build;
};

export type LiveReadModels = ReadModels & {
  /** @param limit where counting the lag stops, default 1,001 */
  status(limit?: number): Promise<ReadModelsStatus>;
  /** To be told by a projector in this process, so that those who wait here need not look. */
  reached(checkpoint: Checkpoint): void;
};

/** How long a reader may go on with a collection after it was swapped. It was up to date until then. */
const POINTER_MS = 100;
/** Pauses between looks at the checkpoint, in milliseconds; the last one is repeated. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;
const WAIT_MS = 2_000;

/** Read access to the live read models, for every process. */
export async function openReadModels({
  documents,
  events,
}: {
  readonly documents: DocumentStore;
  readonly events: EventStore;
}): Promise<LiveReadModels> {
  const { checkpoints, pointers, builds, troubles } = await openProjectorState(documents);
  let known: Checkpoint = { position: LOG_START, events: 0, swaps: 0 };
  let looking = false;
  /** In vain, since somebody came to wait or the checkpoint moved. */
  let looks = 0;
  const waiting = new Set<{ readonly position: Position; readonly resolve: (reached: boolean) => void }>();
  const seen = new Map<string, { readonly live: unknown; readonly at: number; readonly swaps: number }>();

  function reached(checkpoint: Checkpoint): void {
    if (checkpoint.position < known.position) return;
    if (checkpoint.position > known.position) looks = 0;
    known = checkpoint;
    for (const waiter of waiting) if (waiter.position <= known.position) waiter.resolve(true);
  }

  /** Looks at the checkpoint, with growing pauses, as long as somebody waits for it. */
  async function look(): Promise<void> {
    if (looking) return;
    looking = true;
    while (waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, PAUSES_MS[looks] ?? PAUSES_MS.at(-1)));
      looks += 1;
      if (waiting.size === 0) break;
      // A store that does not answer shows as a wait in vain; whoever waits has written already.
      const checkpoint = await checkpoints.get(SINGLETON_KEY).catch(() => undefined);
      if (checkpoint !== undefined) reached(checkpoint.document);
    }
    looking = false;
  }

  /** The live collection as it was seen a moment ago: what nearly every read goes by. */
  function remembered<D extends object>({ name }: Projection<D>): Documents<D> | undefined {
    const last = seen.get(name);
    if (last === undefined || last.swaps !== known.swaps || performance.now() - last.at >= POINTER_MS) return undefined;
    // The name stands for the type, as it does in the document store.
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
          const live = remembered(projection);
          return live === undefined ? find(projection).then((found) => found?.get(key)) : live.get(key);
        },
        async getMany(keys) {
          return (await (remembered(projection) ?? find(projection)))?.getMany(keys) ?? [];
        },
        async count(query) {
          return (await (remembered(projection) ?? find(projection)))?.count(query) ?? 0;
        },
        async *find(query) {
          const live = remembered(projection) ?? (await find(projection));
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
      looks = 0;
      look();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(waiter);
      }
    },

    async status(limit = 1_001) {
      const [checkpoint, trouble, build] = await Promise.all([
        checkpoints.get(SINGLETON_KEY),
        troubles.get(SINGLETON_KEY),
        builds.get(SINGLETON_KEY),
      ]);
      let lag = 0;
      const after = checkpoint?.document.position ?? LOG_START;
      for await (const _ of events.readAll({ after, limit })) lag += 1;
      return {
        lag,
        ...defined({ trouble: trouble?.document, build: build?.document }),
      };
    },
  };
}
