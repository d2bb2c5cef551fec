/**
 * Documents: the read models, and the few records that are not domain history (users, OAuth records, deliveries, leases,
 * checkpoints). Two adapters implement this port, `sqlite/` (embedded) and `mongodb/`; `test/contract/document-store.ts` runs
 * one contract suite against both.
 */

/** Declares a collection. Opening it creates whatever is missing. */
export type Collection<D extends object> = {
  readonly name: string;
  /** One of these must serve every query. Fields are top-level fields of the document. */
  readonly indexes: readonly Index<D>[];
  /** Documents are removed some time after the moment in this field (ISO 8601, UTC). Readers must not rely on when. */
  readonly ttl?: keyof D & string;
  /**
   * `readModel`: derived from the log, may revert to an earlier consistent state after a power failure.
   * `record`: durable once the write resolves.
   */
  readonly kind: 'readModel' | 'record';
  /** Only `project` writes to it, so that its documents may be cached until a projection changes them. */
  readonly isProjected?: boolean;
};

/** A collection as the store remembers it. `ttl` is known on every engine once this process has opened the collection. */
export type DeclaredCollection = Pick<Collection<object>, 'name' | 'kind'> & { readonly ttl?: string };

export type Index<D extends object> = {
  readonly fields: readonly (keyof D & string)[];
  /** Records only: what a projection writes follows from the log, which has no unique values. */
  readonly unique?: boolean;
  /**
   * Only documents with these values are in the index, which serves the queries that ask for all of them. Makes writing the
   * others cheaper. Not for unique indexes.
   */
  readonly where?: { readonly [F in keyof D & string]?: string };
};

/** @throws {TypeError} if a collection declares what stores do not support */
export function checkCollection<D extends object>({ name, kind, indexes }: Collection<D>): void {
  if (kind === 'readModel' && indexes.some(({ unique }) => unique))
    throw new TypeError(`${name}: a read model cannot have a unique index`);
}

/** A stored document. Treat it as immutable: it may be shared with other readers. */
export type Stored<D extends object> = {
  readonly key: string;
  /** Incremented by every write. */
  readonly version: number;
  readonly document: D;
};

/** A document that has been found but not read: whoever knows it by its key and version need not. */
export type Unread<D extends object> = Omit<Stored<D>, 'document'> & { read(): D };

type Scalar = string | number | boolean;
/** `from` and `to` are inclusive, `below` and `above` exclusive. */
export type Range = { readonly from?: Scalar; readonly to?: Scalar; readonly below?: Scalar; readonly above?: Scalar };
export type Condition = Scalar | { readonly in: readonly Scalar[] } | Range;

export type Find<D extends object> = {
  /** Equality, `in`, and at most one range; all must match. An absent field matches nothing. */
  readonly where?: { readonly [F in keyof D & string]?: Condition };
  readonly sort?: readonly { readonly field: keyof D & string; readonly direction?: 'ascending' | 'descending' }[];
  readonly limit?: number;
};

declare const declared: unique symbol;
/** A query from `declareQuery`, which a test checks against the indexes. Stores accept no other. */
export type Query<D extends object> = Find<D> & { readonly [declared]: true };

/** One step of a projection: the document as of `position`, or `undefined` if it was removed. */
export type Projected<D extends object> = {
  readonly key: string;
  readonly position: string;
  readonly document: D | undefined;
  /** Whether there is probably no document under the key yet. Saves a read where it is so, and changes nothing. */
  readonly isNew?: boolean;
};

/** How far a collection is: it shows the log up to `position`, which is that many events. */
export type Checkpoint = { readonly position: string; readonly events: number };

/** A checkpoint, and the position of the one it replaces: empty if there is none. */
export type NextCheckpoint = Checkpoint & { readonly after: string };

/**
 * Makes the next document of the one that is stored, which is undefined if there is none. Returns undefined if nothing is to change.
 * @param version of the stored document, 0 if there is none
 */
export type Change<D extends object> = (
  document: D | undefined,
  version: number,
) => D | undefined | Promise<D | undefined>;

/** What the caller has read already, and would not have read again. */
export type Known<D extends object> = { readonly stored?: Stored<D> | undefined };

/** What an update did, and what is stored now. */
export type Updated<D extends object> =
  | { readonly isChanged: true; readonly stored: Stored<D> }
  | { readonly isChanged: false; readonly stored: Stored<D> | undefined };

export type Documents<D extends object> = {
  get(key: string): Promise<Stored<D> | undefined>;
  getMany(keys: readonly string[]): Promise<Stored<D>[]>;

  /**
   * Streams: memory use does not grow with the number of matches. A document that does not change meanwhile is returned exactly
   * once. Documents that lack a sort field come first in ascending order, last in descending order; ties are ordered by key.
   */
  find(query: Query<D>): AsyncIterable<Stored<D>>;
  /** The same as {@link find} in pages, for long lists: nothing is done per document but what the reader does. */
  pages(query: Query<D>): AsyncIterable<readonly Unread<D>[]>;
  /** The number of matching documents; ignores sort and limit. */
  count(query: Query<D>): Promise<number>;

  /** @returns false, without writing, if the key or a unique value is taken */
  insert(key: string, document: D): Promise<boolean>;

  /**
   * Changes or inserts a document by compare-and-set. `change` runs again on what another writer has stored meanwhile, so it must have
   * no effect of its own.
   * @param known what to begin with instead of a read
   * @throws {Unavailable} after many conflicts in a row, as when a unique value is taken
   */
  update(key: string, change: Change<D>, known?: Known<D>): Promise<Updated<D>>;

  /** @returns false if the document does not exist or is not at `version` */
  delete(key: string, version?: number): Promise<boolean>;

  /**
   * Writes the output of a projection. Documents only move forward: a write whose position is not after the stored one changes
   * nothing, and a removed document leaves a tombstone with its position. Readers do not see tombstones
   * (docs/decisions/read-models.md).
   * @param checkpoint of the collection once it has these documents. Stored with them: no failure keeps it and loses them
   * @returns false if the stored checkpoint is not the one that `checkpoint` replaces, because another projector has moved it
   */
  project(writes: readonly Projected<D>[], checkpoint?: NextCheckpoint): Promise<boolean>;

  /** What `project` last wrote to these keys, tombstones included; keys that were never projected are absent. */
  projected(keys: readonly string[]): Promise<ReadonlyMap<string, Projected<D>>>;
};

/**
 * Fills a collection that has no readers yet, in large steps (docs/decisions/read-models.md). Holds up neither this thread
 * nor the writers of other collections.
 */
export type BulkLoad<D extends object> = {
  /** As {@link Documents.projected}. What is being written is seen only once `write` has resolved. */
  projected(keys: readonly string[]): Promise<ReadonlyMap<string, Projected<D>>>;
  /** Writes a step, as {@link Documents.project} does; each key at most once. Interrupted, it may have written a part. */
  write(step: readonly Projected<D>[], checkpoint?: NextCheckpoint): Promise<boolean>;
  /** Makes the indexes. The collection is then complete and can be opened. */
  finish(): Promise<void>;
  /** Ends the load, finished or not, and what is running. What was written stays, and another load can go on with it. */
  close(): Promise<void>;
};

/** What the service asks of a store: its collections. */
export type DocumentStore = {
  /** Opens a collection; opening the same name twice returns the same collection. */
  open<D extends object>(collection: Collection<D>): Promise<Documents<D>>;

  /** Resolves if the store responds, rejects otherwise. */
  ping(): Promise<void>;

  close(): Promise<void>;
};

/** What only operation needs: building and dropping read models, backups, clocks, the disk. */
export type DocumentStoreOperations = {
  /**
   * Begins to fill a collection, or goes on with what an earlier load has begun.
   * @returns undefined if the collection was opened before it was loaded, so that it is filled by `project`
   */
  load<D extends object>(collection: Collection<D>): Promise<BulkLoad<D> | undefined>;

  /** The checkpoints of these collections, default all; those that were never projected with one are absent. */
  checkpoints(names?: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>>;

  /**
   * Drops a collection with its documents and its checkpoint, a large one in small steps. Rejects if `signal` is aborted between two
   * steps, and leaves a part, to be dropped another time.
   */
  drop(name: string, signal?: AbortSignal): Promise<void>;

  /**
   * Leaves nothing in the files of the store of what records held that have been removed or replaced. On an engine whose files are
   * those of a server it does nothing.
   * @returns false if others have been reading for so long that something is left, until they end or this is done again
   */
  purge(): Promise<boolean>;

  /** The names of all collections. */
  names(): Promise<string[]>;

  /** All collections with how they were declared, by name. */
  collections(): Promise<readonly DeclaredCollection[]>;

  /** Bytes that the read models take up, and that the disk has left. Undefined if the engine does not tell. */
  room(): Promise<{ readonly free: number; readonly readModels: number } | undefined>;

  /**
   * What the engine's own clock shows, in milliseconds since the epoch: a moment between the call and its end. Undefined if the
   * engine has no clock besides that of this machine (docs/decisions/time.md).
   */
  now(): Promise<number | undefined>;
};

/** A document store as an adapter opens it. */
export type OperatedDocumentStore = DocumentStore & DocumentStoreOperations;
