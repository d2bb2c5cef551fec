import type { SQLOutputValue, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Collection, Documents, Find, Projected, Stored } from '../document-store.ts';
import type { SqliteFile } from './file.ts';
import { type KeysetRange, orderOf, rangesAfter, type Sql, selectCount, selectRange, toValue } from './query.ts';
import { prepareStatements } from './statements.ts';
import { openTable, readTable } from './table.ts';

/** Documents kept parsed per collection. */
const CACHED = 10_000;
/** Longer keys are not remembered: nobody but a stranger asks for them, and they would fill the memory. */
const LONGEST_REMEMBERED_KEY = 200;
/** Results of `find` kept per collection until something in it changes, and the most documents one may have. */
const ANSWERS = 1_000;
const SHORT = 32;
/** Documents read in one go by a stream: about a millisecond of the event loop. */
const PAGE = 256;
/** Documents that a projection writes in one transaction: some milliseconds of the event loop. */
const AT_ONCE = 250;

/** What is known of a key. `stored` is absent for a tombstone and for a key that there is not. */
type Known<D extends object> = { readonly stored?: Stored<D>; readonly position?: string };
const NOTHING: Known<never> = {};

export type SqliteDocuments<D extends object> = Documents<D> & {
  /** Removes documents whose time has passed. */
  sweep(now: string): Promise<void>;
};

/** A collection as one table of `file`, which is made when it is missing. */
export async function openSqliteDocuments<D extends object>(
  file: SqliteFile,
  collection: Collection<D>,
): Promise<SqliteDocuments<D>> {
  const { name, indexes, ttl } = collection;
  let statements = prepareStatements(file.database, await openTable(file, collection), ttl);

  const cache = new LRUCache<string, Known<D>>({ max: CACHED });
  const answers = new LRUCache<string, readonly Stored<D>[]>({ max: ANSWERS });
  const forgetAnswers = () => {
    // Emptying a cache that is empty takes as long as one that is full, and a projection writes thousands in a row.
    if (answers.size > 0) answers.clear();
  };
  const forgetDocuments = () => {
    cache.clear();
    forgetAnswers();
  };
  file.remembered.set(name, {
    forgetDocuments,
    forgetTable() {
      // A column that another version of the service added has to be filled by this one, too.
      const now = readTable(file, name);
      if (now === undefined || now.fields.join() === statements.table.fields.join()) return;
      statements = prepareStatements(file.database, now, ttl);
    },
  });
  const queries = new LRUCache<string, StatementSync>({ max: 100 });

  function look(key: string): Known<D> {
    file.validate();
    const known = cache.get(key);
    if (known !== undefined) return known;
    const row = statements.read(key);
    const read: Known<D> = row === undefined ? NOTHING : toKnown(key, row);
    if (key.length <= LONGEST_REMEMBERED_KEY) cache.set(key, read);
    return read;
  }

  /** To be called with every write, inside its transaction. */
  function changed(key: string): void {
    cache.delete(key);
    forgetAnswers();
  }

  function run({ text, values }: Sql): Record<string, SQLOutputValue>[] {
    let statement = queries.get(text);
    if (statement === undefined) {
      statement = file.database.prepare(text);
      queries.set(text, statement);
    }
    return statement.all(...values);
  }

  return {
    async get(key) {
      return look(key).stored;
    },

    async getMany(keys) {
      return [...new Set(keys)].flatMap((key) => look(key).stored ?? []);
    },

    async *find({ where, sort, limit = Number.POSITIVE_INFINITY }: Find<D>) {
      file.validate();
      const question = JSON.stringify([where, sort, limit]);
      const answer = answers.get(question);
      if (answer !== undefined) {
        yield* answer;
        return;
      }
      const order = orderOf({ ...(where && { where }), ...(sort && { sort }) }, indexes);
      let ahead: readonly KeysetRange[] = [{ prefix: [] }];
      let left = limit;
      let inTurn = PAGE;
      while (left > 0) {
        const [range, ...later] = ahead;
        if (range === undefined) return;
        const size = Math.min(inTurn, left);
        const rows = run(selectRange(statements.table, where, order, range, size));
        const page = rows.map((row) => toStored<D>(text(row.key), row));
        if (range.prefix.length === 0 && range.after === undefined && page.length < size && page.length <= SHORT)
          answers.set(question, page);
        yield* page;
        const last = page.at(-1);
        left -= page.length;
        inTurn -= page.length;
        if (last === undefined || page.length < size) {
          ahead = later;
          continue;
        }
        const fields = new Map<string, unknown>(Object.entries(last.document));
        const values = order.map(({ field }) => toValue(fields.get(field)));
        ahead = [...rangesAfter(range, order, values, last.key), ...later];
        inTurn = PAGE;
        await nextTurn();
      }
    },

    async count(query) {
      return Number(run(selectCount(statements.table, query?.where))[0]?.count);
    },

    insert(key, document) {
      const json = JSON.stringify(document);
      return file.write(() => {
        changed(key);
        return statements.insert(key, document, json);
      });
    },

    replace(key, document, version) {
      const json = JSON.stringify(document);
      return file.write(() => {
        changed(key);
        return statements.replace(key, document, json, version);
      });
    },

    delete(key, version) {
      return file.write(() => {
        changed(key);
        return statements.delete(key, version);
      });
    },

    async project(writes) {
      for (let from = 0; from < writes.length; from += AT_ONCE) {
        if (from > 0) await nextTurn();
        const some = writes.slice(from, from + AT_ONCE);
        await file.write(() => {
          for (const { key, position, document } of some) {
            const isNew = cache.get(key) === NOTHING;
            changed(key);
            statements.project(key, position, document, isNew);
          }
        });
      }
    },

    async projected(keys) {
      const found = new Map<string, Projected<D>>();
      for (const key of keys) {
        const { stored, position } = look(key);
        if (position !== undefined) found.set(key, { key, position, document: stored?.document });
      }
      return found;
    },

    async sweep(now) {
      let removed: boolean;
      do {
        removed = await file.write(() => {
          forgetDocuments();
          return statements.expire(now);
        });
      } while (removed);
    },
  };
}

function toKnown<D extends object>(key: string, row: Record<string, SQLOutputValue>): Known<D> {
  return {
    ...(row.document === null ? {} : { stored: toStored<D>(key, row) }),
    ...(row.position === null ? {} : { position: text(row.position) }),
  };
}

function toStored<D extends object>(key: string, row: Record<string, SQLOutputValue>): Stored<D> {
  return { key, version: Number(row.version), document: JSON.parse(text(row.document)) };
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError(`Expected text, found ${typeof value}`);
  return value;
}
