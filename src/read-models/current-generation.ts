import type { AnyProjection, Row } from '../../projections/projection.ts';
import type { Checkpoint, Documents, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';
import {
  type Catalogue,
  type CatalogueEvent,
  collectionOf,
  EMPTY,
  type GenerationId,
  type GenerationState,
  generationName,
  generationsOf,
  openCatalogue,
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

/** A generation of this release, as this process last read it. */
export type CachedGeneration = {
  readonly id: GenerationId;
  readonly state: GenerationState;
  readonly checkpoint: Checkpoint;
};

/** The generation that this process reads, and its collections by read model. */
type LiveGeneration = CachedGeneration & { readonly collections: ReadonlyMap<string, Documents<Row>> };

/** What to wait for, and for how long. */
export type WaitFor = {
  /** Waits for exactly these read models, also while they fail. Default: all that do not fail. */
  readonly projections?: readonly Pick<AnyProjection, 'name'>[];
  /** Default 2,000. */
  readonly timeoutMs?: number;
};

type Waiter = { readonly position: Position; readonly which: WaitFor; readonly resolve: (reached: boolean) => void };

export type CurrentGeneration = Awaited<ReturnType<typeof openCurrentGeneration>>;

/**
 * This process's view of the generations of its release: where they stand, and which of them is live. Readers use it for at most
 * {@link TRUST_MS}; commands wait on it for their own writes (docs/decisions/read-models.md). Empty until the first refresh.
 */
export async function openCurrentGeneration(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'checkpoints'>;
  readonly projections: readonly AnyProjection[];
}) {
  const { documents, projections } = deps;
  const catalogue = await openCatalogue(documents);
  const name = generationName(projections);
  const waiting = new Set<Waiter>();
  let all: readonly CachedGeneration[] = [];
  let collections: { readonly id: GenerationId; readonly of: ReadonlyMap<string, Documents<Row>> } | undefined;
  let stored: Pick<Stored<Catalogue>, 'version' | 'document'> = { version: -1, document: EMPTY };
  let refreshedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<void> | undefined;
  /** Whether a projector in this process reports its checkpoints, so that polling can be slow. */
  let isPushed = false;
  let isPolling = false;
  /** Consecutive polls without a change. */
  let polls = 0;

  const inState = (state: GenerationState) => all.find((each) => each.state === state);

  /** Of `all` and `collections`, made whenever they change: each read asks for it. */
  let live: LiveGeneration | undefined;

  /** A live generation without a checkpoint is gone, as after a power failure. It is not read until it has been built again. */
  function setAll(next: readonly CachedGeneration[]): void {
    all = next;
    const current = inState('live');
    live =
      current !== undefined && collections?.id === current.id ? { ...current, collections: collections.of } : undefined;
  }

  async function use(next: Pick<Stored<Catalogue>, 'version' | 'document'>): Promise<void> {
    if (next.version < stored.version) return;
    stored = next;
    await readCheckpoints();
  }

  /** @returns whether one has moved */
  async function readCheckpoints(): Promise<boolean> {
    const at = stored;
    const ours = generationsOf(at.document, name);
    const checkpoints = await documents.checkpoints(ours.map(([id]) => id));
    if (stored !== at) return true;
    let isNew = false;
    const next = ours.map(([id, { state }]): CachedGeneration => {
      const last = all.find((each) => each.id === id)?.checkpoint ?? START;
      const checkpoint = checkpoints.get(id) ?? START;
      isNew ||= checkpoint.position > last.position;
      return { id, state, checkpoint: checkpoint.position < last.position ? last : checkpoint };
    });
    const id = next.find(({ state }) => state === 'live')?.id;
    if (id !== undefined && collections?.id !== id && checkpoints.has(id)) {
      const opened = await Promise.all(
        projections.map(async (each) => [each.name, await documents.open<Row>(collectionOf(each, id))] as const),
      );
      if (stored !== at) return true;
      collections = { id, of: new Map(opened) };
    }
    setAll(next);
    settle();
    return isNew;
  }

  /** Reads the catalogue and the checkpoints. */
  function refresh(): Promise<void> {
    refreshing ??= (async () => {
      const at = performance.now();
      await use(await catalogue.read());
      refreshedAt = at;
    })().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  }

  const age = (): number => performance.now() - refreshedAt;

  /** Processes read the live generation; for up to a second around a swap, some of them read another. */
  function isReached({ position, which }: Waiter): boolean {
    const read = all.filter(({ state }) => state !== 'building');
    if (which.projections === undefined)
      return live !== undefined && read.every(({ checkpoint }) => checkpoint.position >= position);
    const checkpoint = live?.checkpoint;
    return checkpoint !== undefined && which.projections.every((each) => positionOf(checkpoint, each.name) >= position);
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
        if (age() > TRUST_MS / 2 || live === undefined) await refresh();
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
    /** The live generation; undefined if there is none, or it has no checkpoint. */
    live: (): LiveGeneration | undefined => live,
    /** The generation that is being built, or that becomes live next. */
    building: () => inState('building') ?? inState('joining'),
    refresh,
    /** The age of the view, in milliseconds. */
    age,
    /** Whether a generation may still be read. */
    has: (id: GenerationId): boolean => all.some((each) => each.id === id && each.state !== 'building'),

    /** The stored catalogue, with the generations of all releases. */
    read: catalogue.read,
    /** Changes the catalogue. @returns what is stored now */
    async apply(event: CatalogueEvent): Promise<Catalogue> {
      const changed = await catalogue.apply(event);
      await use(changed);
      return changed.document;
    },

    /** Handles a checkpoint from a projector in this process. */
    reached(id: GenerationId, checkpoint: Checkpoint): void {
      setAll(all.map((each) => (each.id === id ? { ...each, checkpoint } : each)));
      isPushed = true;
      settle();
    },

    /** Waits until read models show everything up to `position`. @returns false if they do not in time */
    async waitFor(position: Position, which: WaitFor = {}): Promise<boolean> {
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const waiter = { position, which, resolve };
      if (age() > TRUST_MS || live === undefined) await refresh().catch(() => {});
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
