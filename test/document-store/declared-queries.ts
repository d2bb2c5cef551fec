import { globSync, readFileSync } from 'node:fs';
import type { Row } from '../../projections/projection.ts';
import type { Collection } from '../../src/document-store/document-store.ts';
import { declaredQueries, type QuerySample } from '../../src/document-store/queries.ts';

const ROOT = new URL('../../', import.meta.url);

// Modules declare their queries when they are loaded. All are loaded here, so that the set does not depend on other tests.
for (const path of globSync('src/**/*.ts', { cwd: ROOT.pathname })) {
  const url = new URL(path, ROOT);
  if (readFileSync(url, 'utf8').includes('declareQuery(')) await import(url.href);
}

/** Every declared query, preceded by its collection and its JSON for the titles of the tests. */
export const queries = declaredQueries().map(({ of, query }) => [of.name, JSON.stringify(query), of, query] as const);

export const collectionOf = ({ name, indexes, kind = 'readModel' }: QuerySample['of']): Collection<Row> => ({
  name,
  indexes,
  kind,
});
