import { createHash } from 'node:crypto';
import type { AnyProjection } from '../../projections/projection.ts';
import type { Checkpoint, DocumentStore, Stored } from '../document-store/document-store.ts';
import { SCHEMA } from '../domain/events.ts';
import { LOG_START } from '../event-store/event-store.ts';

/** The name of a generation and its number: `1a2b3c4d.5`. */
export type GenerationId = `${string}.${number}`;

/** Names the read models of a release: a hash of their names, their versions and the schema of the events. */
export function generationName(projections: readonly Pick<AnyProjection, 'name' | 'version'>[]): string {
  const models = projections.map(({ name, version }) => `${name}@${version}`).sort();
  return createHash('sha256')
    .update(JSON.stringify([SCHEMA, models]))
    .digest('hex')
    .slice(0, 8);
}

/**
 * `building`: no process reads it. `joining`: a rebuild that has caught up; it becomes live once every process waits for it.
 * `live`: processes read it. `retired`: replaced, kept up to date while processes may still read it.
 */
export type GenerationState = 'building' | 'joining' | 'live' | 'retired';

export type Generation = {
  readonly name: string;
  readonly state: GenerationState;
  /** How long processes have been running without using it, in milliseconds. */
  readonly unwantedMs?: number;
};

/** The generations of all releases that have run. One that exists in the store but not here is dropped. */
export type Catalogue = {
  readonly generations: Readonly<Record<GenerationId, Generation>>;
  /** The number of generations begun so far, so that no id is used twice. */
  readonly begun: number;
};

export type CatalogueEvent =
  /** A build begins, unless one is under way. */
  | { readonly type: 'Begun'; readonly name: string }
  | { readonly type: 'CaughtUp'; readonly id: GenerationId }
  | { readonly type: 'Swapped'; readonly id: GenerationId }
  /** Its file or its collections are gone, as after a power failure. */
  | { readonly type: 'Lost'; readonly id: GenerationId }
  | { readonly type: 'Dropped'; readonly id: GenerationId }
  /** For this long, running processes used only the generations with these names. */
  | {
      readonly type: 'Wanted';
      readonly names: readonly string[];
      readonly elapsedMs: number;
      readonly retireAfterMs: number;
    };

export const EMPTY: Catalogue = { generations: {}, begun: 0 };

const isId = (id: string): id is GenerationId => /\.\d+$/.test(id);

export const entriesOf = ({ generations }: Catalogue): (readonly [GenerationId, Generation])[] =>
  Object.entries(generations).flatMap(([id, generation]) => (isId(id) ? [[id, generation] as const] : []));

/** The generations with a name, by id. */
export const generationsOf = (catalogue: Catalogue, name: string): (readonly [GenerationId, Generation])[] =>
  entriesOf(catalogue).filter(([, generation]) => generation.name === name);

export const idIn = (catalogue: Catalogue, name: string, ...states: readonly GenerationState[]) =>
  generationsOf(catalogue, name).find(([, { state }]) => states.includes(state))?.[0];

/** The catalogue after an event; the same object if nothing changes. */
export function evolve(catalogue: Catalogue, event: CatalogueEvent): Catalogue {
  if (event.type === 'Begun') return withBuild(catalogue, event.name);
  if (event.type === 'Wanted')
    return entriesOf(catalogue).reduce((next, [id, each]) => withUsage(next, id, each, event), catalogue);
  const { id } = event;
  const generation = catalogue.generations[id];
  if (generation === undefined) return catalogue;
  const { name, state } = generation;
  const live = idIn(catalogue, name, 'live');
  switch (event.type) {
    case 'CaughtUp':
      return state === 'building' ? withState(catalogue, id, live === undefined ? 'live' : 'joining') : catalogue;
    case 'Swapped':
      if (state !== 'joining') return catalogue;
      return withState(live === undefined ? catalogue : withState(catalogue, live, 'retired'), id, 'live');
    case 'Lost':
      if (state !== 'live') return state === 'building' ? catalogue : without(catalogue, id);
      return withBuild(without(catalogue, id), name);
    case 'Dropped':
      return state === 'live' ? catalogue : without(catalogue, id);
  }
}

function withBuild(catalogue: Catalogue, name: string): Catalogue {
  if (idIn(catalogue, name, 'building', 'joining') !== undefined) return catalogue;
  const number = catalogue.begun + 1;
  const generation: Generation = { name, state: 'building' };
  return { generations: { ...catalogue.generations, [`${name}.${number}`]: generation }, begun: number };
}

function withUsage(
  catalogue: Catalogue,
  id: GenerationId,
  { unwantedMs = 0, ...generation }: Generation,
  { names, elapsedMs, retireAfterMs }: Extract<CatalogueEvent, { readonly type: 'Wanted' }>,
): Catalogue {
  if (names.includes(generation.name)) return unwantedMs === 0 ? catalogue : withEntry(catalogue, id, generation);
  const now = unwantedMs + elapsedMs;
  return now < retireAfterMs ? withEntry(catalogue, id, { ...generation, unwantedMs: now }) : without(catalogue, id);
}

const withEntry = (catalogue: Catalogue, id: GenerationId, generation: Generation): Catalogue => ({
  ...catalogue,
  generations: { ...catalogue.generations, [id]: generation },
});

function withState(catalogue: Catalogue, id: GenerationId, state: GenerationState): Catalogue {
  const generation = catalogue.generations[id];
  return generation === undefined ? catalogue : withEntry(catalogue, id, { ...generation, state });
}

function without(catalogue: Catalogue, id: GenerationId): Catalogue {
  const { [id]: _, ...generations } = catalogue.generations;
  return { ...catalogue, generations };
}

/** The collection of a generation that holds a projection's documents. */
export const collectionOf = <I>(
  { name, indexes }: { readonly name: string; readonly indexes: I },
  generation: string,
) => ({
  name,
  indexes,
  generation,
  kind: 'readModel' as const,
});

export const START: Checkpoint = { position: LOG_START, events: 0, failing: [] };

const KEY = 'all';
const NONE: Stored<Catalogue> = { key: KEY, version: 0, document: EMPTY };

export type CatalogueStore = Awaited<ReturnType<typeof openCatalogue>>;

/** The shared catalogue. A single document, so that a swap is one write. */
export async function openCatalogue(documents: Pick<DocumentStore, 'open'>) {
  const catalogues = await documents.open<Catalogue>({ name: 'readModelGenerations', kind: 'readModel', indexes: [] });
  return {
    async read(): Promise<Stored<Catalogue>> {
      return (await catalogues.get(KEY)) ?? NONE;
    },

    /** Applies an event and stores the result, on top of concurrent changes of other processes. */
    async apply(event: CatalogueEvent): Promise<Stored<Catalogue>> {
      const { stored: after } = await catalogues.update(KEY, (before = EMPTY) => {
        const next = evolve(before, event);
        return next === before ? undefined : next;
      });
      return after ?? NONE;
    },
  };
}
