import type { Collection } from '../document-store.ts';
import type { SqliteFile } from './file.ts';
import { columnOf, toValue, type Value } from './query.ts';

/**
 * Where a collection is kept: documents as JSON, and beside each, in columns of their own, the fields that its indexes are
 * made of. An index on such a column costs a write much less than one on an expression over the JSON.
 */
export type Table = {
  /** Quoted, as SQL has it. */
  readonly name: string;
  /** The fields that have a column: those of every version of the service that opened the collection. */
  readonly fields: readonly string[];
};

/** Rows filled in one go when a column is added. */
const PAGE = 1_000;

/** The table of a collection, with what it lacked: the table itself, columns (filled from the documents there are), indexes. */
export async function openTable<D extends object>(
  file: SqliteFile,
  { name, indexes, ttl }: Collection<D>,
): Promise<Table> {
  const table = quoted(name);
  const all = ttl === undefined ? indexes : [...indexes, { fields: [ttl] }];
  const wanted = all.map(({ fields, unique = false }) => {
    const columns = fields.map(columnOf);
    // The key settles the order of ties, and a page begins after one.
    const on = `ON ${table} (${(unique ? columns : [...columns, 'key']).join(', ')})`;
    return { name: `${name}#${fields.join(',')}${unique ? '!' : ''}`, unique, on };
  });
  const fields = [...new Set(all.flatMap(({ fields }) => fields))];

  const lacks = () => {
    const there = readTable(file, name);
    const sql = new Map(
      file.database
        .prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?`)
        .all(name)
        .map((row) => [row.name, String(row.sql)]),
    );
    return {
      table: there === undefined,
      columns: fields.filter((field) => !there?.fields.includes(field)),
      indexes: wanted.filter((index) => !sql.get(index.name)?.endsWith(index.on)),
    };
  };

  const found = lacks();
  if (found.table || found.columns.length > 0 || found.indexes.length > 0) {
    await file.write(() => {
      // Looked at again: another process may have been quicker.
      const lacking = lacks();
      const { database } = file;
      if (lacking.table) {
        const columns = fields.map((field) => `, ${columnOf(field)} ANY`).join('');
        // With row ids, for documents are large: a tree that holds nothing but keys finds one in fewer pages.
        database.exec(
          `CREATE TABLE ${table} (key TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, position TEXT${columns}, document TEXT) STRICT`,
        );
      } else if (lacking.columns.length > 0) {
        for (const field of lacking.columns) database.exec(`ALTER TABLE ${table} ADD COLUMN ${columnOf(field)} ANY`);
        fill(file, table, lacking.columns);
      }
      for (const { name, unique, on } of lacking.indexes) {
        // One of the same name that is made otherwise is an earlier version's.
        database.exec(`DROP INDEX IF EXISTS "${name}"; CREATE ${unique ? 'UNIQUE ' : ''}INDEX "${name}" ${on}`);
      }
    });
  }
  return readTable(file, name) ?? { name: table, fields };
}

/** The table as it is now; `undefined` when there is none. */
export function readTable({ database }: SqliteFile, name: string): Table | undefined {
  const columns = database.prepare('SELECT name FROM pragma_table_info(?)').all(name);
  if (columns.length === 0) return undefined;
  const fields = columns.map((column) => String(column.name)).filter((column) => column.startsWith('$.'));
  return { name: quoted(name), fields: fields.map((column) => column.slice(2)) };
}

/** What the columns hold for a document. */
export function valuesOf(document: object | undefined, fields: readonly string[]): Value[] {
  if (document === undefined) return fields.map(() => null);
  const entries: { readonly [field: string]: unknown } = { ...document };
  return fields.map((field) => toValue(entries[field]));
}

export const quoted = (name: string): string => {
  if (!/^[\w@.-]+$/.test(name)) throw new Error(`Not a collection name: ${name}`);
  return `"${name}"`;
};

function fill({ database }: SqliteFile, table: string, fields: readonly string[]): void {
  const read = database.prepare(`SELECT key, document FROM ${table} WHERE key > ? ORDER BY key LIMIT ${PAGE}`);
  const columns = fields.map((field) => `${columnOf(field)} = ?`).join(', ');
  const write = database.prepare(`UPDATE ${table} SET ${columns} WHERE key = ?`);
  for (let after = '', size = PAGE; size === PAGE; ) {
    const rows = read.all(after);
    for (const { key, document } of rows) {
      after = String(key);
      if (document !== null) write.run(...valuesOf(JSON.parse(String(document)), fields), after);
    }
    size = rows.length;
  }
}
