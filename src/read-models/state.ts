import { setTimeout as delay } from 'node:timers/promises';
import type { AnyProjection } from '../../projections/projection.ts';
import type { DocumentStore, Stored } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { LOG_START, type Position } from '../event-store/event-store.ts';

/** A projection in one version: `bookings@2`. Releases that know different versions each have their own read model. */
export type ReadModelId = `${string}@${number}`;

export const idOf = ({ name, version }: Pick<AnyProjection, 'name' | 'version'>): ReadModelId => `${name}@${version}`;

/** The read models of all releases that have run. */
export const idsOf = ({ models }: Pick<ReadModelStates, 'models'>): ReadModelId[] =>
  Object.keys(models) as ReadModelId[];

/** What becomes of a read model (docs/decisions/read-models.md). */
export type ReadModelState = {
  /** The collection that is read; absent until the first build is complete. */
  readonly live?: string;
  /** The collection that is being built and becomes the live one. */
  readonly building?: string;
  /** Swapped-out collections, kept up to date until no living process reads them. */
  readonly leaving: readonly string[];
  /** Counts the read model's collections, so that no name is ever used twice. */
  readonly generation: number;
  /** The process that keeps it up to date, by its heartbeat. */
  readonly owner?: string;
  /** The event types that it shows, for processes of releases that do not know its projection. */
  readonly types?: readonly string[];
  readonly failure?: Failure;
  /** For how long processes have been seen running, none of which wanted it, in milliseconds. */
  readonly unwantedMs?: number;
};

/** What a read model failed on. */
export type Failure = {
  readonly collection: string;
  readonly message: string;
  /** Consecutive failed attempts, by any process. */
  readonly attempts: number;
  /** The process that failed last. It lets others try before it tries again. */
  readonly by: string;
  /** The event that it failed on, if it was one. */
  readonly event?: { readonly id: string; readonly type: string; readonly position: Position };
};

/** The state of every read model, of any release, in one document. Changes rarely. */
export type ReadModelStates = {
  readonly models: Readonly<Record<ReadModelId, ReadModelState>>;
  /** Collections that nobody reads or writes any more; they are dropped in the background. */
  readonly dropping: readonly string[];
};

/**
 * How far each collection is: a single document, because collections at the same place are folded in one pass, whose progress is
 * then one write. A position is written after the documents it covers, and positions only move forward: projectors that write
 * concurrently, having both folded everything up to what they write, do no harm.
 */
export type Positions = {
  readonly groups: readonly Group[];
  /** Version of the {@link ReadModelStates} that the writer knew, which tells readers to read those again. */
  readonly states: number;
};

type Group = {
  readonly position: Position;
  /** Events in the log up to the position. */
  readonly events: number;
  readonly collections: readonly string[];
  /** Where documents of these collections were last written, for those that lose more in a power failure than this document. */
  readonly written?: Written;
};

/** The position of the last write to each collection. */
export type Written = Readonly<Record<string, Position>>;

export type Place = Pick<Group, 'position' | 'events'>;

export const START: Place = { position: LOG_START, events: 0 };

/** Where a collection is. */
export const placeOf = ({ groups }: Positions, collection: string): Place =>
  groups.find(({ collections }) => collections.includes(collection)) ?? START;

const KEY = 'all';
/** How often it is looked whether the states have changed, on an engine that answers at once: that takes some 5 µs. */
const LOOK_EVERY_MS = 20;
const NO_STATES: ReadModelStates = { models: {}, dropping: [] };
const NO_POSITIONS: Positions = { groups: [], states: 0 };

export type ReadModelStateStore = Awaited<ReturnType<typeof openReadModelState>>;

/**
 * The state that projectors and readers share through the document store. Stored with the read models: if an engine loses its last
 * writes in a power failure, the documents and the state that describes them go back together.
 */
export async function openReadModelState(documents: DocumentStore) {
  const open = <D extends object>(name: string) => documents.open<D>({ name, kind: 'readModel', indexes: [] });
  const states = await open<ReadModelStates>('read-model-states');
  const positions = await open<Positions>('read-model-positions');

  async function readStates(): Promise<Stored<ReadModelStates>> {
    const stored = await states.get(KEY);
    if (stored !== undefined) return stored;
    return { key: KEY, version: 0, document: NO_STATES };
  }

  async function readPositions(): Promise<Stored<Positions>> {
    return (await positions.get(KEY)) ?? { key: KEY, version: 0, document: NO_POSITIONS };
  }

  function versionNow(): number | undefined {
    try {
      return states.getNow?.(KEY)?.version;
    } catch {
      // Whoever reads them next will tell.
      return undefined;
    }
  }

  let lastPositions: Stored<Positions> | undefined;

  return {
    readStates,

    /** Waits for a change of the states, by whichever process, or for so long; on an engine that has to be asked, in any case that long. */
    async change(withinMs: number, signal?: AbortSignal): Promise<void> {
      const before = versionNow();
      const stepMs = states.getNow === undefined ? withinMs : Math.min(LOOK_EVERY_MS, withinMs);
      for (let waitedMs = 0; waitedMs < withinMs; waitedMs += stepMs) {
        await delay(stepMs, undefined, { signal });
        if (versionNow() !== before) return;
      }
    },

    positions: async (): Promise<Positions> => (await readPositions()).document,

    /** How far any collection is, those of other releases included. */
    allPositions: async (): Promise<readonly Position[]> =>
      (await readPositions()).document.groups.map(({ position }) => position),

    /**
     * Changes the states by compare-and-set: `change` runs again if another process was faster. Nothing is written if it returns
     * what it was given.
     */
    async update(change: (states: ReadModelStates) => ReadModelStates): Promise<Stored<ReadModelStates>> {
      for (;;) {
        const stored = await readStates();
        const document = change(stored.document);
        if (document === stored.document) return stored;
        const written =
          stored.version === 0
            ? await states.insert(KEY, document)
            : await states.replace(KEY, document, stored.version);
        if (written) return { key: KEY, version: stored.version + 1, document };
      }
    },

    /** Moves collections forward to a place, and forgets those that are gone. Tells the positions before it writes them, too. */
    advance: (
      collections: readonly string[],
      place: Place,
      {
        states,
        gone = [],
        written = {},
        tell,
      }: {
        readonly states: number;
        readonly gone?: readonly string[];
        readonly written?: Written;
        readonly tell?: (positions: Positions) => void;
      },
    ): Promise<Positions> =>
      writePositions((before) => {
        const moving = collections.filter((name) => placeOf(before, name).position <= place.position);
        const document = moved(before, { moving, place, gone, states, written });
        tell?.(document);
        return document;
      }),

    /** Moves a collection back to a place, unless it is not where it was taken to be. */
    retreat: (collection: string, from: Place, to: Place): Promise<Positions> =>
      writePositions((before) => {
        if (placeOf(before, collection).position !== from.position) return before;
        const without = moved(before, { moving: [], place: START, gone: [collection], states: 0, written: {} });
        const written = { [collection]: to.position };
        return moved(without, { moving: [collection], place: to, gone: [], states: 0, written });
      }),
  };

  async function writePositions(change: (before: Positions) => Positions): Promise<Positions> {
    for (;;) {
      const stored = lastPositions ?? (await readPositions());
      const document = change(stored.document);
      const isWritten =
        stored.version === 0
          ? await positions.insert(KEY, document)
          : await positions.replace(KEY, document, stored.version);
      if (isWritten) {
        lastPositions = { key: KEY, version: stored.version + 1, document };
        return document;
      }
      lastPositions = undefined;
    }
  }
}

function moved(
  before: Positions,
  to: {
    readonly moving: readonly string[];
    readonly place: Place;
    readonly gone: readonly string[];
    readonly states: number;
    readonly written: Written;
  },
): Positions {
  const { moving, place, gone, states } = to;
  const written: Record<string, Position> = Object.assign({}, ...before.groups.map((group) => group.written));
  for (const [name, position] of Object.entries(to.written))
    if (position > (written[name] ?? LOG_START)) written[name] = position;
  const ofThese = (collections: readonly string[]) => {
    const known = collections.flatMap((name) => (written[name] === undefined ? [] : [[name, written[name]] as const]));
    return known.length === 0 ? {} : { written: Object.fromEntries(known) };
  };
  const groups: Group[] = [];
  let joined = false;
  for (const group of before.groups) {
    const { position, events } = group;
    const stay = group.collections.filter((name) => !moving.includes(name) && !gone.includes(name));
    if (position === place.position && moving.length > 0) {
      const collections = [...stay, ...moving];
      groups.push({ position, events, collections, ...ofThese(collections) });
      joined = true;
    } else if (stay.length > 0)
      groups.push(
        stay.length === group.collections.length ? group : { position, events, collections: stay, ...ofThese(stay) },
      );
  }
  if (!joined && moving.length > 0) {
    const { position, events } = place;
    groups.push({ position, events, collections: moving, ...ofThese(moving) });
  }
  return { groups, states: Math.max(states, before.states) };
}

/** The collection that holds a projection's documents. */
export const collectionOf = <I>({ indexes }: { readonly indexes: I }, name: string) => ({
  name,
  indexes,
  kind: 'readModel' as const,
  isProjected: true,
});

/**
 * Whether a read model has failed, so that what is stored would be stale. One whose build fails beside the live collection is
 * read on.
 */
export const isUnreadable = ({ live, failure }: Pick<ReadModelState, 'live' | 'failure'>): boolean =>
  failure !== undefined && (live === undefined || failure.collection === live);

/** The states with one model's changed; `undefined` removes a field. */
export function withModel(
  states: ReadModelStates,
  id: ReadModelId,
  change: { readonly [F in keyof ReadModelState]?: ReadModelState[F] | undefined },
): ReadModelStates {
  const before = states.models[id] ?? { leaving: [], generation: 0 };
  const { leaving = before.leaving, generation = before.generation, ...rest } = { ...before, ...change };
  return { ...states, models: { ...states.models, [id]: { leaving, generation, ...defined(rest) } } };
}

/** The state of a read model that gets a new collection to be built. */
export const toBuild = (id: ReadModelId, { generation }: Pick<ReadModelState, 'generation'>) => ({
  generation: generation + 1,
  building: `${id}.${generation + 1}`,
});
