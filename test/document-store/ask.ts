import type { Find, Query } from '../../src/document-store/document-store.ts';

/** A query of a test, which needs no index. The service's own are declared (`declareQuery`). */
export const ask = <D extends object>(query: Find<D> = {}): Query<D> => query as Query<D>;
