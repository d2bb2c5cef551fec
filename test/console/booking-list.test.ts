import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { CONTEXT, NOON, type RunningService, runServiceAt } from '../running-service.fixture.ts';

const password = 'correct horse battery';

let service: RunningService;
let url: string;

beforeAll(async () => {
  const at = await runServiceAt();
  ({ service, url } = at);
  await at.listen();
});
afterAll(() => service.stop());

async function signedIn(account: Account): Promise<Browser> {
  const email = `${account.kind}-${account.id}@lists.example`.toLowerCase();
  accepted(await service.core.users.add({ email, password, accounts: [account] }, BY_OPERATOR));
  return Browser.signedIn(url, { email, password });
}

async function requested(brand: { readonly id: number }, space: number, date: string, startHour: number) {
  const command = {
    brandId: brandId(brand.id),
    details: { spaceId: spaceId(space), date: date as PlainDate, startHour },
  };
  return accepted(await service.core.commands.bookings.request(command, CONTEXT)).bookingId;
}

/** The numbers of the bookings in the table of a page, from the top. */
const shown = ({ text }: Page) =>
  [...text.matchAll(/<tr[^>]*>.*?\/console\/bookings\/(\d+)".*?<\/tr>/gs)].map(([, id]) => Number(id));

const link = ({ text }: Page, rel: 'prev' | 'next') =>
  new RegExp(`rel="${rel}" href="([^"]*)"`).exec(text)?.[1]?.replaceAll('&amp;', '&');

describe('list order', () => {
  test('a day is sorted by hour, not by booking number, and each booking appears on one page only', async () => {
    const host = await service.community('Europe/Berlin', 'By the hour');
    const room = await service.space(host, { durationHours: 1 });
    const other = await service.space(host, { durationHours: 1 });
    const brand = await service.brand('Early');
    const late = await requested(brand, room, '2026-12-20', 18);
    const early = await requested(brand, room, '2026-12-20', 9);
    const noon = await requested(brand, other, '2026-12-20', 12);
    const before = await requested(brand, other, '2026-12-19', 21);
    const community = await signedIn(host.account);
    const expected = [before, early, noon, late];
    expect(shown(await community.open('/console/bookings'))).toEqual(expected);
    expect(shown(await (await signedIn(brand.account)).open('/console/bookings'))).toEqual(expected);
    const rest = await service.get('/bookings', { key: host.key });
    expect(rest.json().map(({ id }: { id: number }) => id)).toEqual(expected);
  });

  test('a booking is upcoming until it ends in the time zone of its space, then past', async () => {
    service.time.now = NOON;
    const hosts = {
      auckland: await service.community('Pacific/Auckland', 'East'),
      berlin: await service.community('Europe/Berlin', 'Middle'),
      honolulu: await service.community('Pacific/Honolulu', 'West'),
    };
    const brand = await service.brand('Everywhere');
    const book = async (host: { readonly id: number }, startHour: number) =>
      requested(brand, await service.space(host), '2026-12-02', startHour);
    const auckland = await book(hosts.auckland, 9);
    const [morning, evening] = [await book(hosts.berlin, 9), await book(hosts.berlin, 18)];
    const honolulu = await book(hosts.honolulu, 18);
    const brandsOwn = await signedIn(brand.account);
    const berlin = await signedIn(hosts.berlin.account);
    const lists = async (browser: Browser) => ({
      upcoming: shown(await browser.open('/console/bookings')),
      past: shown(await browser.open('/console/bookings?when=past')),
    });

    // 12:59 in Berlin: the morning ends in a minute. In Auckland it is tomorrow, in Honolulu it is still yesterday.
    service.time.now = Date.parse('2026-12-02T12:59:00+01:00');
    expect(await lists(brandsOwn)).toEqual({ upcoming: [morning, evening, honolulu], past: [auckland] });
    expect(await lists(berlin)).toEqual({ upcoming: [morning, evening], past: [] });
    service.time.now = Date.parse('2026-12-02T13:00:00+01:00');
    expect(await lists(brandsOwn)).toEqual({
      upcoming: [evening, honolulu],
      past: [morning, auckland].sort().reverse(),
    });
    expect(await lists(berlin)).toEqual({ upcoming: [evening], past: [morning] });
    // Ten past midnight in Berlin: bookings of yesterday are past there, although it is still yesterday further west.
    service.time.now = Date.parse('2026-12-03T00:10:00+01:00');
    expect(await lists(berlin)).toEqual({ upcoming: [], past: [evening, morning] });
    expect((await lists(brandsOwn)).upcoming).toEqual([honolulu]);
    service.time.now = NOON;
  });
});

test('a long list can be paged in both directions and keeps its filter', async () => {
  const host = await service.community('Europe/Berlin', 'Many');
  const brand = await service.brand('Often');
  const rooms = await Promise.all(Array.from({ length: 5 }, () => service.space(host, { durationHours: 1 })));
  const made: number[] = [];
  for (let hour = 9; hour < 22; hour += 1)
    made.push(...(await Promise.all(rooms.map((room) => requested(brand, room, '2026-12-21', hour)))));
  const community = await signedIn(host.account);
  const first = await community.open('/console/bookings?status=Pending');
  expect([shown(first).length, link(first, 'prev')]).toEqual([30, undefined]);
  const second = await community.open(link(first, 'next') ?? '');
  const third = await community.open(link(second, 'next') ?? '');
  expect([...shown(first), ...shown(second), ...shown(third)].toSorted((a, b) => a - b)).toEqual(
    made.toSorted((a, b) => a - b),
  );
  expect([shown(third).length, link(third, 'next')]).toEqual([5, undefined]);
  const back = await community.open(link(third, 'prev') ?? '');
  expect(shown(back)).toEqual(shown(second));
  expect(link(back, 'prev')).toContain('status=Pending');
  const start = await community.open(link(back, 'prev') ?? '');
  expect([shown(start), link(start, 'prev')]).toEqual([shown(first), undefined]);
  expect(third.text).toMatch(/<a href="[^"]*status=Pending[^"]*">First page<\/a>/);
});

test('declined, withdrawn, expired and cancelled bookings are labelled, and each has a filter', async () => {
  const host = await service.community('Europe/Berlin', 'States');
  const room = await service.space(host, { durationHours: 1 });
  const brand = await service.brand('Fickle');
  const at = (hour: number) => requested(brand, room, '2026-12-22', hour);
  const [declined, withdrawn, expired, cancelled, pending] = [
    await at(9),
    await at(10),
    await at(11),
    await at(12),
    await at(13),
  ];
  const { bookings } = service.core.commands;
  const by = { kind: 'Community', id: communityId(host.id) } as const;
  accepted(await bookings.cancel({ bookingId: declined, by, reason: 'Full.' }, CONTEXT));
  accepted(await bookings.cancel({ bookingId: withdrawn, by: { kind: 'Brand', id: brandId(brand.id) } }, CONTEXT));
  service.time.now = NOON + 80 * 3_600_000;
  accepted(await bookings.expire(expired, CONTEXT));
  service.time.now = NOON;
  accepted(await bookings.approve({ bookingId: cancelled, communityId: by.id }, CONTEXT));
  accepted(await bookings.cancel({ bookingId: cancelled, by, reason: 'Water damage.' }, CONTEXT));
  const community = await signedIn(host.account);
  const states = { Declined: declined, Withdrawn: withdrawn, Expired: expired, Cancelled: cancelled, Pending: pending };
  for (const [state, id] of Object.entries(states)) {
    const list = await community.open(`/console/bookings?status=${state}`);
    expect(shown(list), state).toEqual([id]);
    expect(list.text).toMatch(new RegExp(`<span class="status [^"]*"><svg.*?</svg>${state}</span>`));
    const found = await community.open(`/console/bookings?status=${state}&q=Fickle`);
    expect(shown(found), state).toEqual([id]);
    expect(found.text).toContain('1 booking. Results for ‘<bdi>Fickle</bdi>’.');
    const page = await community.open(`/console/bookings/${id}`);
    expect(page.text).toMatch(new RegExp(`</svg>${state}</span>`));
  }
  expect((await community.open('/console/bookings?q=Fickle')).text).toContain('5 bookings. Results for');
  // Their zone is named once.
  expect((await community.open('/console/bookings')).text.match(/Berlin time/g)).toHaveLength(2);
});

test('the page of a booking links back to the list it was opened from, even after a form is submitted', async () => {
  const host = await service.community('Europe/Berlin', 'Ways back');
  const brand = await service.brand('Wanderer');
  const room = await service.space(host, { durationHours: 1 });
  const id = await requested(brand, room, '2026-12-23', 9);
  const community = await signedIn(host.account);
  const backOf = ({ text }: Page) => /<p class="back"><a href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
  const lists = [
    '/console/inbox?sort=date',
    `/console/calendar/2026-12-23?space=${room}`,
    '/console/bookings?status=Pending&after=2026-12-20:1',
    '/console/charges?month=2026-12',
  ];
  for (const list of lists) {
    const headers = { referer: `${url}${list}` };
    const page = await community.request(`/console/bookings/${id}`, { headers });
    expect(backOf(page)).toBe(list);
    const empty = page.form(`/console/bookings/${id}/decline`, { reason: '' });
    const asked = await community.request(empty.target, { method: 'POST', body: empty.body });
    expect(backOf(await community.open(backOf(asked) ?? ''))).toBe(list);
  }
  for (const foreign of ['https://evil.example/console/inbox', `${url}/console/bookings/7`, `${url}/console/inbox#"`]) {
    const page = await community.request(`/console/bookings/${id}`, { headers: { referer: foreign } });
    expect(backOf(page)).toBe('/console/bookings');
  }
  expect(backOf(await community.open(`/console/bookings/${id}?via=//evil.example`))).toBe('/console/bookings');
});

test('the record of a brand counts cancellations by party', async () => {
  const host = await service.community('Europe/Berlin', 'Fair');
  const room = await service.space(host, { durationHours: 1, answerHours: 1 });
  const brand = await service.brand('Judged');
  const { bookings } = service.core.commands;
  const [withdrawn, declined, dropped, expired, kept, waiting] = await Promise.all(
    [9, 10, 11, 12, 13, 14].map((hour) => requested(brand, room, '2026-12-22', hour)),
  );
  const cancel = async (bookingId = 0, by: Account = host.account) =>
    accepted(await bookings.cancel({ bookingId, by, reason: 'So it is.' }, CONTEXT));
  const approve = async (bookingId = 0) =>
    accepted(await bookings.approve({ bookingId, communityId: host.id }, CONTEXT));
  const community = await signedIn(host.account);
  const record = async () =>
    /History with .*?<\/strong>\s*([^<]*)/s.exec((await community.open(`/console/bookings/${waiting}`)).text)?.[1];
  expect(await record()).toBe('no earlier bookings.');
  await cancel(withdrawn, brand.account);
  await cancel(declined);
  await approve(dropped);
  await cancel(dropped);
  await approve(kept);
  service.time.now = NOON + 3_600_000;
  accepted(await bookings.expire(expired ?? 0, CONTEXT));
  service.time.now = NOON;
  expect(await record()).toBe(
    '1 approved, 1 cancelled by the brand, 2 declined or cancelled by you, 1 expired without an answer.',
  );
});

test('a request that was declined will not be charged, and is not among the bookings of that day', async () => {
  const host = await service.community('Europe/Berlin', 'Declining');
  const room = await service.space(host, { durationHours: 1 });
  const brand = await service.brand('Declined');
  const [declined, waiting, kept] = [
    await requested(brand, room, '2027-01-10', 9),
    await requested(brand, room, '2027-01-10', 12),
    await requested(brand, room, '2027-01-10', 15),
  ];
  const community = await signedIn(host.account);
  const priceOf = async (id: number) =>
    /<dt>Charged<\/dt><dd>([^<]*)/.exec((await community.open(`/console/bookings/${id}`)).text)?.[1];
  expect(await priceOf(declined)).toBe('nothing yet');
  const { bookings } = service.core.commands;
  accepted(await bookings.cancel({ bookingId: declined, by: host.account, reason: 'Closed.' }, CONTEXT));
  expect(await priceOf(declined)).toBe('nothing');
  const { text } = await community.open(`/console/bookings/${waiting}`);
  const [, day = ''] = /That day in .*?<ul[^>]*>(.*?)<\/ul>/s.exec(text) ?? [];
  expect([...day.matchAll(/bookings\/(\d+)/g)].map(([, id]) => Number(id))).toEqual([kept]);
});

test('an empty inbox has no filter, and asks a community without spaces to add one', async () => {
  const host = await service.community('Europe/Berlin', 'Empty');
  const community = await signedIn(host.account);
  const before = await community.open('/console/inbox');
  expect(before.text).not.toContain('Filter and sort');
  expect(before.text).toContain('href="/console/spaces/new"');
  expect(before.text).not.toContain('up to date');
  const room = await service.space(host, { durationHours: 1 });
  expect((await community.open('/console/inbox')).text).toContain('No pending requests');
  await requested(await service.brand('Asking'), room, '2027-01-10', 9);
  expect((await community.open('/console/inbox')).text).toContain('Filter and sort');
  const keys = await community.open('/console/keys');
  expect(keys.text).toContain('View bookings');
  expect(keys.text).not.toContain('Request bookings');
});

test('charges are paged, and every page shows the totals of the whole month', async () => {
  const host = await service.community('Europe/Berlin', 'Earning');
  const room = await service.space(host, { durationHours: 1 });
  const brand = await service.brand('Paying');
  const { bookings } = service.core.commands;
  const dates = ['2027-01-01', '2027-01-12', '2027-01-31'];
  const made: number[] = [];
  for (const date of dates)
    for (let hour = 9; hour < 21; hour += 1) made.push(await requested(brand, room, date, hour));
  await requested(brand, room, '2027-02-01', 9);
  for (const bookingId of made) accepted(await bookings.approve({ bookingId, communityId: host.id }, CONTEXT));
  const last = made.at(-1) ?? 0;
  accepted(await bookings.cancel({ bookingId: last, by: host.account, reason: 'A burst pipe.' }, CONTEXT));
  const figures = ({ text }: Page) =>
    [...text.matchAll(/<dt>([^<]*)<\/dt><dd>([^<]*)<\/dd>/g)].map(([, dt, dd]) => `${dt} ${dd}`);

  const community = await signedIn(host.account);
  const first = await community.open('/console/charges?month=2027-01');
  expect(shown(first)).toEqual(made.slice(0, 30));
  const totals = ['Charged $8,280.00', 'Refunded $230.00', 'Earnings $7,000.00'];
  expect(figures(first)).toEqual(totals);
  const second = await community.open(link(first, 'next') ?? '');
  expect([shown(second), figures(second), link(second, 'next')]).toEqual([made.slice(30), totals, undefined]);
  expect(shown(await community.open(link(second, 'prev') ?? ''))).toEqual(made.slice(0, 30));
  const paid = await (await signedIn(brand.account)).open('/console/charges?month=2027-01');
  expect(figures(paid)).toEqual(['Charged $8,280.00', 'Refunded $230.00', 'You paid $8,050.00']);
  expect((await community.open('/console/charges?month=2027-03')).text).toContain('No earnings for March 2027');

  // All were approved in December, and one of them was refunded then, which its event is not.
  expect(first.text).toContain('Events of January 2027, whenever they were charged.');
  expect((await community.open('/console/charges?month=2027-01&by=approval')).text).toContain(
    'No earnings for January 2027',
  );
  const december = await community.open('/console/charges?month=2026-12&by=approval');
  expect(december.text).toContain('Charges and refunds made in December 2026, whenever the events are.');
  expect(figures(december)).toEqual(totals);
  const later = await community.open(link(december, 'next') ?? '');
  expect([...shown(december), ...shown(later)]).toHaveLength(made.length + 1);
  expect(later.text).toContain('Refunded <span class="nowrap">');
  expect(link(later, 'prev')).toContain('by=approval');
});

test('an invalid month is reported instead of replaced by this month; the calendar ends with the year 9999', async () => {
  const community = await signedIn((await service.community('Europe/Berlin', 'Months')).account);
  for (const asked of ['2026-13', '2026-1', 'soon', '<b>', '10000-01']) {
    const page = await community.open(`/console/charges?month=${encodeURIComponent(asked)}`);
    expect(page.status, asked).toBe(422);
    const [, said] = /role="alert".*?<p>([^<]*)<\/p>/s.exec(page.text) ?? [];
    expect(said).toBe(`“${asked.replace('<b>', '&lt;b&gt;')}” is not a month such as 2026-11. This is December 2026.`);
  }
  const months = ({ text }: Page) => {
    const [links = ''] = /aria-label="Month".*?<\/nav>/s.exec(text) ?? [];
    return [...links.matchAll(/charges\?month=([^"&]*)"/g)].map(([, month]) => month);
  };
  const now = await community.open('/console/charges');
  expect([now.status, months(now)]).toEqual([200, ['2026-11', '2027-01']]);
  expect(now.text).not.toContain('role="alert"');
  expect(months(await community.open('/console/charges?month=9999-12'))).toEqual(['9999-11']);
  expect(months(await community.open('/console/charges?month=0000-01'))).toEqual(['0000-02']);
});

test('every printed page shows its account and the time of printing', async () => {
  const host = await service.community('Asia/Tokyo', 'Paper & Co');
  service.time.now = Date.parse('2026-12-01T20:30:00Z');
  const community = await signedIn(host.account);
  for (const path of ['bookings', 'charges', 'history'])
    expect((await community.open(`/console/${path}`)).text, path).toMatch(
      /<p class="printed"><span><bdi>Paper &amp; Co<\/bdi><\/span><span>2 Dec 2026, 05:30 Tokyo time<\/span><\/p>/,
    );
  service.time.now = NOON;
});

test('reviews can be paged in both directions, and every page summarises all of them', async () => {
  const host = await service.community('Europe/Berlin', 'Reviewed');
  const room = await service.space(host, { durationHours: 1 });
  const brand = await service.brand('Critic');
  const { bookings, reviews } = service.core.commands;
  const made: string[] = [];
  for (let index = 0; index < 43; index += 1) {
    const bookingId = await requested(
      brand,
      room,
      `2026-12-${String(3 + (index % 4)).padStart(2, '0')}`,
      9 + Math.floor(index / 4),
    );
    accepted(await bookings.approve({ bookingId, communityId: host.id }, CONTEXT));
    made.unshift(`Review ${index}`);
    service.time.now = Date.parse('2026-12-08T12:00:00Z');
    accepted(await bookings.complete(bookingId, CONTEXT));
    const review = { bookingId, brandId: brand.id, rating: 1 + (index % 5), title: `Review ${index}`, content: 'So.' };
    accepted(await reviews.post(review, CONTEXT));
    service.time.now = NOON;
  }
  const titles = ({ text }: Page) => [...text.matchAll(/Review \d+/g)].map(([title]) => title);
  const community = await signedIn(host.account);
  for (const browser of [community, await signedIn(brand.account)]) {
    const first = await browser.open('/console/reviews');
    const second = await browser.open(link(first, 'next') ?? '');
    const third = await browser.open(link(second, 'next') ?? '');
    expect([...titles(first), ...titles(second), ...titles(third)]).toEqual(made);
    expect([titles(third).length, link(third, 'next'), link(first, 'prev')]).toEqual([3, undefined, undefined]);
    const back = await browser.open(link(third, 'prev') ?? '');
    expect(titles(back)).toEqual(titles(second));
    expect(titles(await browser.open(link(back, 'prev') ?? ''))).toEqual(titles(first));
    if (browser === community) for (const page of [first, third]) expect(page.text).toContain('43 reviews');
  }
});
