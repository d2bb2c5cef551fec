import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { type BookingDocument, bookings, pendingBooking } from '../../projections/bookings.ts';
import type { Collection } from '../../src/document-store/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId, brandId, cents, communityId } from '../../src/domain/ids.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { createBrandCharges, type LoggedCharge } from '../../src/queries/brand-charges.ts';
import { createSpaceQueries } from '../../src/queries/spaces.ts';
import { createSqliteDatabase } from '../document-store/engines.ts';
import { day, requested } from '../domain/bookings.fixture.ts';
import { readModelOf } from './one-read-model.ts';

const NOW = Date.parse('2026-12-15T12:00:00Z');
const HOUR_MS = 3_600_000;
const ME = 7;

/** Far from UTC, with clock changes at the end of a month or at midnight, with odd offsets. */
const ZONES = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Asia/Beirut',
  'America/Asuncion',
] as const;

type Booked = {
  readonly brand: number;
  readonly zone: (typeof ZONES)[number];
  readonly currency: string;
  readonly cents: number;
  /** Milliseconds since the epoch. Undefined: declined. */
  readonly approvedAt: number | undefined;
  readonly cancelledAt: number | undefined;
};

const documentOf = ({ brand, zone, currency, ...booked }: Booked, id: number): BookingDocument => {
  const { approvedAt, cancelledAt } = booked;
  const approved = approvedAt !== undefined && {
    status: 'Approved',
    charge: cents(booked.cents),
    wasApproved: 'yes',
    approvedAt: toTimestamp(approvedAt),
    changedAt: toTimestamp(approvedAt),
  };
  const cancelled = cancelledAt !== undefined && {
    status: 'Cancelled',
    changedAt: toTimestamp(cancelledAt),
    refund: cents(approved ? booked.cents : 0),
  };
  return {
    ...pendingBooking(requested().data, toTimestamp(0)),
    bookingId: bookingId(id),
    brandId: brandId(brand),
    communityId: communityId(ZONES.indexOf(zone)),
    timeZone: zone,
    currency,
    date: day('2026-11-20'),
    ...approved,
    ...cancelled,
  } as BookingDocument;
};

/** The events of a day of a space, as a log has them. */
const eventsOf = ({ bookingId: id, approvedAt, status }: BookingDocument): Partial<StoredEvent>[] => {
  const event = (type: string) => ({ id: `${type} ${id}`, type, data: { bookingId: id }, metadata: { schema: 1 } });
  return [
    ...(approvedAt === undefined ? [] : [event('BookingApproved')]),
    ...(status === 'Cancelled' ? [event('BookingCancelled')] : []),
  ];
};

/** Charges of brands with these bookings. */
async function chargesOf(booked: readonly Booked[], { now = NOW, withEvents = true } = {}) {
  const database = await createSqliteDatabase();
  const documents = await (await database.open()).open<BookingDocument>({
    name: 'bookings@1',
    indexes: bookings.indexes as Collection<BookingDocument>['indexes'],
    kind: 'record',
  });
  const list = booked.map(documentOf);
  for (const document of list) await documents.insert(String(document.bookingId), document);
  const named = {
    get: async (key: string) => (Number(key) > 90 ? undefined : { name: `Named ${key}` }),
    getMany: async (keys: readonly string[]) =>
      new Map(keys.map((key) => [key, { communityId: Number(key), name: `Named ${key}` }])),
  };
  const collection = ({ name }: { readonly name: string }) => (name === 'bookings' ? readModelOf(documents) : named);
  const readModels = { collection } as never;
  const charges = createBrandCharges(
    {
      readModels,
      clock: () => now,
      events: {
        async *readStream() {
          if (withEvents) yield* list.flatMap(eventsOf) as StoredEvent[];
        },
      },
    },
    createSpaceQueries({ readModels } as never),
  );
  return { charges, remove: () => database.remove() };
}

async function listed(of: Awaited<ReturnType<typeof chargesOf>>['charges'], month: string): Promise<LoggedCharge[]> {
  const list = await of.ofMonth(ME, month, 'approval');
  if (isRefusal(list)) throw new Error(list.details);
  return Array.fromAsync(list.charges);
}

/** The month on a wall clock, computed by another library than the one in the service. */
function monthOnTheWall(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en', { timeZone, year: 'numeric', month: '2-digit', calendar: 'iso8601' });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts.year}-${parts.month}`;
}

/** Moments around the ends of months, to the millisecond, and some in between. */
const moments = fc
  .record({
    month: fc.constantFrom('2026-03-01', '2026-04-01', '2026-10-01', '2026-11-01', '2026-12-01'),
    hours: fc.integer({ min: -30, max: 30 }),
    offset: fc.constantFrom(-1, 0, 1, 15 * 60_000, 30 * 60_000, 45 * 60_000),
  })
  .map(({ month, hours, offset }) => Date.parse(`${month}T00:00:00Z`) + hours * HOUR_MS + offset);

const bookedOnes = fc.array(
  fc.record<Booked>({
    brand: fc.constantFrom(ME, ME, ME, ME + 1),
    zone: fc.constantFrom(...ZONES),
    currency: fc.constantFrom('USD', 'EUR', 'JPY'),
    cents: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 11_500_000_000 })),
    approvedAt: fc.option(moments, { nil: undefined }),
    cancelledAt: fc.option(moments, { nil: undefined }),
  }),
  { maxLength: 30 },
);

test('lists every charge and refund once, in the month of its zone, with its event', async () => {
  const run = async (booked: readonly Booked[]) => {
    const { charges, remove } = await chargesOf(booked);
    const payments = booked.flatMap(({ brand, zone, approvedAt, cancelledAt, ...of }, id) => {
      if (brand !== ME || approvedAt === undefined) return [];
      const charge = { kind: 'charge', type: 'BookingApproved', at: approvedAt, zone, amount: of.cents, id };
      if (cancelledAt === undefined || of.cents === 0) return [charge];
      return [charge, { ...charge, kind: 'refund', type: 'BookingCancelled', at: cancelledAt }];
    });
    let count = 0;
    for (const month of ['2026-02', '2026-03', '2026-04', '2026-09', '2026-10', '2026-11', '2026-12']) {
      const list = await listed(charges, month);
      count += list.length;
      const expected = payments
        .filter(({ at, zone }) => monthOnTheWall(at, zone) === month)
        .toSorted((a, b) => a.at - b.at || a.id - b.id || (a.kind < b.kind ? -1 : 1));
      expect(list.map(({ kind, at, amount, eventId }) => [kind, at, amount, eventId])).toEqual(
        expected.map(({ kind, type, at, amount, id }) => [kind, toTimestamp(at), amount, `${type} ${id}`]),
      );
    }
    expect(count).toBe(payments.length);
    await remove();
  };
  await fc.assert(fc.asyncProperty(bookedOnes, run), { numRuns: 40 });
});

const ONE: Booked = {
  brand: ME,
  zone: 'UTC',
  currency: 'USD',
  cents: 23_000,
  approvedAt: Date.parse('2026-11-20T12:00:00Z'),
  cancelledAt: undefined,
};

test('a month is available once it has begun in any time zone, and over once it has ended in all', async () => {
  const asked = async (now: string) => {
    const { charges, remove } = await chargesOf([], { now: Date.parse(now) });
    onTestFinished(remove);
    const list = await charges.ofMonth(ME, '2026-11', 'approval');
    return isRefusal(list) ? list : list.isOver;
  };
  expect(await asked('2026-10-31T09:59:59.999Z')).toEqual({
    refused: 'ValidationError',
    details: '2026-11 has not begun yet: nothing was charged in it.',
  });
  expect(await asked('2026-10-31T10:00:00.000Z')).toBe(false);
  expect(await asked('2026-12-01T11:59:59.999Z')).toBe(false);
  expect(await asked('2026-12-01T12:00:00.000Z')).toBe(true);
});

test('refuses an unknown brand', async () => {
  const { charges, remove } = await chargesOf([]);
  onTestFinished(remove);
  expect(await charges.ofMonth(99, '2026-11', 'approval')).toEqual({
    refused: 'ResourceNotFound',
    details: 'There is no brand 99.',
  });
});

test('a charge that the log does not have is an error, not a line', async () => {
  const { charges, remove } = await chargesOf([ONE], { withEvents: false });
  onTestFinished(remove);
  await expect(listed(charges, '2026-11')).rejects.toThrow('The log has no event for the charge of booking 0');
});
