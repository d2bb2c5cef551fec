import type { AnyProjection } from '../../projections/projection.ts';
import type { DocumentStore, Documents, Stored } from '../document-store/document-store.ts';
import type { Position } from '../event-store/event-store.ts';

/** How far the live read models are. A single document, because all of them are folded in one pass. */
export type Checkpoint = {
  readonly position: Position;
  /** Events folded so far. */
  readonly events: number;
  /** Grows with every swap of a collection, which tells readers to read the pointers again. */
  readonly swaps: number;
};

/** The collection that readers of a projection should use. */
export type Pointer = {
  readonly collection: string;
  readonly version: number;
  /** Counts the projection's collections, so that no name is ever reused. */
  readonly generation: number;
  /** Swapped-out collections, kept until the last reader should have left them. */
  readonly retired: readonly { readonly collection: string; readonly at: number }[];
};

/** Collections being built beside the live ones, in one pass. */
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
  /** Events to read, as counted at the start; absent while they have not been counted. */
  readonly total?: number;
};

type RebuildRequest = { readonly projection: string };

/** The failure that currently blocks the projector. */
export type ProjectorFailure = {
  readonly doing: 'project' | 'build';
  readonly message: string;
  /** Consecutive failed attempts. */
  readonly attempts: number;
};

/** State that projectors and readers share through the document store. */
export type ProjectorState = {
  readonly checkpoints: Documents<Checkpoint>;
  readonly pointers: Documents<Pointer>;
  readonly builds: Documents<Build>;
  readonly requests: Documents<RebuildRequest>;
  readonly failures: Documents<ProjectorFailure>;
};

/** Key of the only document in `checkpoints`, `builds` and `failures`. */
export const SINGLETON_KEY = 'projector';

/**
 * Stored with the read models: if an engine loses its last writes in a power failure, the documents and the state that
 * describes them go back together.
 */
export async function openProjectorState(documents: DocumentStore): Promise<ProjectorState> {
  const open = <D extends object>(name: string) =>
    documents.open<D>({ name: `projector-${name}`, kind: 'readModel', indexes: [] });
  return {
    checkpoints: await open('checkpoints'),
    pointers: await open('pointers'),
    builds: await open('builds'),
    requests: await open('requests'),
    // The stored name, from when failures were called troubles.
    failures: await open('troubles'),
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

/** Inserts or overwrites a document. */
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
