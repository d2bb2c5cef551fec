import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import type { Row } from '../../../projections/projection.ts';
import type { Find } from '../../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../../src/document-store/mongodb/document-store.ts';
import { filterOfFind, sortOf } from '../../../src/document-store/mongodb/query.ts';
import { lacks } from '../../lacks.ts';
import { foundAt, type Tool } from '../../tool.ts';
import { collectionOf, queries } from '../declared-queries.ts';
import { MONGODB, ownDatabase } from '../engines.ts';

/** How MongoDB would run a query; undefined if the server explains in another form. */
async function winningPlan(url: string, name: string, query: Find<Row>): Promise<unknown> {
  const client = new MongoClient(url);
  try {
    const cursor = client.db().collection(name).find(filterOfFind(query)).sort(sortOf(query));
    return (await cursor.explain('queryPlanner')).queryPlanner.winningPlan;
  } finally {
    await client.close();
  }
}

/** Why plans cannot be read here, if so. The stand-in has no `explain`, and some servers answer in a form of their own. */
async function explainProblem(): Promise<string | undefined> {
  if (lacks(MONGODB)) return 'no MongoDB';
  const plan = await winningPlan(ownDatabase(), 'none', {}).catch((error: unknown) => error);
  if (plan instanceof Error) return `explain is refused: ${plan.message}`;
  return plan === undefined ? 'explain names no winningPlan' : undefined;
}
const unexplained = await explainProblem();
const EXPLAIN: Tool = {
  name: 'MongoDB’s explain',
  look: () =>
    unexplained === undefined
      ? { found: foundAt(MONGODB) }
      : { missing: unexplained, install: 'set MONGODB_URL, or start Docker' },
};

/** The query of `everyDocument`, which is not declared: it needs no index, but must not be sorted. */
const EVERYTHING: (typeof queries)[number] = ['users', '{}', { name: 'users', indexes: [], kind: 'record' }, {}];

describe('indexes', () => {
  it.skipIf(lacks(MONGODB))('can all be made on MongoDB', async () => {
    const store = await openMongoDocumentStore({ url: ownDatabase() });
    try {
      for (const [, , of] of queries) await store.open(collectionOf(of));
      expect((await store.names()).sort()).toEqual([...new Set(queries.map(([name]) => name))].sort());
    } finally {
      await store.close();
    }
  });

  it.skipIf(lacks(EXPLAIN)).each([...queries, EVERYTHING])('of %s serve %s on MongoDB', async (name, _, of, query) => {
    const url = ownDatabase();
    const store = await openMongoDocumentStore({ url });
    try {
      await store.open(collectionOf(of));
      const plan = JSON.stringify(await winningPlan(url, name, query));
      expect(plan).toMatch(/IXSCAN/);
      expect(plan).not.toMatch(/COLLSCAN|"stage":"SORT"/);
    } finally {
      await store.close();
    }
  });
});
