/**
 * Documents: the read models with their checkpoints, records that are not domain history (users, OAuth records, deliveries), leases and
 * heartbeats. Two adapters implement this port, `sqlite/` (embedded) and `mongodb/`; `test/contract/document-store.ts` runs one contract
 * suite against both.
 */

/** Declares a collection. Opening it creates the collection and the indexes that are missing. */
export type Collection<D extends object> = {
  readonly name: string;
  /** One of these must serve every query. Fields are top-level fields of the document. */
  readonly indexes: readonly Index<D>[];
  /** Documents are removed some time after the moment in this field (ISO 8601, UTC). Readers must not rely on when. */
  readonly ttl?: keyof D & string;
  /**
   * `readModel`: may revert to an earlier consistent state after a power failure. For what is derived from the log, and for what is
   * worthless after a power failure, such as leases.
   * `record`: durable once the write resolves, and read as every process has written it by then.
   */
  readonly kind: 'readModel' | 'record';
  /**
   * Whether inserts and updates that are made at the same time share a command, where each is one. For collections that one process at a
   * time writes to: while another one changes the same documents, the outcome of an update may be unknown.
   */
  readonly isWrittenTogether?: true;
  /**
   * The generation of read models that it belongs to, such as `1a2b3c4d.5`. Only `project` writes to it, so its documents may be cached.
   */
  readonly generation?: string;
};

/**
 * A generation is all read models of a release. It counts as one collection in `names`, `collections` and `drop`. On SQLite its
 * collections share a file, on MongoDB a prefix.
 */
export const isGeneration = (name: string): boolean => /^[0-9a-f]{8}\.\d+$/.test(name);

/** A collection as declared in the store. `ttl` is known on every engine once this process has opened the collection. */
export type DeclaredCollection = Pick<Collection<object>, 'name' | 'kind'> & { readonly ttl?: string };

export type Index<D extends object> = {
  readonly fields: readonly (keyof D & string)[];
  /** Fields that the index holds besides, so that it alone skips the documents that conditions on them exclude. Not for unique indexes. */
  readonly holds?: readonly (keyof D & string)[];
  /** Records only: read models follow the log, which has no unique values. */
  readonly unique?: boolean;
  /**
   * A partial index: it contains only documents with these values, and serves queries with all of these conditions. Makes other
   * writes cheaper. Not for unique indexes.
   */
  readonly where?: { readonly [F in keyof D & string]?: string };
};

/** @throws {TypeError} if the declaration is not supported */
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

/** A found document, parsed only on `read()`, so that callers with a cached copy of this key and version can skip that. */
export type Unread<D extends object> = Pick<Stored<D>, 'key' | 'version'> & { read(): D };

type Row = { readonly [field: string]: unknown };

type Scalar = string | number | boolean;
/** `from` and `to` are inclusive, `below` and `above` exclusive. */
export type Range = { readonly from?: Scalar; readonly to?: Scalar; readonly below?: Scalar; readonly above?: Scalar };
export type Condition = Scalar | { readonly in: readonly Scalar[] } | { readonly exists: boolean } | Range;

export type Find<D extends object> = {
  /** Equality, `in`, ranges, and whether a field exists; all must match. An absent field matches only `exists: false`. */
  readonly where?: { readonly [F in keyof D & string]?: Condition };
  readonly sort?: readonly { readonly field: keyof D & string; readonly direction?: 'ascending' | 'descending' }[];
  /** Only the documents that come after these values of the sort fields. Every document must have those fields. */
  readonly after?: readonly (string | number)[];
  readonly limit?: number;
};

/** The matching documents that have the same values in some fields: how many they are, and the sums of others of their fields. */
export type Group<D extends object, B extends keyof D, S extends keyof D> = {
  readonly values: Pick<D, B>;
  readonly count: number;
  readonly sums: ReadonlyMap<S, number>;
};

declare const declared: unique symbol;
/** A query from `declareQuery`, which a test checks against the indexes. Stores accept no other. */
export type Query<D extends object> = Find<D> & { readonly [declared]: true };

/** One step of a projection: the document as of `position`, or `undefined` if it was removed. */
export type Projected<D extends object> = {
  readonly key: string;
  readonly position: string;
  readonly document: D | undefined;
  /** Whether the key is probably unused. Only a hint, which saves a read. */
  readonly isNew?: boolean;
};

/** A read model that could not take an event. It stands at `position`, and readers refuse it. */
export type FailingReadModel = {
  readonly name: string;
  readonly position: string;
  readonly message: string;
  /** Consecutive failed attempts. */
  readonly attempts: number;
  /** The event that caused it, if any. */
  readonly event?: { readonly id: string; readonly type: string; readonly position: string };
};

/** The progress of a generation: except those that fail, its read models reflect the log up to `position`, after `events` events. */
export type Checkpoint = {
  readonly position: string;
  readonly events: number;
  readonly failing: readonly FailingReadModel[];
};

/** A checkpoint, and the position of the one it replaces: empty if there is none. */
export type NextCheckpoint = Checkpoint & { readonly after: string };

/**
 * Computes the next document from the stored one (undefined if absent). Returns undefined to leave it unchanged.
 * @param version of the stored document, 0 if there is none
 */
export type Change<D extends object> = (
  document: D | undefined,
  version: number,
) => D | undefined | Promise<D | undefined>;

/** The document that the caller has already read. */
type LastRead<D extends object> = { readonly stored?: Stored<D> | undefined };

/** The outcome of an update, with the document now stored. */
export type Updated<D extends object> =
  | { readonly isChanged: true; readonly stored: Stored<D> }
  | { readonly isChanged: false; readonly stored: Stored<D> | undefined };

export type Documents<D extends object> = {
  get(key: string): Promise<Stored<D> | undefined>;
  getMany(keys: readonly string[]): Promise<Stored<D>[]>;

  /**
   * Streams: memory use does not grow with the number of matches. A document that does not change during the read is returned
   * exactly once. Documents that lack a sort field come first in ascending order, last in descending order; ties are ordered by
   * key.
   */
  find(query: Query<D>): AsyncIterable<Stored<D>>;
  /** {@link find} in pages, for long lists, without work per document. */
  pages(query: Query<D>): AsyncIterable<readonly Unread<D>[]>;
  /** The number of matching documents, or `atMost` if there are more; ignores sort, `after` and limit. */
  count(query: Query<D>, atMost?: number): Promise<number>;
  /**
   * The matching documents in groups, unordered; ignores sort, `after` and limit. An absent field adds nothing to a sum.
   * @param by strings and numbers that every matching document has
   */
  groups<B extends keyof D & string, S extends keyof D & string = never>(
    query: Query<D>,
    by: readonly B[],
    sums?: readonly S[],
  ): Promise<readonly Group<D, B, S>[]>;

  /** @returns false, without writing, if the key or a unique value is taken */
  insert(key: string, document: D): Promise<boolean>;

  /**
   * Changes or inserts a document by compare-and-set. After a conflict, `change` runs again on the newly stored document, so it
   * must be repeatable. What it returns is always written, as a new version, also if it equals what is stored. If the answer of the store is
   * lost, the outcome is looked up, or it throws.
   * @param lastRead the document to start with, instead of a read
   * @throws {Unavailable} after many conflicts in a row, such as when a unique value is taken
   */
  update(key: string, change: Change<D>, lastRead?: LastRead<D>): Promise<Updated<D>>;

  /** @returns false if the document does not exist or is not at `version` */
  delete(key: string, version?: number): Promise<boolean>;

  /**
   * Writes the output of a projection. Documents only move forward: a write whose position is not after the stored one changes
   * nothing, and a removed document leaves a tombstone with its position. Readers do not see tombstones
   * (docs/decisions/read-models.md).
   */
  project(writes: readonly Projected<D>[]): Promise<void>;

  /** The last projected state of these keys, including tombstones. Keys that were never projected are absent. */
  projected(keys: readonly string[]): Promise<ReadonlyMap<string, Projected<D>>>;
};

/** The store as the service uses it: collections. */
export type DocumentStore = {
  /** Opens a collection; opening the same name twice returns the same collection. */
  open<D extends object>(collection: Collection<D>): Promise<Documents<D>>;

  /** Resolves if the store responds, rejects otherwise. */
  ping(): Promise<void>;

  close(): Promise<void>;
};

/** Operator functions: building and dropping read models, backups, the clock, the disk. */
export type DocumentStoreOperations = {
  /** As `open`, without the indexes that are missing: for a generation that is being built. */
  openWithoutIndexes<D extends object>(collection: Collection<D>): Promise<Documents<D>>;

  /** Creates the missing indexes of a collection, without blocking other work of this process for longer than one of them takes. */
  makeIndexes<D extends object>(collection: Collection<D>): Promise<void>;

  /** The checkpoints of these generations, default all; those that have none are absent. */
  checkpoints(generations?: readonly string[]): Promise<ReadonlyMap<string, Checkpoint>>;

  /**
   * Writes the output of the projections of a generation, by collection. Its collections are open. The checkpoint is stored with the
   * documents or after them, never without them.
   * @param onWritten called once readers see the documents; if it throws, the checkpoint may not be stored
   * @returns false if another projector has moved the stored checkpoint
   */
  project(
    generation: string,
    writes: ReadonlyMap<string, readonly Projected<Row>[]>,
    checkpoint: NextCheckpoint,
    onWritten?: () => void,
  ): Promise<boolean>;

  /**
   * Lets reads of a generation be answered from memory while `isOnlyWriter()`, which is asked at each of them: whether no other process
   * can project it now. Call it before this process folds what follows the stored checkpoint. Does nothing on engines that notice what
   * other processes write.
   * @returns a function that ends this
   */
  cacheGeneration(generation: string, isOnlyWriter: () => boolean): () => void;

  /** Drops a collection, or a generation with its checkpoint. */
  drop(name: string): Promise<void>;

  /**
   * Erases removed and replaced records from the store's files. Does nothing on engines with their own server.
   * @returns false if long reads blocked it, so that remnants stay until a later call
   */
  purge(): Promise<boolean>;

  /** The names of all collections. */
  names(): Promise<string[]>;

  /** The declarations of all collections, by name. */
  collections(): Promise<readonly DeclaredCollection[]>;

  /** The size of the read models and the free disk space, in bytes. Undefined if the engine does not report them. */
  room(): Promise<{ readonly free: number; readonly readModels: number } | undefined>;

  /**
   * The time of the engine's own clock, in milliseconds since the epoch, taken during the call. Undefined if the engine has no
   * clock besides that of this machine (docs/decisions/time.md).
   */
  now(): Promise<number | undefined>;
};

/** A document store as an adapter opens it. */
export type OperatedDocumentStore = DocumentStore & DocumentStoreOperations;
