import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite';
import { createLruCache } from '../../event-loop/lru-cache.ts';
import { isTurnUsedUp, nextSlice } from '../../event-loop/slices.ts';
import type { Collection, Find, Stored } from '../document-store.ts';
import {
  firstRanges,
  orderOf,
  rangesAfter,
  type Sql,
  selectCount,
  selectGroups,
  selectRange,
  toValue,
} from './query.ts';
import type { Table } from './table.ts';

/** Key, version and document. */
export type Row = [key: SQLOutputValue, version?: SQLOutputValue, document?: SQLOutputValue];

type Page = {
  readonly rows: readonly Row[];
  /** Whether these are all the rows of the query. */
  readonly isAll: boolean;
};

/** Selects the rows of a collection. @param table may get more columns meanwhile */
export function createSelects<D extends object>(
  database: DatabaseSync,
  table: () => Table,
  indexes: Collection<D>['indexes'],
) {
  const statements = createLruCache<string, StatementSync>(100);

  /** Rows as arrays of their columns. Objects would take 50% longer than the read itself. */
  function run({ text: sql, values }: Sql): Row[] {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = database.prepare(sql);
      statement.setReturnArrays(true);
      statements.set(sql, statement);
    }
    const rows: unknown[] = statement.all(...values);
    return rows.filter((row): row is Row => Array.isArray(row));
  }

  return {
    /** The rows of a query, in pages. */
    async *rowsOf(query: Find<D>, pageSize: number): AsyncGenerator<Page> {
      const { where, limit = Number.POSITIVE_INFINITY } = query;
      const order = orderOf(query, indexes);
      let ranges = firstRanges(query, order);
      let remaining = limit;
      let untilYield = pageSize;
      if (isTurnUsedUp()) await nextSlice();
      while (remaining > 0) {
        const [range, ...later] = ranges;
        if (range === undefined) return;
        const size = Math.min(untilYield, remaining);
        const rows = run(selectRange(table(), where, order, range, { indexes, limit: size }));
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
        await nextSlice();
      }
    },

    count: (where: Find<D>['where'], atMost?: number): number =>
      Number(run(selectCount(table(), where, indexes, atMost))[0]?.[0]),

    /** The groups of a query. Undefined if a field has no column. */
    groups(where: Find<D>['where'], by: readonly string[], sums: readonly string[]): Row[] | undefined {
      const hasColumn = (field: string) => table().fields.includes(field);
      return [...by, ...sums].every(hasColumn) ? run(selectGroups(table(), where, by, sums)) : undefined;
    },
  };
}

export const toStored = <D extends object>(...[key, version, document]: Row): Stored<D> => ({
  key: text(key),
  version: Number(version),
  document: JSON.parse(text(document)),
});

export function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError(`Expected text, got ${typeof value}`);
  return value;
}
