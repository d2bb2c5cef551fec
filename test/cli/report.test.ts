import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

describe('venue report', () => {
  let service: RunningService;
  let house: { readonly id: number };
  let brand: { readonly id: number };
  let loft: number;

  beforeAll(async () => {
    service = await runService();
    service.time.now = Date.parse('2026-11-29T12:00:00Z');
    house = await service.community('Europe/Berlin', 'Harbour');
    loft = await service.space(house, { name: '=HYPERLINK("https://evil.example")' });
    brand = await service.brand('Acme');
    const details = { spaceId: loft, date: '2026-12-20', startHour: 9 } as never;
    const { bookings } = service.core.commands;
    const { bookingId } = accepted(await bookings.request({ brandId: brand.id as never, details }, CONTEXT));
    accepted(await bookings.approve({ bookingId, communityId: house.id as never }, CONTEXT));
  });
  beforeEach(() => useDataDir(service.config.dataDir));
  afterAll(() => service.stop());

  const report = (of: 'community' | 'brand', ...args: readonly string[]) => [
    ...['report', `--${of}`, `${(of === 'community' ? house : brand).id}`],
    ...args,
  ];
  const DECEMBERS = ['--from', '2026-12', '--to', '2027-12'];

  test('has the figures of the overview for each month, beside those before', async () => {
    const { account, money, occupancy } = await json(...report('community', ...DECEMBERS));
    expect(account).toEqual({ kind: 'Community', id: house.id, name: 'Harbour' });
    expect([money[0], money.at(-1)]).toEqual([
      { month: '2026-12', currency: 'USD', amount: 200, yearBefore: 0 },
      { month: '2027-12', currency: 'USD', amount: 0, yearBefore: 200 },
    ]);
    const open = { spaceId: loft, openHours: 31 * 13, bookedHours: 4 };
    expect(occupancy[0]).toMatchObject({ ...open, percent: 1, percentMonthBefore: 0, percentYearBefore: 0 });
    expect(occupancy[1]).toMatchObject({ month: '2027-01', percent: 0, percentMonthBefore: 1, percentYearBefore: 0 });
    expect(occupancy.at(-1)).toMatchObject({ month: '2027-12', percent: 0, percentYearBefore: 1 });
    const ofBrand = await json(...report('brand', '--from', '2026-12', '--to', '2026-12'));
    expect(ofBrand.money).toEqual([{ month: '2026-12', currency: 'USD', amount: 230, yearBefore: 0 }]);
    expect(ofBrand).not.toHaveProperty('occupancy');
  });

  test('prints tables as text, and each of them as CSV that runs no formula', async () => {
    const months = ['--from', '2026-12', '--to', '2026-12'];
    const { stdout } = await inProcess(...report('community', ...months));
    expect(stdout).toMatch(/money\nmonth +currency +amount +yearBefore\n2026-12 +USD +200 +0\n/);
    const money = await inProcess(...report('community', ...months, '--csv', 'money'));
    expect(money.stdout).toBe('\ufeffmonth,currency,amount,yearBefore\r\n2026-12,USD,200.00,0.00\r\n');
    const occupancy = await inProcess(...report('community', ...months, '--csv', 'occupancy'));
    expect(occupancy.stdout.split('\r\n').slice(1)).toEqual([
      `2026-12,${loft},"'=HYPERLINK(""https://evil.example"")",403,4,1,0,0`,
      '',
    ]);
  });

  test.each([
    [['--from', '2026-12', '--to', '2026-11'], '--from must not be after --to'],
    [['--from', '2016-12', '--to', '2026-12'], 'at most 120 months'],
    [['--from', '2026-13', '--to', '2026-12'], 'YYYY-MM'],
    [['--from', '2026-12', '--to', '+10000-01'], 'YYYY-MM'],
    [['--from', '2026-12', '--to', '2026-12', '--csv', 'money', '--json'], 'not both'],
  ])('refuses %s', async (args, message) => {
    const { code, stdout, stderr } = await inProcess(...report('community', ...args));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(message);
  });

  test('refuses an account that does not exist, and the occupancy of a brand; the last month of all is one month', async () => {
    const month = ['--from', '9999-12', '--to', '9999-12'];
    expect(await inProcess('report', '--community', '99', ...month)).toMatchObject({ code: 1 });
    expect(await inProcess(...report('brand', ...month, '--csv', 'occupancy'))).toMatchObject({ code: 2 });
    expect((await json(...report('community', ...month))).money).toHaveLength(1);
  });
});
