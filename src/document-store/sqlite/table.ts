import type { Collection, Index } from '../document-store.ts';
import type { SqliteFile } from './file.ts';
import { columnOf, fieldsOf, indexedBy, indexNameOf, literalsOf } from './indexes.ts';
import { type Source, toValue, type Value } from './query.ts';

/**
 * The table of a collection: documents as JSON, with the indexed fields also in columns of their own, including those that other
 * versions of the service have added. An index on such a column makes writes far cheaper than one on a JSON expression.
 */
export type Table = Source;

/** Rows read per query when a new column is backfilled. */
const BACKFILL_PAGE = 1_000;

/**
 * Opens the table of a collection, creating what is missing: the table itself, columns (backfilled from the existing documents) and
 * indexes.
 * @param later whether to leave the indexes out, to be created later
 */
export async function openTable<D extends object>(
  file: SqliteFile,
  collection: Collection<D>,
  later: 'indexes later' | undefined = undefined,
): Promise<Table> {
  const { name, indexes, ttl } = collection;
  const table = quoted(name);
  const all: readonly Index<D>[] = ttl === undefined ? indexes : [...indexes, { fields: [ttl] }];
  const definitions = later === undefined ? definitionsOf(table, all) : [];
  const fields = [...new Set(all.flatMap(fieldsOf))];

  const findMissing = () => {
    const existing = readTable(file, collection);
    const made = file.database
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?`)
      .all(name);
    const names = new Set(made.map((index) => `"${index.name}"`));
    return {
      table: existing === undefined,
      columns: fields.filter((field) => !existing?.fields.includes(field)),
      indexes: definitions.filter((index) => !names.has(index.name)),
    };
  };

  const absent = findMissing();
  if (absent.table || absent.columns.length > 0 || absent.indexes.length > 0) {
    await file.write(() => {
      // Checked again, holding the write lock: another process may have been faster.
      const missing = findMissing();
      const { database } = file;
      if (missing.table) {
        const columns = fields.map((field) => `, ${columnOf(field)} ANY`).join('');
        // With rowids, because documents are large: a b-tree of keys alone finds one in fewer pages.
        database.exec(
          `CREATE TABLE ${table} (key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, position TEXT${columns}, document TEXT) STRICT`,
        );
      } else if (missing.columns.length > 0) {
        for (const field of missing.columns) database.exec(`ALTER TABLE ${table} ADD COLUMN ${columnOf(field)} ANY`);
        backfill(file, table, missing.columns);
      }
      for (const { sql } of missing.indexes) database.exec(sql);
    });
  }
  return readTable(file, collection) ?? { name: table, fields, literals: literalsOf(indexes) };
}

/** The names of indexes, which encode their definitions, and the statements that make them. */
function definitionsOf<D extends object>(table: string, indexes: readonly Index<D>[]) {
  return indexes.map((index) => {
    const name = indexNameOf(table, index);
    const sql = `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX IF NOT EXISTS ${name} ${indexedBy(table, index)}`;
    return { name, sql };
  });
}

/** The statements that make the indexes of a collection, one each. */
export const createIndexes = <D extends object>({ name, indexes }: Pick<Collection<D>, 'name' | 'indexes'>): string[] =>
  definitionsOf(quoted(name), indexes).map(({ sql }) => sql);

/** The current table; `undefined` if there is none. */
export function readTable<D extends object>(
  { database }: SqliteFile,
  { name, indexes }: Pick<Collection<D>, 'name' | 'indexes'>,
): Table | undefined {
  const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(name);
  if (columns.length === 0) return undefined;
  const fields = columns.map((column) => String(column.name)).filter((column) => column.startsWith('$.'));
  return { name: quoted(name), fields: fields.map((column) => column.slice(2)), literals: literalsOf(indexes) };
}

/** The values of a document's columns. */
export function valuesOf(document: object | undefined, fields: readonly string[]): Value[] {
  if (document === undefined) return fields.map(() => null);
  return fields.map((field) => toValue(Reflect.get(document, field)));
}

export const quoted = (name: string): string => {
  if (!/^[\w@.-]+$/.test(name)) throw new Error(`Invalid collection name: ${name}`);
  return `"${name}"`;
};

function backfill({ database }: SqliteFile, table: string, fields: readonly string[]): void {
  const read = database.prepare(`SELECT key, document FROM ${table} WHERE key > ? ORDER BY key LIMIT ${BACKFILL_PAGE}`);
  const columns = fields.map((field) => `${columnOf(field)} = ?`).join(', ');
  const write = database.prepare(`UPDATE ${table} SET ${columns} WHERE key = ?`);
  for (let after = '', size = BACKFILL_PAGE; size === BACKFILL_PAGE; ) {
    const rows = read.all(after);
    for (const { key, document } of rows) {
      after = String(key);
      if (document !== null) write.run(...valuesOf(JSON.parse(String(document)), fields), after);
    }
    size = rows.length;
  }
}
