import type { SQLOutputValue, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ThreadEnded } from '../../runtime/calls.ts';
import { createLruCache } from '../../runtime/lru-cache.ts';
import type { Collection, Documents, Find, Projected, Stored, Unread } from '../document-store.ts';
import { updateDocument } from '../update.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { SqliteFile } from './file.ts';
import { type KeysetRange, orderOf, rangesAfter, type Sql, selectCount, selectRange, toValue } from './query.ts';
import { prepareStatements } from './statements.ts';
import { openTable, readTable } from './table.ts';

/** Parsed documents cached per collection. */
const MAX_CACHED_DOCUMENTS = 10_000;
/** Longer keys are not cached: only made-up ones are that long, and they would fill the memory. */
const MAX_CACHED_KEY_LENGTH = 200;
/** Results of `find` cached per collection, until one of its documents changes. */
const MAX_CACHED_RESULTS = 1_000;
/** Documents in a cached result. Longer results are not cached. */
const MAX_CACHED_RESULT_LENGTH = 32;
/** Documents that a stream reads per query: about a millisecond of the event loop. */
const PAGE = 256;
/** The same of documents that are not parsed. */
const UNREAD_PAGE = 1_024;
/** Documents that a projection writes per transaction: a few milliseconds of the event loop. */
const WRITE_BATCH = 250;

/** What is stored under a key. `stored` is absent for a tombstone and for a key that does not exist. */
type CacheEntry<D extends object> = { readonly stored?: Stored<D>; readonly position?: string };
const ABSENT: CacheEntry<never> = {};

/** A collection as another thread needs it to open it. */
export type PlainCollection = Collection<{ readonly [field: string]: unknown }>;

/** The fields of a document that its table has columns for. A document is its own columns. */
type Columns = object;

/** A document as it is written. */
export type Written = { readonly json: string; readonly columns: Columns };

/** Writes documents in another thread, so that this one never waits for the disk. Results are those of the port. */
export type WritesElsewhere = {
  insert(collection: PlainCollection, key: string, written: Written): Promise<boolean>;
  replace(collection: PlainCollection, key: string, written: Written, version: number): Promise<boolean>;
  delete(collection: PlainCollection, key: string, version: number | undefined): Promise<boolean>;
  sweep(collection: PlainCollection, now: string): Promise<void>;
};

export type SqliteDocuments<D extends object> = Documents<D> & {
  /** As `insert`, of what is written already. */
  insertWritten(key: string, written: Written): Promise<boolean>;
  /** As `replace`, of what is written already. */
  replaceWritten(key: string, written: Written, version: number): Promise<boolean>;
  /** Whether the columns of a document from another thread are all that the table has: another release may have added some. */
  hasColumns(columns: Columns): boolean;
  /** Removes expired documents. */
  sweep(now: string): Promise<void>;
};

/**
 * A collection in a table of `file`, which is created if absent.
 * @param options.projected called in the transaction that completes what a projection writes, with its last position
 * @param options.checkpoints of the file, for a read model
 * @param options.elsewhere who writes single documents instead of this thread; undefined while there is nobody
 */
export async function openSqliteDocuments<D extends object>(
  file: SqliteFile,
  collection: Collection<D>,
  {
    projected = () => {},
    elsewhere = () => undefined,
    checkpoints,
  }: {
    readonly checkpoints?: Checkpoints | undefined;
    readonly projected?: (position: string) => void;
    readonly elsewhere?: (() => WritesElsewhere | undefined) | undefined;
  } = {},
): Promise<SqliteDocuments<D>> {
  const { name, indexes, ttl } = collection;
  let statements = prepareStatements(file.database, await openTable(file, collection), ttl);

  // With `max`, both would allocate all their entries up front, which takes 50 ms for the collections opened at a start.
  const cache = createLruCache<string, { readonly entry: CacheEntry<D>; at: number }>(MAX_CACHED_DOCUMENTS);
  const results = createLruCache<string, readonly Stored<D>[]>(MAX_CACHED_RESULTS);
  const clearResults = () => {
    // A projection writes thousands of documents in a row, and clearing takes time even when there is nothing to clear.
    if (results.size > 0) results.clear();
  };
  /** Counts the times at which others may have written. */
  let changes = 0;
  const invalidateDocuments = () => {
    changes += 1;
    clearResults();
  };
  file.caches.set(name, {
    invalidateDocuments,
    invalidateTable() {
      // If another version of the service has added a column, this one has to fill it, too.
      const now = readTable(file, collection);
      if (now === undefined || now.fields.join() === statements.table.fields.join()) return;
      statements = prepareStatements(file.database, now, ttl);
    },
  });
  const queries = createLruCache<string, StatementSync>(100);
  const stamp = file.stampOf(name);

  /** Call before using a cached value. */
  function validate(): void {
    file.validate();
    if (stamp.hasChanged()) invalidateDocuments();
  }

  function lookUp(key: string): CacheEntry<D> {
    validate();
    const cached = cache.get(key);
    if (cached !== undefined) {
      if (cached.at === changes) return cached.entry;
      // Most of what is written does not concern this document. What a projection writes moves to another position, and asking
      // for that takes a third of the time that reading and parsing does.
      const { position } = cached.entry;
      if (position !== undefined && statements.position(key) === position) {
        cached.at = changes;
        return cached.entry;
      }
    }
    const row = statements.read(key);
    const entry: CacheEntry<D> = row === undefined ? ABSENT : toCacheEntry(key, row);
    if (key.length <= MAX_CACHED_KEY_LENGTH) cache.set(key, { entry, at: changes });
    return entry;
  }

  /** Writes in a transaction, in which what is cached is valid, and tells the other threads. */
  const commit = <R>(work: () => R): Promise<R> =>
    file.write(() => {
      if (stamp.hasChanged()) invalidateDocuments();
      return work();
    }, stamp);

  /** Call for every write, inside its transaction. */
  function invalidate(key: string): void {
    cache.delete(key);
    clearResults();
  }

  const plain: PlainCollection = { ...collection, indexes: [...indexes] };
  /**
   * Writes in the other thread, or here if there is none.
   * @param here is told whether a thread that ended may have done it already
   */
  async function write<R>(there: (other: WritesElsewhere) => Promise<R>, here: (repeated: boolean) => R): Promise<R> {
    const other = file.isClosed() ? undefined : elsewhere();
    if (other === undefined) return commit(() => here(false));
    try {
      return await there(other);
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error;
    }
    return commit(() => here(true));
  }

  /** What another thread needs of a document besides its JSON. */
  const columnsOf = (document: Columns): Columns =>
    Object.fromEntries(statements.table.fields.map((field) => [field, Reflect.get(document, field)]));

  const insertWritten: SqliteDocuments<D>['insertWritten'] = (key, { json, columns }) =>
    write(
      (other) => other.insert(plain, key, { json, columns: columnsOf(columns) }),
      (repeated) => {
        invalidate(key);
        return statements.insert(key, columns, json) || (repeated && statements.read(key)?.document === json);
      },
    );

  const replaceWritten: SqliteDocuments<D>['replaceWritten'] = (key, { json, columns }, version) =>
    write(
      (other) => other.replace(plain, key, { json, columns: columnsOf(columns) }, version),
      (repeated) => {
        invalidate(key);
        if (statements.replace(key, columns, json, version)) return true;
        const now = repeated ? statements.read(key) : undefined;
        if (Number(now?.version) > version + 1) throw new ThreadEnded();
        return now?.document === json;
      },
    );

  /** Rows as arrays of their columns: an object per row would take half as long again as reading it. */
  function run({ text, values }: Sql): Row[] {
    let statement = queries.get(text);
    if (statement === undefined) {
      statement = file.database.prepare(text);
      statement.setReturnArrays(true);
      queries.set(text, statement);
    }
    const rows: unknown[] = statement.all(...values);
    return rows.filter((row): row is Row => Array.isArray(row));
  }

  /** The rows of a query, in pages. */
  async function* rowsOf({ where, sort, limit = Number.POSITIVE_INFINITY }: Find<D>, pageSize: number) {
    const order = orderOf({ ...(where && { where }), ...(sort && { sort }) }, indexes);
    let ranges: readonly KeysetRange[] = [{ prefix: [] }];
    let remaining = limit;
    let untilYield = pageSize;
    while (remaining > 0) {
      const [range, ...later] = ranges;
      if (range === undefined) return;
      const size = Math.min(untilYield, remaining);
      const rows = run(selectRange(statements.table, where, order, range, size));
      yield { rows, isAll: range.prefix.length === 0 && range.after === undefined && rows.length < size };
      const last = rows.at(-1);
      remaining -= rows.length;
      untilYield -= rows.length;
      if (last === undefined || rows.length < size) {
        ranges = later;
        continue;
      }
      const { key, document } = toStored(...last);
      const fields = new Map<string, unknown>(Object.entries(document));
      const values = order.map(({ field }) => toValue(fields.get(field)));
      ranges = [...rangesAfter(range, order, values, key), ...later];
      untilYield = pageSize;
      await nextTurn();
    }
  }

  const documents: SqliteDocuments<D> = {
    async get(key) {
      return lookUp(key).stored;
    },

    getNow: (key) => lookUp(key).stored,

    async getMany(keys) {
      return [...new Set(keys)].flatMap((key) => lookUp(key).stored ?? []);
    },

    foundNow(query: Find<D>) {
      validate();
      return results.get(resultKeyOf(query));
    },

    async *find(query: Find<D>) {
      validate();
      const resultKey = resultKeyOf(query);
      const cachedResult = results.get(resultKey);
      if (cachedResult !== undefined) {
        yield* cachedResult;
        return;
      }
      for await (const { rows, isAll } of rowsOf(query, PAGE)) {
        const page = rows.map((row) => toStored<D>(...row));
        if (isAll && page.length <= MAX_CACHED_RESULT_LENGTH) results.set(resultKey, page);
        yield* page;
      }
    },

    async *pages(query: Find<D>) {
      validate();
      for await (const { rows } of rowsOf(query, UNREAD_PAGE)) yield rows.map((row) => new UnreadRow<D>(row));
    },

    async count(query) {
      return Number(run(selectCount(statements.table, query?.where, indexes))[0]?.[0]);
    },

    insert: (key, document) => insertWritten(key, writtenOf(document)),
    insertWritten,
    replace: (key, document, version) => replaceWritten(key, writtenOf(document), version),
    replaceWritten,
    update: (key, change, known) => updateDocument(documents, key, change, known),
    hasColumns: (columns) => statements.table.fields.every((field) => field in columns),

    delete(key, version) {
      return write(
        (other) => other.delete(plain, key, version),
        (repeated) => {
          invalidate(key);
          const isDeleted = statements.delete(key, version);
          // Nobody can tell whether the thread that ended deleted it or somebody else did.
          if (repeated && !isDeleted) throw new ThreadEnded();
          return isDeleted;
        },
      );
    },

    async project(writes, checkpoint) {
      const last = writes.reduce((most, { position }) => (position > most ? position : most), '');
      let isNext = true;
      for (let from = 0; from === 0 || from < writes.length; from += WRITE_BATCH) {
        if (from > 0) await nextTurn();
        const batch = writes.slice(from, from + WRITE_BATCH);
        const isLast = from + WRITE_BATCH >= writes.length;
        if (batch.length === 0 && checkpoint === undefined) break;
        isNext = await commit(() => {
          if (isLast && checkpoint !== undefined && checkpoints?.advance(name, checkpoint) === false) return false;
          for (const { key, position, document, isNew = false } of batch) {
            const known = cache.get(key);
            const isAbsent = known?.at === changes && known.entry === ABSENT;
            invalidate(key);
            statements.project(key, position, document, isNew || isAbsent);
          }
          if (isLast) projected(last);
          return true;
        });
      }
      return isNext;
    },

    async projected(keys) {
      const found = new Map<string, Projected<D>>();
      for (const key of keys) {
        const { stored, position } = lookUp(key);
        if (position !== undefined) found.set(key, { key, position, document: stored?.document });
      }
      return found;
    },

    async sweep(now) {
      const other = elsewhere();
      if (other !== undefined) return other.sweep(plain, now);
      let removed: boolean;
      do {
        removed = await commit(() => {
          invalidateDocuments();
          return statements.expire(now);
        });
      } while (removed);
    },
  };
  return documents;
}

const resultKeyOf = <D extends object>({ where, sort, limit }: Find<D>): string => JSON.stringify([where, sort, limit]);

function toCacheEntry<D extends object>(key: string, row: Record<string, SQLOutputValue>): CacheEntry<D> {
  return {
    ...(row.document === null ? {} : { stored: toStored<D>(key, row.version, row.document) }),
    ...(row.position === null ? {} : { position: text(row.position) }),
  };
}

const writtenOf = (document: object): Written => ({ json: JSON.stringify(document), columns: document });

/** Key, version and document. */
type Row = [key: SQLOutputValue, version?: SQLOutputValue, document?: SQLOutputValue];

const toStored = <D extends object>(...[key, version, document]: Row): Stored<D> => ({
  key: text(key),
  version: Number(version),
  document: JSON.parse(text(document)),
});

/** A class, because a function for each row would take as long again. */
class UnreadRow<D extends object> implements Unread<D> {
  readonly key: string;
  readonly version: number;
  readonly #document: SQLOutputValue | undefined;

  constructor([key, version, document]: Row) {
    this.key = text(key);
    this.version = Number(version);
    this.#document = document;
  }

  read(): D {
    return JSON.parse(text(this.#document));
  }
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError(`Expected text, got ${typeof value}`);
  return value;
}
