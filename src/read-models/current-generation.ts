import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Checkpoint, Documents, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';
import {
  type Catalogue,
  type CatalogueStore,
  collectionOf,
  EMPTY,
  type GenerationId,
  type GenerationState,
  generationName,
  generationsOf,
  START,
} from './generations.ts';

/** The maximum age of this process's view for reads. Every process learns of a swap or a failure within this time. */
export const TRUST_MS = 1_000;
/** How long a wait lasts before it gives up. */
const WAIT_MS = 2_000;
/** Pauses between reads of the checkpoint; the last one repeats. */
const PAUSES_MS = [1, 1, 2, 2, 4, 8, 16, 25] as const;
/** The pause while a projector in this process reports its checkpoints. */
const PUSHED_PAUSE_MS = 250;

/** A generation of this release, as this process last saw it. */
export type SeenGeneration = {
  readonly id: GenerationId;
  readonly state: GenerationState;
  readonly checkpoint: Checkpoint;
};

/** The generation that this process reads, and its collections by read model. */
export type LiveGeneration = SeenGeneration & { readonly collections: ReadonlyMap<string, Documents<Row>> };

/** What to wait for, and for how long. */
export type WaitFor = {
  /** Waits for exactly these read models, also while they fail. Default: all that do not fail. */
  readonly projections?: readonly Pick<AnyProjection, 'name'>[];
  /** Default 2,000. */
  readonly timeoutMs?: number;
};

type Waiter = { readonly position: Position; readonly which: WaitFor; readonly resolve: (reached: boolean) => void };

export type CurrentGeneration = ReturnType<typeof watchGenerations>;

/**
 * This process's view of the generations of its release: where they stand, and which of them is live. Readers use it for at most
 * {@link TRUST_MS}; commands wait on it for their own writes (docs/decisions/read-models.md).
 */
export function watchGenerations(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'checkpoints'>;
  readonly projections: readonly AnyProjection[];
  readonly catalogue: Pick<CatalogueStore, 'read'>;
}) {
  const { documents, projections, catalogue } = deps;
  const name = generationName(projections);
  const waiting = new Set<Waiter>();
  let seen: readonly SeenGeneration[] = [];
  let collections: { readonly id: GenerationId; readonly of: ReadonlyMap<string, Documents<Row>> } | undefined;
  let known: Pick<Stored<Catalogue>, 'version' | 'document'> = { version: -1, document: EMPTY };
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  /** Whether a projector in this process reports its checkpoints, so that polling can be slow. */
  let isPushed = false;
  let isPolling = false;
  /** Consecutive polls without a change. */
  let polls = 0;

  /** A live generation without a checkpoint is gone, as after a power failure. It is not read until it has been built again. */
  function live(): LiveGeneration | undefined {
    const current = seen.find(({ state }) => state === 'live');
    return current !== undefined && collections?.id === current.id
      ? { ...current, collections: collections.of }
      : undefined;
  }

  const ids = () => generationsOf(known.document, name).map(([id]) => id);

  async function changed(next: Pick<Stored<Catalogue>, 'version' | 'document'>): Promise<void> {
    if (next.version < known.version) return;
    known = next;
    await readCheckpoints();
  }

  /** @returns whether one has moved */
  async function readCheckpoints(): Promise<boolean> {
    const at = known;
    const stored = await documents.checkpoints(ids());
    if (known !== at) return true;
    const before = new Map(seen.map((each) => [each.id, each.checkpoint]));
    let isNew = false;
    const next = generationsOf(known.document, name).map(([id, { state }]): SeenGeneration => {
      const [last, now] = [before.get(id) ?? START, stored.get(id) ?? START];
      if (now.position <= last.position) return { id, state, checkpoint: now.position === last.position ? now : last };
      isNew = true;
      return { id, state, checkpoint: now };
    });
    const id = next.find(({ state }) => state === 'live')?.id;
    if (id !== undefined && collections?.id !== id && stored.has(id)) {
      const opened = await Promise.all(
        projections.map(async (each) => [each.name, await documents.open<Row>(collectionOf(each, id))] as const),
      );
      if (known !== at) return true;
      collections = { id, of: new Map(opened) };
    }
    seen = next;
    settle();
    return isNew;
  }

  /** Reads the catalogue and the checkpoints. */
  function refresh(): Promise<void> {
    refreshing ??= (async () => {
      const at = performance.now();
      await changed(await catalogue.read());
      refreshedAt = at;
    })().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  const age = (): number => performance.now() - refreshedAt;

  /** Processes read the live generation; for up to a second around a swap, some of them read another. */
  function isReached({ position, which }: Waiter): boolean {
    const read = seen.filter(({ state }) => state !== 'building');
    const current = live();
    if (which.projections === undefined)
      return current !== undefined && read.every(({ checkpoint }) => checkpoint.position >= position);
    return (
      current !== undefined && which.projections.every((each) => positionOf(current.checkpoint, each.name) >= position)
    );
  }

  function settle(): void {
    for (const waiter of waiting) if (isReached(waiter)) waiter.resolve(true);
  }

  /** One poll for all who wait. */
  async function poll(): Promise<void> {
    if (isPolling) return;
    isPolling = true;
    while (waiting.size > 0) {
      const pauseMs = isPushed ? PUSHED_PAUSE_MS : (PAUSES_MS[polls] ?? PAUSES_MS.at(-1));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      polls += 1;
      if (waiting.size === 0) break;
      try {
        if (age() > TRUST_MS / 2 || live() === undefined) await refresh();
        else if (await readCheckpoints()) {
          polls = 0;
          isPushed = false;
        }
      } catch {
        // If the store does not answer, the wait times out. The caller's write is already stored.
      }
    }
    isPolling = false;
  }

  return {
    name,
    live,
    seen: () => seen,
    refresh,
    /** The age of the view, in milliseconds. */
    age,
    /** Applies a change of the catalogue that this process has made. */
    changed,
    /** Whether a generation may still be read. */
    has: (id: GenerationId): boolean => seen.some((each) => each.id === id && each.state !== 'building'),

    /** Handles a checkpoint from a projector in this process. */
    reached(id: GenerationId, checkpoint: Checkpoint): void {
      seen = seen.map((each) => (each.id === id ? { ...each, checkpoint } : each));
      isPushed = true;
      settle();
    },

    /** Waits until read models show everything up to `position`. @returns false if they do not in time */
    async waitFor(position: Position, which: WaitFor = {}): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter = { position, which, resolve };
      if (age() > TRUST_MS || live() === undefined) await refresh().catch(() => {});
      if (isReached(waiter)) return true;
      const timer = setTimeout(resolve, which.timeoutMs ?? WAIT_MS, false);
      waiting.add(waiter);
      polls = 0;
      void poll();
      try {
        return await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(waiter);
      }
    },

    /** Resolves once no refresh is running. */
    settled: async (): Promise<void> => void (await refreshing?.catch(() => {})),
  };
}

/** How far a read model has come. */
const positionOf = ({ position, failing }: Checkpoint, name: string): Position =>
  failing.find((each) => each.name === name)?.position ?? position;
