import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { projections } from '../../projections/index.ts';
import type { Row } from '../../projections/projection.ts';
import type { Collection, Find, Index } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import { filterOf, sortOf } from '../../src/document-store/mongodb/query.ts';
import { openSqliteFile } from '../../src/document-store/sqlite/file.ts';
import { orderOf, rangesAfter, selectCount, selectRange } from '../../src/document-store/sqlite/query.ts';
import { openTable } from '../../src/document-store/sqlite/table.ts';
import { mongoServer } from './engines.ts';

type Query = Find<Row>;
type Sort = NonNullable<Query['sort']>;
const sortBy = (...fields: string[]): Sort => fields.map((field) => ({ field }));
const newest = (...fields: string[]): Sort => fields.map((field) => ({ field, direction: 'descending' as const }));

/** What the service asks of its read models: every such query has to be answered by an index alone, sorting included. */
const queries: readonly (readonly [readModel: string, query: Query])[] = [
  ['bookings', { where: { communityId: 1 }, sort: sortBy('date', 'bookingId') }],
  ['bookings', { where: { brandId: 1 }, sort: sortBy('date', 'bookingId') }],
  [
    'bookings',
    { where: { brandId: 1, date: { from: '2026-12-01', to: '2026-12-31' } }, sort: sortBy('date', 'bookingId') },
  ],
  ['bookings', { where: { communityId: 1, date: { from: '2026-12-01' } }, sort: sortBy('date', 'bookingId') }],
  ['bookings', { where: { communityId: 1, status: 'Pending' }, sort: sortBy('date', 'bookingId') }],
  ['bookings', { where: { communityId: 1 }, sort: newest('date', 'bookingId'), limit: 20 }],
  ['bookings', { where: { brandId: 1, communityId: 2, status: 'Completed' }, limit: 1 }],
  [
    'bookings',
    { where: { status: 'Pending', expiresAt: { to: '2026-12-01' } }, sort: sortBy('expiresAt'), limit: 100 },
  ],
  ['bookings', { where: { status: 'Approved', endsAt: { to: '2026-12-01' } }, sort: sortBy('endsAt'), limit: 100 }],
  ['reviews', { where: { communityId: 1 }, sort: sortBy('reviewId') }],
  ['reviews', { where: { brandId: 1 }, sort: newest('reviewId') }],
  ['reviews', { where: { bookingId: 1 }, limit: 1 }],
  ['spaces', { where: { communityId: 1 }, sort: sortBy('spaceId') }],
  ['spaces', { sort: sortBy('spaceId') }],
  ['communities', { sort: sortBy('communityId') }],
  ['brands', { sort: sortBy('brandId') }],
  ['apiKeys', { where: { apiKeyId: 'a' }, limit: 1 }],
  ['apiKeys', { where: { account: 'Brand:1' }, sort: sortBy('issuedAt') }],
  ['webhooks', { where: { credential: 'apiKey:1', account: 'Brand:1' }, sort: sortBy('createdAt') }],
  ['webhooks', { where: { account: 'Brand:1' }, sort: sortBy('createdAt') }],
  ['webhooks', { where: { account: { in: ['Brand:1', 'Community:1'] } } }],
];

function collectionOf(name: string): Collection<Row> {
  const found = projections.find((projection) => projection.name === name);
  if (found === undefined) throw new Error(`There is no read model ${name}`);
  const indexes: readonly Index<Row>[] = found.indexes;
  return { name, indexes, kind: 'readModel' };
}

describe('indexes of the read models', () => {
  it.each(queries)('answer %s %j on SQLite, first page and next', async (name, query) => {
    const folder = await mkdtemp(join(tmpdir(), 'venue-indexes-'));
    const file = openSqliteFile(join(folder, 'documents.sqlite'), false);
    try {
      const collection = collectionOf(name);
      const table = await openTable(file, collection);
      const order = orderOf(query, collection.indexes);
      const values = order.map(() => 'x');
      const stretches = [{ prefix: [] }, ...rangesAfter({ prefix: [] }, order, values, 'key')];
      const pages = stretches.map((stretch) => selectRange(table, query.where, order, stretch, 10));
      for (const { text, values } of pages) {
        const plan = file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
        const steps = plan.map(({ detail }) => String(detail)).filter((step) => !/SUBQUERY|json_each/.test(step));
        expect(steps).toEqual([expect.stringMatching(/USING (INDEX|PRIMARY KEY)/)]);
      }
      const { text, values: given } = selectCount(table, query.where);
      expect(JSON.stringify(file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...given))).toMatch(
        query.where === undefined ? /SCAN/ : /USING INDEX/,
      );
    } finally {
      await file.close();
      await rm(folder, { recursive: true });
    }
  });

  // mongo-java-server explains nothing: on it these are not run, which the report of the engines says.
  it.skipIf('why' in mongoServer || !mongoServer.real).each(queries)('answer %s %j on MongoDB', async (name, query) => {
    if ('why' in mongoServer) return;
    const database = `indexes-${process.pid}-${Date.now()}`;
    const store = await openMongoDocumentStore({ url: mongoServer.url, database });
    const client = new MongoClient(mongoServer.url);
    try {
      await store.open(collectionOf(name));
      const cursor = client.db(database).collection(name).find(filterOf(query.where)).sort(sortOf(query));
      const plan = JSON.stringify((await cursor.explain('queryPlanner')).queryPlanner.winningPlan);
      expect(plan).toMatch(/IXSCAN/);
      expect(plan).not.toMatch(/COLLSCAN|"stage":"SORT"/);
    } finally {
      await client.db(database).dropDatabase();
      await client.close();
      await store.close();
    }
  });
});
