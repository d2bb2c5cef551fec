import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { IndexDescription } from 'mongodb';
import { describe, expect, it, test } from 'vitest';
import type { Row } from '../../projections/projection.ts';
import type { Find } from '../../src/document-store/document-store.ts';
import { filterOf, indexesOf, sortOf } from '../../src/document-store/mongodb/query.ts';
import { openSqliteFile } from '../../src/document-store/sqlite/file.ts';
import { indexNameOf } from '../../src/document-store/sqlite/indexes.ts';
import { orderOf, rangesAfter, selectCount, selectRange } from '../../src/document-store/sqlite/query.ts';
import { openTable } from '../../src/document-store/sqlite/table.ts';
import { collectionOf, queries } from './declared-queries.ts';

/** A query that reads a whole collection without an order needs no index. */
const isOrdered = ({ where, sort }: Find<Row>) => where !== undefined || sort !== undefined;

/**
 * Whether MongoDB can answer a query from an index without sorting: the fields that are equal come before those by which it is sorted, all
 * in one direction. For machines without a MongoDB that explains its plans.
 */
function canServe({ key, partialFilterExpression: part = {} }: IndexDescription, query: Find<Row>): boolean {
  const filter = filterOf(query.where);
  const isEqual = (path: string): boolean => path in filter && typeof filter[path] !== 'object';
  const isWithin = Object.entries(part).every(
    ([path, value]) => isDeepStrictEqual(filter[path], value) || (isEqual(path) && typeof value === 'object'),
  );
  const fields = [...Object.entries(key)];
  const isBounded = query.where === undefined || Object.keys(part).length > 0 || (fields[0]?.[0] ?? '') in filter;
  const unsorted = sortOf(query).filter(([path]) => !isEqual(path));
  const directions = new Set<boolean>();
  for (const [path, direction] of fields) {
    if (unsorted[0]?.[0] === path) directions.add(unsorted.shift()?.[1] === direction);
    else if (!isEqual(path)) break;
  }
  return isWithin && isBounded && unsorted.length === 0 && directions.size <= 1;
}

test('exactly these collections have a declared query', () => {
  const asked = new Set(queries.map(([name]) => name));
  expect(asked).toEqual(
    new Set([
      'accountHistory',
      'admissions',
      'apiKeys',
      'bookingNotes',
      'availability',
      'bookings',
      'calendarFeeds',
      'closures',
      'brands',
      'communities',
      'consoleFiles',
      'consoleSessions',
      'fanOutFailures',
      'mailFailures',
      'mailInbox',
      'mails',
      'mailPreferences',
      'messages',
      'questionMessages',
      'questions',
      'threads',
      'invitations',
      'oauthArtefacts',
      'oauthClients',
      'reviews',
      'seals',
      'spacePhotos',
      'signUps',
      'spaces',
      'subjectKeys',
      'users',
      'webhookDeliveries',
      'webhooks',
    ]),
  );
});

test('every index of these collections serves a declared query', async ({ onTestFinished }) => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-indexes-'));
  const fileName = { what: 'test file', path: join(folder, 'documents.sqlite'), repair: '' };
  const file = await openSqliteFile(fileName, 'lazy');
  onTestFinished(async () => {
    await file.close();
    await rm(folder, { recursive: true });
  });
  const used = new Set<string>();
  const declared = new Set<string>();
  for (const [, , of, query] of queries) {
    const collection = collectionOf(of);
    const { indexes } = collection;
    const table = await openTable(file, collection);
    const page = selectRange(table, query.where, orderOf(query, indexes), { prefix: [] }, { indexes, limit: 10 });
    for (const { text, values } of [page, selectCount(table, query.where, indexes)])
      for (const { detail } of file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)) {
        const [, index] = / INDEX (\S+)/.exec(String(detail)) ?? [];
        if (index !== undefined) used.add(`"${index}"`);
      }
    for (const index of indexes) declared.add(indexNameOf(table.name, index));
  }
  expect([...declared].filter((index) => !used.has(index))).toEqual([]);
});

describe('indexes', () => {
  it.each(queries)('of %s serve %s on SQLite, first page and next page', async (_name, _json, of, query) => {
    expect(isOrdered(query)).toBe(true);
    const folder = await mkdtemp(join(tmpdir(), 'venue-indexes-'));
    const fileName = { what: 'test file', path: join(folder, 'documents.sqlite'), repair: '' };
    const file = await openSqliteFile(fileName, 'lazy');
    try {
      const collection = collectionOf(of);
      const table = await openTable(file, collection);
      const { indexes } = collection;
      const order = orderOf(query, indexes);
      const values = order.map(() => 'x');
      const ranges = [{ prefix: [] }, ...rangesAfter({ prefix: [] }, order, values, 'key')];
      const pages = ranges.map((range) => selectRange(table, query.where, order, range, { indexes, limit: 10 }));
      for (const { text, values } of pages) {
        const plan = file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
        const steps = plan
          .map(({ detail }) => String(detail))
          .filter((step) => !/SUBQUERY|json_each|BLOOM FILTER/.test(step));
        expect(steps).toEqual([expect.stringMatching(/USING (INDEX|PRIMARY KEY)/)]);
      }
      const { text, values: given } = selectCount(table, query.where, indexes);
      expect(JSON.stringify(file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...given))).toMatch(
        query.where === undefined ? /SCAN/ : /USING (COVERING )?INDEX/,
      );
    } finally {
      await file.close();
      await rm(folder, { recursive: true });
    }
  });

  it.each(queries)('of %s can serve %s on MongoDB', (_name, _json, of, query) => {
    const indexes = indexesOf(collectionOf(of));
    expect(indexes.filter((index) => canServe(index, query))).not.toEqual([]);
  });
});
