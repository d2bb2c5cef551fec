import type { AnyProjection } from '../../projections/projection.ts';
import type { Checkpoint, DocumentStoreOperations } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';
import { collectionsOf, type Entry, idOf, START } from './catalogue.ts';
import { type KnownCatalogue, TRUST_MS } from './known-catalogue.ts';

/** Which read models to wait for, and for how long. */
export type WaitFor = {
  /**
   * Waits for the read models with events of these types; without types, for all. Includes those of other releases that a running
   * process keeps up to date, because the next request may go to it. Skips failing and unbuilt read models once every process knows
   * that they are unreadable.
   */
  readonly types?: readonly string[];
  /** Waits for exactly these instead, in any state. */
  readonly projections?: readonly Pick<AnyProjection, 'name'>[];
  /** Default 2,000. */
  readonly timeoutMs?: number;
};

/** A projector's message to the readers of its process: stored checkpoints, and its version of the catalogue. */
export type Progress = {
  readonly checkpoints: readonly (readonly [collection: string, checkpoint: Checkpoint])[];
  readonly catalogue: number;
};

const WAIT_MS = 2_000;
/** Pauses between reads of the checkpoints; the last one repeats. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;

/** The collections in which processes read a model: other processes may read a former one for up to a second after a swap. */
const readFrom = (entry: Entry | undefined): readonly string[] =>
  entry?.live === undefined ? [] : [entry.live, ...entry.retiring];

type Waiter = { readonly position: Position; readonly which: WaitFor; readonly resolve: (reached: boolean) => void };

export type CheckpointWatch = ReturnType<typeof watchCheckpoints>;

/** Tracks the checkpoints of the read models and wakes callers that wait for them (docs/decisions/read-models.md). */
export function watchCheckpoints(deps: {
  readonly projections: readonly AnyProjection[];
  readonly known: KnownCatalogue;
  readonly documents: Pick<DocumentStoreOperations, 'checkpoints'>;
}) {
  const { projections, known, documents } = deps;
  const waiting = new Set<Waiter>();
  const checkpoints = new Map<string, Checkpoint>();
  /** The common checkpoint by event types. Under load, many callers wait for the same types. Cleared on every change. */
  const cached = new Map<string, Position | undefined>();
  /** Whether a projector in this process sends the checkpoints, so that polling can be slow. */
  let isPushed = false;
  let polling = false;
  /** Consecutive polls without a change. */
  let polls = 0;

  const at = (collection: string | undefined): Checkpoint => checkpoints.get(collection ?? '') ?? START;

  function ours(): (readonly [AnyProjection, Entry | undefined])[] {
    return projections.map((projection) => [projection, known.get(idOf(projection))?.entry]);
  }

  /** @returns undefined if one of them cannot be read */
  function readUpTo(waitedFor: readonly Pick<AnyProjection, 'name'>[]): Position | undefined {
    const names = waitedFor.map(({ name }) => name);
    const positions = ours().flatMap(([projection, entry]) => {
      if (!names.includes(projection.name)) return [];
      return [known.isReadable(projection) ? at(entry?.live).position : undefined];
    });
    return positions.includes(undefined) ? undefined : positions.sort()[0];
  }

  /** @returns undefined if there is no read model to wait for */
  function shownUpTo(types: readonly string[] | undefined): Position | undefined {
    const key = types?.join() ?? '';
    if (cached.has(key)) return cached.get(key);
    const all = [
      ...ours().map(([projection, entry]) => ({ id: idOf(projection), entry, types: projection.types })),
      ...known.others().map(([id, entry]) => ({ id, entry, types: entry.types })),
    ];
    const [least] = all
      .filter(({ types: shown }) => types === undefined || types.some((type) => shown.some((each) => each === type)))
      .flatMap(({ id, entry }) => (known.isKnownToFail(id) ? [] : readFrom(entry)))
      .map((collection) => at(collection).position)
      .sort();
    cached.set(key, least);
    return least;
  }

  function isReached({ position, which }: Waiter): boolean {
    if (which.projections === undefined) return (shownUpTo(which.types) ?? position) >= position;
    const upTo = readUpTo(which.projections);
    return upTo !== undefined && upTo >= position;
  }

  /** Call after every change of the checkpoints or the known catalogue. */
  function settle(): void {
    cached.clear();
    for (const waiter of waiting) if (isReached(waiter)) waiter.resolve(true);
  }

  /** @returns whether any of them is new */
  function note(found: Iterable<readonly [string, Checkpoint]>): boolean {
    let isNew = false;
    for (const [collection, checkpoint] of found) {
      if (checkpoint.position <= at(collection).position) continue;
      checkpoints.set(collection, checkpoint);
      isNew = true;
    }
    return isNew;
  }

  /** Reads the checkpoints of all processes. */
  async function read(): Promise<boolean> {
    const entries = [...ours().map(([, entry]) => entry), ...known.others().map(([, entry]) => entry)];
    const names = entries.flatMap((entry) => (entry === undefined ? [] : collectionsOf(entry)));
    return note(await documents.checkpoints(names));
  }

  /** Reads the checkpoints, with growing pauses, while anything waits for them. */
  async function poll(): Promise<void> {
    if (polling) return;
    polling = true;
    while (waiting.size > 0) {
      const pauseMs = (isPushed ? undefined : PAUSES_MS[polls]) ?? PAUSES_MS.at(-1);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      polls += 1;
      if (waiting.size === 0) break;
      try {
        if (await read()) {
          polls = 0;
          isPushed = false;
        }
        // Read the catalogue after the checkpoints, to include read models that have just become live.
        await known.refresh();
        settle();
      } catch {
        // If the store does not answer, the wait times out. The caller's write is already stored.
      }
    }
    polling = false;
  }

  return {
    at,
    read,
    settle,

    /** Handles a message from a projector in this process. */
    reached({ checkpoints: stored, catalogue }: Progress): void {
      note(stored);
      isPushed = true;
      polls = 0;
      if (catalogue <= known.version()) settle();
      else known.refresh().then(settle, () => {});
    },

    /** Waits until read models show everything up to `position`. @returns false if they do not in time */
    async waitFor(position: Position, which: WaitFor = {}): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter = { position, which, resolve };
      if (waiting.size === 0) cached.clear();
      // A read model that was unreadable at the last refresh may be readable now.
      const isStale = performance.now() - known.refreshedAt() > TRUST_MS || !projections.every(known.isReadable);
      if (isStale) await known.refresh().catch(() => {});
      if (isReached(waiter)) return true;
      const timer = setTimeout(resolve, which.timeoutMs ?? WAIT_MS, false);
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
  };
}
