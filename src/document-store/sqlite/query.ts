import type { Condition, Find, Index, Range } from '../document-store.ts';
import { bestIndex, columnOf, conditionsOf, equals, indexNameOf, orderedIndex } from './indexes.ts';

export type Value = string | number | null;
export type Sql = { readonly text: string; readonly values: readonly Value[] };

export type Term = { readonly field: string; readonly descending: boolean };

/**
 * A range of an ordered result: the documents whose first ordered fields equal `prefix` and, if `after` is given, whose next
 * ordered field (the key, if none is left) comes after it. Each range is a single seek in an index with that order. A row-value
 * comparison cannot handle absent fields or mixed directions.
 */
export type KeysetRange = { readonly prefix: readonly Value[]; readonly after?: Value };

/** The table of a query. */
export type Source = {
  /** Quoted for SQL. */
  readonly name: string;
  /** The fields that have a column. */
  readonly fields: readonly string[];
  /** The values that its partial indexes are restricted to, by field. */
  readonly literals: ReadonlyMap<string, ReadonlySet<string>>;
};

function expressionOf({ fields }: Source, field: string): string {
  const column = columnOf(field);
  return fields.includes(field) ? column : `json_extract(document, '$.${field}')`;
}

/** The order in which a query streams, before the key. Without `sort` it is that of the best matching index. */
export function orderOf<D extends object>({ where, sort }: Find<D>, indexes: readonly Index<D>[]): readonly Term[] {
  const conditions = conditionsOf(where);
  const equal = new Set(conditions.filter(([, condition]) => typeof condition !== 'object').map(([field]) => field));
  if (sort !== undefined) {
    return sort
      .filter(({ field }) => !equal.has(field))
      .map(({ field, direction }) => ({ field, descending: direction === 'descending' }));
  }
  return (bestIndex(conditions, indexes)?.rest ?? []).map((field) => ({ field, descending: false }));
}

/** The rest of `range` after the document with these ordered values, as ranges in order. */
export function rangesAfter(
  range: KeysetRange,
  order: readonly Term[],
  values: readonly Value[],
  key: string,
): readonly KeysetRange[] {
  const rest: KeysetRange[] = [{ prefix: values, after: key }];
  for (let length = order.length - 1; length >= range.prefix.length; length--) {
    const prefix = values.slice(0, length);
    const value = values[length] ?? null;
    // SQLite sorts NULL (an absent field) before everything else.
    if (order[length]?.descending === true) {
      if (value === null) continue;
      rest.push({ prefix, after: value });
      // If the range itself starts after a value, the range of absent values already follows it.
      if (length > range.prefix.length || range.after === undefined) rest.push({ prefix: [...prefix, null] });
    } else {
      rest.push({ prefix, after: value });
    }
  }
  return rest;
}

/** Where a query begins: at the start of its order, or after some values of its sort fields. */
export function firstRanges<D extends object>(
  { where, sort = [], after }: Find<D>,
  order: readonly Term[],
): readonly KeysetRange[] {
  const whole = { prefix: [] };
  if (after === undefined) return [whole];
  // Fields with an equality condition are not in the order.
  const given = new Map(sort.map(({ field }, index): [string, unknown] => [field, after[index]]));
  const values = order.map(({ field }) => toValue(given.get(field)));
  const [, ...later] = rangesAfter(whole, order, values, '');
  const conditions = new Map(conditionsOf(where));
  // Every document has the sort fields, so the ranges of absent values are empty. So are those of values that the query excludes.
  return later.filter(({ prefix }) =>
    prefix.every((value, index) => value !== null && isMet(conditions.get(order[index]?.field ?? ''), value)),
  );
}

export function selectRange<D extends object>(
  source: Source,
  where: Find<D>['where'],
  order: readonly Term[],
  { prefix, after }: KeysetRange,
  { indexes, limit }: { readonly indexes: readonly Index<D>[]; readonly limit: number },
): Sql {
  const predicates = ['document IS NOT NULL'];
  const values: Value[] = [];
  const next = order[prefix.length];
  const keyDescending = order.length > 0 && order.every(({ descending }) => descending);
  for (const [i, value] of prefix.entries()) {
    const { field } = order[i] ?? { field: '' };
    predicates.push(`${expressionOf(source, field)} ${value === null ? 'IS NULL' : '= ?'}`);
    if (value !== null) values.push(value);
  }
  if (after !== undefined) {
    const descending = next === undefined ? keyDescending : next.descending;
    const expression = next === undefined ? 'key' : expressionOf(source, next.field);
    predicates.push(after === null ? `${expression} IS NOT NULL` : `${expression} ${descending ? '<' : '>'} ?`);
    if (after !== null) values.push(after);
  }
  // Conditions that the range implies are left out: given two bounds, the planner might seek by the worse one.
  const fixed = new Set(order.slice(0, prefix.length).map(({ field }) => field));
  const conditions = conditionsOf(where)
    .filter(([field]) => !fixed.has(field))
    .map(([field, condition]): [string, Condition] =>
      field === next?.field && after !== undefined && after !== null
        ? [field, withoutBound(condition, next.descending, after)]
        : [field, condition],
    );
  const given = conditionsSql(source, conditions, next?.field);
  const fields = order.map(({ field }) => field);
  const by = named(source, orderedIndex(conditionsOf(where), fields, indexes));
  const orderBy = [
    ...order
      .slice(prefix.length)
      .map(({ field, descending }) => `${expressionOf(source, field)}${descending ? ' DESC' : ''}`),
    // With one direction throughout, an index can be read backwards; the key comes last in every index.
    `key${keyDescending ? ' DESC' : ''}`,
  ];
  const filter = [...predicates, ...given.predicates].join(' AND ');
  return {
    text: `SELECT key, version, document FROM ${source.name}${by} WHERE ${filter} ORDER BY ${orderBy.join(', ')} LIMIT ?`,
    values: [...values, ...given.values, limit],
  };
}

export function selectCount<D extends object>(
  source: Source,
  where: Find<D>['where'],
  indexes: readonly Index<D>[],
  atMost?: number,
): Sql {
  const conditions = conditionsOf(where);
  const { predicates, values } = conditionsSql(source, conditions);
  const by = named(source, bestIndex(conditions, indexes)?.index);
  const matching = `FROM ${source.name}${by} WHERE ${presentAnd(predicates).join(' AND ')}`;
  if (atMost === undefined) return { text: `SELECT count(*) AS count ${matching}`, values };
  return { text: `SELECT count(*) AS count FROM (SELECT 1 ${matching} LIMIT ?)`, values: [...values, atMost] };
}

/**
 * Has SQLite use an index. Its planner knows nothing of the values: to it, an index with two equal fields is hardly better than one with one,
 * and better than a smaller partial one.
 */
const named = <D extends object>({ name }: Source, index: Index<D> | undefined): string =>
  index === undefined ? '' : ` INDEXED BY ${indexNameOf(name, index)}`;

/** One row per group: its values as JSON, its number of documents, and its sums as JSON. For fields that have a column. */
export function selectGroups<D extends object>(
  source: Source,
  where: Find<D>['where'],
  by: readonly string[],
  sums: readonly string[],
): Sql {
  const { predicates, values } = conditionsSql(source, conditionsOf(where));
  const columns = by.map((field) => `'${field}', ${columnOf(field)}`);
  const totals = sums.map((field) => `total(${columnOf(field)})`);
  const selected = [`json_object(${columns.join(', ')})`, 'count(*)', `json_array(${totals.join(', ')})`];
  const grouped = by.length === 0 ? '' : ` GROUP BY ${by.map(columnOf).join(', ')}`;
  return {
    text: `SELECT ${selected.join(', ')} FROM ${source.name} WHERE ${presentAnd(predicates).join(' AND ')}${grouped}`,
    values,
  };
}

/** Tombstones have no values. Without a condition on the document, the index alone suffices. */
const presentAnd = (predicates: readonly string[]): readonly string[] =>
  predicates.some((predicate) => !predicate.endsWith('IS NULL')) ? predicates : ['document IS NOT NULL', ...predicates];

export const toValue = (scalar: unknown): Value => {
  if (typeof scalar === 'boolean') return scalar ? 1 : 0;
  return typeof scalar === 'string' || typeof scalar === 'number' ? scalar : null;
};

/** Leaves out the bounds that hold for every value after `value`. */
function withoutBound(condition: Condition, descending: boolean, value: string | number): Condition {
  if (typeof condition !== 'object' || 'in' in condition || 'exists' in condition) return condition;
  const implied = descending ? (['to', 'below'] as const) : (['from', 'above'] as const);
  const bounds = Object.entries(condition).filter(
    ([bound, limit]) => !implied.some((one) => one === bound) || (descending ? value > limit : value < limit),
  );
  return Object.fromEntries(bounds);
}

/** Whether a value meets a condition, given the values that it may have in the order of a query. */
function isMet(condition: Condition | undefined, value: Value): boolean {
  if (condition === undefined || value === null) return true;
  if (typeof condition !== 'object') return toValue(condition) === value;
  if ('in' in condition) return condition.in.some((one) => toValue(one) === value);
  if ('exists' in condition) return condition.exists;
  const { from, above, to, below } = condition;
  return (
    (from === undefined || value >= from) &&
    (above === undefined || value > above) &&
    (to === undefined || value <= to) &&
    (below === undefined || value < below)
  );
}

/** @param orderedBy the field of the order that an index is to seek by. Without one, the planner chooses. */
function conditionsSql(
  source: Source,
  conditions: readonly [string, Condition][],
  orderedBy?: string,
): { predicates: string[]; values: Value[] } {
  const predicates: string[] = [];
  const values: Value[] = [];
  for (const [field, condition] of conditions) {
    const expression = expressionOf(source, field);
    if (typeof condition === 'string' && source.literals.get(field)?.has(condition)) {
      // SQLite uses a partial index only for a query that names the value itself, not through a parameter.
      predicates.push(equals(field, condition));
    } else if (typeof condition !== 'object') {
      predicates.push(`${expression} = ?`);
      values.push(toValue(condition));
    } else if ('exists' in condition) {
      predicates.push(`${expression} IS ${condition.exists ? 'NOT NULL' : 'NULL'}`);
    } else if ('in' in condition) {
      predicates.push(`${expression} IN (SELECT value FROM json_each(?))`);
      values.push(JSON.stringify(condition.in));
    } else {
      // The planner uses no index for an expression. It might prefer one to the index with the order.
      const compared = orderedBy === undefined || field === orderedBy ? expression : `+${expression}`;
      for (const [bound, operator] of RANGE_OPERATORS) {
        const limit = condition[bound];
        if (limit === undefined) continue;
        predicates.push(`${compared} ${operator} ?`);
        values.push(toValue(limit));
      }
    }
  }
  return { predicates, values };
}

const RANGE_OPERATORS: readonly (readonly [keyof Range, string])[] = [
  ['from', '>='],
  ['to', '<='],
  ['above', '>'],
  ['below', '<'],
];
