import type { Document, IndexDescription, SortDirection } from 'mongodb';
import type { Collection, Condition, Find, Index } from '../document-store.ts';

/** The path of a document's field in MongoDB: documents are nested under `d`, next to the store's own fields. */
const fieldPath = (field: string): string => `d.${field}`;

/** The field of the TTL index. */
export const EXPIRES = 't';

export function filterOf<D extends object>(where: Find<D>['where']): Document {
  const conditions = Object.entries<Condition | undefined>(where ?? {});
  const filter: Document = {};
  let excludesTombstones = false;
  for (const [field, condition] of conditions) {
    if (condition === undefined) continue;
    filter[fieldPath(field)] = toMongo(condition);
    excludesTombstones ||= !(typeof condition === 'object' && 'exists' in condition);
  }
  return excludesTombstones ? filter : { ...filter, d: { $exists: true } };
}

/** The filter of a query that may begin after some values. */
export function filterOfFind<D extends object>({ where, sort = [], after }: Find<D>): Document {
  const terms = sort.map(({ field, direction }, index) => ({
    path: fieldPath(field),
    value: after?.[index],
    operator: direction === 'descending' ? '$lt' : '$gt',
  }));
  const [first] = terms;
  if (after === undefined || first === undefined) return filterOf(where);
  const later = terms.map(({ path, value, operator }, index) => ({
    ...Object.fromEntries(terms.slice(0, index).map((before) => [before.path, before.value])),
    [path]: { [operator]: value },
  }));
  // The bound of the first field lets the scan of the index begin there; a server may not derive it from the alternatives.
  return { $and: [filterOf(where), { [first.path]: { [`${first.operator}e`]: first.value } }, { $or: later }] };
}

/** The stage of a pipeline that counts and adds up groups. */
export const groupOf = (by: readonly string[], sums: readonly string[]): Document => ({
  $group: {
    _id: Object.fromEntries(by.map((field) => [field, `$${fieldPath(field)}`])),
    count: { $sum: 1 },
    ...Object.fromEntries(sums.map((field) => [field, { $sum: `$${fieldPath(field)}` }])),
  },
});

function toMongo(condition: Condition): unknown {
  if (typeof condition !== 'object') return condition;
  if ('in' in condition) return { $in: condition.in };
  if ('exists' in condition) return { $exists: condition.exists };
  const { from, to, above, below } = condition;
  return {
    ...(from !== undefined && { $gte: from }),
    ...(to !== undefined && { $lte: to }),
    ...(above !== undefined && { $gt: above }),
    ...(below !== undefined && { $lt: below }),
    ...(Object.keys(condition).length === 0 && { $exists: true }),
  };
}

/** Ties are ordered by key, like the indexes. Without `sort`, the order of the index applies. */
export function sortOf<D extends object>({ where, sort }: Find<D>): [string, SortDirection][] {
  if (sort === undefined) return Object.keys(where ?? {}).length === 0 ? [['_id', 1]] : [];
  const terms = sort.map(({ field, direction }): [string, SortDirection] => [
    fieldPath(field),
    direction === 'descending' ? -1 : 1,
  ]);
  return [...terms, ['_id', terms.every(([, direction]) => direction === -1) ? -1 : 1]];
}

export function indexesOf<D extends object>({ indexes, ttl }: Collection<D>): IndexDescription[] {
  const descriptions = indexes.map(indexOf);
  return ttl === undefined ? descriptions : [...descriptions, { key: { [EXPIRES]: 1 }, expireAfterSeconds: 0 }];
}

function indexOf<D extends object>({ fields, holds = [], unique = false, where }: Index<D>): IndexDescription {
  const keyOf = (of: readonly string[]) => Object.fromEntries(of.map((field): [string, 1] => [fieldPath(field), 1]));
  const key = keyOf(fields);
  if (!unique)
    return { key: { ...key, _id: 1, ...keyOf(holds) }, ...(where && { partialFilterExpression: filterOf<D>(where) }) };
  // Documents that lack one of the fields do not conflict, and neither do tombstones.
  const present = Object.fromEntries(fields.map((field) => [fieldPath(field), { $exists: true }]));
  return { key, unique: true, partialFilterExpression: present };
}
