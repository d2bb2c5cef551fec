import type { Condition, Find } from '../../src/document-store/document-store.ts';
import { toValue, type Value } from '../../src/document-store/sqlite/query.ts';

type Keyed = { readonly key: string; readonly document: object };

/** Whether a document meets all conditions. */
export const matches = <D extends object>(document: D, where: Find<D>['where'] = {}): boolean =>
  Object.entries<Condition | undefined>(where).every(
    ([field, condition]) => condition === undefined || meets(fieldOf(document, field), condition),
  );

const fieldOf = (document: object, field: string): Value => toValue(Reflect.get(document, field));

function meets(value: Value, condition: Condition): boolean {
  if (typeof condition === 'object' && 'exists' in condition) return (value !== null) === condition.exists;
  if (value === null) return false;
  if (typeof condition !== 'object') return value === toValue(condition);
  if ('in' in condition) return condition.in.some((one) => value === toValue(one));
  const { from, to, above, below } = condition;
  return (
    (from === undefined || value >= from) &&
    (to === undefined || value <= to) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below)
  );
}

/** The documents of a query, in its order, from after its values up to its limit. */
export function found<D extends object, K extends Keyed & { readonly document: D }>(
  documents: Iterable<K>,
  { where, sort = [], after, limit }: Find<D>,
): K[] {
  const isDescending = sort.length > 0 && sort.every(({ direction }) => direction === 'descending');
  const valuesOf = (document: D): Value[] => sort.map(({ field }) => fieldOf(document, field));
  const inOrder = (a: readonly Value[], b: readonly Value[]): number => {
    for (const [index, { direction }] of sort.entries()) {
      const order = compare(a[index] ?? null, b[index] ?? null);
      if (order !== 0) return direction === 'descending' ? -order : order;
    }
    return 0;
  };
  return Array.from(documents)
    .filter(({ document }) => matches(document, where))
    .map((each) => ({ each, values: valuesOf(each.document) }))
    .filter(({ values }) => after === undefined || inOrder(values, after) > 0)
    .sort((a, b) => inOrder(a.values, b.values) || (isDescending ? -1 : 1) * compare(a.each.key, b.each.key))
    .slice(0, limit)
    .map(({ each }) => each);
}

/** An absent field comes before every value. */
function compare(a: Value, b: Value): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return a < b ? -1 : 1;
}
