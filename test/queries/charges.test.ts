import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { createPaymentTotals, type ListedPayment } from '../../src/domain/payment.ts';
import { type EventStore, LOG_START, type NewEvent } from '../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../src/event-store/eventstoredb/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { createCharges } from '../../src/queries/charges.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';

const NOW = Date.parse('2026-12-15T12:00:00Z');
const HOUR_MS = 3_600_000;

/** The time zones of the communities: far from UTC, with clock changes at the end of a month or at midnight, with odd offsets. */
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
const ME = 7;

type Written = {
  readonly kind: 'BookingApproved' | 'BookingCancelled' | 'BookingCompleted';
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly brand: number;
  /** The index of the zone is the community's id. */
  readonly community: number;
  readonly currency: string;
  readonly cents: number;
};

const eventOf = (type: string, data: object, at: number): NewEvent => ({
  type,
  data: data as NewEvent['data'],
  metadata: {
    at: new Date(at).toISOString(),
    actor: { kind: 'operator', id: 'test' },
    correlationId: 'test',
    schema: 1,
  },
});

const bookingEvent = ({ kind, at, brand, community, currency, cents }: Written, bookingId: number): NewEvent =>
  eventOf(
    kind,
    {
      ...{ bookingId, spaceId: 1, spaceName: 'Loft', date: '2026-11-20', startHour: 10, endHour: 14, durationHours: 4 },
      ...{ communityId: community, brandId: brand, brandName: 'Acme', totalPrice: cents, currency },
      ...(kind === 'BookingApproved' && { charge: cents }),
      ...(kind === 'BookingCancelled' && { cancelledBy: 'Brand', refund: cents }),
    },
    at,
  );

/** Adds brands, communities and booking events to a log. */
async function write(events: EventStore, written: readonly Written[]): Promise<void> {
  for (const brandId of [ME, ME + 1])
    await events.append(`brand-${brandId}`, [eventOf('BrandAdded', { brandId, name: `Brand ${brandId}` }, 0)], {
      expectedRevision: 'none',
    });
  for (const [communityId, timeZone] of ZONES.entries())
    await events.append(
      `community-${communityId}`,
      [eventOf('CommunityAdded', { communityId, name: `In ${timeZone}`, timeZone }, 0)],
      { expectedRevision: 'none' },
    );
  if (written.length > 0)
    await events.append('spaceDay-1-2026-11-20', written.map(bookingEvent), { expectedRevision: 'none' });
}

async function paymentsIn(events: EventStore, month: string, now = NOW): Promise<ListedPayment[]> {
  const found = await createCharges({ events, clock: () => now }).ofMonth(ME, month, 'approval');
  if (isRefusal(found)) throw new Error(found.details);
  return Array.fromAsync(found.read());
}

/** The month on a wall clock, computed by another library than the one in the service. */
function monthOnTheWall(at: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en', { timeZone, year: 'numeric', month: '2-digit', calendar: 'iso8601' });
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  return `${parts.year}-${parts.month}`;
}

let folder: string;
let logs = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-charges-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function inNewLog<R>(work: (events: EventStore) => Promise<R>): Promise<R> {
  logs += 1;
  const events = await openSqliteEventStore({ path: join(folder, `${logs}.sqlite`) });
  try {
    return await work(events);
  } finally {
    await events.close();
  }
}

/** Moments around the ends of months, to the millisecond, and some in between. */
const moments = fc
  .record({
    month: fc.constantFrom('2026-03-01', '2026-04-01', '2026-10-01', '2026-11-01', '2026-12-01'),
    hours: fc.integer({ min: -30, max: 30 }),
    offset: fc.constantFrom(-1, 0, 1, 15 * 60_000, 30 * 60_000, 45 * 60_000),
  })
  .map(({ month, hours, offset }) => Date.parse(`${month}T00:00:00Z`) + hours * HOUR_MS + offset);

const writtenEvents = fc.array(
  fc.record<Written>({
    kind: fc.constantFrom('BookingApproved', 'BookingApproved', 'BookingCancelled', 'BookingCompleted'),
    at: moments,
    brand: fc.constantFrom(ME, ME, ME, ME + 1),
    community: fc.integer({ min: 0, max: ZONES.length - 1 }),
    currency: fc.constantFrom('USD', 'EUR', 'JPY'),
    cents: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 11_500_000_000 })),
  }),
  { maxLength: 40 },
);

test('lists every charge and refund once, in the month of its community, separated by currency', async () => {
  const run = async (written: readonly Written[]) =>
    inNewLog(async (events) => {
      await write(events, written);
      const months = ['2026-02', '2026-03', '2026-04', '2026-09', '2026-10', '2026-11', '2026-12'];
      let listed = 0;
      for (const month of months) {
        const mine = written.filter(
          ({ kind, at, brand, community, cents }) =>
            brand === ME &&
            (kind === 'BookingApproved' || (kind === 'BookingCancelled' && cents > 0)) &&
            monthOnTheWall(at, ZONES[community] ?? '') === month,
        );
        const found = await paymentsIn(events, month);
        listed += found.length;
        expect(found.map(({ kind, at, amount, booking }) => [kind, at, amount, booking.currency])).toEqual(
          mine.map(({ kind, at, currency, cents }) => [
            kind === 'BookingApproved' ? 'charge' : 'refund',
            new Date(at).toISOString(),
            cents,
            currency,
          ]),
        );
        for (const { localTime, at, community } of found) {
          expect(localTime.slice(0, 7)).toBe(month);
          // The same moment.
          expect(Date.parse(localTime)).toBe(Date.parse(at));
          expect(community.name).toBe(`In ${community.timeZone}`);
        }
        const totals = createPaymentTotals();
        for (const payment of found) totals.add(payment);
        const sum = (currency: string, kind: string) =>
          Number(
            mine
              .filter((one) => one.currency === currency && one.kind === kind)
              .reduce((all, { cents }) => all + BigInt(cents), 0n),
          );
        expect(totals.all()).toEqual(
          ['EUR', 'JPY', 'USD']
            .filter((currency) => mine.some((one) => one.currency === currency))
            .map((currency) => ({
              currency,
              charged: sum(currency, 'BookingApproved'),
              refunded: sum(currency, 'BookingCancelled'),
            })),
        );
      }
      const payments = written.filter(
        ({ kind, brand, cents }) =>
          brand === ME && (kind === 'BookingApproved' || (kind === 'BookingCancelled' && cents > 0)),
      );
      expect(listed).toBe(payments.length);
    });
  await fc.assert(fc.asyncProperty(writtenEvents, run), { numRuns: 60 });
});

const approved = (at: string, zone: (typeof ZONES)[number], more: Partial<Written> = {}): Written => ({
  ...{ kind: 'BookingApproved', brand: ME, currency: 'USD', cents: 23_000 },
  ...{ at: Date.parse(at), community: ZONES.indexOf(zone), ...more },
});

const AT_THE_END: readonly Written[] = [
  // The last and the first moment of November there.
  approved('2026-11-30T22:59:59.999Z', 'Europe/Berlin'),
  approved('2026-11-30T23:00:00.000Z', 'Europe/Berlin'),
  approved('2026-12-01T04:59:59.999Z', 'America/New_York'),
  approved('2026-12-01T05:00:00.000Z', 'America/New_York'),
  // 14 hours before UTC, and 11 behind it: November is 25 hours longer than it is anywhere.
  approved('2026-10-31T09:59:59.999Z', 'Pacific/Kiritimati'),
  approved('2026-10-31T10:00:00.000Z', 'Pacific/Kiritimati'),
  approved('2026-12-01T10:59:59.999Z', 'Pacific/Pago_Pago'),
  approved('2026-12-01T11:00:00.000Z', 'Pacific/Pago_Pago'),
  // Summer time ended in October: an hour later by UTC than with it.
  approved('2026-10-31T22:30:00.000Z', 'Europe/Berlin'),
  approved('2026-10-31T23:00:00.000Z', 'Europe/Berlin'),
  // Those of another brand.
  approved('2026-11-20T12:00:00.000Z', 'UTC', { brand: ME + 1 }),
];

const IN_NOVEMBER = [
  '2026-11-30T23:59:59.999+01:00',
  '2026-11-30T23:59:59.999-05:00',
  '2026-11-01T00:00:00.000+14:00',
  '2026-11-30T23:59:59.999-11:00',
  '2026-11-01T00:00:00.000+01:00',
];

describe.each(['SQLite', 'EventStoreDB'])('on %s', (engine) => {
  let server: EventStoreDbServer | undefined;
  let events: EventStore;
  beforeAll(async () => {
    if (engine === 'EventStoreDB') server = await EventStoreDbServer.start();
    events =
      server === undefined
        ? await openSqliteEventStore({ path: join(folder, 'fixed.sqlite') })
        : await openEventStoreDb({ url: server.url });
    await write(events, AT_THE_END);
  });
  afterAll(async () => {
    await events.close();
    await server?.stop();
  });

  test('a month begins and ends in the time zone of the community', async () => {
    expect((await paymentsIn(events, '2026-11')).map(({ localTime }) => localTime)).toEqual(IN_NOVEMBER);
  });

  test('a month without approvals has no charges', async () => {
    expect(await paymentsIn(events, '2026-08')).toEqual([]);
  });
});

test('a month is available once it has begun in any time zone, and over once it has ended in all', async () => {
  await inNewLog(async (events) => {
    await write(events, []);
    const asked = async (now: string) => {
      const found = await createCharges({ events, clock: () => Date.parse(now) }).ofMonth(ME, '2026-11', 'approval');
      return isRefusal(found) ? found : found.isOver;
    };
    expect(await asked('2026-10-31T09:59:59.999Z')).toEqual({
      refused: 'ValidationError',
      details: '2026-11 has not begun yet: nothing was charged in it.',
    });
    expect(await asked('2026-10-31T10:00:00.000Z')).toBe(false);
    expect(await asked('2026-12-01T11:59:59.999Z')).toBe(false);
    expect(await asked('2026-12-01T12:00:00.000Z')).toBe(true);
  });
});

test('refuses an unknown brand', async () => {
  await inNewLog(async (events) => {
    await write(events, []);
    const { ofMonth } = createCharges({ events, clock: () => NOW });
    expect(await ofMonth(99, '2026-11', 'approval')).toEqual({
      refused: 'ResourceNotFound',
      details: 'There is no brand 99.',
    });
  });
});

test('reports events of a newer release instead of skipping them', async () => {
  await inNewLog(async (events) => {
    await write(events, []);
    const newer = bookingEvent(approved('2026-11-10T12:00:00Z', 'UTC'), 1);
    const metadata = { ...newer.metadata, schema: 1_000 };
    await events.append('spaceDay-1-2026-11-20', [{ ...newer, metadata }], { expectedRevision: 'none' });
    await expect(paymentsIn(events, '2026-11')).rejects.toThrow('is newer than this build');
  });
});

test('reads the log lazily as lines are consumed, and reports progress', async () => {
  const many = 25_000;
  const [one] = [bookingEvent(approved('2026-11-10T12:00:00Z', 'UTC'), 1)];
  await inNewLog(async (events) => {
    await write(events, []);
    let asked = 0;
    const long: Pick<EventStore, 'readStream' | 'readAll'> = {
      readStream: (stream, options) => events.readStream(stream, options),
      async *readAll(options) {
        yield* events.readAll({ types: ['CommunityAdded'] });
        expect(options?.types?.toSorted()).toEqual([
          'BookingApproved',
          'BookingCancelled',
          'CommunityAdded',
          'CommunityChanged',
        ]);
        for (asked = 1; asked <= many; asked += 1)
          yield { ...one, id: String(asked), stream: 's', revision: asked, position: LOG_START } as never;
      },
    };
    const found = await createCharges({ events: long, clock: () => NOW }).ofMonth(ME, '2026-11', 'approval');
    if (isRefusal(found)) throw new Error(found.details);
    const progress: number[] = [];
    let taken = 0;
    for await (const _ of found.read(({ done }) => progress.push(done))) {
      taken += 1;
      // Reads no further than the consumed lines.
      expect(asked).toBe(taken);
    }
    expect([taken, progress]).toEqual([many, [10_000, 20_000]]);
  });
});
