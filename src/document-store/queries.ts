import type { Collection, Find, Query } from './document-store.ts';

/** The target of a query: a collection of records, or a projection, which has no kind. */
type Queried<D extends object> = Pick<Collection<D>, 'name' | 'indexes'> & Partial<Pick<Collection<D>, 'kind'>>;

/** One form of a declared query, built from sample arguments. */
export type QuerySample = { readonly of: Queried<object>; readonly query: Find<Row> };
type Row = { readonly [field: string]: unknown };

const declaredSamples: QuerySample[] = [];

/**
 * Declares a query, next to the code that runs it. Document stores accept no other, so that
 * `test/document-store/indexes.test.ts` can check every query of the service against the indexes, on each engine.
 * @param build builds the query from its arguments
 * @param samples arguments for each form that the query can take: with and without an optional filter, in either direction
 * @example
 * const ofAccount = declareQuery(webhooks, (account: Account) => ({ where: { account: accountKey(account) } }), [BRAND]);
 * documents.find(ofAccount(account));
 */
export function declareQuery<D extends object, A extends readonly unknown[]>(
  of: Queried<D>,
  build: (...args: A) => Find<D>,
  ...samples: readonly [A, ...A[]]
): (...args: A) => Query<D>;
export function declareQuery(
  of: Queried<object>,
  build: (...args: readonly unknown[]) => Find<Row>,
  ...samples: readonly (readonly unknown[])[]
): (...args: readonly unknown[]) => object {
  for (const sample of samples) declaredSamples.push({ of, query: build(...sample) });
  return build;
}

/** Samples of every form of every query that the modules loaded so far have declared. */
export const declaredQueries = (): readonly QuerySample[] => declaredSamples;

/** The same for equal queries. */
export const queryText = <D extends object>({ where, sort, after, limit }: Find<D>): string =>
  JSON.stringify([where, sort, after, limit]);

/** All documents of any collection, by key. */
export function everyDocument<D extends object>(): Query<D>;
export function everyDocument(): object {
  return {};
}
