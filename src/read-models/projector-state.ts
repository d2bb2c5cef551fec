import type { AnyProjection } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';

/** How far the live read models are. One document: all of them are folded in one pass. */
export type Checkpoint = {
  readonly position: Position;
  /** Events folded up to there. */
  readonly events: number;
  /** Grows whenever a collection is swapped, so that readers look at the pointers anew. */
  readonly swaps: number;
};

/** Which collection readers of a projection are to use. */
export type Pointer = {
  readonly collection: string;
  readonly version: number;
  /** Counts the collections that the projection has had; none of their names comes back. */
  readonly generation: number;
  /** Collections that were swapped out, until the last reader can be expected to have left them. */
  readonly retired: readonly { readonly collection: string; readonly at: number }[];
};

/** Collections being built beside the live ones, all in one pass. */
export type Build = {
  readonly collections: readonly {
    readonly projection: string;
    readonly version: number;
    readonly generation: number;
    readonly collection: string;
  }[];
  readonly position: Position;
  /** Events read so far. */
  readonly done: number;
  /** Events there were to read when it began; absent while nobody has counted them. */
  readonly total?: number;
};

type RebuildRequest = { readonly projection: string };

/** What keeps the projector from getting on, while something does. */
export type ProjectorFailure = {
  readonly doing: 'project' | 'build';
  readonly message: string;
  /** Attempts that failed in a row. */
  readonly attempts: number;
};

export type Lease = {
  /** Unique to one projector of one process. */
  readonly holder: string;
  /** The process, for a successor on the same machine that wants to know whether it still runs. */
  readonly pidNamespace: string;
  readonly pid: number;
};

/** What projectors and readers share through the document store. */
export type ProjectorState = {
  readonly checkpoints: Documents<Checkpoint>;
  readonly pointers: Documents<Pointer>;
  readonly builds: Documents<Build>;
  readonly requests: Documents<RebuildRequest>;
  readonly troubles: Documents<ProjectorFailure>;
  readonly leases: Documents<Lease>;
};

/** The only document of `checkpoints`, `builds`, `troubles` and `leases`. */
export const SINGLETON_KEY = 'projector';

/**
 * All of it is kept with the read models: on an engine that may lose its last writes in a power failure, the documents and
 * what is said about them go back together.
 */
export async function openProjectorState(documents: DocumentStore): Promise<ProjectorState> {
  const open = <D extends object>(name: string) =>
    documents.open<D>({ name: `projector-${name}`, kind: 'readModel', indexes: [] });
  return {
    checkpoints: await open('checkpoints'),
    pointers: await open('pointers'),
    builds: await open('builds'),
    requests: await open('requests'),
    troubles: await open('troubles'),
    leases: await open('leases'),
  };
}

/** The collection that holds a projection's documents. */
export const collectionOf = <I>({ indexes }: { readonly indexes: I }, name: string) => ({
  name,
  indexes,
  kind: 'readModel' as const,
});

export const nextGeneration = (
  { name, version }: AnyProjection,
  pointer: Stored<Pointer> | undefined,
): Build['collections'][number] => {
  const generation = (pointer?.document.generation ?? 0) + 1;
  return { projection: name, version, generation, collection: `${name}@${version}.${generation}` };
};

/** Writes a document of which there is one, whatever it was. */
export async function put<D extends object>(documents: Documents<D>, key: string, document: D): Promise<void> {
  for (;;) {
    const there = await documents.get(key);
    const written =
      there === undefined
        ? await documents.insert(key, document)
        : await documents.replace(key, document, there.version);
    if (written) return;
  }
}
