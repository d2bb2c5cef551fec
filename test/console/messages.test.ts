import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** Messages between the parties of a booking, and the notes that only the community reads. */

let running: Running;
let community: Browser;
let brand: Browser;
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

const signedIn = (user: { email: string; password: string }) => Browser.signedIn(running.url, user);

beforeAll(async () => {
  running = await startDemo();
  community = await signedIn(running.demo.communities[0].user);
  brand = await signedIn(running.demo.brands[0].user);
});
afterAll(() => running.stop());

let days = 30;
async function booking(): Promise<number> {
  days += 1;
  const { core } = running.service;
  const of = {
    spaceId: spaceId(running.demo.communities[0].spaces[0].id),
    date: inDays(days) as PlainDate,
    startHour: 10,
  };
  const outcome = await core.commands.bookings.request(
    { brandId: brandId(running.demo.brands[0].id), details: of },
    CONTEXT,
  );
  return accepted(outcome).bookingId;
}
const pageOf = (id: number) => `/console/bookings/${id}`;
const UNREAD = /<span class="visually-hidden"> unread/;

async function member(account: 'Community' | 'Brand', role: 'Viewer' | 'Coordinator', email: string): Promise<Browser> {
  const of =
    account === 'Brand'
      ? ({ kind: 'Brand', id: brandId(running.demo.brands[0].id) } as const)
      : ({ kind: 'Community', id: communityId(running.demo.communities[0].id) } as const);
  const user = { email, password: 'correct horse battery' };
  accepted(await running.service.core.users.add({ ...user, accounts: [of], role }, BY_OPERATOR));
  return signedIn(user);
}

test('both parties write to each other about a booking, and see what is new', async () => {
  const id = await booking();
  const sent = await brand.send(await brand.open(pageOf(id)), `${pageOf(id)}/messages`, {
    text: 'May we bring a <dog>?',
  });
  expect(sent.flash).toContain('Your message was sent.');
  expect(sent.text).toContain('May we bring a &lt;dog&gt;?');
  expect(sent.text).not.toMatch(UNREAD);

  const inbox = await community.open('/console/inbox');
  expect(inbox.text).toMatch(UNREAD);
  expect(inbox.text).toContain('New message');
  expect((await community.open('/console/bookings')).text).toContain('Unread messages');
  const page = await community.open(pageOf(id));
  expect(page.text).toContain('May we bring a &lt;dog&gt;?');
  expect(page.text).toContain('<span class="status is-pending">New</span>');
  expect(page.text).not.toMatch(UNREAD);
  const again = await community.open(pageOf(id));
  expect(again.text).not.toContain('<span class="status is-pending">New</span>');
  expect((await community.open('/console/bookings')).text).not.toContain('Unread messages');

  await community.send(again, `${pageOf(id)}/messages`, { text: 'Of course.' });
  expect((await brand.open('/console/find')).text).toMatch(UNREAD);
  const thread = (await brand.open(pageOf(id))).text;
  expect(thread.indexOf('May we bring')).toBeLessThan(thread.indexOf('Of course.'));
});

test('a message is unread for each member until that member, or a colleague, answers it', async () => {
  const id = await booking();
  const colleague = await member('Community', 'Viewer', 'reader@harbour.example');
  await brand.send(await brand.open(pageOf(id)), `${pageOf(id)}/messages`, { text: 'Is there a piano?' });
  const page = await community.open(pageOf(id));
  expect((await colleague.open('/console/inbox')).text).toMatch(UNREAD);
  await community.send(page, `${pageOf(id)}/messages`, { text: 'There is.' });
  expect((await colleague.open('/console/inbox')).text).not.toMatch(UNREAD);
});

test('a page that only offers to switch to the account of the booking reads nothing', async () => {
  const id = await booking();
  const brandAccount = { kind: 'Brand', id: brandId(running.demo.brands[1].id) } as const;
  const house = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const user = { email: 'both@harbour.example', password: 'correct horse battery' };
  const { core } = running.service;
  const { id: userId } = accepted(await core.users.add({ ...user, accounts: [brandAccount, house] }, BY_OPERATOR));
  const both = await signedIn(user);
  await brand.send(await brand.open(pageOf(id)), `${pageOf(id)}/messages`, { text: 'Hello?' });
  const marks = async () => (await core.users.get(userId))?.read ?? {};
  const offered = await both.open(pageOf(id));
  expect(offered.status).toBe(404);
  expect(await marks()).toEqual({});
  await both.send(offered, '/console/account', { account: `Community:${house.id}` });
  await both.open(pageOf(id));
  expect(Object.keys(await marks())).toEqual([String(id)]);
});

test('refuses 4,001 characters, keeps what was typed, and takes nothing from a Viewer or another account', async () => {
  const id = await booking();
  const page = await brand.open(pageOf(id));
  const typed = 'x'.repeat(4_001);
  const refused = await brand.send(page, `${pageOf(id)}/messages`, { text: typed });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('1 to 4000 characters');
  expect(refused.text).toContain(typed);

  const viewer = await member('Brand', 'Viewer', 'viewer@northwind.example');
  const seen = await viewer.open(pageOf(id));
  expect(seen.text).not.toContain('Send message');
  const post = async (browser: Browser, to: string, csrf: string) =>
    (await browser.request(to, { method: 'POST', body: new URLSearchParams({ csrf, text: 'Hi', note: 'Hi' }) })).status;
  const csrfOf = async (browser: Browser) =>
    /name="csrf" value="([^"]+)"/.exec((await browser.open('/console/account')).text)?.[1] ?? '';
  expect(await post(viewer, `${pageOf(id)}/messages`, await csrfOf(viewer))).toBe(403);
  const stranger = await signedIn(running.demo.brands[1].user);
  expect(await post(stranger, `${pageOf(id)}/messages`, await csrfOf(stranger))).toBe(404);
  const other = await signedIn(running.demo.communities[1].user);
  expect(await post(other, `${pageOf(id)}/messages`, await csrfOf(other))).toBe(404);
  expect(await post(other, `${pageOf(id)}/notes`, await csrfOf(other))).toBe(404);
  expect(await post(brand, `${pageOf(id)}/notes`, await csrfOf(brand))).toBe(404);
  const { threads } = running.service.core.queries;
  const house = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const booked = (await running.service.core.queries.bookings.get(house, id)) ?? expect.fail();
  expect(await threads.ofBooking(booked)).toEqual([]);
});

test('a note of the house is on none of the pages of the brand', async () => {
  const id = await booking();
  const secret = 'Deposit paid in cash, keep an eye on the floor';
  const page = await community.send(await community.open(pageOf(id)), `${pageOf(id)}/notes`, { note: secret });
  expect(page.text).toContain(secret);
  const pages = [pageOf(id), '/console/bookings?when=all', '/console/bookings.csv?when=all', '/console/history'];
  for (const path of pages) expect((await brand.request(path)).text).not.toContain(secret);
  const { queries } = running.service.core;
  const asBrand = { kind: 'Brand', id: brandId(running.demo.brands[0].id) } as const;
  const seen = (await queries.bookings.get(asBrand, id)) ?? expect.fail();
  expect(await queries.threads.notesOf(asBrand, seen)).toEqual([]);
  expect(await queries.threads.ofBooking(seen)).toEqual([]);
  expect(await queries.threads.unread(asBrand, {})).not.toContain(id);
});

test('messages are erased with the account that wrote them, and then none can be written', async () => {
  const { core } = running.service;
  const house = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const other = { kind: 'Brand', id: brandId(running.demo.brands[1].id) } as const;
  const day = inDays(29) as PlainDate;
  const details = { spaceId: spaceId(running.demo.communities[0].spaces[0].id), date: day, startHour: 10 };
  const { bookingId } = accepted(await core.commands.bookings.request({ brandId: other.id, details }, CONTEXT));
  accepted(await core.commands.threads.send({ account: other, bookingId, text: 'Call me at 555-0100' }, CONTEXT));
  accepted(await core.commands.threads.send({ account: house, bookingId, text: 'We will.' }, CONTEXT));
  accepted(await core.commands.threads.note({ account: house, bookingId, note: 'Calls at night' }, CONTEXT));
  accepted(await core.commands.personalData.forget(`brand:${other.id}`, CONTEXT));
  const booked = (await core.queries.bookings.get(house, bookingId)) ?? expect.fail();
  const texts = (await core.queries.threads.ofBooking(booked)).map(({ text }) => text);
  expect(texts).toEqual(['erased', 'We will.']);
  expect((await core.queries.threads.notesOf(house, booked)).map(({ note }) => note)).toEqual(['erased']);
  for (const account of [house, other])
    expect(await core.commands.threads.send({ account, bookingId, text: 'Hello?' }, CONTEXT)).toMatchObject({
      refused: 'BookingNotAllowed',
      details: 'The texts of one of the parties were erased, so nothing more can be written.',
    });
});
