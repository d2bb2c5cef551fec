import type { Condition, Find, Index } from '../document-store.ts';

/** The column of a document field. */
export function columnOf(field: string): string {
  if (!/^\w+$/.test(field)) throw new Error(`Invalid field name: ${field}`);
  return `"$.${field}"`;
}

/** Compares a column with a literal, because SQLite does not use a partial index for a parameter. */
export function equals(field: string, value: string): string {
  if (!/^\w+$/.test(value)) throw new Error(`Invalid value in the condition of an index: ${value}`);
  return `${columnOf(field)} = '${value}'`;
}

/** The name of an index, quoted for SQL. It encodes the whole definition. */
export function indexNameOf<D extends object>(
  table: string,
  { fields, holds = [], unique = false, where }: Index<D>,
): string {
  const restrictions = restrictionsOf(where).map(([field, value]) => `?${field}=${value}`);
  const extras = holds.map((field) => `+${field}`);
  return `"${JSON.parse(table)}#${fields.join(',')}${extras.join('')}${unique ? '!' : ''}${restrictions.join('')}"`;
}

/** The part of `CREATE INDEX` after the name. */
export function indexedBy<D extends object>(
  table: string,
  { fields, holds = [], unique = false, where }: Index<D>,
): string {
  const columns = fields.map(columnOf);
  const restrictions = restrictionsOf(where).map(([field, value]) => equals(field, value));
  // The key breaks ties, and pages start after a key.
  const on = `ON ${table} (${(unique ? columns : [...columns, 'key', ...holds.map(columnOf)]).join(', ')})`;
  return restrictions.length === 0 ? on : `${on} WHERE ${restrictions.join(' AND ')}`;
}

/** The fields that an index needs columns for. */
export const fieldsOf = <D extends object>({ fields, holds = [], where }: Index<D>): readonly string[] => [
  ...fields,
  ...holds,
  ...restrictionsOf(where).map(([field]) => field),
];

/** The values that partial indexes are restricted to, by field. */
export function literalsOf<D extends object>(indexes: readonly Index<D>[]): ReadonlyMap<string, ReadonlySet<string>> {
  const literals = new Map<string, Set<string>>();
  for (const [field, value] of indexes.flatMap(({ where }) => restrictionsOf(where)))
    literals.set(field, (literals.get(field) ?? new Set()).add(value));
  return literals;
}

/** The index that matches the most conditions, and its fields after those with an equality condition. */
export function bestIndex<D extends object>(
  conditions: readonly [string, Condition][],
  indexes: readonly Index<D>[],
): { readonly index: Index<D>; readonly rest: readonly string[] } | undefined {
  const byField = new Map(conditions);
  const isEqual = (field: string) => byField.has(field) && typeof byField.get(field) !== 'object';
  let most = 0;
  let best: { readonly index: Index<D>; readonly rest: readonly string[] } | undefined;
  for (const index of indexes) {
    const { fields, where } = index;
    const restrictions = restrictionsOf(where);
    if (restrictions.some(([field, value]) => byField.get(field) !== value)) continue;
    const unequal = fields.findIndex((field) => !isEqual(field));
    const leading = unequal === -1 ? fields.length : unequal;
    const next = fields[leading];
    const matched = restrictions.length + leading + (next !== undefined && byField.has(next) ? 0.5 : 0);
    if (matched <= most) continue;
    most = matched;
    best = { index, rest: fields.slice(leading) };
  }
  return best;
}

/** The index that matches the most equality conditions among those whose next fields are the ordered ones. */
export function orderedIndex<D extends object>(
  conditions: readonly [string, Condition][],
  order: readonly string[],
  indexes: readonly Index<D>[],
): Index<D> | undefined {
  const isInOrder = ({ fields }: Index<D>) => {
    const rest = bestIndex(conditions, [{ fields }])?.rest ?? [];
    return order.every((field, at) => field === rest[at]);
  };
  return bestIndex(conditions, indexes.filter(isInOrder))?.index;
}

export function conditionsOf(where: Find<object>['where'] | undefined): [string, Condition][] {
  return Object.entries<Condition | undefined>(where ?? {}).flatMap(([field, condition]) =>
    condition === undefined ? [] : [[field, condition]],
  );
}

const restrictionsOf = (where: { readonly [field: string]: string | undefined } | undefined): [string, string][] =>
  Object.entries(where ?? {}).flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]));
