/**
 * Documents: the read models, and the few records that are not domain history (users, OAuth records, deliveries,
 * leases, checkpoints). Two adapters implement this port, `sqlite/` (embedded) and `mongodb/`;
 * `test/contract/document-store.ts` holds both to the same promises.
 */

/** Declares a collection. Opening it makes what is missing. */
export type Collection<D extends object> = {
  readonly name: string;
  /** Every query the service makes must be answered by one of these. Fields are top-level fields of the document. */
  readonly indexes: readonly Index<D>[];
  /** Documents disappear some time after this field (ISO 8601, UTC) has passed. Readers must not rely on the moment. */
  readonly ttl?: keyof D & string;
  /**
   * `readModel`: derived from the log, may fall back to an earlier consistent state after a power failure.
   * `record`: durable when the write has answered.
   */
  readonly kind: 'readModel' | 'record';
};

export type Index<D extends object> = {
  readonly fields: readonly (keyof D & string)[];
  readonly unique?: boolean;
};

/** A document as it is stored. Treat it as immutable: it may be shared with other readers. */
export type Stored<D extends object> = {
  readonly key: string;
  /** Grows by one with every write. */
  readonly version: number;
  readonly document: D;
};

type Scalar = string | number | boolean;
/** `from` and `to` are inclusive, `below` and `above` exclusive. */
export type Range = { readonly from?: Scalar; readonly to?: Scalar; readonly below?: Scalar; readonly above?: Scalar };
export type Condition = Scalar | { readonly in: readonly Scalar[] } | Range;

export type Find<D extends object> = {
  /** Equality, `in`, and at most one range; all must hold. A field that is absent matches nothing. */
  readonly where?: { readonly [F in keyof D & string]?: Condition };
  readonly sort?: readonly { readonly field: keyof D & string; readonly direction?: 'ascending' | 'descending' }[];
  readonly limit?: number;
};

declare const declared: unique symbol;
/** A query that was declared (`declareQuery`), and is held against the indexes by a test. A store takes no other. */
export type Query<D extends object> = Find<D> & { readonly [declared]: true };

/** One step of a projection: the document as it stands at `position`, or `undefined` when it was removed. */
export type Projected<D extends object> = {
  readonly key: string;
  readonly position: string;
  readonly document: D | undefined;
};

export type Documents<D extends object> = {
  get(key: string): Promise<Stored<D> | undefined>;
  getMany(keys: readonly string[]): Promise<Stored<D>[]>;

  /**
   * Streams: memory stays flat however many match. A document that nobody changes meanwhile comes exactly once. Documents
   * without a field that is sorted by come first in ascending order, last in descending order; ties are ordered by key.
   */
  find(query: Query<D>): AsyncIterable<Stored<D>>;
  /** How many documents match; sort and limit don't matter. */
  count(query: Query<D>): Promise<number>;

  /** @returns false when the key (or a unique index) is taken; nothing was written then */
  insert(key: string, document: D): Promise<boolean>;

  /** @returns false when the document is not at `version`, gone, or a unique index is taken; nothing was written then */
  replace(key: string, document: D, version: number): Promise<boolean>;

  /** @returns false when there was none, or not at `version` */
  delete(key: string, version?: number): Promise<boolean>;

  /**
   * Writes what a projection made. Each document only ever moves forward: a write whose position is not after the stored
   * one changes nothing, and a removed document leaves a tombstone that keeps its position. Readers do not see tombstones.
   */
  project(writes: readonly Projected<D>[]): Promise<void>;

  /** What `project` last wrote for these keys, tombstones included; keys never projected are absent. */
  projected(keys: readonly string[]): Promise<ReadonlyMap<string, Projected<D>>>;
};

export type DocumentStore = {
  /** Opens a collection; opening the same name twice gives the same collection. */
  open<D extends object>(collection: Collection<D>): Promise<Documents<D>>;
  /** Throws a collection away with everything in it. */
  drop(name: string): Promise<void>;
  /** Names of the collections there are. */
  names(): Promise<string[]>;
  /** Resolves when the store answers. Throws otherwise. */
  ping(): Promise<void>;
  close(): Promise<void>;
};
