import type { SQLOutputValue, StatementSync } from 'node:sqlite';
import { LRUCache } from 'lru-cache';
import type { Collection, Documents, Find, Projected, Stored } from './document-store.ts';
import { nextTurn, type SqliteFile } from './sqlite-file.ts';
import {
  fieldExpression,
  orderOf,
  type Sql,
  type Stretch,
  selectCount,
  selectStretch,
  stretchesAfter,
  toValue,
} from './sqlite-query.ts';

/** Documents kept parsed per collection. */
const CACHED = 10_000;
/** Longer keys are not remembered: nobody but a stranger asks for them, and they would fill the memory. */
const LONGEST_REMEMBERED_KEY = 200;
/** Results of `find` kept per collection until something in it changes, and the most documents one may have. */
const ANSWERS = 1_000;
const SHORT = 32;
/** Documents read in one go by a stream: about a millisecond of the event loop. */
const PAGE = 256;

/** What is known of a key. `stored` is absent for a tombstone and for a key that there is not. */
type Known<D extends object> = { readonly stored?: Stored<D>; readonly position?: string };
const NOTHING: Known<never> = {};

export type SqliteDocuments<D extends object> = Documents<D> & {
  /** Removes documents whose time has passed. */
  sweep(now: string): Promise<void>;
};

/** A collection as one table of `file`. Its table and indexes are made when they are missing. */
export async function openSqliteDocuments<D extends object>(
  file: SqliteFile,
  { name, indexes, ttl }: Collection<D>,
): Promise<SqliteDocuments<D>> {
  const table = quoted(name);
  await createMissing(file, name, ttl === undefined ? indexes : [...indexes, { fields: [ttl] }]);

  const cache = new LRUCache<string, Known<D>>({ max: CACHED });
  const answers = new Map<string, readonly Stored<D>[]>();
  file.caches.set(name, {
    clear() {
      cache.clear();
      answers.clear();
    },
  });

  const queries = new LRUCache<string, StatementSync>({ max: 100 });
  const prepare = (sql: string) => file.database.prepare(sql);
  const select = prepare(`SELECT version, position, document FROM ${table} WHERE key = ?`);
  const insertNew = prepare(
    // A tombstone makes room; a unique index that is taken makes this do nothing.
    `INSERT OR IGNORE INTO ${table} (key, version, document) VALUES (?1, 1, ?2)
     ON CONFLICT (key) DO UPDATE SET version = version + 1, document = ?2 WHERE document IS NULL`,
  );
  const update = prepare(
    `UPDATE OR IGNORE ${table} SET document = ?, version = version + 1
     WHERE key = ? AND version = ? AND document IS NOT NULL`,
  );
  const remove = prepare(
    `DELETE FROM ${table} WHERE key = ?1 AND document IS NOT NULL AND (?2 IS NULL OR version = ?2)`,
  );
  const upsert = prepare(
    `INSERT INTO ${table} (key, version, position, document) VALUES (?1, 1, ?2, ?3)
     ON CONFLICT (key) DO UPDATE SET version = version + 1, position = ?2, document = ?3
     WHERE position IS NULL OR position < ?2`,
  );
  const expire =
    ttl === undefined
      ? undefined
      : prepare(
          `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE ${fieldExpression(ttl)} < ? LIMIT 1000)`,
        );

  function look(key: string): Known<D> {
    file.validate();
    const known = cache.get(key);
    if (known !== undefined) return known;
    const row = select.get(key);
    const read: Known<D> = row === undefined ? NOTHING : toKnown(key, row);
    if (key.length <= LONGEST_REMEMBERED_KEY) cache.set(key, read);
    return read;
  }

  /** To be called with every write, inside its transaction. */
  function changed(key: string): void {
    cache.delete(key);
    answers.clear();
  }

  function run({ text, values }: Sql): Record<string, SQLOutputValue>[] {
    let statement = queries.get(text);
    if (statement === undefined) {
      statement = prepare(text);
      queries.set(text, statement);
    }
    return statement.all(...values);
  }

  return {
    name,

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
      let ahead: readonly Stretch[] = [{ prefix: [] }];
      let left = limit;
      let inTurn = PAGE;
      while (left > 0) {
        const [stretch, ...later] = ahead;
        if (stretch === undefined) return;
        const size = Math.min(inTurn, left);
        const rows = run(selectStretch(table, where, order, stretch, size));
        const page = rows.map((row) => toStored<D>(text(row.key), row));
        if (stretch.prefix.length === 0 && stretch.after === undefined && page.length < size && page.length <= SHORT) {
          if (answers.size === ANSWERS) answers.clear();
          answers.set(question, page);
        }
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
        ahead = [...stretchesAfter(stretch, order, values, last.key), ...later];
        inTurn = PAGE;
        await nextTurn();
      }
    },

    async count(query) {
      return Number(run(selectCount(table, query?.where))[0]?.count);
    },

    insert(key, document) {
      const json = JSON.stringify(document);
      return file.write(() => {
        changed(key);
        return insertNew.run(key, json).changes === 1;
      });
    },

    replace(key, document, version) {
      const json = JSON.stringify(document);
      return file.write(() => {
        changed(key);
        return update.run(json, key, version).changes === 1;
      });
    },

    delete(key, version) {
      return file.write(() => {
        changed(key);
        return remove.run(key, version ?? null).changes === 1;
      });
    },

    project(writes) {
      const rows = writes.map(({ key, position, document }) => ({
        key,
        position,
        json: document === undefined ? null : JSON.stringify(document),
      }));
      return file.write(() => {
        for (const { key, position, json } of rows) {
          upsert.run(key, position, json);
          changed(key);
        }
      });
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
          cache.clear();
          answers.clear();
          return expire !== undefined && expire.run(now).changes !== 0;
        });
      } while (removed);
    },
  };
}

export const quoted = (name: string): string => {
  if (!/^[\w@.-]+$/.test(name)) throw new Error(`Not a collection name: ${name}`);
  return `"${name}"`;
};

async function createMissing<D extends object>(
  file: SqliteFile,
  name: string,
  indexes: Collection<D>['indexes'],
): Promise<void> {
  const table = quoted(name);
  const wanted = new Map([
    [
      name,
      `CREATE TABLE IF NOT EXISTS ${table}
       (key TEXT PRIMARY KEY, version INTEGER NOT NULL, position TEXT, document TEXT) STRICT, WITHOUT ROWID`,
    ],
  ]);
  for (const { fields, unique = false } of indexes) {
    const index = `${name}#${fields.join(',')}${unique ? '!' : ''}`;
    const expressions = fields.map(fieldExpression).join(', ');
    wanted.set(index, `CREATE ${unique ? 'UNIQUE ' : ''}INDEX IF NOT EXISTS "${index}" ON ${table} (${expressions})`);
  }
  const there = file.database.prepare('SELECT name FROM sqlite_master WHERE tbl_name = ?').all(name);
  for (const row of there) wanted.delete(text(row.name));
  if (wanted.size === 0) return;
  await file.write(() => {
    for (const sql of wanted.values()) file.database.exec(sql);
  });
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
