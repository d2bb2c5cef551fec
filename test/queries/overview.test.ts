import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BookingDocument, bookings, pendingBooking } from '../../projections/bookings.ts';
import type { Collection, Documents } from '../../src/document-store/document-store.ts';
import { bookingId, communityId, spaceId, timestamp } from '../../src/domain/ids.ts';
import { createOverviewQueries } from '../../src/queries/overview.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { day, requested } from '../domain/bookings.fixture.ts';
import { readModelOf } from './one-read-model.ts';

const HOUSE = requested().data.communityId;
const [FIRST, SECOND, THIRD] = [spaceId(1), spaceId(2), spaceId(3)];
const DECEMBER = { from: day('2026-12-01'), to: day('2026-12-31') };

describe.each(documentEngines)('the overview of a community on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let documents: Documents<BookingDocument>;
  let overview: ReturnType<typeof createOverviewQueries>;
  let last: number;

  beforeEach(async () => {
    database = await createDatabase();
    const opened: Collection<BookingDocument> = { name: 'bookings@1', indexes: bookings.indexes, kind: 'record' };
    documents = await (await database.open()).open(opened);
    overview = createOverviewQueries({ readModels: { collection: () => readModelOf(documents) } as never });
    last = 0;
  });
  afterEach(() => database.remove());

  async function insert(fields: Partial<BookingDocument>): Promise<void> {
    last += 1;
    const booking = pendingBooking(requested().data, timestamp('2026-11-01T11:00:00.000Z'));
    await documents.insert(String(last), { ...booking, bookingId: bookingId(last), ...fields });
  }

  it('adds up the hours that were booked, shorter ones as long as they are', async () => {
    const approved = { status: 'Approved', spaceId: FIRST, durationHours: 4, date: DECEMBER.from } as const;
    await insert(approved);
    await insert({ ...approved, status: 'Completed', date: DECEMBER.to });
    await insert({ ...approved, usageHours: 2.5 });
    await insert({ ...approved, spaceId: SECOND, usageHours: 1.5 });
    for (const other of [
      { status: 'Pending' },
      { status: 'Cancelled' },
      { date: day('2026-11-30') },
      { date: day('2027-01-01') },
      { spaceId: THIRD },
      { communityId: communityId(77) },
    ] as const)
      await insert({ ...approved, ...other });
    const hours = await overview.bookedHours(HOUSE, [FIRST, SECOND], DECEMBER);
    expect([...hours]).toEqual([
      [FIRST, 10.5],
      [SECOND, 1.5],
    ]);
  });

  it('lists who comes on a day, and counts what is open', async () => {
    const approved = { status: 'Approved', date: DECEMBER.from } as const;
    await insert({ ...approved, startHour: 15 });
    await insert({ ...approved, startHour: 9, guests: 30 });
    await insert({ ...approved, startHour: 12 });
    await insert({ date: DECEMBER.from });
    await insert({ ...approved, date: DECEMBER.to });
    await insert({ ...approved, communityId: communityId(77) });
    const coming = await overview.comingOn(HOUSE, DECEMBER.from, 2);
    expect({ ...coming, first: coming.first.map(({ startHour }) => startHour) }).toEqual({
      first: [9, 12],
      count: 3,
      pending: 1,
      withoutGuests: 2,
    });
  });

  it('counts the requests that expire until a moment', async () => {
    await insert({ expiresAt: timestamp('2026-12-01T10:00:00.000Z') });
    await insert({ expiresAt: timestamp('2026-12-01T10:00:00.001Z') });
    await insert({ expiresAt: timestamp('2026-12-01T09:00:00.000Z'), status: 'Cancelled' });
    expect(await overview.expiring(HOUSE, timestamp('2026-12-01T10:00:00.000Z'))).toBe(1);
  });
});
