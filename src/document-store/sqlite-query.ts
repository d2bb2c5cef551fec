import type { Condition, Find, Range, Scalar } from './document-store.ts';

export type Value = string | number | null;
export type Sql = { readonly text: string; readonly values: readonly Value[] };

/** Where a stream has got to: the values of the ordered fields of the last document, and its key. */
export type Cursor = { readonly values: readonly Value[]; readonly key: string };

type Term = { readonly field: string; readonly descending: boolean };

/** The expression that the indexes are made of; a query must use it letter by letter to be answered by one. */
export function fieldExpression(field: string): string {
  if (!/^\w+$/.test(field)) throw new Error(`Not a field name: ${field}`);
  return `json_extract(document, '$.${field}')`;
}

/** The order in which a query is streamed, before the key. Without `sort` it is the order of the index that answers it. */
export function orderOf<D extends object>({ where, sort }: Find<D>): Term[] {
  const conditions = conditionsOf(where);
  const equal = new Set(conditions.filter(([, condition]) => typeof condition !== 'object').map(([field]) => field));
  if (sort !== undefined) {
    return sort
      .filter(({ field }) => !equal.has(field))
      .map(({ field, direction }) => ({ field, descending: direction === 'descending' }));
  }
  const several = conditions.filter(([, condition]) => typeof condition === 'object' && 'in' in condition);
  const ranges = conditions.filter(([, condition]) => typeof condition === 'object' && !('in' in condition));
  return [...several, ...ranges].map(([field]) => ({ field, descending: false }));
}

export function selectPage<D extends object>(
  table: string,
  find: Find<D>,
  after: Cursor | undefined,
  limit: number,
): Sql {
  const order = orderOf(find);
  // One direction throughout lets an index be read backwards; the key comes last in every index.
  const keyDescending = order.length > 0 && order.every(({ descending }) => descending);
  const where = whereSql(find.where);
  const rest = after === undefined ? undefined : afterSql(order, keyDescending, after);
  const orderBy = [
    ...order.map(({ field, descending }) => `${fieldExpression(field)}${descending ? ' DESC' : ''}`),
    `key${keyDescending ? ' DESC' : ''}`,
  ];
  return {
    text:
      `SELECT key, version, document FROM ${table} WHERE ${where.text}` +
      `${rest === undefined ? '' : ` AND ${rest.text}`} ORDER BY ${orderBy.join(', ')} LIMIT ?`,
    values: [...where.values, ...(rest?.values ?? []), limit],
  };
}

export function selectCount<D extends object>(table: string, where: Find<D>['where']): Sql {
  const { text, values } = whereSql(where);
  return { text: `SELECT count(*) AS count FROM ${table} WHERE ${text}`, values };
}

export const toValue = (scalar: unknown): Value => {
  if (typeof scalar === 'boolean') return scalar ? 1 : 0;
  return typeof scalar === 'string' || typeof scalar === 'number' ? scalar : null;
};

function conditionsOf(where: Find<object>['where'] | undefined): [string, Condition][] {
  return Object.entries<Condition | undefined>(where ?? {}).flatMap(([field, condition]) =>
    condition === undefined ? [] : [[field, condition]],
  );
}

function whereSql(where: Find<object>['where'] | undefined): Sql {
  const parts = ['document IS NOT NULL'];
  const values: Value[] = [];
  for (const [field, condition] of conditionsOf(where)) {
    const expression = fieldExpression(field);
    if (typeof condition !== 'object') {
      parts.push(`${expression} = ?`);
      values.push(toValue(condition));
    } else if ('in' in condition) {
      parts.push(`${expression} IN (SELECT value FROM json_each(?))`);
      values.push(JSON.stringify(condition.in));
    } else {
      for (const [bound, operator] of RANGE_OPERATORS) {
        const limit: Scalar | undefined = condition[bound];
        if (limit === undefined) continue;
        parts.push(`${expression} ${operator} ?`);
        values.push(toValue(limit));
      }
    }
  }
  return { text: parts.join(' AND '), values };
}

const RANGE_OPERATORS: readonly (readonly [keyof Range, string])[] = [
  ['from', '>='],
  ['to', '<='],
  ['above', '>'],
  ['below', '<'],
];

/** What comes after the cursor. SQLite sorts NULL (an absent field) before everything else. */
function afterSql(order: readonly Term[], keyDescending: boolean, cursor: Cursor): Sql {
  if (order.every(({ descending }, i) => !descending && cursor.values[i] !== null)) {
    const columns = [...order.map(({ field }) => fieldExpression(field)), 'key'];
    return {
      text: `(${columns.join(', ')}) > (${columns.map(() => '?').join(', ')})`,
      values: [...cursor.values, cursor.key],
    };
  }
  const alternatives: string[] = [];
  const values: Value[] = [];
  const same: string[] = [];
  const sameValues: Value[] = [];
  for (const [i, { field, descending }] of order.entries()) {
    const expression = fieldExpression(field);
    const value = cursor.values[i] ?? null;
    if (value !== null || !descending) {
      const further = descending
        ? `(${expression} < ? OR ${expression} IS NULL)`
        : value === null
          ? `${expression} IS NOT NULL`
          : `${expression} > ?`;
      alternatives.push([...same, further].join(' AND '));
      values.push(...sameValues, ...(value === null ? [] : [value]));
    }
    same.push(`${expression} IS ?`);
    sameValues.push(value);
  }
  alternatives.push([...same, `key ${keyDescending ? '<' : '>'} ?`].join(' AND '));
  values.push(...sameValues, cursor.key);
  return { text: `(${alternatives.map((alternative) => `(${alternative})`).join(' OR ')})`, values };
}
