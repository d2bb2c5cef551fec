import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { shortDate } from '../../src/html/formats.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const ENTER = '/console/bookings/enter';

let running: Running;
let desk: Browser;
let day = 100;

beforeAll(async () => {
  running = await startDemo({ CONSOLE_WRITES_PER_MINUTE: '1000' });
  desk = new Browser(running.url);
  await desk.signIn(running.demo.communities[0].user);
});
afterAll(() => running.stop());

const core = () => running.service.core;
const house = () => communityId(running.demo.communities[0].id);
const space = () => running.demo.communities[0].spaces[0];

const enter = async (fields: Readonly<Record<string, string>>): Promise<Page> =>
  desk.send(await desk.open(ENTER), ENTER, { space: String(space().id), startHour: '12', ...fields });

const idIn = ({ url }: Page): number => Number(url.pathname.split('/').at(-1));
const customerId = async (name: string): Promise<number> => {
  const [customer] = await core().queries.customers.called(house(), name);
  if (customer === undefined) throw new Error(`${name} is no customer`);
  return customer.brandId;
};
const bookingsOf = async (id: number) =>
  (await core().queries.bookings.page({ kind: 'Brand', id: brandId(id) }, { limit: 50, direction: 'ascending' }))
    .bookings;

test('a booking by telephone is entered for a new customer in one form, is approved at once, and sends the house no request', async () => {
  const date = inDays(day++);
  const done = await enter({ customer: 'Tango Club', isNew: 'yes', contact: 'Ana, 030 1234', date, guests: '12' });
  expect(done.flash).toMatch(/^Entered for <bdi>Tango Club<\/bdi>: .*12:00–.* \(#\d+\), <bdi>/);
  const id = await customerId('tango club');
  const [booking] = await bookingsOf(id);
  expect(booking).toMatchObject({ status: 'Approved', date, startHour: 12, guests: 12, approval: 'entered' });
  expect(booking?.charge).toBe(booking?.totalPrice);
  const history = (await desk.open(`/console/bookings/${booking?.bookingId}`)).text;
  expect(history).toContain(running.demo.communities[0].user.email);
  expect((await desk.open('/console/inbox')).text).not.toContain('Tango Club');
  // Another house does not see it.
  const other = new Browser(running.url);
  await other.signIn(running.demo.communities[1].user);
  expect((await other.open(`/console/customers/${id}`)).status).toBe(404);
  expect((await other.open('/console/customers')).text).not.toContain('Tango Club');
});

test('a customer without people can be invited, but not be written to', async () => {
  await enter({ customer: 'Silent Choir', isNew: 'yes', date: inDays(day++) });
  const id = await customerId('Silent Choir');
  const [booking] = await bookingsOf(id);
  const path = `/console/bookings/${booking?.bookingId}`;
  const { text } = await desk.open(path);
  expect(text).toContain('This customer has no account yet');
  expect(text).toContain(`href="/console/customers/${id}">Invite a person`);
  expect(text).not.toContain('Send message');
  const member = { email: 'choir@example.com', password: 'correct horse battery' };
  accepted(await core().users.add({ ...member, accounts: [{ kind: 'Brand', id: brandId(id) }] }, CONTEXT));
  expect((await desk.open(path)).text).toContain('Send message');
});

test('a free time for a caller is found among the own spaces, and leads to the form with what was asked for', async () => {
  const [hall] = (await core().queries.spaces.list({ kind: 'Community', id: house() })).filter(
    ({ spaceId: id }) => id === space().id,
  );
  const date = inDays(200);
  const free = '/console/bookings/free';
  expect((await desk.open(ENTER)).text).toContain(`href="${free}"`);
  const found = await desk.open(`${free}?guests=2&date=${date}&hour=12`);
  const others = await core().queries.spaces.list({ kind: 'Community', id: communityId(2) });
  expect(found.text).toContain(hall?.name);
  for (const { name } of others) expect(found.text).not.toContain(name);
  const [, href = ''] =
    new RegExp(`href="([^"]*enter\\?space=${space().id}&amp;[^"]*startHour=12[^"]*)"`).exec(found.text) ?? [];
  const form = await desk.open(href.replaceAll('&amp;', '&'));
  expect(form.text).toMatch(new RegExp(`name="date"[^>]* value="${shortDate(date)}"`));
  expect(form.text).toMatch(/name="guests"[^>]* value="2"/);
  expect(form.text).toMatch(/<option value="12" selected/);
  await enter({ customer: 'Caller', isNew: 'yes', date, startHour: '12' });
  const taken = await desk.open(`${free}?date=${date}`);
  expect(taken.text).not.toMatch(new RegExp(`enter\\?space=${space().id}&amp;date=${date}&amp;startHour=12\\b`));
  // Nothing of a search that is refused is printed as a month or an hour.
  const noMonth = await desk.open(`${free}?month=1&hour=99`);
  expect(noMonth.text).toContain('Error: Find a free time');
  expect(noMonth.text).toContain(`href="${free}">Clear filters`);
  const wrong = await desk.open(`${free}?guests=-1&place=${'x'.repeat(300)}`);
  expect(wrong.text).toContain('Error: Find a free time');
  expect(wrong.text).not.toContain('class="finds"');
  expect((await desk.open(`${free}?guests=90000`)).text).toContain('Nothing found');
});

test('a form that is sent twice enters one booking', async () => {
  await enter({ customer: 'Twice GmbH', isNew: 'yes', date: inDays(day++) });
  const form = await desk.open(ENTER);
  const fields = { customer: 'Twice GmbH', space: String(space().id), startHour: '12', date: inDays(day++) };
  await Promise.all([desk.send(form, ENTER, fields), desk.send(form, ENTER, fields)]);
  expect(await bookingsOf(await customerId('Twice GmbH'))).toHaveLength(2);
});

test('of a series, each day that is not free is listed with its reason before anything is stored, and the ticked days are entered', async () => {
  const year = inDays(400).slice(0, 4);
  const [from, february, march] = [`${year}-01-31`, `${year}-02-28`, `${year}-03-31`];
  const typed = {
    customer: 'Choir',
    isNew: 'yes',
    date: from,
    every: 'month',
    until: `${year}-04-30`,
    days: february,
    message: 'With a piano',
  };
  const shown = await enter(typed);
  const changed = await desk.send(shown, ENTER, { change: 'yes' });
  expect([changed.status, changed.text.includes('With a piano')]).toEqual([200, true]);
  const none = await desk.send(shown, ENTER, { day: [] });
  expect([none.status, none.text.includes('Tick at least one day.')]).toEqual([422, true]);
  expect(shown.text).toContain(`${year}-02-31: there is no such day`);
  expect(shown.text).toContain(shortDate(february));
  expect(await core().queries.customers.called(house(), 'Choir')).toEqual([]);
  const dates = [...shown.text.matchAll(/name="day" value="([\d-]+)"/g)].map(([, date]) => date);
  expect(dates).toEqual([from, february, march]);
  // One is taken meanwhile.
  await enter({ customer: 'Quick', isNew: 'yes', date: february });
  const done = await desk.send(shown, ENTER, { day: [from, february, march] });
  expect(done.flash).toContain(`1 day not entered. ${shortDate(february)}: `);
  const [first, second, ...others] = await bookingsOf(await customerId('Choir'));
  expect([first?.date, second?.date, others]).toEqual([from, march, []]);
  expect((await desk.open(`/console/bookings/${first?.bookingId}`)).text).toContain('One of 2 days:');
  // One day of a form is no series.
  const [quick] = await bookingsOf(await customerId('Quick'));
  expect((await desk.open(`/console/bookings/${quick?.bookingId}`)).text).not.toContain('id="series"');
});

test('wrong input comes back with a sentence, and nothing is stored', async () => {
  const id = String(space().id);
  const date = inDays(day++);
  for (const [fields, text] of [
    [{ customer: '', date }, 'Type the name of a customer.'],
    [{ customer: 'Never Heard Of', date }, 'Tick “New customer” to add it.'],
    [{ customer: 'Tango Club', isNew: 'yes', date }, 'There is a customer with this name already.'],
    [{ customer: 'TANGO  club', date: '2026-02-30' }, 'There is no 30 February 2026.'],
    [{ customer: 'Tango', date: '2020-01-01' }, 'is in the past'],
    [{ customer: 'Tango', date, eventFee: '-1' }, 'The price must be an amount'],
    [{ customer: 'Tango', date, eventFee: '9'.repeat(1_000) }, 'The price must be an amount'],
    [{ customer: 'Tango', date, guests: '0' }, 'whole number'],
    [{ customer: 'Tango', date, message: 'a'.repeat(501) }, 'at most 500 characters'],
    [{ customer: 'Tango', date, every: 'week', until: '' }, 'Choose the last day.'],
    [{ customer: 'Tango', date, every: 'week', until: inDays(1) }, 'The last day is before the first.'],
    [{ customer: 'Tango', date, every: 'week', until: inDays(900) }, 'at most 100 days'],
    [{ customer: 'Tango', date, days: 'tomorrow' }, 'Write a date such as'],
    [{ customer: 'Tango', date, space: '999999' }, 'Choose a space.'],
    [{ customer: 'Northwind Coffee', date }, 'It requests itself'],
  ] as const) {
    const page = await enter({ space: id, ...fields });
    expect([page.status, page.text.includes(text)], `${JSON.stringify(fields).slice(0, 80)}`).toEqual([422, true]);
  }
});

test('what is agreed with a customer is its price, and a price in the form goes before it', async () => {
  await enter({ customer: 'Agreed', isNew: 'yes', date: inDays(day++) });
  const id = await customerId('Agreed');
  const page = await desk.open(`/console/customers/${id}`);
  const terms = { standing: 'letIn', discountPercent: '10', feeSpace: String(space().id), newFee: '12.50' };
  expect((await desk.send(page, '/terms', terms)).flash).toContain('Saved.');
  await enter({ customer: 'Agreed', date: inDays(day++) });
  await enter({ customer: 'Agreed', date: inDays(day++), eventFee: '7' });
  expect((await bookingsOf(id)).map(({ eventFee }) => eventFee).slice(1)).toEqual([12_50, 7_00]);
  // A colleague has changed it since this page was opened.
  const late = await desk.send(page, '/terms', { ...terms, discountPercent: '20' });
  expect([late.status, late.text.includes('was changed meanwhile')]).toEqual([409, true]);
  const wrong = await desk.send(await desk.open(`/console/customers/${id}`), '/terms', { discountPercent: '101' });
  expect([wrong.status, wrong.text.includes('must be a whole number, 1 to 100')]).toEqual([422, true]);
});

test('of forms that add a customer of one name at the same moment, one adds it, and the others say so', async () => {
  const path = '/console/customers/new';
  const forms = await Promise.all(Array.from({ length: 5 }, () => desk.open(path)));
  const names = ['Coro', 'coro', ' Coro ', 'Córo', 'CORO'];
  const answers = await Promise.all(forms.map((form, index) => desk.send(form, path, { name: names[index] ?? '' })));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 422, 422, 422, 422]);
  for (const { status, text } of answers)
    if (status === 422) expect(text).toMatch(/is (?:that of|being given to) another customer/);
  expect(await core().queries.customers.called(house(), 'coro')).toHaveLength(1);
});

test('a trusted brand is approved at once, and a blocked one cannot request', async () => {
  const { brandId: id } = accepted(
    await core().commands.customers.add({ communityId: house(), name: 'Acme Fairs' }, CONTEXT),
  );
  const wanted = { account: { kind: 'Brand', id } as const, permissions: ALL_PERMISSIONS, label: 'Test' };
  const { key } = accepted(await core().commands.apiKeys.issue(wanted, CONTEXT));
  const request = async () => {
    const answer = await fetch(`${running.url}/api/v1/bookings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': String(day) },
      body: JSON.stringify({ spaceId: space().id, startTime: inDays(day++), startHour: 12 }),
    });
    return { ...Object(await answer.json()), code: answer.status };
  };
  const set = async (standing: string) =>
    desk.send(await desk.open(`/console/customers/${id}`), '/terms', { standing });
  const waiting = await request();
  expect(waiting).toMatchObject({ code: 201, status: 'Pending' });
  await set('trusted');
  expect(await request()).toMatchObject({ code: 201, status: 'Approved' });
  const blocked = await set('blocked');
  expect(blocked.flash).toContain('1 request declined');
  expect(await request()).toMatchObject({ code: 422, error: 'BookingNotAllowed' });
  const spaces = async (path: string) => {
    const answer = await fetch(`${running.url}/api/v1/spaces${path}`, { headers: { authorization: `Bearer ${key}` } });
    return answer.text();
  };
  const isOffered = async () => {
    const lists = [await spaces('?limit=100'), await spaces('')].map((list) =>
      list.includes(`"communityId":${house()},`),
    );
    const hours = (await spaces(`/${space().id}/availability?date=${inDays(day)}`)).includes('"isAvailable":true');
    const isActive = (await spaces(`/${space().id}`)).includes('"active":true');
    const range = { from: inDays(day), to: inDays(day + 2), spaceIds: [space().id], limit: 10 };
    const { days } = accepted(await core().queries.openDays({ account: wanted.account, ...range }));
    return [...lists, hours, isActive, days.length > 0];
  };
  expect(await isOffered()).toEqual([false, false, false, false, false]);
  await set('letIn');
  expect(await isOffered()).toEqual([true, true, true, true, true]);
  expect(await request()).toMatchObject({ code: 201, status: 'Pending' });
  const shown = await desk.open(`/console/customers/${id}`);
  expect(shown.text).toMatch(/<dt>Booked<\/dt><dd>1 booking<\/dd>/);
});

test('contact and note are kept for the house alone, and erased with the customer', async () => {
  const form = await desk.open('/console/customers/new');
  const made = await desk.send(form, '/new', { name: 'Erna Muster', contact: 'erna@example.com', note: 'likes tea' });
  const id = idIn(made);
  expect(made.text).toContain('likes tea');
  const twice = await desk.send(await desk.open('/console/customers/new'), '/new', { name: 'erna  MUSTER ' });
  expect([twice.status, twice.text.includes('is that of another customer')]).toEqual([422, true]);
  accepted(await core().commands.personalData.forget(`brand:${id}`, CONTEXT));
  const after = await desk.open(`/console/customers/${id}`);
  expect([after.text.includes('likes tea'), after.text.includes('erased')]).toEqual([false, true]);
});

test('a brand sees and pays what was agreed with it, and a house that blocks it is closed', async () => {
  const [northwind] = running.demo.brands;
  const planner = new Browser(running.url);
  await planner.signIn(northwind.user);
  const id = await customerId(northwind.name);
  const set = async (fields: Readonly<Record<string, string>>) =>
    desk.send(await desk.open(`/console/customers/${id}`), '/terms', { standing: 'letIn', ...fields });
  await set({ discountPercent: '100' });
  const room = `/console/find/${space().id}?date=${inDays(day++)}`;
  const page = await planner.open(room);
  expect(page.text).toContain('name="price" value="0"');
  const sent = await planner.send(page, /find\/\d+$/, { startHour: '12' });
  expect(sent.flash).toContain('Request sent.');
  const [, bookingId = ''] = /bookings\/(\d+)/.exec(sent.url.pathname) ?? [];
  expect((await core().queries.operator.booking(Number(bookingId)))?.totalPrice).toBe(0);
  await set({ standing: 'blocked', discountPercent: '100' });
  expect((await planner.open(room)).text).toContain('This space is not taking bookings at the moment.');
  await set({ standing: 'letIn', discountPercent: '' });
  expect((await planner.open(room)).text).not.toContain('name="price" value="0"');
});

test('a request can be approved for less than it was made for, never for more', async () => {
  const [northwind] = running.demo.brands;
  const planner = new Browser(running.url);
  await planner.signIn(northwind.user);
  const page = await planner.open(`/console/find/${space().id}?date=${inDays(day++)}`);
  const sent = await planner.send(page, /find\/\d+$/, { startHour: '12' });
  const id = Number(sent.url.pathname.split('/').at(-1));
  const approve = async (eventFee: string) => {
    const asked = await desk.open(`/console/bookings/${id}`);
    const { csrf } = asked;
    const body = new URLSearchParams({ csrf, eventFee });
    const answer = await desk.request(`/console/bookings/${id}/approve`, { method: 'POST', body });
    return desk.open(answer.location ?? '');
  };
  expect((await approve('999999')).flash).toContain('must not be higher than at the request');
  expect((await approve('-1')).flash).toContain('must be an amount');
  const done = await approve('10');
  expect(done.flash).toContain('Request approved');
  const booking = await core().queries.operator.booking(id);
  expect(booking).toMatchObject({ status: 'Approved', eventFee: 10_00, charge: booking?.totalPrice });
  // What was charged is refunded, not what was asked.
  const cancelled = await desk.send(await desk.open(`/console/bookings/${id}/cancel`), '/cancel', {
    reason: 'Flooded',
  });
  expect(cancelled.flash).toContain('Booking cancelled.');
  expect((await core().queries.operator.booking(id))?.refund).toBe(booking?.charge);
});
