import { afterAll, beforeAll, expect, test } from 'vitest';
import { planOfSpace, planOfSpaces } from '../../src/console/calendar/calendar-plan.ts';
import { localDate } from '../../src/domain/calendar.ts';
import { brandId, cents, communityId, type PlainDate, type SpaceId } from '../../src/domain/ids.ts';
import { shortened } from '../../src/html/formats.ts';
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

const bookingsOn = ({ text }: Page) => [...text.matchAll(/class="held [^"]*"><a id="b(\d+)"/g)].map(([, id]) => id);
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
    headings += page.text.match(/<th scope="row"><a href="\?space=/g)?.length ?? 0;
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
  expect(page.text.match(/<th scope="row"><a href="\?space=/g)).toHaveLength(40);
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

test('a day of the month names its spaces with their bookings, what closes it and where; the rest are counted', async () => {
  const { closures } = running.service.core.commands;
  const [first, second, third] = spaceIds;
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are no spaces');
  const hours = { communityId: HARBOUR, kind: 'Closure', from: FULL, to: FULL, start: 5, until: 6 } as const;
  accepted(await closures.add({ ...hours, spaceIds: [first, second, third], title: 'Fire drill' }, CONTEXT));
  accepted(await closures.add({ ...hours, spaceIds: [second], title: 'Floor', start: 4 }, CONTEXT));
  const page = await community.open(`/console/calendar?month=${MONTH}`);
  expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(LIMIT);
  const cell = new RegExp(`<td[^>]*><a class="day" href="/console/calendar/${FULL}">(.*?)</td>`, 's').exec(page.text);
  const text = cell?.[1] ?? '';
  expect(text).toContain('400 booked · <span class="waiting">100 pending</span>');
  expect([...text.matchAll(/<a class="entry ([\w-]+)"/g)].map(([, status]) => status)).toEqual([
    'of-shut',
    'of-shut',
    'is-pending',
  ]);
  const { spaces } = running.service.core.queries;
  const name = (await spaces.get({ kind: 'Community', id: HARBOUR }, second))?.name;
  expect(text).toContain(`Closed: Floor</bdi><span class="where">, <bdi>${shortened(name ?? '', 22)}</bdi>`);
  expect(text).toContain('Closed: Fire drill</bdi><span class="where">, <bdi>3 spaces</bdi>');
  // 40 spaces and two closed times, of which three lines are shown.
  const more = new RegExp(`href="/console/calendar/${FULL}">\\+(\\d+) more<`).exec(text);
  const withBookings = await running.service.core.queries.calendar.bySpace(HARBOUR, FULL);
  expect(Number(more?.[1])).toBe(withBookings.size + 2 - 3);
  const counted = [
    ...text.matchAll(/\?space=(\d+)">\s*<span class="what"><bdi>[^<]*<\/bdi> <span aria-hidden="true">(\d+)</g),
  ];
  expect(counted).toHaveLength(1);
  for (const [, id, count] of counted) {
    const { pending, booked } = withBookings.get(Number(id) as SpaceId) ?? { pending: 0, booked: 0 };
    expect(Number(count)).toBe(pending + booked);
  }
});

test('the month of one space shows its bookings, pending ones first', async () => {
  const [, space] = spaceIds;
  const { bookings } = running.service.core.queries;
  const own = await bookings.between({ kind: 'Community', id: HARBOUR }, FULL, FULL, space);
  const waiting = own.filter(({ status }) => status === 'Pending');
  const others = own.filter(({ status }) => status !== 'Pending');
  const ofSpace = await community.open(`/console/calendar?month=${MONTH}&space=${space}`);
  const shown = [...ofSpace.text.matchAll(/<a class="entry is-\w+" href="\/console\/bookings\/(\d+)"/g)];
  const closed = await running.service.core.queries.closures.list(HARBOUR, FULL, FULL);
  const lines = closed.filter(({ spaceIds }) => space !== undefined && spaceIds.includes(space)).length;
  expect(shown.map(([, id]) => Number(id))).toEqual(
    [...waiting, ...others].slice(0, 3 - lines).map(({ bookingId }) => bookingId),
  );
});

test('a day leads to today and to any date that is typed, and keeps the space', async () => {
  const [, space] = spaceIds;
  const today = localDate(Date.now(), 'Europe/Berlin');
  const page = await community.open(`/console/calendar/${FULL}?space=${space}`);
  expect(page.text).toMatch(new RegExp(`href="/console/calendar/${today}\\?space=${space}">Today<`));
  const show = (typed: string) =>
    community.open(`/console/calendar/${FULL}?space=${space}&date=${encodeURIComponent(typed)}`);
  expect(page.text).toMatch(/<input type="hidden" name="space" value="\d+">.*?<input id="date" name="date"/s);
  for (const typed of ['24.12.2026', '24 Dec 2026']) {
    const { url } = await show(typed);
    expect(`${url.pathname}${url.search}`).toBe(`/console/calendar/2026-12-24?space=${space}`);
  }
  const wrong = await show('soon');
  expect(wrong.status).toBe(422);
  expect(wrong.text).toMatch(/id="date-error".*?Write a date such as 20 Nov 2026 or 2026-11-20\./s);
  expect(bookingsOn(wrong)).toEqual(bookingsOn(page));
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
    expect(href).toMatch(
      /^\/console\/calendar(?:(?:\/week)?\/\d{4}-\d{2}-\d{2})?(?:\?(?:month=\d{4}-\d{2})?(?:&?space=\d+)?)?$/,
    );
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

/** The cells of the row of a space: their classes, columns and texts. Free time is named by its link. */
const cellsOf = ({ text }: Page, space: SpaceId | undefined) => {
  const [, row = ''] =
    new RegExp(`<tr><th scope="row"><a href="\\?space=${space}">.*?</th>(.*?)</tr>`, 's').exec(text) ?? [];
  return [...row.matchAll(/<td([^>]*)>(.*?)<\/td>/gs)].map(([, attributes = '', content = '']) => ({
    kind: /class="(\w*)/.exec(attributes)?.[1] ?? '',
    columns: Number(/colspan="(\d+)"/.exec(attributes)?.[1] ?? 1),
    text: (/aria-label="([^"]*)"/.exec(content)?.[1] ?? content.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')).trim(),
  }));
};

test('a plan says why hours are closed, widens for own events, and has half hours where a space has them', async () => {
  const date = inDays(80);
  const { catalogue, closures, bookings } = running.service.core.commands;
  const [first, second, third] = spaceIds;
  if (first === undefined || second === undefined || third === undefined) throw new Error('There are no spaces');
  const day = { communityId: HARBOUR, from: date, to: date, start: 0, until: 24 };
  accepted(
    await closures.add({ ...day, kind: 'Closure', spaceIds: [first], title: 'Sanding', start: 10, until: 12 }, CONTEXT),
  );
  accepted(await closures.add({ ...day, kind: 'Closure', spaceIds: [second] }, CONTEXT));
  accepted(
    await closures.add({ ...day, kind: 'OwnEvent', spaceIds: [first], title: 'Choir', start: 22, until: 24 }, CONTEXT),
  );
  const path = `/console/calendar/${date}`;
  expect(cellsOf(await community.open(path), first)).toEqual([
    { kind: 'free', columns: 2, text: 'Free 08:00–10:00' },
    { kind: 'shut', columns: 2, text: 'Sanding 10:00–12:00' },
    { kind: 'free', columns: 10, text: 'Free 12:00–22:00' },
    { kind: 'own', columns: 2, text: 'Choir 22:00–24:00' },
  ]);
  expect(cellsOf(await community.open(path), second)).toEqual([{ kind: 'shut', columns: 16, text: 'Closed' }]);
  expect(cellsOf(await community.open(path), third).at(-1)).toEqual({
    kind: 'shut',
    columns: 2,
    text: 'Outside hours',
  });

  const terms = {
    name: 'Half',
    windowStart: 9,
    windowEnd: 12,
    durationHours: 1.5,
    eventFee: cents(0),
    answerHours: 72,
  };
  const half = accepted(await catalogue.addSpace({ ...terms, communityId: HARBOUR }, CONTEXT));
  const details = { spaceId: half, date, startHour: 9 };
  const { bookingId } = accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT));
  const halves = cellsOf(await community.open(path), half);
  expect(halves.slice(1, 4)).toEqual([
    { kind: 'held', columns: 3, text: 'Northwind Coffee 09:00–10:30 Pending' },
    { kind: '', columns: 1, text: '' },
    { kind: 'free', columns: 2, text: 'Free 11:00–12:00' },
  ]);
  expect(halves.reduce((sum, { columns }) => sum + columns, 0)).toBe(32);
  // Alone, with its hours down.
  const alone = await community.open(`${path}?space=${half}`);
  expect(alone.text).toMatch(new RegExp(`<td rowspan="3" class="held is-pending"><a id="b${bookingId}"`));
  accepted(await catalogue.closeSpace(half, CONTEXT));
  expect(cellsOf(await community.open(path), half).at(-1)?.text).toBe('Closed: takes no bookings');
  // Nothing can be entered on days that are over.
  expect((await community.open(`/console/calendar/${inDays(-3)}`)).text).not.toContain('class="free"');
});

test('a plan shows the time that is kept free beside bookings', async () => {
  const date = inDays(82);
  const { catalogue, closures, bookings } = running.service.core.commands;
  const terms = { windowStart: 8, windowEnd: 18, durationHours: 1, gapHours: 1, eventFee: cents(0), answerHours: 72 };
  const space = accepted(await catalogue.addSpace({ ...terms, name: 'Gallery', communityId: HARBOUR }, CONTEXT));
  accepted(await bookings.request({ brandId: brandId(1), details: { spaceId: space, date, startHour: 9 } }, CONTEXT));
  const own = {
    kind: 'OwnEvent',
    spaceIds: [space],
    from: date,
    to: date,
    start: 14,
    until: 16,
    title: 'Choir',
  } as const;
  accepted(await closures.add({ ...own, communityId: HARBOUR }, CONTEXT));
  const gap = 'shut Time between bookings';
  const page = await community.open(`/console/calendar/${date}?space=${space}`);
  const across = cellsOf(await community.open(`/console/calendar/${date}`), space);
  expect(across.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
    gap,
    'held Northwind Coffee 09:00–10:00 Pending',
    gap,
    'free Free 11:00–14:00',
    'own Choir 14:00–16:00',
    'free Free 16:00–18:00',
    'shut Outside hours',
  ]);
  expect(page.text.match(/Time between bookings/g)).toHaveLength(2);
});

test('an empty hour leads to the form for a booking, and from there to that for an own event, which checks its address like what is typed', async () => {
  const [space] = spaceIds;
  const page = await community.open(`/console/calendar/${inDays(81)}`);
  const [, entry = ''] =
    new RegExp(`<a href="(/console/bookings/enter[^"]*space=${space}&[^"]*)"`).exec(page.text) ?? [];
  const entered = await community.open(entry.replaceAll('&amp;', '&'));
  for (const [name, value] of [
    ['space', space],
    ['startHour', 8],
  ])
    expect(entered.text).toMatch(new RegExp(`<select id="${name}".*?<option value="${value}" selected>`, 's'));
  const [, href = ''] =
    /<a class="button quiet" href="(\/console\/calendar\/closures\/new[^"]*)"/.exec(entered.text) ?? [];
  const form = await community.open(href.replaceAll('&amp;', '&'));
  expect(form.status).toBe(200);
  for (const [name, hour] of [
    ['start', 8],
    ['until', 22],
  ])
    expect(form.text).toMatch(new RegExp(`<select id="${name}".*?<option value="${hour}" selected>`, 's'));
  expect(form.text).toContain(`value="${space}" checked`);
  const wrong = href
    .replaceAll('&amp;', '&')
    .replace(/spaces=\d+/, 'spaces=999999')
    .replace('start=8', 'start=25');
  const refused = await community.open(wrong.replace(/from=[^&]+/, 'from=2026-02-30'));
  expect(refused.status).toBe(422);
  for (const field of ['from', 'start', 'spaces']) expect(refused.text, field).toContain(`id="${field}-error"`);
});

test('a booking is shown beside the plan of its day, and an unknown one is named', async () => {
  const page = await community.open(`/console/calendar/${FULL}?group=2`);
  const [id] = bookingsOn(page);
  expect(page.text).toContain(`href="?group=2&amp;booking=${id}#booking"`);
  const beside = await community.open(`/console/calendar/${FULL}?group=2&booking=${id}`);
  expect(beside.text).toContain('<section class="card panel" id="booking"');
  expect(beside.text).toContain(`href="/console/calendar/${FULL}?group=2#b${id}"`);
  expect(bookingsOn(beside)).toEqual(bookingsOn(page));
  // A request is declined there, and the day is shown again, also after the page that asks for a reason.
  const [, waiting] = /class="held is-pending"><a id="b(\d+)"/.exec(page.text) ?? [];
  const here = `/console/calendar/${FULL}?group=2&booking=${waiting}`;
  const asks = await community.send(await community.open(here), /\/decline$/, { reason: '' });
  expect(asks.status).toBe(422);
  const declined = await community.send(asks, /\/decline$/, { reason: 'Repairs.' });
  expect(declined.flash).toContain('Request declined');
  expect(`${declined.url.pathname}${declined.url.search}`).toBe(here);
  expect(bookingsOn(declined)).not.toContain(waiting);
  const theirs = await few.open(`/console/calendar/${FULL}?booking=${id}`);
  expect(theirs.status).toBe(422);
  expect(theirs.flash).toContain(`You have no booking “<bdi>${id}</bdi>”.`);
  expect(theirs.text).toContain('<table');
});

test('a month says how many of the open days of each space are booked', async () => {
  const month = inDays(100).slice(0, 7);
  const [space] = spaceIds.slice(-1);
  if (space === undefined) throw new Error('There is no space');
  const { closures, bookings } = running.service.core.commands;
  const days = new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5)), 0)).getUTCDate();
  const date = (day: number) => `${month}-${String(day).padStart(2, '0')}` as PlainDate;
  const closed = { communityId: HARBOUR, kind: 'Closure', spaceIds: [space], start: 0, until: 24 } as const;
  accepted(await closures.add({ ...closed, from: date(1), to: date(10) }, CONTEXT));
  // Half a day leaves it open; two halves do not.
  accepted(await closures.add({ ...closed, from: date(11), to: date(12), start: 0, until: 15 }, CONTEXT));
  accepted(await closures.add({ ...closed, from: date(12), to: date(12), start: 14 }, CONTEXT));
  for (const [day, startHour] of [
    [20, 8],
    [20, 9],
    [21, 8],
    [25, 8],
    [26, 8],
  ] as const) {
    const details = { spaceId: space, date: date(day), startHour };
    const { bookingId } = accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT));
    // A request books nothing yet.
    if (day !== 26) accepted(await bookings.approve({ bookingId, communityId: HARBOUR }, CONTEXT));
  }
  const text = `3 of ${days - 11} open days booked`;
  const all = await community.open(`/console/calendar?month=${month}`);
  expect(all.text).toMatch(new RegExp(`space=${space}">.*?</a>\\s*<meter[^>]*></meter>${text}`));
  expect((await community.open(`/console/calendar?month=${month}&space=${space}`)).text).toContain(`<p>${text} in `);
});

test('a month shows closed times and own events on their days, of all spaces or of one', async () => {
  const { closures } = running.service.core.commands;
  const [, other] = spaceIds;
  const date = inDays(100);
  const close = async (rest: object) =>
    accepted(
      await closures.add(
        { communityId: HARBOUR, kind: 'Closure', from: date, to: date, start: 0, until: 24, ...rest },
        CONTEXT,
      ),
    ).closureId;
  const shut = await close({ title: 'Stocktaking <b>' });
  const own = await close({
    kind: 'OwnEvent',
    from: inDays(101),
    to: inDays(101),
    start: 18,
    until: 20,
    spaceIds: [other],
  });
  const entriesOn = async (space = '') => {
    const page = await community.open(`/console/calendar?month=${date.slice(0, 7)}${space}`);
    return [
      ...page.text.matchAll(/<a class="entry (of-\w+)" href="\/console\/calendar\/closures\/([\w-]+)">(.*?)<\/a>/gs),
    ]
      .filter(([, , id]) => id === shut || id === own)
      .map(([, kind, id, text = '']) => [kind, id, text.replace(/<[^>]*>/g, '').trim()]);
  };
  const all = await entriesOn();
  expect(all).toContainEqual(['of-shut', shut, 'Closed: Stocktaking &lt;b&gt;, all spaces']);
  // The next day may be in the next month.
  if (inDays(101).slice(0, 7) === date.slice(0, 7)) expect(all[1]?.[2]).toMatch(/^18:00–20:00 Own event, /);
  expect(await entriesOn(`&space=${spaceIds[0]}`)).toEqual([['of-shut', shut, 'Closed: Stocktaking &lt;b&gt;']]);
  // It is no row of an empty day that a phone leaves out.
  const { text } = await community.open(`/console/calendar?month=${date.slice(0, 7)}`);
  const cell = text.split('<td class=').find((each) => each.includes(`href="/console/calendar/${date}"`));
  expect(cell).not.toMatch(/^"[^"]*free/);
});

test('the plan of today has a line at the minute, and marks the hour', async () => {
  const spaces = await running.service.core.queries.spaces.list({ kind: 'Community', id: HARBOUR });
  const day = { date: inDays(0), bookings: [], closures: [], takesEvents: true, opened: undefined };
  const plan = { ...day, spaces: spaces.slice(0, 1), minuteNow: 10 * 60 + 30, bookingHref: () => '' };
  const across = (await planOfSpaces(plan)).markup;
  // Harbour Hall opens at 9.
  expect(across).toMatch(/<svg class="overlay now"[^>]*viewBox="0 0 780 1"[^>]*><path d="M90 0v1"/);
  expect(across).toContain('<th scope="col" aria-current="time">10:00</th>');
  expect(planOfSpace(plan).markup).toMatch(/<svg class="overlay now"[^>]*viewBox="0 0 1 780"[^>]*><path d="M0 90h1"/);
  expect((await planOfSpaces({ ...plan, minuteNow: undefined })).markup).not.toContain('overlay now');
});

test('a week shows what holds each space on each day, opens a booking beside it, and leads to the form for a booking', async () => {
  const [space] = spaceIds;
  const page = await community.open(`/console/calendar/week/${FULL}`);
  expect(page.status).toBe(200);
  const [, id] = /<a class="entry is-[a-z]+" id="b(\d+)" href="([^"]*)"/.exec(page.text) ?? [];
  const opened = await community.open(`/console/calendar/week/${FULL}?booking=${id}`);
  expect(opened.text).toContain(`Open booking #${id}`);
  expect(opened.text).toContain('aria-current="true"');
  const later = await community.open(`/console/calendar/week/${inDays(81)}`);
  expect(later.text).toMatch(new RegExp(`/console/bookings/enter\\?space=${space}&amp;date=${inDays(81)}`));
  for (const wrong of ['2026-02-30', 'x'])
    expect((await community.open(`/console/calendar/week/${wrong}`)).status).toBe(404);
  expect((await community.open('/console/calendar/week/9999-12-31')).status).toBe(200);
  const none = await community.open(`/console/calendar/week/${FULL}?booking=999999`);
  expect([none.status, none.text.includes('You have no booking')]).toEqual([422, true]);
});
