import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

/** Two communities in two time zones, and bookings of one brand around the end of November. */
async function bookedIn(service: RunningService) {
  const { core, time } = service;
  const { bookings } = core.commands;
  time.now = Date.parse('2026-11-29T12:00:00Z');
  const berlin = await service.community('Europe/Berlin', 'Harbour, north');
  const york = await service.community('America/New_York', 'Union Yard');
  const loft = await service.space(berlin, { name: '=HYPERLINK("https://evil.example")' });
  const hall = await service.space(york, { name: 'Great Hall' });
  const brand = await service.brand('Acme');
  const other = await service.brand('Rival');

  const request = async (spaceId: number, startHour: number, by = brand.id) => {
    const details = { spaceId, date: '2026-12-20', startHour } as never;
    return accepted(await bookings.request({ brandId: by, details } as never, CONTEXT)).bookingId;
  };
  const early = await request(loft, 9);
  const late = await request(loft, 14);
  const overseas = await request(hall, 9);
  const declined = await request(hall, 14);
  const foreign = await request(hall, 18, other.id);
  const approve = async (at: string, bookingId: number, { id }: { readonly id: number }) => {
    time.now = Date.parse(at);
    accepted(await bookings.approve({ bookingId, communityId: id as never }, CONTEXT));
  };
  await approve('2026-11-30T22:59:00Z', early, berlin);
  // December in Berlin, November in New York.
  await approve('2026-11-30T23:30:00Z', late, berlin);
  await approve('2026-11-30T23:30:00Z', overseas, york);
  await approve('2026-11-30T23:31:00Z', foreign, york);
  const by = { kind: 'Brand', id: brand.id } as never;
  accepted(await bookings.cancel({ bookingId: declined, by }, CONTEXT));
  time.now = Date.parse('2026-12-02T12:00:00Z');
  accepted(await bookings.cancel({ bookingId: early, by }, CONTEXT));
  return { brand, early, late, overseas, hall, york };
}

/** Sets the clock of the command line to the middle of December. */
function inDecember(): void {
  const seconds = Math.round((Date.parse('2026-12-15T12:00:00Z') - Date.now()) / 1_000);
  vi.stubEnv('CLOCK_SHIFT', `${seconds < 0 ? '-' : ''}PT${Math.abs(seconds)}S`);
}

const HEADER =
  '\ufeffkind,at,localTime,timeZone,bookingId,communityId,communityName,spaceId,spaceName,date,startHour,endHour,charged,refunded,net,currency,eventId';

describe('venue charges', () => {
  let service: RunningService;
  let booked: Awaited<ReturnType<typeof bookedIn>>;
  beforeAll(async () => {
    service = await runService();
    booked = await bookedIn(service);
  });
  beforeEach(() => {
    useDataDir(service.config.dataDir);
    inDecember();
  });
  afterAll(() => service.stop());

  const charges = (...args: readonly string[]) => inProcess('charges', '--brand', `${booked.brand.id}`, ...args);
  /** The lines without the ids of events, which are random. */
  const linesOf = (csv: string) => csv.split('\r\n').map((line) => line.replace(/,[0-9a-f-]{36}$/, ',ID'));

  test('lists the charges of a month in the time zone of each community, with the total', async () => {
    const { early, overseas, york, hall } = booked;
    const { code, stdout, stderr } = await charges('--month', '2026-11');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(linesOf(stdout)).toEqual([
      HEADER,
      `charge,2026-11-30T22:59:00.000Z,2026-11-30T23:59:00.000+01:00,Europe/Berlin,${early},1,"Harbour, north",1,"'=HYPERLINK(""https://evil.example"")",2026-12-20,9,13,230.00,,230.00,USD,ID`,
      `charge,2026-11-30T23:30:00.000Z,2026-11-30T18:30:00.000-05:00,America/New_York,${overseas},${york.id},Union Yard,${hall},Great Hall,2026-12-20,9,13,230.00,,230.00,USD,ID`,
      'total,,,,,,,,,,,,460.00,0.00,460.00,USD,',
      '',
    ]);
  });

  test('lists a refund in the month of the cancellation, and a declined request in none', async () => {
    const { early, late } = booked;
    const { stdout, stderr } = await charges('--month', '2026-12');
    expect(linesOf(stdout).map((line) => line.split(','))).toMatchObject(
      [
        [...HEADER.split(',')],
        ['charge', '2026-11-30T23:30:00.000Z', '2026-12-01T00:30:00.000+01:00', 'Europe/Berlin', `${late}`],
        ['refund', '2026-12-02T12:00:00.000Z', '2026-12-02T13:00:00.000+01:00', 'Europe/Berlin', `${early}`],
        ['total'],
        [''],
      ].map((cells) => expect.arrayContaining(cells)),
    );
    expect(linesOf(stdout).slice(2, 4)).toEqual([
      expect.stringMatching(/,9,13,,230\.00,-230\.00,USD,ID$/),
      'total,,,,,,,,,,,,230.00,230.00,0.00,USD,',
    ]);
    expect(stderr).toBe('2026-12 is not over yet; these are the charges so far, by approval.\n');
  });

  test('prints the same as JSON, with the id of each event', async () => {
    const { brand, early, late } = booked;
    const printed = await json('charges', '--brand', `${brand.id}`, '--month', '2026-12');
    expect(printed).toEqual({
      brand: { id: brand.id, name: 'Acme' },
      month: '2026-12',
      by: 'approval',
      isOver: false,
      payments: [
        expect.objectContaining({ kind: 'charge', bookingId: late, amount: 230, currency: 'USD' }),
        expect.objectContaining({ kind: 'refund', bookingId: early, amount: 230, currency: 'USD' }),
      ],
      totals: [{ currency: 'USD', charged: 230, refunded: 230, net: 0 }],
    });
    const cancelled = service.core.events.readAll({ types: ['BookingCancelled'] });
    const ids = await Array.fromAsync(cancelled, ({ id }) => id);
    expect(ids).toContain(printed.payments[1].eventId);
  });

  test('lists by event the charges and refunds of the events of a month, whenever they were made', async () => {
    const { brand, early, late, overseas } = booked;
    const inMonth = (month: string) => json('charges', '--brand', `${brand.id}`, '--month', month, '--by', 'event');
    const printed = await inMonth('2026-12');
    const listed = printed.payments.map(({ kind, bookingId }: Record<string, unknown>) => [kind, bookingId]);
    expect(listed).toHaveLength(4);
    for (const one of [early, late, overseas]) expect(listed).toContainEqual(['charge', one]);
    expect(listed).toContainEqual(['refund', early]);
    expect(printed).toMatchObject({ by: 'event', totals: [{ charged: 690, refunded: 230, net: 460 }] });
    // All were approved in November, or in December by local time; none takes place in November. A later month may have charges already.
    expect((await inMonth('2026-11')).payments).toEqual([]);
    expect((await inMonth('2027-03')).payments).toEqual([]);
  });

  test('reports a month without charges', async () => {
    const { code, stdout, stderr } = await charges('--month', '2026-01');
    expect([code, stdout]).toEqual([0, `${HEADER}\r\n`]);
    expect(stderr).toBe('Acme was charged and refunded nothing in 2026-01, by approval.\n');
    const printed = await json('charges', '--brand', `${booked.brand.id}`, '--month', '2026-01');
    expect(printed).toMatchObject({ isOver: true, payments: [], totals: [] });
  });

  test.each([
    [
      'a month that has not begun',
      ['--month', '2027-02'],
      1,
      'ValidationError: 2027-02 has not begun yet: nothing was charged in it.',
    ],
    [
      'a month that there is not',
      ['--month', '2026-13'],
      2,
      /^ValidationError: option '--month <month>' argument '2026-13' is invalid\. It must be a month in the form YYYY-MM\. See --help\.$/,
    ],
    ['a date', ['--month', '2026-11-01'], 2, /It must be a month in the form YYYY-MM\./],
    ['no month', [], 2, "ValidationError: required option '--month <month>' not specified. See --help."],
  ])('refuses %s in one line', async (_what, args, code, message) => {
    const refused = await charges(...args);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr.split('\n')).toEqual([
      typeof message === 'string' ? message : expect.stringMatching(message),
      '',
    ]);
  });

  test('ends quietly when its reader stops reading', async () => {
    const child = spawn(
      process.execPath,
      ['src/cli.js', 'charges', '--brand', `${booked.brand.id}`, '--month', '2026-12'],
      {
        env: { PATH: process.env.PATH, DATA_DIR: service.config.dataDir, CLOCK_SHIFT: process.env.CLOCK_SHIFT },
      },
    );
    child.stdout.destroy();
    const stderr = text(child.stderr);
    await once(child, 'close');
    expect([child.exitCode, await stderr]).toEqual([128 + constants.signals.SIGPIPE, '']);
  });

  test('refuses an unknown brand in one line', async () => {
    const refused = await inProcess('charges', '--brand', '99', '--month', '2026-11');
    expect(refused).toEqual({ code: 1, stdout: '', stderr: 'ResourceNotFound: There is no brand 99.\n' });
  });
});
