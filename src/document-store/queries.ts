import type { Collection, Find, Query } from './document-store.ts';

/** What a query is asked of: a collection of records, or a projection. */
type Queried<D extends object> = Pick<Collection<D>, 'name' | 'indexes'>;

/** One form of a declared query. */
export type QuerySample = { readonly of: Queried<object>; readonly query: Find<Row> };
type Row = { readonly [field: string]: unknown };

const samplesDeclared: QuerySample[] = [];

/**
 * Declares a query beside whoever asks it. A document store takes no other, so that `test/document-store/indexes.test.ts` can
 * hold every query of the service against the indexes of its collection, on each engine.
 * @param build makes the query from its arguments
 * @param samples arguments for each form that the query may take: a field it filters by only sometimes, another direction
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
  for (const sample of samples) samplesDeclared.push({ of, query: build(...sample) });
  return build;
}

/** A sample of every form of every query that the modules loaded so far have declared. */
export const declaredQueries = (): readonly QuerySample[] => samplesDeclared;

/** Every document of whatever collection, by key. */
export function everyDocument<D extends object>(): Query<D>;
export function everyDocument(): object {
  return {};
}
