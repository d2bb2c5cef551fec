import { createHash } from 'node:crypto';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Checkpoint, DocumentStore, Stored } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import { SCHEMA } from '../domain/events.ts';
import { LOG_START, type Position } from '../event-store/event-store.ts';

/** A projection in one version: `bookings@2`. Releases that know different versions each have their own read model. */
export type ReadModelId = `${string}@${number}`;

export const idOf = ({ name, version }: Pick<AnyProjection, 'name' | 'version'>): ReadModelId => `${name}@${version}`;

/** Names the read models of a release: a hash of their names, versions and the schema of the events. */
export function releaseOf(projections: readonly Pick<AnyProjection, 'name' | 'version'>[]): string {
  const models = projections.map(idOf).sort();
  return createHash('sha256')
    .update(JSON.stringify([SCHEMA, models]))
    .digest('hex')
    .slice(0, 8);
}

/** The lease of the process that keeps the read models of a release up to date. */
export const projectorLease = (projections: Parameters<typeof releaseOf>[0]): string =>
  `projector:${releaseOf(projections)}`;
export const READ_MODEL_LEASES = 'readModelLeases';

/** The catalogue's entry for a read model (docs/decisions/read-models.md). */
export type Entry = {
  /** The collection that is read; absent until the first build is complete. */
  readonly live?: string;
  /** The collection that is being built and becomes the live one. */
  readonly building?: string;
  /** Swapped-out collections, kept up to date while readers may still use them. */
  readonly retiring: readonly string[];
  /** The event types that it handles, for releases that do not have its projection. */
  readonly types: readonly string[];
  readonly failure?: Failure;
  /** How long processes have been running without using it, in milliseconds. */
  readonly unwantedMs?: number;
};

/** The failure of a read model. */
export type Failure = {
  readonly collection: string;
  readonly message: string;
  /** Consecutive failed attempts, by any process. */
  readonly attempts: number;
  /** The event that caused it, if any. */
  readonly event?: { readonly id: string; readonly type: string; readonly position: Position };
};

/** The read models of all releases that have run. */
export type Catalogue = {
  readonly models: Readonly<Record<ReadModelId, Entry>>;
  /** The number of collections created so far, so that names are unique. */
  readonly collections: number;
  /** Unused collections, to be dropped in the background. */
  readonly dropping: readonly string[];
};

/** A change of the catalogue. */
export type CatalogueEvent =
  | { readonly type: 'Claimed'; readonly id: ReadModelId; readonly types: readonly string[] }
  | { readonly type: 'RebuildRequested'; readonly id: ReadModelId }
  /** These collections have caught up with the log. */
  | { readonly type: 'CaughtUp'; readonly collections: readonly string[] }
  /** These collections are gone, as after a power failure. */
  | { readonly type: 'Lost'; readonly collections: readonly string[] }
  | { readonly type: 'Failed'; readonly id: ReadModelId; readonly failure: Omit<Failure, 'attempts'> }
  | { readonly type: 'GraceEnded'; readonly collections: readonly string[] }
  /** For this long, running processes used only these read models. */
  | {
      readonly type: 'Wanted';
      readonly ids: readonly ReadModelId[];
      readonly elapsedMs: number;
      readonly retireAfterMs: number;
    }
  | { readonly type: 'Dropped'; readonly collections: readonly string[] }
  /** These collections exist. */
  | { readonly type: 'Found'; readonly collections: readonly string[] };

export const EMPTY: Catalogue = { models: {}, collections: 0, dropping: [] };

export const entriesOf = ({ models }: Catalogue): (readonly [ReadModelId, Entry])[] =>
  Object.entries(models).flatMap(([id, entry]) => (isReadModelId(id) ? [[id, entry] as const] : []));

const isReadModelId = (id: string): id is ReadModelId => /@\d+$/.test(id);

/** The collections of a read model that are kept up to date. */
export const collectionsOf = ({ live, building, retiring }: Entry): string[] =>
  [live, building, ...retiring].filter((name) => name !== undefined);

/** The catalogue after an event; the same object if nothing changes. */
export function evolve(catalogue: Catalogue, event: CatalogueEvent): Catalogue {
  switch (event.type) {
    case 'Claimed': {
      const entry = catalogue.models[event.id] ?? { retiring: [], types: event.types };
      return collectionsOf(entry).length > 0 ? catalogue : withBuild(catalogue, event.id, entry);
    }
    case 'RebuildRequested': {
      const entry = catalogue.models[event.id];
      if (entry === undefined || entry.building !== undefined) return catalogue;
      return withBuild(catalogue, event.id, entry);
    }
    case 'CaughtUp':
      return entriesOf(catalogue).reduce((next, [id, entry]) => {
        const changed = caughtUp(entry, event.collections);
        return changed === entry ? next : withEntry(next, id, changed);
      }, catalogue);
    case 'Lost':
      return entriesOf(catalogue).reduce((next, [id, { live, failure, ...entry }]) => {
        if (live === undefined || !event.collections.includes(live)) return next;
        const rest = { ...entry, ...(failure !== undefined && failure.collection !== live && { failure }) };
        return rest.building === undefined ? withBuild(next, id, rest) : withEntry(next, id, rest);
      }, catalogue);
    case 'Failed': {
      const entry = catalogue.models[event.id];
      const { failure } = event;
      if (entry === undefined || ![entry.live, entry.building].includes(failure.collection)) return catalogue;
      // A failure of the live collection takes precedence over one of the rebuild.
      if (isUnreadable(entry) && failure.collection !== entry.failure?.collection && failure.collection !== entry.live)
        return catalogue;
      const attempts = (entry.failure?.collection === failure.collection ? entry.failure.attempts : 0) + 1;
      return withEntry(catalogue, event.id, { ...entry, failure: { ...failure, attempts } });
    }
    case 'GraceEnded':
      return entriesOf(catalogue).reduce((next, [id, entry]) => {
        const gone = entry.retiring.filter((name) => event.collections.includes(name));
        if (gone.length === 0) return next;
        const retiring = entry.retiring.filter((name) => !gone.includes(name));
        return dropping(withEntry(next, id, { ...entry, retiring }), gone);
      }, catalogue);
    case 'Wanted':
      return entriesOf(catalogue).reduce((next, [id, entry]) => wanted(next, id, entry, event), catalogue);
    case 'Dropped': {
      const left = catalogue.dropping.filter((name) => !event.collections.includes(name));
      return left.length === catalogue.dropping.length ? catalogue : { ...catalogue, dropping: left };
    }
    case 'Found': {
      const kept = entriesOf(catalogue).flatMap(([, entry]) => collectionsOf(entry));
      return dropping(
        catalogue,
        event.collections.filter((name) => isOfReadModel(name) && !kept.includes(name)),
      );
    }
  }
}

function wanted(
  catalogue: Catalogue,
  id: ReadModelId,
  { unwantedMs = 0, ...entry }: Entry,
  { ids, elapsedMs, retireAfterMs }: Extract<CatalogueEvent, { readonly type: 'Wanted' }>,
): Catalogue {
  if (ids.includes(id)) return unwantedMs === 0 ? catalogue : withEntry(catalogue, id, entry);
  const now = unwantedMs + elapsedMs;
  if (now < retireAfterMs) return withEntry(catalogue, id, { ...entry, unwantedMs: now });
  const { [id]: _, ...models } = catalogue.models;
  return dropping({ ...catalogue, models }, collectionsOf(entry));
}

/** Whether a read model has failed and is stale. If only a rebuild fails, the live collection is still valid. */
export const isUnreadable = ({ live, failure }: Pick<Entry, 'live' | 'failure'>): boolean =>
  failure !== undefined && (live === undefined || failure.collection === live);

const withEntry = (catalogue: Catalogue, id: ReadModelId, entry: Entry): Catalogue => ({
  ...catalogue,
  models: { ...catalogue.models, [id]: entry },
});

function dropping(catalogue: Catalogue, more: readonly string[]): Catalogue {
  const all = new Set([...catalogue.dropping, ...more]);
  return all.size === catalogue.dropping.length ? catalogue : { ...catalogue, dropping: [...all] };
}

function withBuild(catalogue: Catalogue, id: ReadModelId, entry: Entry): Catalogue {
  const collections = catalogue.collections + 1;
  return withEntry({ ...catalogue, collections }, id, { ...entry, building: `${id}.${collections}` });
}

/** The built collection becomes the live one, and a failed one has recovered. */
function caughtUp(entry: Entry, collections: readonly string[]): Entry {
  const { building, failure, ...rest } = entry;
  const isBuilt = building !== undefined && collections.includes(building);
  const isRecovered = failure !== undefined && collections.includes(failure.collection);
  if (!isBuilt && !isRecovered) return entry;
  const { live, retiring } = rest;
  return {
    ...rest,
    ...(isBuilt
      ? { live: building, retiring: live === undefined ? retiring : [...retiring, live] }
      : defined({ building })),
  };
}

/** Whether the name is that of a read model's collection, such as `bookings@2.7`. */
const isOfReadModel = (name: string): boolean => /@\d+\.\d+$/.test(name);

/** The collection that holds a projection's documents. */
export const collectionOf = <I>({ indexes }: { readonly indexes: I }, name: string) => ({
  name,
  indexes,
  kind: 'readModel' as const,
  isProjected: true,
});

export const START: Checkpoint = { position: LOG_START, events: 0 };

const KEY = 'all';
const NONE: Stored<Catalogue> = { key: KEY, version: 0, document: EMPTY };

export type CatalogueStore = Awaited<ReturnType<typeof openCatalogue>>;

/** The shared catalogue. A single document, so that several read models swap in one step, and its version reveals every change. */
export async function openCatalogue(documents: Pick<DocumentStore, 'open'>) {
  const stored = await documents.open<Catalogue>({ name: 'readModelCatalogue', kind: 'readModel', indexes: [] });

  async function read(): Promise<Stored<Catalogue>> {
    return (await stored.get(KEY)) ?? NONE;
  }

  return {
    read,

    /** Applies events and stores the result, on top of concurrent changes of other processes. */
    async apply(...events: readonly CatalogueEvent[]): Promise<Stored<Catalogue>> {
      const { stored: after } = await stored.update(KEY, (before = EMPTY) => {
        const next = events.reduce(evolve, before);
        return next === before ? undefined : next;
      });
      return after ?? NONE;
    },
  };
}
