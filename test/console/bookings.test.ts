import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMoment } from '../../src/console/parts/typed-dates.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { defined } from '../../src/domain/defined.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { SCRIPTS, STYLES } from '../../src/html/assets.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let community: Browser;
let brand: Browser;
/** Harbour Hall, a space of the signed-in community. */
let hall: number;

beforeAll(async () => {
  running = await startDemo();
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  hall = harbour.spaces[0].id;
  community = new Browser(running.url);
  await community.signIn(harbour.user);
  brand = new Browser(running.url);
  await brand.signIn(northwind.user);
});
afterAll(() => running.stop());

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;

let days = 30;
/** A date without bookings. */
function freshDate(): PlainDate {
  days += 1;
  return inDays(days);
}

async function requested(message?: string): Promise<number> {
  const { bookings } = running.service.core.commands;
  const details = { spaceId: spaceId(hall), date: freshDate(), startHour: 10, ...defined({ message }) };
  const outcome = await bookings.request({ brandId: brandId(1), details }, CONTEXT);
  if (isRefusal(outcome)) throw new Error(outcome.details);
  return outcome.bookingId;
}

const statusOf = async (id: number) => (await running.service.core.queries.bookings.get(HARBOUR, id))?.status;
const eventsOf = async (id: number) =>
  (await running.service.core.queries.bookingHistory.ofBooking(HARBOUR, id))?.steps.map(({ event }) => event.type);

test('a community approves a request from its inbox', async () => {
  const id = await requested('Coffee for forty.');
  const inbox = await community.open('/console/inbox');
  expect(inbox.text).toContain('Coffee for forty.');
  const page = await community.send(inbox, `/console/bookings/${id}/approve`);
  expect(page.flash).toMatch(/Request approved: <bdi>Northwind Coffee<\/bdi>, .*\. \$483\.00 was charged\./);
  expect(await statusOf(id)).toBe('Approved');
  expect((await community.open('/console/inbox')).text).not.toContain('Coffee for forty.');
});

test('reviews can be filtered by space and rating', async () => {
  const shown = async (query: string) => {
    const page = await community.open(`/console/reviews${query}`);
    return [page.status, page.text.includes('Light, space, quiet'), page.text.includes('No reviews match')];
  };
  for (const query of ['', `?space=${hall}`, '?rating=5', `?space=${hall}&rating=5`])
    expect(await shown(query), query).toEqual([200, true, false]);
  const other = running.demo.communities[0].spaces.at(-1)?.id;
  expect(other).not.toBe(hall);
  for (const query of [`?space=${other}`, '?rating=4']) expect(await shown(query), query).toEqual([200, false, true]);
  expect((await shown('?space=999999'))[0]).toBe(422);
  // A brand has few reviews of its own.
  expect((await brand.open('/console/reviews?rating=4')).text).toContain('Light, space, quiet');
});

test('a double click on approve approves once', async () => {
  const id = await requested();
  const inbox = await community.open('/console/inbox');
  const form = inbox.form(`/console/bookings/${id}/approve`);
  const send = () => community.request(form.target, { method: 'POST', body: form.body });
  const answers = await Promise.all([send(), send(), send()]);
  expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
  expect(await eventsOf(id)).toEqual(['BookingRequested', 'BookingApproved']);
  const again = await community.send(inbox, `/console/bookings/${id}/approve`);
  expect(again.flash).toContain('was already approved by you on');
});

test('deciding a withdrawn request reports the withdrawal', async () => {
  const id = await requested();
  const inbox = await community.open('/console/inbox');
  const withdraw = await brand.open(`/console/bookings/${id}/cancel`);
  expect((await brand.send(withdraw, `/console/bookings/${id}/cancel`)).flash).toContain('Request withdrawn: ');

  const page = await community.send(inbox, `/console/bookings/${id}/approve`);
  expect(page.flash).toMatch(/It was withdrawn by <bdi>Northwind Coffee<\/bdi> on .*Nothing was approved\./);
  expect(await eventsOf(id)).toEqual(['BookingRequested', 'BookingCancelled']);
});

test('declining requires a reason; the form keeps it and the brand sees it', async () => {
  const id = await requested();
  const form = await community.open(`/console/bookings/${id}/decline`);
  const empty = await community.send(form, `/console/bookings/${id}/decline`, { reason: '  ' });
  expect(empty.status).toBe(422);
  expect(empty.text).toContain('id="reason-error"');
  expect(await statusOf(id)).toBe('Pending');

  const long = await community.send(form, `/console/bookings/${id}/decline`, { reason: 'x'.repeat(501) });
  expect(long.status).toBe(422);
  expect(long.text).toContain('x'.repeat(501));

  await community.send(form, `/console/bookings/${id}/decline`, { reason: 'The <b>roof</b> is being repaired.' });
  expect((await brand.open(`/console/bookings/${id}`)).text).toContain(
    'The &lt;b&gt;roof&lt;/b&gt; is being repaired.',
  );
});

test('cancelling an approved booking refunds it and frees the hours', async () => {
  const id = await requested();
  await community.send(await community.open(`/console/bookings/${id}`), `/console/bookings/${id}/approve`);
  const ask = await brand.open(`/console/bookings/${id}/cancel`);
  expect(ask.text).toContain('$483.00 will be refunded to you.');
  const asCommunity = await community.open(`/console/bookings/${id}/cancel`);
  expect(asCommunity.text).toContain('$483.00 will be refunded to the brand.');
  const page = await brand.send(ask, `/console/bookings/${id}/cancel`, { reason: 'Our date moved.' });
  expect(page.flash).toBe('Booking cancelled. $483.00 was refunded to you.');
  expect(page.text).toContain('Refunded');
});

test('a brand requests a booking, and submitting the form twice makes only one', async () => {
  const date = freshDate();
  const page = await brand.open(`/console/find/${hall}?date=${date}`);
  expect(page.text).toContain('$420.00');
  expect(page.text).toContain('$63.00');
  const fields = { startHour: '12', message: 'Two\r\nlines' };
  const done = await brand.send(page, `/console/find/${hall}`, fields);
  expect(done.flash).toContain('Request sent.');
  const again = await brand.send(page, `/console/find/${hall}`, fields);
  expect(again.url.href).toBe(done.url.href);
  expect(done.text).toContain('Two\nlines');
});

test('a time taken in the meantime is reported beside the times, and the form keeps its input', async () => {
  const date = freshDate();
  const page = await brand.open(`/console/find/${hall}?date=${date}`);
  const command = { brandId: brandId(2), details: { spaceId: spaceId(hall), date, startHour: 12 } };
  await running.service.core.commands.bookings.request(command, CONTEXT);
  const refused = await brand.send(page, `/console/find/${hall}`, { startHour: '13', message: 'My words' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('13:00 is no longer free: requested by another brand');
  expect(refused.text).toContain('My words');
  expect(refused.text).toMatch(/value="13" required disabled/);
});

test('a price change while the page is open must be confirmed before the brand is charged', async () => {
  const page = await brand.open(`/console/find/${hall}?date=${freshDate()}`);
  const { catalogue } = running.service.core.commands;
  await catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(500_00) } }, CONTEXT);
  const refused = await brand.send(page, `/console/find/${hall}`, { startHour: '10' });
  expect(refused.status).toBe(422);
  expect(refused.flash).toContain('The price has changed in the meantime');
  expect(refused.text).toContain('$575.00');
  expect((await brand.send(refused, `/console/find/${hall}`, { startHour: '10' })).flash).toContain('Request sent.');
  await catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(420_00) } }, CONTEXT);
});

test('the pages show a brand until when it can cancel, and then why it cannot', async () => {
  const { catalogue } = running.service.core.commands;
  const set = (cancelHours: number) => catalogue.changeSpace({ spaceId: hall, terms: { cancelHours } }, CONTEXT);
  await set(48);
  const open = await requested();
  // Events that begin within 90 days: their deadline is over.
  await set(2_160);
  const over = await requested();
  const space = await brand.open(`/console/find/${hall}?date=${freshDate()}`);
  expect(space.text).toContain('You can cancel until 2,160 hours before the start.');
  await set(0);
  const booking = await brand.open(`/console/bookings/${open}`);
  expect(booking.text).toMatch(/<dt>Free to cancel until<\/dt>\s*<dd>.*?days/s);
  expect(booking.text).toContain('Withdraw request…');
  expect((await community.open(`/console/bookings/${open}`)).text).toContain('Brand can cancel until');
  const late = await brand.open(`/console/bookings/${over}/cancel`);
  expect(late.url.pathname).toBe(`/console/bookings/${over}`);
  expect(late.text).toContain('You could cancel it until');
  expect(late.text).not.toContain('Withdraw request…');
  // The community still can.
  const declined = await community.send(
    await community.open(`/console/bookings/${over}/decline`),
    `/console/bookings/${over}/decline`,
    { reason: 'Closed' },
  );
  expect(declined.flash).toContain('Request declined');
});

test('a missing time, an invalid date and an overlong message are reported on the page', async () => {
  const page = await brand.open(`/console/find/${hall}?date=${freshDate()}`);
  expect((await brand.send(page, `/console/find/${hall}`)).text).toContain('Choose a start time.');
  const long = await brand.send(page, `/console/find/${hall}`, { startHour: '10', message: 'm'.repeat(501) });
  expect(long.status).toBe(422);
  expect(long.text).toContain('id="message-error"');
  const past = await brand.open(`/console/find/${hall}?date=2020-01-01`);
  expect(past.text).toContain('id="date-error"');
  expect((await brand.send(page, `/console/find/${hall}`, { startHour: '10', date: '2026-02-30' })).status).toBe(422);
});

test('a review is posted once, after completion, by the brand', async () => {
  const done = await brand.open('/console/bookings?when=past&status=Completed');
  const id = 3;
  expect(done.text).toContain(`/console/bookings/${id}`);
  const page = await brand.open(`/console/bookings/${id}`);
  const wrong = await brand.send(page, `/console/bookings/${id}/review`, { title: 'No rating', content: 'Kept' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('id="rating-error"');
  expect(wrong.text).toContain('value="No rating"');
  const fields = { rating: '4', title: '<i>Fine</i>', content: '<script>alert(1)</script>' };
  const posted = await brand.send(page, `/console/bookings/${id}/review`, fields);
  expect(posted.flash).toContain('Your review has been published.');
  expect(posted.text).toContain('&lt;i&gt;Fine&lt;/i&gt;');
  expect(posted.text).not.toContain('<script>alert');
  expect((await brand.send(page, `/console/bookings/${id}/review`, fields)).flash).toContain(
    'has already been reviewed',
  );
  expect((await community.open('/console/reviews')).text).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});

test('the timeline shows actors, steps and the status as of a past time', async () => {
  const id = await requested();
  const page = await community.open(`/console/bookings/${id}`);
  await community.send(page, `/console/bookings/${id}/approve`);
  const now = await community.open(`/console/bookings/${id}`);
  expect(now.text).toMatch(/<strong>Requested<\/strong>.*by the operator/s);
  expect(now.text).toMatch(/<strong>Approved<\/strong>.*by <bdi>harbour@demo\.example<\/bdi>/s);
  const theirs = await brand.open(`/console/bookings/${id}`);
  expect(theirs.text).toMatch(/<strong>Approved<\/strong>.*by <bdi>Harbour Lofts<\/bdi>/s);
  expect(theirs.text).not.toContain('harbour@demo.example');
  const stateAt = async (at: string) =>
    /id="state-then"[^>]*>(.*?)<\/p>/s.exec((await community.open(`/console/bookings/${id}?at=${at}`)).text)?.[1] ?? '';
  expect(await stateAt('2020-01-01T10:00')).toBe('It was not requested yet at that time.');
  expect(await stateAt('2999-01-01T10:00')).toContain('is-approved');
  expect(await stateAt('2026-13-45T99:00')).toBe('');
});

test('the timeline as of the second of an event includes it and marks later events as later', async () => {
  const { text } = await community.open('/console/bookings/1');
  const moments = [...text.matchAll(/data-at="([^"]*)"/g)].map(([, moment = '']) => moment);
  expect(new Set(moments).size).toBeGreaterThan(1);
  const laterAt = async (at: string) => {
    const page = await community.open(`/console/bookings/1?at=${encodeURIComponent(at)}`);
    const [, list = ''] = /<ol class="timeline">(.*?)<\/ol>/s.exec(page.text) ?? [];
    return [...list.matchAll(/<li class="([^"]*)"/g)].map(([, classes = '']) => classes.includes('later'));
  };
  for (const [index, moment] of moments.entries())
    expect(await laterAt(moment)).toEqual(moments.map((_, step) => step > index));
  const [first = ''] = moments;
  const before = Temporal.PlainDateTime.from(readMoment(first).time ?? '').subtract({ seconds: 1 });
  expect(await laterAt(before.toString({ smallestUnit: 'second' }))).toEqual(moments.map(() => true));
});

test('a page of another account is 404', async () => {
  const union = new Browser(running.url);
  await union.signIn(running.demo.communities[1].user);
  const id = await requested();
  for (const path of [`/console/bookings/${id}`, `/console/bookings/${id}/decline`, `/console/spaces/${hall}`]) {
    expect((await union.open(path)).status, path).toBe(404);
    expect((await community.open(path)).status, path).toBe(200);
  }
  for (const id of ['0', '-1', '1.5', 'abc', '999999', '99999999999999999999'])
    expect((await community.open(`/console/bookings/${id}`)).status, id).toBe(404);
  const own = await community.open(`/console/bookings/${id}`);
  const { body } = own.form(`/console/bookings/${id}/approve`);
  const { csrf } = await union.open('/console/inbox');
  body.set('csrf', csrf);
  expect((await union.request(`/console/bookings/${id}/approve`, { method: 'POST', body })).status).toBe(404);
  expect(await statusOf(id)).toBe('Pending');
});

test('a page of the other kind of account is 404', async () => {
  for (const path of ['/console/inbox', '/console/calendar', '/console/spaces', '/console/spaces/new'])
    expect((await brand.open(path)).status, path).toBe(404);
  for (const path of ['/console/find', `/console/find/${hall}`])
    expect((await community.open(path)).status, path).toBe(404);
});

test('a forged form changes nothing', async () => {
  const id = await requested();
  const { target, body } = (await community.open('/console/inbox')).form(`/console/bookings/${id}/approve`);
  const without = new URLSearchParams();
  const foreign = new URLSearchParams({ csrf: 'x'.repeat(43) });
  for (const forged of [without, foreign])
    expect((await community.request(target, { method: 'POST', body: forged })).status).toBe(403);
  const elsewhere = { origin: 'https://evil.example' };
  expect((await community.request(target, { method: 'POST', body, headers: elsewhere })).status).toBe(403);
  expect((await community.request(target, { method: 'POST', body, headers: { origin: 'null' } })).status).toBe(403);
  expect((await new Browser(running.url).request(target, { method: 'POST', body })).status).toBe(401);
  expect(await statusOf(id)).toBe('Pending');
  expect((await community.request(target, { method: 'POST', body })).status).toBe(303);
  expect(await statusOf(id)).toBe('Approved');
});

test('paging lists every booking exactly once', async () => {
  for (let made = 0; made < 40; made += 1) await requested();
  const seen: string[] = [];
  let next: string | undefined = '/console/bookings?when=upcoming';
  let pages = 0;
  while (next !== undefined && pages < 20) {
    const page = await community.open(next);
    seen.push(...[...page.text.matchAll(/href="\/console\/bookings\/(\d+)">#/g)].map(([, id]) => id ?? ''));
    next = /href="([^"]*after=[^"]*)">Next page/.exec(page.text)?.[1]?.replaceAll('&amp;', '&');
    pages += 1;
  }
  expect(pages).toBeGreaterThan(1);
  expect(new Set(seen).size).toBe(seen.length);
  const all = await Array.fromAsync(
    running.service.core.queries.bookings.list(HARBOUR, {
      startDate: inDays(0),
    }),
  );
  for (const { bookingId } of all) expect(seen).toContain(String(bookingId));
});

/** The icons and the mark in the browser's tab. */
const IMAGES = 2;

test('a first visit transfers less than 60 kB for any number of bookings', async () => {
  const headers = { cookie: `console=${community.cookie('console')}`, 'accept-encoding': 'gzip' };
  const packed = async (url: string) => {
    const { app } = running.service;
    if (app === undefined) throw new Error('The service answers no requests');
    const answer = await app.inject({ url, headers });
    expect(answer.statusCode, url).toBe(200);
    return answer.rawPayload;
  };
  for (const path of ['/console/inbox', `/console/calendar?month=${freshDate().slice(0, 7)}`, '/console/bookings']) {
    const page = await packed(path);
    const links = gunzipSync(page)
      .toString()
      .matchAll(/(?:href|src)="(\/assets\/[^"#]+)/g);
    const assets = new Set([...links].map(([, link]) => link ?? ''));
    expect(assets.size).toBe(STYLES.length + SCRIPTS.length + IMAGES);
    let weight = page.length;
    for (const link of assets) weight += (await packed(link)).length;
    expect(weight, path).toBeLessThan(60_000);
    expect(weight, path).toBeGreaterThan(8_000);
  }
});
