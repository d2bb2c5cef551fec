import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BookingDocument, bookings, pendingBooking } from '../../projections/bookings.ts';
import type { Collection, Documents } from '../../src/document-store/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import { bookingId, cents, communityId, timestamp } from '../../src/domain/ids.ts';
import { createMonthCharges, type Made } from '../../src/queries/month-charges.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { day, requested } from '../domain/bookings.fixture.ts';
import { readModelOf } from './one-read-model.ts';

const COMMUNITY: Account = { kind: 'Community', id: communityId(1) };
const BRAND: Account = { kind: 'Brand', id: requested().data.brandId };
const DECEMBER = '2026-12';

describe.each(documentEngines)('charges of a month on %s', (_, createDatabase) => {
  let database: TestDatabase;
  let documents: Documents<BookingDocument>;
  let charges: ReturnType<typeof createMonthCharges>;

  beforeEach(async () => {
    database = await createDatabase();
    const opened: Collection<BookingDocument> = { name: 'bookings@1', indexes: bookings.indexes, kind: 'record' };
    documents = await (await database.open()).open(opened);
    charges = createMonthCharges({ readModels: { collection: () => readModelOf(documents) } as never });
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
    const { totals, page } = charges.ofEvents;
    expect(await totals(COMMUNITY, DECEMBER)).toEqual([
      { currency: 'EUR', charged: 115, refunded: 0, earned: 100 },
      { currency: 'USD', charged: 345, refunded: 115, earned: 200 },
    ]);
    const query = { direction: 'ascending', limit: 3 } as const;
    const first = await page(COMMUNITY, DECEMBER, query);
    expect(first.bookings.map((one) => one.bookingId)).toEqual([1, 4, 2]);
    const second = await page(COMMUNITY, DECEMBER, { ...query, ...(first.next && { after: first.next }) });
    expect([second.bookings.map((one) => one.bookingId), second.next]).toEqual([[3], undefined]);
    expect(await totals({ kind: 'Community', id: communityId(3) }, DECEMBER)).toEqual([]);
  });

  it('cover what was charged and refunded in the month by the clock of each space', async () => {
    const made = (id: number, zone: string, approvedAt: string, cancelledAt?: string) =>
      insert(id, {
        charge: cents(115),
        eventFee: cents(100),
        timeZone: zone,
        date: day('2027-02-01'),
        wasApproved: 'yes',
        status: 'Approved',
        approvedAt: timestamp(approvedAt),
        changedAt: timestamp(approvedAt),
        ...(cancelledAt && { status: 'Cancelled', changedAt: timestamp(cancelledAt), refund: cents(115) }),
      });
    // December in Kiritimati begins at 10:00 and ends at 09:59 UTC, in Pago Pago at 11:00 and 10:59.
    await made(1, 'Pacific/Kiritimati', '2026-11-30T10:00:00.000Z');
    await made(2, 'Pacific/Kiritimati', '2026-11-30T09:59:59.999Z', '2026-12-31T09:59:59.999Z');
    await made(3, 'Pacific/Pago_Pago', '2026-12-01T10:59:59.999Z', '2026-12-01T11:00:00.000Z');
    await made(4, 'Pacific/Pago_Pago', '2027-01-01T10:59:59.999Z', '2027-01-01T11:00:00.000Z');
    await made(5, 'UTC', '2026-12-10T12:00:00.000Z', '2026-12-10T12:00:00.000Z');
    // Declined.
    await insert(6, { status: 'Cancelled', changedAt: timestamp('2026-12-10T12:00:00.000Z'), refund: cents(0) });
    const { totals, page } = charges.made;
    for (const account of [COMMUNITY, BRAND]) {
      expect(await totals(account, DECEMBER)).toEqual([{ currency: 'USD', charged: 345, refunded: 345, earned: 0 }]);
      const expected = ['1 charge', '3 refund', '5 charge', '5 refund', '2 refund', '4 charge'];
      for (const limit of [1, 2, 4, 6]) {
        const forth: string[][] = [];
        const listed = ({ made: some }: { readonly made: readonly Made[] }) =>
          some.map(({ booking, kind }) => `${booking.bookingId} ${kind}`);
        let part = await page(account, DECEMBER, { limit });
        expect(part.previous).toBeUndefined();
        forth.push(listed(part));
        while (part.next !== undefined) {
          part = await page(account, DECEMBER, { limit, after: part.next });
          forth.push(listed(part));
        }
        expect(forth.flat()).toEqual(expected);
        const back: string[][] = [];
        while (part.previous !== undefined) {
          part = await page(account, DECEMBER, { limit, before: part.previous });
          back.push(listed(part));
        }
        expect(back.reverse()).toEqual(forth.slice(0, -1));
      }
    }
    expect(await totals(BRAND, '2026-11')).toEqual([{ currency: 'USD', charged: 230, refunded: 0, earned: 200 }]);
    expect((await page(COMMUNITY, '2026-10', { limit: 2 })).made).toEqual([]);
  });
});
