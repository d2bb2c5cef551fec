import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Condition, Find } from '../../src/document-store/document-store.ts';
import { openSqliteFile, type SqliteFile } from '../../src/document-store/sqlite/file.ts';
import { orderOf, type Source, selectRange } from '../../src/document-store/sqlite/query.ts';
import { openTable, valuesOf } from '../../src/document-store/sqlite/table.ts';
import type { BookingStatus } from '../../src/domain/space-day.ts';

/** Bookings in the store: a third are of one house with many brands, and a third of one brand in many houses. */
const BOOKINGS = 100_000;
const DAYS = 1_090;
const PAST_DAYS = 1_060;
const HOUSE = 1;
const BRAND = 1;
/** A list may read so many documents for each that it returns, and a few more. */
const AT_MOST = 2;
const FEW = 10;

type Filter = Record<string, Condition>;
const STATUSES: readonly (BookingStatus | undefined)[] = [undefined, 'Pending', 'Approved', 'Cancelled', 'Completed'];
const DATES: readonly Filter[] = [
  {},
  { date: { from: day(1_000), to: day(1_000) } },
  { date: { from: day(1_000), to: day(1_089) } },
  { date: { from: day(1_000) } },
];

let folder: string;
let file: SqliteFile;
let table: Source;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-documents-read-'));
  file = await openSqliteFile({ what: 'test file', path: join(folder, 'documents.sqlite'), repair: '' }, 'lazy');
  table = await openTable(file, { ...bookings, kind: 'readModel' });
  const columns = table.fields.map((field) => `, "$.${field}"`).join('');
  const insert = file.database.prepare(
    `INSERT INTO ${table.name} (key, version${columns}, document) VALUES (?, 1${', ?'.repeat(table.fields.length)}, '{}')`,
  );
  file.database.exec('BEGIN');
  for (let id = 1; id <= BOOKINGS; id += 1) insert.run(String(id), ...valuesOf(bookingOf(id), table.fields));
  file.database.exec('COMMIT');
});
afterAll(async () => {
  await file.close();
  await rm(folder, { recursive: true });
});

function day(number: number): string {
  return new Date(Date.UTC(2024, 0, 1) + number * 86_400_000).toISOString().slice(0, 10);
}

/** A number below `below` that looks random, different for each question. */
const some = (id: number, question: number, below: number): number =>
  Math.floor(((Math.imul(Math.imul(id, 2_654_435_761) ^ (question * 40_503), 2_246_822_519) >>> 0) / 2 ** 32) * below);

/** Most bookings of the past took place; those to come wait, are approved or were cancelled. */
function bookingOf(id: number) {
  const communityId = id % 3 === 0 ? HOUSE : 2 + some(id, 1, 100);
  const at = some(id, 2, DAYS);
  const chance = some(id, 3, 100);
  const status: BookingStatus =
    at < PAST_DAYS
      ? chance < 85
        ? 'Completed'
        : 'Cancelled'
      : chance < 40
        ? 'Approved'
        : chance < 70
          ? 'Pending'
          : 'Cancelled';
  const isCancelled = status === 'Cancelled';
  const wasApproved = status === 'Completed' || status === 'Approved' || (isCancelled && id % 2 === 0);
  return {
    communityId,
    status,
    bookingId: id,
    date: day(at),
    startHour: 8 + some(id, 4, 12),
    brandId: id % 3 === 1 ? BRAND : 2 + some(id, 5, 150),
    spaceId: communityId * 30 + some(id, 6, 30),
    ...(isCancelled && { cancelledBy: ['Brand', 'Community', 'System'][some(id, 7, 3)] }),
    ...(wasApproved && { charge: 100, approvedAt: day(at), wasApproved: 'yes' }),
    createdAt: day(at),
    changedAt: day(at),
    endsAt: day(at),
    expiresAt: day(at),
    totalPrice: 100,
  };
}

/** Every combination of filters that a client can send, over REST, MCP and the console. */
function* filters(): Generator<Filter> {
  const parties = { communityId: { brandId: { in: [7, 8] } }, brandId: { communityId: { in: [7, 8] } } };
  for (const [owner, id] of [['communityId', HOUSE] as const, ['brandId', BRAND] as const]) {
    const first = owner === 'communityId' ? HOUSE * 30 : 7 * 30;
    const spaces: readonly Filter[] = [{}, { spaceId: first }, { spaceId: { in: [first, first + 1] } }];
    for (const status of STATUSES)
      for (const space of spaces)
        for (const dates of DATES)
          for (const more of [{}, parties[owner], ...outcomesOf(status)])
            yield { [owner]: id, ...(status && { status }), ...space, ...dates, ...more };
  }
}

const outcomesOf = (status: BookingStatus | undefined): readonly Filter[] =>
  status === 'Cancelled'
    ? [{ cancelledBy: 'Community', charge: { exists: false } }]
    : status === undefined
      ? [{ charge: { exists: true } }]
      : [];

/** How many documents a list reads and returns. Conditions on fields of its index are decided without the document. */
function cost(where: Filter) {
  const sort = ['date', 'startHour', 'bookingId'].map((field) => ({ field, direction: 'ascending' as const }));
  const query = { where, sort } as Find<BookingDocument>;
  const options = { indexes: bookings.indexes, limit: BOOKINGS };
  const order = orderOf(query, bookings.indexes);
  const select = (conditions: Filter) =>
    selectRange(table, conditions as Find<BookingDocument>['where'], order, { prefix: [] }, options);
  const { text, values } = select(where);
  const plan = file.database.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
  const steps = plan.map(({ detail }) => String(detail));
  const [, index = ''] = steps.map((step) => / INDEX (\S+)/.exec(step)).find((match) => match !== null) ?? [];
  const inIndex = index.split('#')[1]?.split(/[,+?=!]/) ?? [];
  const decided = Object.fromEntries(Object.entries(where).filter(([field]) => inIndex.includes(field)));
  const count = (conditions: Filter): number => {
    const { text: sql, values: given } = select(conditions);
    return Number(file.database.prepare(`SELECT count(*) AS count FROM (${sql})`).get(...given)?.count);
  };
  return {
    index,
    sorts: steps.some((step) => step.includes('TEMP B-TREE')),
    read: count(decided),
    returned: count(where),
  };
}

test('no list of bookings reads many more documents than it returns, or sorts them', () => {
  const costly = [...filters()]
    .map((where) => ({ where, ...cost(where) }))
    .filter(({ sorts, read, returned }) => sorts || read > AT_MOST * returned + FEW);
  expect(costly).toEqual([]);
});
