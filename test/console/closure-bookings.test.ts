import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { weekdayOf } from '../../src/domain/calendar.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const LIST = '/console/calendar/closures';
const TERMS = { windowStart: 8, windowEnd: 22, durationHours: 1, eventFee: cents(10_000), answerHours: 720 };
let running: Running;
let harbour: Browser;
let union: Browser;
let rooms: number[];

beforeAll(async () => {
  running = await startDemo();
  const [first, second] = running.demo.communities;
  [harbour, union] = [new Browser(running.url), new Browser(running.url)];
  await Promise.all([harbour.signIn(first.user), union.signIn(second.user)]);
});
afterAll(() => running.stop());
beforeEach(async () => {
  const { catalogue } = running.service.core.commands;
  const owner = communityId(running.demo.communities[0].id);
  const add = (name: string) => catalogue.addSpace({ ...TERMS, name, communityId: owner }, CONTEXT);
  rooms = [accepted(await add('Oak')), accepted(await add('Elm'))];
});

const commands = () => running.service.core.commands;
const textOf = ({ text }: Page) => text.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const by = () => ({ communityId: communityId(running.demo.communities[0].id) });
const statusOf = async (id: number) =>
  (await running.service.core.queries.bookings.get({ kind: 'Community', id: by().communityId }, id))?.status;

async function book(room: number | undefined, date: string, startHour: number, isApproved = false): Promise<number> {
  const details = { spaceId: spaceId(room ?? 0), date: date as PlainDate, startHour };
  const { bookingId } = accepted(
    await commands().bookings.request({ brandId: brandId(running.demo.brands[0].id), details }, CONTEXT),
  );
  if (isApproved) accepted(await commands().bookings.approve({ bookingId, ...by() }, CONTEXT));
  return bookingId;
}
const add = async (kind: string, fields: Readonly<Record<string, string | readonly string[]>>) =>
  harbour.send(await harbour.open(`${LIST}/new?kind=${kind}`), `${LIST}/new`, { spaces: rooms.map(String), ...fields });
const cancel = (page: Page, fields: Readonly<Record<string, string | readonly string[]>>) =>
  harbour.send(page, /\/cancel$/, fields);

test('the bookings inside a closed day are chosen and cancelled in one step with a reason, and each brand gets its mail', async () => {
  const date = inDays(40);
  const held = [
    await book(rooms[0], date, 9),
    await book(rooms[0], date, 11, true),
    await book(rooms[1], date, 9, true),
  ];
  const [request = 0, approved = 0, other = 0] = held;
  const day = await add('Closure', { title: 'Floor', from: date });
  expect(day.flash).toContain('3 bookings inside it stay');
  expect(day.text.match(/name="booking"/g)).toHaveLength(3);

  for (const [fields, field, problem] of [
    [{ booking: [], reason: 'Floor' }, 'booking', 'Tick the bookings to cancel.'],
    [{ booking: `${request} Pending`, reason: ' ' }, 'reason', 'Give a reason.'],
    [{ booking: `${request} Pending`, reason: 'x'.repeat(501) }, 'reason', 'Reason'],
  ] as const) {
    const refused = await cancel(day, fields);
    expect(refused.status).toBe(422);
    expect(new RegExp(`id="${field}-error".*?</p>`, 's').exec(refused.text)?.[0]).toContain(problem);
  }
  expect(await Promise.all(held.map(statusOf))).toEqual(['Pending', 'Approved', 'Approved']);

  const chosen = { booking: [`${request} Pending`, `${approved} Approved`], reason: 'New floor' };
  const cancelled = await cancel(day, chosen);
  expect(cancelled.flash).toMatch(/^2 bookings cancelled\. .*115\.00 was refunded\.$/);
  expect(await Promise.all(held.map(statusOf))).toEqual(['Cancelled', 'Cancelled', 'Approved']);
  expect(cancelled.text.match(/name="booking"/g)).toHaveLength(1);
  const account = { kind: 'Community', id: by().communityId } as const;
  const last = await running.service.core.queries.bookings.get(account, approved);
  expect(last).toMatchObject({ reason: 'New floor', cancelledBy: 'Community' });

  await eventually(async () => {
    const mails = textOf(await harbour.open('/mail'));
    expect(mails).toMatch(/Cancelled: Oak, [^:]+, 11:00–12:00 northwind@demo\.example/);
    expect(mails).toMatch(/Declined: Oak, [^:]+, 09:00–10:00 northwind@demo\.example/);
  });
  // Without JavaScript, one box chooses all that the page lists.
  expect((await cancel(cancelled, { all: 'yes', reason: 'New floor' })).flash).toContain('1 booking cancelled');
  expect(await statusOf(other)).toBe('Cancelled');
  expect((await harbour.open(day.url)).text).not.toContain('Bookings inside it');
});

test('those that cannot be cancelled are named with the reason, and the others are cancelled', async () => {
  const date = inDays(41);
  const held = [await book(rooms[0], date, 9), await book(rooms[0], date, 10), await book(rooms[0], date, 11, true)];
  const [approvedSince = 0, withdrawn = 0, kept = 0] = held;
  const day = await add('Closure', { from: date });
  accepted(await commands().bookings.approve({ bookingId: approvedSince, ...by() }, CONTEXT));
  const brand = { kind: 'Brand', id: brandId(running.demo.brands[0].id) } as const;
  accepted(await commands().bookings.cancel({ bookingId: withdrawn, by: brand }, CONTEXT));
  const answer = await cancel(day, { all: 'yes', reason: 'Floor' });
  expect(answer.flash).toMatch(/1 booking cancelled: .*11:00–12:00.*\n?2 bookings could not be cancelled:/s);
  expect(answer.flash).toMatch(/09:00–10:00: It was approved by/);
  expect(answer.flash).toMatch(/10:00–11:00: It was withdrawn/);
  expect(await Promise.all(held.map(statusOf))).toEqual(['Approved', 'Cancelled', 'Cancelled']);
  expect(kept).toBeGreaterThan(0);
  // A booking that is not to this account, and too many.
  const foreign = await cancel(answer, { booking: '999999 Approved', reason: 'Floor' });
  expect(foreign.flash).toContain('Nothing was cancelled: ');
  const many = Array.from({ length: 101 }, (_, index) => `${index + 1} Pending`);
  expect((await cancel(foreign, { booking: many, reason: 'Floor' })).text).toContain('Tick at most 100.');
  expect((await union.open(day.url)).status).toBe(404);
});

test('each booking inside a closed day is left, cancelled, or proposed to move to the next day that is free at its hour', async () => {
  const date = inDays(90);
  const [left, cancelled, moved] = [
    await book(rooms[0], date, 9, true),
    await book(rooms[0], date, 11, true),
    await book(rooms[1], date, 9),
  ];
  // The next day has the hour no more.
  await book(rooms[1], inDays(91), 9);
  const day = await add('Closure', { from: date });
  expect(day.flash).toContain('3 bookings inside it stay');
  const path = `${day.url.pathname}/bookings`;
  const page = await harbour.open(path);
  const [choices = ''] = new RegExp(`<select[^>]* name="choice-${moved}".*?</select>`, 's').exec(page.text) ?? [];
  const offered = [...choices.matchAll(/<option value="([^"]*)"/g)].map(([, value]) => value);
  expect(offered.slice(0, 4)).toEqual(['leave', 'cancel', inDays(92), inDays(93)]);
  expect((await harbour.send(page, path)).text).toContain('Choose what becomes of a booking.');
  const fields = { [`choice-${left}`]: 'leave', [`choice-${cancelled}`]: 'cancel', [`choice-${moved}`]: inDays(92) };
  const without = await harbour.send(page, path, fields);
  expect([without.status, without.text.includes('Give a reason.')]).toEqual([422, true]);
  const done = await harbour.send(without, path, { reason: 'New floor' });
  expect(done.flash).toMatch(/^1 booking cancelled: .*\n1 move proposed: /s);
  expect(await Promise.all([left, cancelled, moved].map(statusOf))).toEqual(['Approved', 'Cancelled', 'Pending']);
  const account = { kind: 'Community', id: by().communityId } as const;
  const { bookings } = running.service.core.queries;
  expect((await bookings.get(account, moved))?.move).toMatchObject({ askedBy: 'Community', to: { date: inDays(92) } });
  // A day that is taken meanwhile, the closed day itself, and bookings of others.
  await book(rooms[0], inDays(93), 9);
  const taken = await harbour.send(await harbour.open(path), path, { [`choice-${left}`]: inDays(93) });
  expect(taken.flash).toMatch(/^Nothing was proposed\.\n1 move could not be proposed:\n/);
  const closed = await harbour.send(await harbour.open(path), path, { [`choice-${moved}`]: date });
  expect(closed.flash).toContain('Nothing was proposed.');
  const foreign = { listed: '999999 Approved', 'choice-999999': 'cancel', reason: 'x' };
  expect((await harbour.send(await harbour.open(path), path, foreign)).flash).toContain('not to this account');
  expect((await union.open(path)).status).toBe(404);
  expect(await statusOf(left)).toBe('Approved');
});

test('each of many bookings inside a closed time is reached page by page, without those of the past, and a customer moves at once', async () => {
  const { customers, bookings } = commands();
  const owner = by().communityId;
  const choir = accepted(await customers.add({ communityId: owner, name: 'Choir of the harbour' }, CONTEXT));
  const dates = Array.from({ length: 14 }, (_, day) => inDays(100 + day));
  const held: number[] = [];
  for (const date of dates) held.push(await book(rooms[0], date, 9, true));
  const entered = { spaceId: spaceId(rooms[1] ?? 0), date: inDays(100), startHour: 9 };
  const kept = accepted(
    await bookings.enter({ enteredBy: owner, brandId: choir.brandId, details: entered, entry: {} }, CONTEXT),
  ).bookingId;
  const day = await add('Closure', { from: inDays(100), to: inDays(113) });
  const path = `${day.url.pathname}/bookings`;
  const first = await harbour.open(path);
  const listed = ({ text }: Page) =>
    [...text.matchAll(/name="listed" value="(\d+) Approved"/g)].map(([, id]) => Number(id));
  const next = /rel="next" href="([^"]+)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const second = await harbour.open(next);
  expect([...listed(first), ...listed(second)].toSorted((a, b) => a - b)).toEqual([...held, kept]);
  // A form that comes back stays on its page.
  const refused = await harbour.send(second, path, { [`choice-${held[13]}`]: 'cancel' });
  expect([refused.status, listed(refused)]).toEqual([422, listed(second)]);
  const freed = await harbour.send(refused, path, { reason: 'Floor' });
  expect(freed.flash).toContain('1 booking cancelled');
  const done = await harbour.send(await harbour.open(path), path, { [`choice-${kept}`]: inDays(114) });
  expect(done.flash).toMatch(/^1 booking moved: .*Choir of the harbour/);
  expect(textOf(first)).toMatch(/Move to .*Propose /);
  // On the tenth day, those of the first nine are over.
  const { calendar, closures } = running.service.core.queries;
  const closure = (await closures.get(owner, path.split('/')[4] ?? '')) ?? expect.fail('The closed time is gone');
  const period = { is: 'upcoming', now: Date.parse(`${inDays(109)}T00:00:00Z`) } as const;
  const left = await calendar.concernedPage(closure, inDays(109), [], { period, limit: 20, isWanted: () => true });
  expect(left.bookings.map(({ date }) => date)).toEqual(dates.slice(9, 13));
});

test('a booking on a date that was left out is not inside the closed time', async () => {
  const range = { from: inDays(50), to: inDays(51) };
  const day = await add('Closure', range);
  await harbour.send(day, /\/leave-out$/, { date: inDays(50) });
  await book(rooms[0], inDays(50), 9);
  expect((await harbour.open(day.url)).text).not.toContain('Bookings inside it');
});

test('what is in the way of an own event is cancelled, and it is entered on the days that are free then, in one step', async () => {
  const dates = [inDays(60), inDays(67), inDays(74)];
  const inTheWay = [
    await book(rooms[0], dates[0] ?? '', 18, true),
    await book(rooms[0], dates[1] ?? '', 18),
    await book(rooms[0], dates[1] ?? '', 19),
  ];
  await book(rooms[0], dates[0] ?? '', 12);
  const hours = { start: '18', until: '20', spaces: String(rooms[0]) };
  const choir = await add('OwnEvent', { ...hours, title: 'Choir', from: dates[0] ?? '', to: dates[2] ?? '' });
  expect(choir.flash).toContain('1 day of spaces. 2 days left out');
  expect(textOf(choir)).toContain('Bookings in its way');
  expect(choir.text.match(/name="booking"/g)).toHaveLength(3);
  const [approved, first] = inTheWay;
  // The second date has another booking: nothing is cancelled unless it is enough.
  const half = await cancel(choir, { booking: [`${approved} Approved`, `${first} Pending`], reason: 'Choir' });
  expect([half.status, textOf(half)]).toEqual([422, expect.stringMatching(/Nothing was cancelled.*19:00–20:00/)]);
  expect(await Promise.all(inTheWay.map(statusOf))).toEqual(['Approved', 'Pending', 'Pending']);
  const answer = await cancel(half, { booking: `${approved} Approved`, reason: 'Choir' });
  expect(answer.flash).toMatch(/1 booking cancelled.*The own event is entered on 1 day more\./s);
  const shownOn = async (date: string | undefined) =>
    textOf(await harbour.open(`/console/calendar/${date}`)).includes('Choir 18:00–20:00');
  expect([await shownOn(dates[0]), await shownOn(dates[1]), await shownOn(dates[2])]).toEqual([true, false, true]);
  expect((await cancel(answer, { all: 'yes', reason: 'Choir' })).flash).toContain('is entered on 1 day more');
  expect(await shownOn(dates[1])).toBe(true);
});

test('each booking in the way of an own event is left, cancelled or moved, and the event is entered on the days that are free then', async () => {
  const choir = accepted(
    await commands().customers.add({ communityId: by().communityId, name: 'Choir of the hall' }, CONTEXT),
  );
  const dates = [inDays(120), inDays(127), inDays(134), inDays(141)];
  const [left, cancelled, proposed] = [
    await book(rooms[0], dates[0] ?? '', 18, true),
    await book(rooms[0], dates[1] ?? '', 18, true),
    await book(rooms[0], dates[2] ?? '', 18),
  ];
  const details = { spaceId: spaceId(rooms[0] ?? 0), date: dates[3] as PlainDate, startHour: 18 };
  const kept = accepted(
    await commands().bookings.enter(
      { enteredBy: by().communityId, brandId: choir.brandId, details, entry: {} },
      CONTEXT,
    ),
  ).bookingId;
  // It is not in the way: the day beside it.
  await book(rooms[0], inDays(121), 18);
  const event = await add('OwnEvent', {
    ...{
      title: 'Rehearsal',
      start: '18',
      until: '20',
      spaces: String(rooms[0]),
      weekdays: weekdayOf(dates[0] ?? inDays(0)),
    },
    ...{ from: inDays(113), to: dates[3] ?? '' },
  });
  expect(event.flash).toContain('4 days left out');
  const path = `${event.url.pathname}/bookings`;
  const page = await harbour.open(path);
  expect(textOf(page)).toContain('Bookings in its way');
  expect([...page.text.matchAll(/name="listed" value="(\d+) /g)].map(([, id]) => Number(id))).toEqual([
    ...[left, cancelled, proposed],
    kept,
  ]);
  const done = await harbour.send(page, path, {
    ...{ [`choice-${cancelled}`]: 'cancel', [`choice-${proposed}`]: inDays(135), [`choice-${kept}`]: inDays(142) },
    reason: 'Rehearsal',
  });
  expect(done.flash).toMatch(
    /^1 booking cancelled: .*\n1 booking moved: .*\n1 move proposed: .*\nThe own event is entered on 2 days more\.$/s,
  );
  const shown = async (date: string | undefined) =>
    textOf(await harbour.open(`/console/calendar/${date}`)).includes('Rehearsal 18:00–20:00');
  expect(await Promise.all(dates.map(shown))).toEqual([false, true, false, true]);
});

test('a single day that bookings hold is freed and taken by the form of the own event, with what was typed', async () => {
  const date = inDays(80);
  const held = [await book(rooms[0], date, 18, true), await book(rooms[0], date, 19)];
  const event = { from: date, start: '18', until: '20', spaces: String(rooms[0]), title: 'Choir' };
  const refused = await add('OwnEvent', event);
  expect(refused.status).toBe(422);
  expect(textOf(refused)).toContain('Bookings in its way');
  expect(refused.text.match(/name="booking"/g)).toHaveLength(2);

  const cancels = { ...event, cancels: 'yes', reason: 'Choir' };
  const none = await harbour.send(refused, /\/new$/, { ...cancels, booking: [] });
  expect(none.text).toContain('Tick the bookings to cancel.');
  expect(none.text).toContain('value="Choir"');
  const [first = 0, second = 0] = held;
  const half = await harbour.send(none, /\/new$/, { ...cancels, booking: `${first} Approved` });
  expect(half.status).toBe(422);
  expect(textOf(half)).toMatch(new RegExp(`Nothing was cancelled, as it would not be enough: .*booking #${second} of`));
  expect(await Promise.all(held.map(statusOf))).toEqual(['Approved', 'Pending']);
  const done = await harbour.send(half, /\/new$/, { ...cancels, all: 'yes' });
  expect(done.flash).toMatch(/2 bookings cancelled.*Own event saved: 1 day of spaces\./s);
  expect(await Promise.all(held.map(statusOf))).toEqual(['Cancelled', 'Cancelled']);
  // Nor is it if a closed time has the hours as well.
  const closed = inDays(82);
  const lost = await book(rooms[0], closed, 18);
  await add('Closure', { from: closed, title: 'Floor' });
  const form = await add('OwnEvent', { ...event, from: closed });
  const useless = await harbour.send(form, /\/new$/, { ...cancels, from: closed, all: 'yes' });
  expect(textOf(useless)).toMatch(/Nothing was cancelled.*a closed time, “Floor”/);
  expect(await statusOf(lost)).toBe('Pending');
  // Without the button, nothing is cancelled.
  const kept = await book(rooms[0], inDays(81), 18);
  const other = await add('OwnEvent', { ...event, from: inDays(81) });
  expect((await harbour.send(other, /\/new$/, { ...event, from: inDays(81), all: 'yes', reason: 'x' })).status).toBe(
    422,
  );
  expect(await statusOf(kept)).toBe('Pending');
});
