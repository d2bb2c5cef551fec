import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { moneyView, shownMonths } from '../../src/console/overview/month-plot.ts';
import { occupancyView } from '../../src/console/overview/occupancy-view.ts';
import { daysOfMonth, localMonth } from '../../src/domain/calendar.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { amount } from '../../src/html/amounts.ts';
import { monthName } from '../../src/html/formats.ts';
import { createReportQueries } from '../../src/queries/report.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const PATH = '/console/overview';

let running: Running;
let community: Browser;
let brand: Browser;

beforeAll(async () => {
  running = await startDemo();
  community = new Browser(running.url);
  await community.signIn(running.demo.communities[0].user);
  brand = new Browser(running.url);
  await brand.signIn(running.demo.brands[0].user);
});
afterAll(() => running.stop());

const core = () => running.service.core;
const house = () => ({ kind: 'Community', id: communityId(running.demo.communities[0].id) }) as const;
const northwind = () => brandId(running.demo.brands[0].id);

async function requested(date: PlainDate, startHour: number, guests?: number) {
  const space = spaceId(running.demo.communities[0].spaces[0].id);
  const details = { spaceId: space, date, startHour, ...(guests !== undefined && { guests }) };
  return accepted(await core().commands.bookings.request({ brandId: northwind(), details }, CONTEXT)).bookingId;
}
const approved = async (bookingId: number) =>
  accepted(await core().commands.bookings.approve({ communityId: house().id, bookingId }, CONTEXT));

test('is the first page of both kinds of account, and the first entry of the menu', async () => {
  for (const browser of [community, brand]) {
    const page = await browser.open('/console');
    expect([page.url.pathname, page.title]).toEqual([PATH, expect.stringContaining('Overview')]);
    expect(/<nav aria-label="Console">.*?<a href="([^"]*)"/s.exec(page.text)?.[1]).toBe(PATH);
  }
});

test('a community sees what waits with its deadline, who comes tomorrow, and what is open', async () => {
  const tomorrow = inDays(1);
  const known = await requested(tomorrow, 9, 30);
  const unknown = await requested(tomorrow, 15);
  const waiting = await requested(inDays(50), 10);
  const before = (await community.open(PATH)).text;
  expect(before).toContain(`/console/bookings/${waiting}"`);
  expect(before).toMatch(/Still open: [^<]*requests? unanswered/);
  expect(before).toMatch(/Expires <strong class="nowrap">in /);
  await approved(known);
  await approved(unknown);
  const { text } = await community.open(PATH);
  for (const id of [known, unknown]) expect(text).toContain(`/console/bookings/${id}"`);
  expect(text).toContain('30 guests');
  expect(text).toContain('Guests unknown');
  expect(text).toMatch(/Still open: [^<]*bookings? without a number of guests/);
});

test('a community sees its earnings by month in a plot, in words and in a table, as Earnings has them', async () => {
  const month = localMonth(core().clock(), 'Europe/Berlin');
  await approved(await requested(inDays(60), 10));
  const [totals] = await core().queries.monthCharges.ofEvents.totals(house(), month);
  const { text } = await community.open(PATH);
  const plot = /<svg class="month-plot" role="img" aria-label="([^"]*)"/.exec(text);
  expect(plot?.[1]).toContain(`to ${monthName(month)}`);
  expect(text.match(/<rect class="this-year"/g)).toHaveLength(12);
  expect(text.match(/<rect class="year-before" x/g)).toHaveLength(12);
  const row = new RegExp(`month=${month}">[^<]*</a></th><td class="number">([^<]*)</td>`).exec(text);
  expect(row?.[1]).toBe(amount(totals?.earned ?? 0, totals?.currency ?? 'USD'));
});

test('each month stands beside the same month a year before, in a plot for each currency', async () => {
  const stored = [
    ['2026-11', 'EUR', 40_000],
    ['2025-11', 'EUR', 20_000],
    ['2025-12', 'EUR', 10_000],
    ['2024-11', 'EUR', 99_000],
    ['2026-03', 'USD', 700],
  ] as const;
  const totals = async (_: unknown, month: string) =>
    stored
      .filter(([of]) => of === month)
      .map(([, currency, earned]) => ({ currency, charged: cents(0), refunded: cents(0), earned: cents(earned) }));
  const plots = async (of: typeof totals) => {
    const report = createReportQueries({ ofEvents: { totals: of } } as never);
    const { markup } = moneyView(
      { account: house(), amount },
      await report.money(house(), shownMonths('2026-11'), 'GBP'),
      '/money.csv',
    );
    return markup.split('<svg ').slice(1);
  };
  const heights = (plot: string | undefined, name: string) =>
    [...(plot ?? '').matchAll(new RegExp(`<rect class="${name}"[^>]* height="(\\d+)"`, 'g'))].map(([, height]) =>
      Number(height),
    );
  const [euros, dollars, ...others] = await plots(totals);
  expect(others).toEqual([]);
  expect(heights(euros, 'this-year')).toEqual([38, ...Array(10).fill(0), 150]);
  expect(heights(euros, 'year-before')).toEqual([...Array(11).fill(0), 75]);
  expect(heights(dollars, 'this-year')).toEqual([0, 0, 0, 150, ...Array(8).fill(0)]);
  expect(euros).toContain(
    '€500.00 in all,\nafter €200.00 in the year before. The highest month is November 2026\nwith €400.00.',
  );
  const [none, ...more] = await plots(async () => []);
  expect(more).toEqual([]);
  expect(heights(none, 'this-year')).toEqual(Array(12).fill(0));
  expect(none).toContain('£0.00 in all');
});

test('a community sees how many of the open hours of each space are booked this month', async () => {
  const month = localMonth(core().clock(), 'Europe/Berlin');
  const { text } = await community.open(PATH);
  expect(text).toContain(`Occupancy in ${monthName(month)}`);
  const spaces = await core().queries.spaces.list(house());
  const { startDate: from, endDate: to } = daysOfMonth(month);
  const ids = spaces.map((space) => space.spaceId);
  const booked = await core().queries.overview.bookedHours(house().id, ids, { from, to });
  for (const space of spaces) {
    const cell = new RegExp(`<bdi>${space.name}</bdi></th><td class="number">([\\d.,]+) of [\\d.,]+</td>`).exec(text);
    expect(Number(cell?.[1]), space.name).toBe(booked.get(space.spaceId) ?? 0);
  }
});

test('the occupancy of each space stands beside that of the month and the year before, in bars and in figures', () => {
  const occupancy = (booked: number) => ({ open: 200, booked });
  const row = {
    month: '2026-01',
    space: { name: 'Loft' } as never,
    current: occupancy(50),
    monthBefore: occupancy(240),
    yearBefore: { open: 0, booked: 0 },
  };
  const { markup } = occupancyView([row], { month: '2026-01', count: 1, csv: '/occupancy.csv' });
  const bars = [...markup.matchAll(/<rect class="([^"]*)"[^>]* width="([^"]*)"/g)].map(([, name, width]) => [
    name,
    width,
  ]);
  expect(bars).toEqual([
    ['this-month', '25%'],
    ['month-before', '100%'],
    ['year-before', '0%'],
  ]);
  expect(markup).toMatch(/Dec 2025<\/th>.*Jan 2025<\/th>/s);
  expect([...markup.matchAll(/<td class="number">(.*?)<\/td>/g)].map(([, cell]) => cell)).toEqual([
    '50 of 200',
    '25%',
    '120%',
    '<span class="muted">closed</span>',
  ]);
});

test('both tables are files: twelve months, names that no spreadsheet runs, and the totals', async () => {
  const month = localMonth(core().clock(), 'Europe/Berlin');
  const [space] = running.demo.communities[0].spaces;
  const name = '=cmd|calc';
  accepted(await core().commands.catalogue.changeSpace({ spaceId: space.id, terms: { name } }, CONTEXT));
  const { text } = await community.open(PATH);
  const [money, occupancy] = [...text.matchAll(/href="([^"]*\.csv)"/g)].map(([, href]) => href ?? '');
  const rowsOf = async (browser: Browser, href: string | undefined): Promise<readonly Record<string, string>[]> =>
    parse((await browser.open(href ?? '')).text, { columns: true, bom: true });
  const earned = await rowsOf(community, money);
  const sum = (name: string) => earned.slice(0, -1).reduce((sum, row) => sum + Math.round(Number(row[name]) * 100), 0);
  expect(earned.at(-1)).toEqual({
    Month: 'Total',
    Currency: earned[0]?.Currency,
    Earnings: (sum('Earnings') / 100).toFixed(2),
    'A year before': (sum('A year before') / 100).toFixed(2),
  });
  expect(earned[0]?.Currency).toMatch(/^[A-Z]{3}$/);
  expect(sum('Earnings')).toBeGreaterThan(0);
  expect(earned.at(-2)?.Month).toBe(month);
  const spaces = await core().queries.spaces.list(house());
  const hours = await rowsOf(community, occupancy);
  expect(hours).toHaveLength(12 * spaces.length + 1);
  const { startDate: from, endDate: to } = daysOfMonth(month);
  const booked = await core().queries.overview.bookedHours(house().id, [spaceId(space.id)], { from, to });
  const row = hours.find((one) => one.Month === month && one.Space === "'=cmd|calc");
  expect(Number(row?.['Booked hours'])).toBe(booked.get(spaceId(space.id)));
  expect((await rowsOf(brand, money)).at(-1)).toHaveProperty('Charges');
  expect((await brand.open(occupancy ?? '')).status).toBe(404);
});

test('a brand sees its next events, what waits, and its charges by month', async () => {
  const next = await requested(inDays(41), 10);
  await approved(next);
  const waiting = await requested(inDays(42), 10);
  const { text } = await brand.open(PATH);
  expect(text).toContain('Charges by month');
  expect(text).not.toContain('Occupancy');
  const [events = '', requests = ''] = text.split('<h2>').slice(1);
  expect(events).toContain(`/console/bookings/${next}"`);
  expect(requests).toContain(`/console/bookings/${waiting}"`);
});

test('a Viewer sees it, and a new community sees that there is nothing yet', async () => {
  const viewer = { email: 'viewer.overview@example.com', password: 'correct horse battery' };
  accepted(await core().users.add({ ...viewer, accounts: [house()], role: 'Viewer' }, CONTEXT));
  const browser = new Browser(running.url);
  expect((await browser.signIn(viewer)).text).toContain('Earnings by month');
  const other = new Browser(running.url);
  await other.signIn(running.demo.communities[1].user);
  const { status, text } = await other.open(PATH);
  expect(status).toBe(200);
  expect(text).not.toContain('NaN');
});
