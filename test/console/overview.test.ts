import { afterAll, beforeAll, expect, test } from 'vitest';
import { moneyByMonth } from '../../src/console/overview/month-plot.ts';
import { daysOfMonth, localMonth } from '../../src/domain/calendar.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { amount, monthName } from '../../src/html/formats.ts';
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
  expect(text.match(/<rect class="year-before"/g)).toHaveLength(12);
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
    const { markup } = await moneyByMonth({ totals: of }, house(), { month: '2026-11', currency: 'GBP' });
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
    const cell = new RegExp(`<bdi>${space.name}</bdi></th><td class="number">([\\d.,]+) of [\\d.,]+ h</td>`).exec(text);
    expect(Number(cell?.[1]), space.name).toBe(booked.get(space.spaceId) ?? 0);
  }
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
