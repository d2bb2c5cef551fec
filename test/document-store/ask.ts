import type { Find, Query } from '../../src/document-store/document-store.ts';

/** A query for tests, which needs no index. The service declares its queries with `declareQuery`. */
export const ask = <D extends object>(query: Find<D> = {}): Query<D> => query as Query<D>;
