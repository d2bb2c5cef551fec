import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BookingDocument, bookings, pendingBooking } from '../../projections/bookings.ts';
import type { Collection, Documents, Query } from '../../src/document-store/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { bookingId, cents, communityId, timestamp } from '../../src/domain/ids.ts';
import { createMonthCharges } from '../../src/queries/month-charges.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { day, requested } from '../domain/bookings.fixture.ts';

const COMMUNITY: Account = { kind: 'Community', id: communityId(1) };
const DECEMBER = { startDate: day('2026-12-01'), endDate: day('2026-12-31') };

describe.each(documentEngines)('charges of a month on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let documents: Documents<BookingDocument>;
  let charges: ReturnType<typeof createMonthCharges>;

  beforeEach(async () => {
    database = await createDatabase();
    const opened: Collection<BookingDocument> = { name: 'bookings@1', indexes: bookings.indexes, kind: 'record' };
    documents = await (await database.open()).open(opened);
    const collection = () => ({
      get: (key: string) => documents.get(key),
      find: (query: Query<BookingDocument>) => documents.find(query),
    });
    charges = createMonthCharges({ readModels: { collection } as never });
  });
  afterEach(() => database.remove());

  const insert = (id: number, fields: Partial<BookingDocument>) =>
    documents.insert(String(id), {
      ...pendingBooking(requested().data, timestamp('2026-12-01T11:00:00.000Z')),
      bookingId: bookingId(id),
      ...fields,
    });

  it('cover the bookings dated in the month, with totals per currency over all pages', async () => {
    const charged = { status: 'Approved', charge: cents(115), eventFee: cents(100), totalPrice: cents(115) } as const;
    await insert(1, { ...charged, date: day('2026-12-01') });
    await insert(2, { ...charged, date: day('2026-12-31'), status: 'Completed' });
    await insert(3, { ...charged, date: day('2026-12-31'), status: 'Cancelled', refund: cents(115) });
    await insert(4, { ...charged, date: day('2026-12-15'), currency: 'EUR' });
    // Neither charged, nor of this month, nor of this community.
    await insert(5, { date: day('2026-12-15') });
    await insert(6, { ...charged, date: day('2027-01-01') });
    await insert(7, { ...charged, date: day('2026-11-30') });
    await insert(8, { ...charged, date: day('2026-12-15'), communityId: communityId(2) });
    expect(await charges.totals(COMMUNITY, DECEMBER)).toEqual([
      { currency: 'USD', charged: 345, refunded: 115, earned: 200, paid: 230 },
      { currency: 'EUR', charged: 115, refunded: 0, earned: 100, paid: 115 },
    ]);
    const query = { ...DECEMBER, direction: 'ascending', limit: 3 } as const;
    const first = await charges.page(COMMUNITY, query);
    expect(first.bookings.map((one) => one.bookingId)).toEqual([1, 4, 2]);
    const second = await charges.page(COMMUNITY, { ...query, ...(first.next && { after: first.next }) });
    expect([second.bookings.map((one) => one.bookingId), second.next]).toEqual([[3], undefined]);
    expect(await charges.totals({ kind: 'Community', id: communityId(3) }, DECEMBER)).toEqual([]);
  });
});
