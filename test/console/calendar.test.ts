import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId, type PlainDate, type SpaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { addPlaces, fillDay } from './full-day.ts';

/** 500 bookings in 40 spaces, in an otherwise empty month. */
const FULL: PlainDate = inDays(70);
const MONTH = FULL.slice(0, 7);
const HARBOUR = communityId(1);
const LIMIT = 60_000;
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

let running: Running;
let community: Browser;
let few: Browser;
let spaceIds: readonly SpaceId[];

beforeAll(async () => {
  running = await startDemo();
  const [harbour, union] = running.demo.communities;
  const { core } = running.service;
  spaceIds = await addPlaces(core, HARBOUR, 38);
  await fillDay(core, { communityId: HARBOUR, spaceIds, date: FULL }, 500);
  community = new Browser(running.url);
  await community.signIn(harbour.user);
  few = new Browser(running.url);
  await few.signIn(union.user);
}, 120_000);
afterAll(() => running.stop());

const bookingsOn = ({ text }: Page) =>
  [...text.matchAll(/class="held [^"]*"><a href="\/console\/bookings\/(\d+)"/g)].map(([, id]) => id);
const options = ({ text }: Page) => [...text.matchAll(/<option value="(\d*)"/g)].map(([, value]) => value);
/** The links of a navigation, by its name. */
const linksIn = ({ text }: Page, name: string) => {
  const [, inside = ''] = new RegExp(`<nav[^>]*aria-label="${name}"[^>]*>(.*?)</nav>`, 's').exec(text) ?? [];
  return [...inside.matchAll(/<a [^>]*href="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
};

test('a day with 500 bookings in 40 spaces is paged by groups of spaces: every booking once, no page too large', async () => {
  const first = await community.open(`/console/calendar/${FULL}`);
  expect(first.text).toContain('400 booked · <span class="waiting">100 pending</span>');
  expect(first.text).toMatch(/\d+ of 40 spaces are shown at a time/);
  const groups = linksIn(first, 'Groups of spaces');
  expect(groups.length).toBeGreaterThan(1);
  const seen: (string | undefined)[] = [];
  let headings = 0;
  for (const [index, href] of groups.entries()) {
    const page = await community.open(href);
    expect(Buffer.byteLength(page.text), href).toBeLessThanOrEqual(LIMIT);
    seen.push(...bookingsOn(page));
    headings += page.text.match(/<th scope="col"><a href="\?space=/g)?.length ?? 0;
    // Links lead to the next group of spaces, and back.
    expect(linksIn(page, 'More spaces'), href).toEqual(
      [groups[index - 1], groups[index + 1]].filter((one) => one !== undefined),
    );
  }
  expect(headings).toBe(40);
  expect(seen).toHaveLength(500);
  expect(new Set(seen).size).toBe(500);
  // A missing group is not an error: an old link shows the last one.
  expect(bookingsOn(await community.open(`/console/calendar/${FULL}?group=99`))).toEqual(
    bookingsOn(await community.open(groups.at(-1) ?? '')),
  );
  for (const group of ['0', '-1', 'x'])
    expect(bookingsOn(await community.open(`/console/calendar/${FULL}?group=${group}`))).toEqual(bookingsOn(first));
});

test('a day with few bookings shows all spaces at once', async () => {
  const page = await community.open(`/console/calendar/${inDays(71)}`);
  expect(page.text.match(/<th scope="col"><a href="\?space=/g)).toHaveLength(40);
  expect(linksIn(page, 'Groups of spaces')).toEqual([]);
  expect(page.text).toContain('No bookings');
});

test('up to five spaces have tabs, more have a list; the chosen space is kept', async () => {
  const [, space] = spaceIds;
  const month = await community.open(`/console/calendar?month=${MONTH}&space=${space}`);
  expect(options(month)).toHaveLength(41);
  expect(month.text).toContain(`<option value="${space}" selected>`);
  expect(month.text).toContain(`<input type="hidden" name="month" value="${MONTH}">`);
  expect(linksIn(month, 'Month').filter((href) => !href.includes(`space=${space}`))).toEqual([]);
  const day = await community.open(`/console/calendar/${FULL}?space=${space}`);
  expect(month.text).toContain(`href="${day.url.pathname}${day.url.search}"`);
  expect(linksIn(day, 'Day').filter((href) => !href.includes(`space=${space}`))).toEqual([]);
  expect(day.text).toContain(`href="/console/calendar?month=${MONTH}&amp;space=${space}"`);
  const all = await running.service.core.queries.bookings.between({ kind: 'Community', id: HARBOUR }, FULL, FULL);
  const own = all.filter(({ spaceId }) => spaceId === space);
  expect(bookingsOn(day)).toEqual(own.map(({ bookingId }) => String(bookingId)));

  const tabs = await few.open('/console/calendar');
  expect(options(tabs)).toEqual([]);
  expect(linksIn(tabs, 'Space')).toHaveLength(3);
});

test('a month counts approved and pending bookings and shows pending ones first', async () => {
  const page = await community.open(`/console/calendar?month=${MONTH}`);
  expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(LIMIT);
  const cell = new RegExp(`<td[^>]*><a class="day" href="/console/calendar/${FULL}">(.*?)</td>`, 's').exec(page.text);
  const text = cell?.[1] ?? '';
  expect(text).toContain('400 booked · <span class="waiting">100 pending</span>');
  expect([...text.matchAll(/<a class="entry (is-\w+)"/g)].map(([, status]) => status)).toEqual(
    Array.from({ length: 3 }, () => 'is-pending'),
  );
  expect(text).toContain('497 more');

  const [, space] = spaceIds;
  const { bookings } = running.service.core.queries;
  const own = await bookings.between({ kind: 'Community', id: HARBOUR }, FULL, FULL, space);
  const waiting = own.filter(({ status }) => status === 'Pending');
  const others = own.filter(({ status }) => status !== 'Pending');
  const ofSpace = await community.open(`/console/calendar?month=${MONTH}&space=${space}`);
  const shown = [...ofSpace.text.matchAll(/<a class="entry is-\w+" href="\/console\/bookings\/(\d+)"/g)];
  expect(shown.map(([, id]) => Number(id))).toEqual(
    [...waiting, ...others].slice(0, 3).map(({ bookingId }) => bookingId),
  );
});

test.each([
  ['month=9999-12', 200],
  ['month=0001-01', 200],
  ['month=2026-13', 422],
  ['month=x', 422],
])('a month requested with %s gets a page, which says when it shows another month', async (query, status) => {
  const page = await community.open(`/console/calendar?${query}`);
  expect(page.status).toBe(status);
  expect(/“.*?” is not a month such as 2026-11\. This is \w+ \d{4}\./.test(page.flash)).toBe(status === 422);
});

test('another community’s space is reported instead of replaced by all spaces', async () => {
  for (const path of [`?month=${MONTH}&`, `/${FULL}?`])
    for (const space of ['x', '-1', '999999', '3.0', String(spaceIds[0])]) {
      const page = await few.open(`/console/calendar${path}space=${space}`);
      expect(page.status, space).toBe(422);
      expect(page.flash).toBe('There is no such space any more. Choose another one, or all of them.');
      expect(page.text).toContain('<h2>Nothing to show</h2>');
      expect(page.text).not.toContain('<table');
      expect(linksIn(page, 'Space')).toHaveLength(3);
      expect(page.text).not.toContain('aria-current="page">All spaces');
    }
  const listed = await community.open(`/console/calendar/${FULL}?space=x`);
  expect(listed.status).toBe(422);
  expect(listed.text).toMatch(/id="space-error".*?There is no such space any more\./s);
  expect(bookingsOn(listed)).toEqual([]);
});

test.each([
  ['9999-12-31', 200],
  ['0001-01-01', 200],
  ['2026-02-30', 404],
  ['2026-2-3', 404],
  ['%', 404],
])('a day requested as %s gets %i', async (date, status) => {
  expect((await community.open(`/console/calendar/${encodeURIComponent(date)}`)).status).toBe(status);
});

/** The links in the content of a page. */
const hrefsIn = ({ text }: Page): string[] =>
  [...text.slice(text.indexOf('<main')).matchAll(/href="(\/console\/calendar[^"#]*)/g)].map(([, href = '']) =>
    href.replaceAll('&amp;', '&'),
  );

test.each([
  ['?month=9999-12', 31],
  ['?month=0000-01', 31],
  ['/9999-12-31', 0],
  ['/0000-01-01', 0],
])('at the ends of the calendar, %s links to no date outside it', async (path, days) => {
  const page = await few.open(`/console/calendar${path}`);
  expect(page.status).toBe(200);
  const hrefs = hrefsIn(page);
  expect(hrefs.filter((href) => /\/\d{4}-\d{2}-\d{2}$/.test(href)).length).toBeGreaterThanOrEqual(days);
  for (const href of new Set(hrefs)) {
    if (href === '/console/calendar/closures') continue;
    expect(href).toMatch(/^\/console\/calendar(?:\/\d{4}-\d{2}-\d{2})?(?:\?(?:month=\d{4}-\d{2})?(?:&?space=\d+)?)?$/);
    expect((await few.open(href)).status, href).toBe(200);
  }
});

test('cancelled bookings are listed below the schedule of the day and not counted', async () => {
  const date = inDays(72);
  const { commands } = running.service.core;
  const [spaceId] = spaceIds;
  if (spaceId === undefined) throw new Error('There is no space');
  await fillDay(running.service.core, { communityId: HARBOUR, spaceIds: [spaceId], date }, 3);
  const [booking] = await running.service.core.queries.bookings.between(
    { kind: 'Community', id: HARBOUR },
    date,
    date,
    spaceId,
  );
  if (booking === undefined) throw new Error('There is no booking');
  const by = { kind: 'Community', id: HARBOUR } as const;
  accepted(await commands.bookings.cancel({ bookingId: booking.bookingId, by, reason: 'Repairs.' }, CONTEXT));
  const page = await community.open(`/console/calendar/${date}`);
  expect(page.text).toMatch(/<p class="lead"[^>]*>2 booked, /);
  expect(bookingsOn(page)).not.toContain(String(booking.bookingId));
  const [, cancelled = ''] = page.text.split('<h2>No longer booked</h2>');
  expect(cancelled).toContain('Declined, ');
  expect(cancelled).not.toContain(' more: ');
  expect(cancelled).toContain(`href="/console/bookings/${booking.bookingId}"`);
});

test('a day lists only some of many cancelled bookings, and links to all of them', async () => {
  const date = inDays(73);
  const { core } = running.service;
  await fillDay(core, { communityId: HARBOUR, spaceIds, date }, 24);
  const own = await core.queries.bookings.between({ kind: 'Community', id: HARBOUR }, date, date);
  const by = { kind: 'Community', id: HARBOUR } as const;
  for (const { bookingId } of own)
    accepted(await core.commands.bookings.cancel({ bookingId, by, reason: 'Repairs.' }, CONTEXT));
  const page = await community.open(`/console/calendar/${date}`);
  const [, href = ''] = /<a href="([^"]*)">4 more: see all bookings of this day</.exec(page.text) ?? [];
  const list = await community.open(href.replaceAll('&amp;', '&'));
  for (const { bookingId } of own) expect(list.text).toContain(`/console/bookings/${bookingId}"`);
});
