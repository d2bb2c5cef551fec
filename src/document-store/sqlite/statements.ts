import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { columnOf } from './indexes.ts';
import type { Value } from './query.ts';
import { type Table, valuesOf } from './table.ts';

/**
 * The statements that read and write a table by key.
 * @param ttl the field with the time at which a document expires
 */
export function prepareStatements(database: DatabaseSync, table: Table, ttl: string | undefined) {
  const { name, fields } = table;
  const columns = fields.map(columnOf);
  const columnNumbers = [...fields.keys()];
  const list = columns.map((column) => `, ${column}`).join('');
  const placeholders = columns.map((_, index) => `, ?${index + 4}`).join('');
  const assign = (some: Iterable<number>) =>
    Array.from(some, (at, index) => `, ${columns[at]} = ?${index + 4}`).join('');

  const select = database.prepare(`SELECT version, position, document FROM ${name} WHERE key = ?`);
  const selectColumns = columns.length > 0 && database.prepare(`SELECT ${columns.join()} FROM ${name} WHERE key = ?`);
  const insert = database.prepare(
    // Overwrites a tombstone; does nothing if a unique value is taken.
    `INSERT OR IGNORE INTO ${name} (key, version, position, document${list}) VALUES (?1, 1, ?2, ?3${placeholders})
     ON CONFLICT (key) DO UPDATE SET version = version + 1, document = ?3${assign(columns.keys())} WHERE document IS NULL`,
  );
  const upsert = database.prepare(
    // Writes a projected document if its position is after the stored one.
    `INSERT INTO ${name} (key, version, position, document${list}) VALUES (?1, 1, ?2, ?3${placeholders})
     ON CONFLICT (key) DO UPDATE SET version = version + 1, position = ?2, document = ?3${assign(columns.keys())}
     WHERE position IS NULL OR position < ?2`,
  );
  const remove = database.prepare(
    `DELETE FROM ${name} WHERE key = ?1 AND document IS NOT NULL AND (?2 IS NULL OR version = ?2)`,
  );
  const expire =
    ttl !== undefined &&
    database.prepare(
      `DELETE FROM ${name} WHERE key IN (SELECT key FROM ${name} WHERE ${columnOf(ttl)} < ? LIMIT 1000)`,
    );

  /** Sets only the columns in `changed`, so that indexes on other columns are not written. */
  const updates = new Map<string, StatementSync>();
  function update(verb: string, extra: string, where: string, changed: readonly number[]): StatementSync {
    const id = `${verb} ${changed.join()}`;
    const prepared = updates.get(id);
    if (prepared !== undefined) return prepared;
    const statement = database.prepare(
      `${verb} ${name} SET version = version + 1, document = ?3${extra}${assign(changed)} WHERE key = ?1 AND ${where}`,
    );
    updates.set(id, statement);
    return statement;
  }

  /** The indexes of the columns whose value changes; all of them if the key does not exist. */
  function changedColumns(key: string, values: readonly Value[]): number[] {
    const before = selectColumns ? selectColumns.get(key) : undefined;
    return columnNumbers.filter((index) => before?.[`$.${fields[index]}`] !== values[index]);
  }

  return {
    table,
    read: (key: string): Record<string, SQLOutputValue> | undefined => select.get(key),

    /** @param columns the document, or at least the fields that are columns */
    insert(key: string, columns: object, json: string): boolean {
      return insert.run(key, null, json, ...valuesOf(columns, fields)).changes === 1;
    },

    replace(key: string, columns: object, json: string, version: number): boolean {
      const values = valuesOf(columns, fields);
      const changed = changedColumns(key, values);
      const statement = update('UPDATE OR IGNORE', '', 'version = ?2 AND document IS NOT NULL', changed);
      return statement.run(key, version, json, ...changed.map((index) => values[index] ?? null)).changes === 1;
    },

    /** @param isNew whether the key probably does not exist; merely saves a read */
    project(key: string, position: string, document: object | undefined, isNew: boolean): void {
      const json = document === undefined ? null : JSON.stringify(document);
      const values = valuesOf(document, fields);
      const changed = isNew || !selectColumns ? undefined : changedColumns(key, values);
      if (changed === undefined || changed.length === fields.length) {
        upsert.run(key, position, json, ...values);
        return;
      }
      const statement = update('UPDATE', ', position = ?2', '(position IS NULL OR position < ?2)', changed);
      statement.run(key, position, json, ...changed.map((index) => values[index] ?? null));
    },

    delete(key: string, version: number | undefined): boolean {
      return remove.run(key, version ?? null).changes === 1;
    },

    /** @returns whether there may be more expired documents */
    expire(now: string): boolean {
      return expire !== false && expire.run(now).changes !== 0;
    },
  };
}
