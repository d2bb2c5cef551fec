import type { SQLOutputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isTurnUsedUp, nextSlice } from '../../event-loop/slices.ts';
import { OutcomeUnknown } from '../../runtime/unavailable.ts';
import type { Collection, Documents, Find, Group, Projected, Unread } from '../document-store.ts';
import { queryText } from '../queries.ts';
import { type CompareAndSet, createUpdate } from '../update.ts';
import { ABSENT, type CacheEntry, createDocumentCache } from './document-cache.ts';
import type { SqliteFile } from './file.ts';
import { createGroups } from './groups.ts';
import { createSelects, type Row, text, toStored } from './selects.ts';
import { prepareStatements } from './statements.ts';
import { openTable, readTable } from './table.ts';

/** Documents that a stream reads per query: about a millisecond of the event loop. */
const PAGE = 256;
/** The page size for documents that are not parsed. */
const UNREAD_PAGE = 1_024;
/** Documents that a projection writes per transaction: a few milliseconds of the event loop. */
export const WRITE_BATCH = 250;

/** A collection in the form that another thread needs to open it. */
export type PlainCollection = Collection<{ readonly [field: string]: unknown }>;

/** The fields of a document that have columns. A whole document is also valid. */
type Columns = object;

/** A document in the form that is written. */
type DocumentRow = { readonly json: string; readonly columns: Columns };

/** A write of a document, in the form that another thread needs. */
export type DocumentWrite =
  | { readonly type: 'insert'; readonly key: string; readonly row: DocumentRow }
  | { readonly type: 'replace'; readonly key: string; readonly row: DocumentRow; readonly version: number }
  | { readonly type: 'delete'; readonly key: string; readonly version: number | undefined };

/** Writes documents in another thread, so that this one never waits for the disk. Same results as the port. */
export type WritesElsewhere = {
  write(collection: PlainCollection, write: DocumentWrite): Promise<boolean>;
  sweep(collection: PlainCollection, now: string): Promise<void>;
};

export type SqliteDocuments<D extends object> = Documents<D> & {
  /** Makes a write in this thread. @param isRepeated a thread that has since ended may already have made it */
  write(write: DocumentWrite, isRepeated: boolean): Promise<boolean>;
  /** Writes the output of a projection. Call within a transaction. */
  writeProjected(writes: readonly Projected<D>[]): void;
  /** Whether the columns from another thread cover the whole table. Another release may have added columns. */
  hasColumns(columns: Columns): boolean;
  /** Removes expired documents. */
  sweep(now: string): Promise<void>;
};

/**
 * A collection in a table of `file`, which is created if absent.
 * @param options.elsewhere the thread that writes single documents instead of this one
 */
export async function openSqliteDocuments<D extends object>(
  file: SqliteFile,
  collection: Collection<D>,
  {
    elsewhere,
    later,
  }: {
    readonly elsewhere?: WritesElsewhere | undefined;
    /** Whether to leave the indexes out. */
    readonly later?: 'indexes later' | undefined;
  } = {},
): Promise<SqliteDocuments<D>> {
  const { name, indexes, ttl } = collection;
  let statements = prepareStatements(file.database, await openTable(file, collection, later), ttl);

  const cache = createDocumentCache<D>(collection.generation !== undefined);
  file.caches.set(name, {
    ...cache,
    readTable() {
      // This version must also fill columns that another version has added.
      const now = readTable(file, collection);
      if (now === undefined || now.fields.join() === statements.table.fields.join()) return;
      statements = prepareStatements(file.database, now, ttl);
    },
  });
  const { rowsOf, count, groups } = createSelects<D>(file.database, () => statements.table, indexes);

  function lookUp(key: string): CacheEntry<D> {
    file.validate();
    const cached = cache.entry(key);
    if (cached !== undefined) return cached;
    const row = statements.read(key);
    const entry: CacheEntry<D> = row === undefined ? ABSENT : toCacheEntry(key, row);
    cache.keep(key, entry);
    return entry;
  }

  /** Reads the documents page by page: SQL would parse the JSON of all of them in one go. */
  async function groupsOfAll(where: Find<D>['where'], by: readonly string[], sums: readonly string[]): Promise<Row[]> {
    const result = createGroups(by, sums);
    for await (const { rows } of rowsOf(where === undefined ? {} : { where }, PAGE))
      for (const [, , document] of rows) result.add(JSON.parse(text(document)));
    return result.rows();
  }

  /** Changes documents in a transaction. */
  function commit<R>(keys: readonly string[], work: () => R): Promise<R> {
    return file.write(() => {
      cache.forget(keys);
      return work();
    });
  }

  function writeProjected(writes: readonly Projected<D>[]): void {
    cache.forget(writes.map(({ key }) => key));
    for (const { key, position, document, isNew = false } of writes) statements.project(key, position, document, isNew);
  }

  const plain: PlainCollection = { ...collection, indexes: [...indexes] };

  /** Another thread needs only the column values besides the JSON. */
  function rowOf(document: Columns): DocumentRow {
    const json = JSON.stringify(document);
    if (elsewhere === undefined) return { json, columns: document };
    const columns: Record<string, unknown> = {};
    for (const field of statements.table.fields) columns[field] = Reflect.get(document, field);
    return { json, columns };
  }

  const write = (made: DocumentWrite, isRepeated: boolean): Promise<boolean> =>
    commit([made.key], () => {
      const { key } = made;
      if (made.type === 'delete') {
        const isDeleted = statements.delete(key, made.version);
        // Either the ended thread or another process has deleted it.
        if (isRepeated && !isDeleted) throw unknownOutcome(name);
        return isDeleted;
      }
      const { json, columns } = made.row;
      if (made.type === 'insert')
        return statements.insert(key, columns, json) || (isRepeated && statements.read(key)?.document === json);
      if (statements.replace(key, columns, json, made.version)) return true;
      const now = isRepeated ? statements.read(key) : undefined;
      if (Number(now?.version) > made.version + 1) throw unknownOutcome(name);
      return now?.document === json;
    });

  /** Makes a write in the thread that writes; in this one once the store is closed, so that it fails here. */
  const make = (wanted: DocumentWrite): Promise<boolean> =>
    elsewhere === undefined || file.isClosed() ? write(wanted, false) : elsewhere.write(plain, wanted);

  const compareAndSet: CompareAndSet<D> = {
    async get(key) {
      return lookUp(key).stored;
    },
    insert: (key, document) => make({ type: 'insert', key, row: rowOf(document) }),
    replace: (key, document, version) => make({ type: 'replace', key, row: rowOf(document), version }),
  };

  return {
    get: compareAndSet.get,
    insert: compareAndSet.insert,

    async getMany(keys) {
      return [...new Set(keys)].flatMap((key) => lookUp(key).stored ?? []);
    },

    async *find(query: Find<D>) {
      file.validate();
      const resultKey = queryText(query);
      const cachedResult = cache.result(resultKey);
      if (cachedResult !== undefined) {
        yield* cachedResult;
        return;
      }
      const readAt = cache.changes();
      for await (const { rows, isAll } of rowsOf(query, PAGE)) {
        const page = rows.map((row) => toStored<D>(...row));
        if (isAll) cache.keepResult(resultKey, page, readAt);
        yield* page;
      }
    },

    async *pages(query: Find<D>) {
      for await (const { rows } of rowsOf(query, UNREAD_PAGE)) yield rows.map((row) => new UnreadRow<D>(row));
    },

    async count(query, atMost) {
      if (isTurnUsedUp()) await nextSlice();
      return count(query.where, atMost);
    },

    async groups<B extends keyof D & string, S extends keyof D & string>(
      query: Find<D>,
      by: readonly B[],
      sums: readonly S[] = [],
    ) {
      if (isTurnUsedUp()) await nextSlice();
      const result = groups(query.where, by, sums) ?? (await groupsOfAll(query.where, by, sums));
      return result.map(([values, count, totals]): Group<D, B, S> => {
        const added = JSON.parse(text(totals));
        return {
          values: JSON.parse(text(values)),
          count: Number(count),
          sums: new Map(sums.map((field, index) => [field, added[index]])),
        };
      });
    },

    delete: (key, version) => make({ type: 'delete', key, version }),
    update: createUpdate(compareAndSet),
    write,
    hasColumns: (columns) => statements.table.fields.every((field) => field in columns),

    writeProjected,

    async project(writes) {
      for (let from = 0; from < writes.length; from += WRITE_BATCH) {
        if (from > 0) await nextTurn();
        await file.write(() => writeProjected(writes.slice(from, from + WRITE_BATCH)));
      }
    },

    async projected(keys) {
      const result = new Map<string, Projected<D>>();
      for (const key of keys) {
        const { stored, position } = lookUp(key);
        if (position !== undefined) result.set(key, { key, position, document: stored?.document });
      }
      return result;
    },

    async sweep(now) {
      if (elsewhere !== undefined) return elsewhere.sweep(plain, now);
      while (await commit([], () => statements.expire(now)));
    },
  };
}

const unknownOutcome = (name: string) =>
  new OutcomeUnknown(`The thread that wrote to ${name} has ended; the outcome of the write is unknown`);

function toCacheEntry<D extends object>(key: string, row: Record<string, SQLOutputValue>): CacheEntry<D> {
  return {
    ...(row.document === null ? {} : { stored: toStored<D>(key, row.version, row.document) }),
    ...(row.position === null ? {} : { position: text(row.position) }),
  };
}

/** A class, because a closure per row would double the time. */
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
