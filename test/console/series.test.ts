import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { brandId, cents, communityId, type spaceId } from '../../src/domain/ids.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let manager: Browser;
let brand: Browser;
let hall: ReturnType<typeof spaceId>;

const HARBOUR = { kind: 'Community', id: communityId(1) } as const;
const NORTHWIND = { kind: 'Brand', id: brandId(1) } as const;
const APPROVE = '/console/inbox/approve';
const DECLINE = '/console/inbox/decline';

beforeAll(async () => {
  running = await startDemo({ CONSOLE_WRITES_PER_MINUTE: '1000', PENDING_LIMIT: '200', APPROVE_CONFIRM_ABOVE: '5000' });
  [manager, brand] = [new Browser(running.url), new Browser(running.url)];
  await manager.signIn(running.demo.communities[0].user);
  await brand.signIn(running.demo.brands[0].user);
  const terms = { windowStart: 0, windowEnd: 23, durationHours: 1, eventFee: cents(100_00) };
  const wanted = { ...terms, name: 'Hall', answerHours: 72, communityId: HARBOUR.id };
  hall = accepted(await commands().catalogue.addSpace(wanted, CONTEXT));
});
afterAll(() => running.stop());

const commands = () => running.service.core.commands;
const queries = () => running.service.core.queries;
const pending = () => queries().requests.pending(HARBOUR.id, {}, { order: 'deadline' });
const withdraw = (bookingId: number) => commands().bookings.cancel({ bookingId, by: NORTHWIND }, CONTEXT);

beforeEach(async () => {
  for (const { bookingId } of await pending())
    accepted(await commands().bookings.cancel({ bookingId, by: HARBOUR, reason: 'Over.' }, CONTEXT));
});

let week = 10;
/** Days that no other test uses, each a week after the one before. */
const weeks = (count: number): readonly ReturnType<typeof inDays>[] =>
  Array.from({ length: count }, () => inDays(7 * week++));

type Wanted = { readonly series?: string; readonly hour?: number; readonly by?: ReturnType<typeof brandId> };
async function requested(date: ReturnType<typeof inDays>, { series, hour = 10, by = NORTHWIND.id }: Wanted = {}) {
  const details = { spaceId: hall, date, startHour: hour, ...(series !== undefined && { series }) };
  return accepted(await commands().bookings.request({ brandId: by, details }, CONTEXT)).bookingId;
}
async function requestedSeries(count: number, hour = 10): Promise<readonly number[]> {
  const series = randomUUID();
  const ids: number[] = [];
  for (const date of weeks(count)) ids.push(await requested(date, { series, hour }));
  return ids;
}
const statusesOf = async (ids: readonly number[]) =>
  (await queries().requests.some(HARBOUR, ids)).map(({ status }) => status);
const rowsOf = ({ text }: Page) => [...text.matchAll(/<article[^>]* id="request-(\d+)"/g)].map(([, id]) => Number(id));
const rowOf = ({ text }: Page, id: number) =>
  new RegExp(`<article[^>]* id="request-${id}".*?</article>`, 's').exec(text)?.[0] ?? '';
const link = (page: Page, label: string) =>
  new RegExp(`href="([^"]*)"[^>]*>(?:<svg.*?</svg> )?${label}`).exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';

test('a brand requests an hour on several days in one form, which shows what is not free and, sent twice, requests nothing twice', async () => {
  const dates = weeks(4);
  const [first = inDays(0), taken = inDays(0), , last = inDays(0)] = dates;
  await requested(taken, { by: brandId(2) });
  const page = await brand.open(`/console/find/${hall}?date=${first}`);
  const [more = inDays(0)] = weeks(1);
  const typed = { startHour: '10', every: 'week', until: last, days: more, message: 'Choir' };
  const shown = await brand.send(page, `/console/find/${hall}`, typed);
  expect(shown.status).toBe(200);
  expect(shown.text).toContain('4 days of 5 free');
  expect(shown.text).toMatch(/: requested by another brand, which waits for an answer/);
  expect(await pending()).toHaveLength(1);
  await Promise.all([brand.send(shown, `/console/find/${hall}`), brand.send(shown, `/console/find/${hall}`)]);
  const made = (await pending()).filter(({ brandId: by }) => by === NORTHWIND.id);
  expect(made.map(({ date }) => date).toSorted()).toEqual([...dates.filter((date) => date !== taken), more]);
  expect(new Set(made.map(({ series }) => series)).size).toBe(1);
  // Each day leads to the others.
  const ids = made.map(({ bookingId }) => bookingId);
  const booking = await brand.open(`/console/bookings/${ids[0]}`);
  for (const id of ids) expect(booking.text).toContain(`href="/console/bookings/${id}"`);
  expect(booking.text).toContain('Withdraw all 4 that wait…');
});

test('wrong days come back with a sentence, an altered price or series requests nothing', async () => {
  const [date = inDays(0), second = inDays(0)] = weeks(2);
  const path = `/console/find/${hall}`;
  const page = await brand.open(`${path}?date=${date}`);
  for (const [fields, text] of [
    [{ every: 'week', until: '' }, 'Choose the last day.'],
    [{ every: 'week', until: inDays(1) }, 'The last day is before the first.'],
    [{ every: 'week', until: inDays(1_500) }, 'at most 100 days'],
    [{ days: 'tomorrow' }, 'Write a date such as'],
  ] as const) {
    const answer = await brand.send(page, path, { startHour: '10', ...fields });
    expect([answer.status, answer.text.includes(text)], text).toEqual([422, true]);
  }
  const shown = await brand.send(page, path, { startHour: '10', days: second });
  expect((await brand.send(shown, path, { day: [] })).text).toContain('Tick at least one day.');
  expect((await brand.send(shown, path, { day: `${date}_1` })).text).toContain('the price has changed');
  expect((await brand.send(shown, path, { series: 'Wedding' })).text).toContain('must be a UUID in lower case');
  expect((await brand.send(shown, path, { day: `${inDays(1_000)}_11500` })).flash).not.toContain('sent');
  expect(await pending()).toEqual([]);
});

test('changing the days, and a request of which all are refused, keep what was typed, and say why in words of the console', async () => {
  const [date = inDays(0), second = inDays(0)] = weeks(2);
  const path = `/console/find/${hall}`;
  const typed = { startHour: '10', days: second, message: 'A choir of 40', guests: '40' };
  const shown = await brand.send(await brand.open(`${path}?date=${date}`), path, typed);
  const changed = await brand.send(shown, path, { change: 'yes' });
  expect(changed.status).toBe(200);
  for (const text of ['A choir of 40', 'value="40"', second]) expect(changed.text).toContain(text);
  expect(changed.text).toMatch(/name="startHour" value="10"[^>]* checked/);
  for (const day of [date, second]) await requested(day, { by: brandId(2) });
  const refused = await brand.send(shown, path);
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('10:00 is no longer free: requested by another brand');
  expect(refused.text).toContain('value="A choir of 40"');
});

test('a brand that the house trusts reads that its days are approved and charged at once', async () => {
  const { customers } = commands();
  // A customer of the house is a brand of which it has approved a booking.
  const [date = inDays(0), second = inDays(0), third = inDays(0)] = weeks(3);
  const known = await requested(date);
  accepted(await commands().bookings.approve({ bookingId: known, communityId: HARBOUR.id }, CONTEXT));
  const of = { communityId: HARBOUR.id, brandId: NORTHWIND.id };
  accepted(await customers.setStanding({ ...of, standing: 'trusted' }, CONTEXT));
  const path = `/console/find/${hall}`;
  const page = await brand.open(`${path}?date=${second}`);
  expect(page.text).not.toContain('charged when the community approves');
  const shown = await brand.send(page, path, { startHour: '10', days: third });
  expect(shown.text).toContain('approved and charged at once');
  expect(shown.text).not.toContain('when the community approves');
  expect((await brand.send(shown, path)).flash).toMatch(/^2 bookings made\. .*approved and charged at once/);
  const single = await brand.send(await brand.open(`${path}?date=${second}`), path, { startHour: '12' });
  expect(single.flash).toMatch(/^Booked\. /);
  accepted(await customers.setStanding({ ...of, standing: 'letIn' }, CONTEXT));
});

test('the limit of unanswered requests of a new brand is shown before, and holds', async () => {
  const newcomer = { kind: 'Brand', id: await commands().catalogue.nextBrandId() } as const;
  await commands().catalogue.addBrandOf({ brandId: newcomer.id, name: 'Newcomer' }, CONTEXT);
  const user = { email: 'new@newcomer.example', password: 'a long enough password' };
  accepted(await running.service.core.users.add({ ...user, accounts: [newcomer] }, CONTEXT));
  const browser = new Browser(running.url);
  await browser.signIn(user);
  const dates = weeks(7);
  const page = await browser.open(`/console/find/${hall}?date=${dates[0]}`);
  const shown = await browser.send(page, `/console/find/${hall}`, {
    startHour: '10',
    every: 'week',
    until: dates.at(-1) ?? '',
  });
  expect(shown.text).toContain('At most 5 of your requests may wait for an answer at once, so you can request 5 of');
  expect(shown.text.match(/name="day"[^>]* checked/g)).toHaveLength(5);
  const all = [...shown.text.matchAll(/name="day" value="([^"]+)"/g)].map(([, value = '']) => value);
  const done = await browser.send(shown, `/console/find/${hall}`, { day: all });
  expect(done.flash).toMatch(/^5 requests sent\. .*\n2 days not requested\. .*At most 5 requests of a new brand/s);
  expect(await pending()).toHaveLength(5);
});

test('a series is one row of the inbox, and approving all of it names the day that was not possible', async () => {
  const ids = await requestedSeries(6);
  const [first = 0, second = 0] = ids;
  const single = await requested(weeks(1)[0] ?? inDays(0));
  const inbox = await manager.open('/console/inbox');
  expect(rowsOf(inbox)).toEqual([first, single]);
  const row = rowOf(inbox, first);
  expect(row).toMatch(/6 \w+days, <span class="nowrap">10:00–11:00/);
  expect(row).toContain('$690.00');
  expect(row).toMatch(
    new RegExp(`name="id" value="${ids.join('.')}"\\s+aria-label="Approve all, request #${first} and its series"`),
  );
  accepted(await withdraw(second));
  const done = await manager.send(inbox, APPROVE, { id: ids.join('.') });
  expect(done.flash).toMatch(/^5 requests approved\. .*\n1 request could not be approved:\n.*It was withdrawn by/s);
  expect(await statusesOf(ids)).toEqual(['Approved', 'Cancelled', 'Approved', 'Approved', 'Approved', 'Approved']);
});

test('days of a series are decided one by one, and the rest stays one row of the open page', async () => {
  const ids = await requestedSeries(4);
  const [first = 0, second = 0, third = 0, fourth = 0] = ids;
  const inbox = await manager.open('/console/inbox');
  const since = /data-live-since="(\d+)"/.exec(inbox.text)?.[1];
  const byDay = await manager.open(link(inbox, 'Day by day'));
  expect(byDay.text.match(/name="id"/g)).toHaveLength(4);
  const { body } = byDay.form(APPROVE, { id: [String(first), String(second)] });
  const asked = await manager.post(DECLINE, body);
  await manager.send(asked, DECLINE, { reason: 'We are full.' });
  expect(await statusesOf(ids)).toEqual(['Cancelled', 'Cancelled', 'Pending', 'Pending']);
  const open = await manager.open(`/console/inbox?shown=${first}&since=${since}`);
  expect(rowsOf(open)).toEqual([first]);
  expect(rowOf(open, first)).toContain(`value="${third}.${fourth}"`);
  expect(open.text).not.toContain('new request');
  expect(rowsOf(await manager.open('/console/inbox'))).toEqual([third]);
  await manager.send(open, APPROVE, { id: `${third}.${fourth}` });
  const answered = rowOf(await manager.open(`/console/inbox?shown=${first}&since=${since}`), first);
  expect(answered).toContain('Of 4 days: 2 declined, 2 approved');
  expect(answered).not.toContain('<button');
});

test.each(['', '?sort=date'])(
  'paging shows each series and each request once, in both directions (%s)',
  async (order) => {
    const rows: number[] = [];
    for (let each = 0; each < 8; each += 1) {
      // Longer than a page, so that the next ones begin after its other days.
      const [first = 0] = await requestedSeries(each === 3 ? 30 : 2, each);
      const [date = inDays(0)] = weeks(1);
      rows.push(first, await requested(date), await requested(date, { hour: 12 }));
    }
    const first = await manager.open(`/console/inbox${order}`);
    const second = await manager.open(link(first, 'Next page'));
    expect([rowsOf(first).length, link(second, 'Next page')]).toEqual([12, '']);
    expect([...rowsOf(first), ...rowsOf(second)]).toEqual(rows);
    expect(rowsOf(await manager.open(link(second, 'Previous page')))).toEqual(rowsOf(first));
  },
);

test('a selection of more than can be decided at once stays, in an address that names each row once', async () => {
  const firstOf = async (hour: number): Promise<number> => {
    const series = randomUUID();
    const ids: number[] = [];
    for (let day = 100; day < 160; day += 1) ids.push(await requested(inDays(day), { series, hour }));
    return ids[0] ?? 0;
  };
  const [first, second] = [await firstOf(3), await firstOf(4)];
  const inbox = await manager.open('/console/inbox');
  const values = [first, second].map((id) => /name="id" value="([\d.]+)"/.exec(rowOf(inbox, id))?.[1] ?? '');
  const answer = await manager.send(inbox, APPROVE, { id: values });
  expect(answer.flash).toContain('you selected 120 requests. Select at most 100.');
  expect(answer.url.search).toBe(`?picked=${first}.${second}`);
  for (const id of [first, second]) expect(rowOf(answer, id)).toMatch(/type="checkbox"[^>]* checked/);
});

test('after an answer, the next row is that of a request, not a day inside the row of a series', async () => {
  const [one = inDays(0), two = inDays(0), three = inDays(0), four = inDays(0)] = weeks(4);
  const series = randomUUID();
  await requested(one, { series });
  const answered = await requested(two);
  await requested(three, { series });
  const next = await requested(four);
  const inbox = await manager.open('/console/inbox?sort=date');
  const action = `/console/bookings/${answered}/decline`;
  const { target, body } = inbox.form(action, { reason: 'We are full.' });
  const { location } = await manager.request(target, { method: 'POST', body });
  expect(location?.hash).toBe(`#request-${next}`);
});

test('a series whose amounts must be confirmed is not approved by a member without amounts, who can decline it', async () => {
  const { users, commands: of } = running.service.core;
  const user = { email: 'blind@harbour.example', password: 'correct horse battery' };
  accepted(await users.add({ ...user, accounts: [HARBOUR], role: 'CoordinatorWithoutAmounts' }, CONTEXT));
  const blind = new Browser(running.url);
  await blind.signIn(user);
  await of.catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(9_000_00) } }, CONTEXT);
  const ids = await requestedSeries(2);
  await of.catalogue.changeSpace({ spaceId: hall, terms: { eventFee: cents(100_00) } }, CONTEXT);
  const [first = 0] = ids;
  const row = rowOf(await blind.open('/console/inbox'), first);
  expect(row).not.toContain('Approve all');
  expect(row).toContain('A member who sees amounts has to approve it');
  expect(row).toContain('Decline all…');
  expect(row).toContain('type="checkbox"');
  expect((await blind.open(`/console/inbox/series/${first}`)).text).not.toContain('Approve the ticked days');
  expect(rowOf(await manager.open('/console/inbox'), first)).toContain('Approve all');
});

test('a filter shows and decides only its days of a series', async () => {
  const dates = weeks(3);
  const series = randomUUID();
  const ids: number[] = [];
  for (const date of dates) ids.push(await requested(date, { series }));
  const inbox = await manager.open(`/console/inbox?from=${dates[1]}`);
  expect(rowsOf(inbox)).toEqual([ids[1]]);
  expect(rowOf(inbox, ids[1] ?? 0)).toContain(`value="${ids[1]}.${ids[2]}"`);
});

test('a brand withdraws all days that wait, and only those that it was shown', async () => {
  const ids = await requestedSeries(3);
  const [first = 0, ...others] = ids;
  accepted(await commands().bookings.approve({ bookingId: first, communityId: HARBOUR.id }, CONTEXT));
  const asked = await brand.open(`/console/bookings/${first}/withdraw-series`);
  expect(asked.text).toContain('Withdraw 2 requests?');
  const [booking] = await queries().requests.some(HARBOUR, [first]);
  const later = await requested(weeks(1)[0] ?? inDays(0), { series: booking?.series ?? '' });
  const done = await brand.send(asked, '/withdraw-series', { reason: 'Our choir moved.' });
  expect(done.flash).toBe('2 requests withdrawn.');
  expect(await statusesOf([first, ...others, later])).toEqual(['Approved', 'Cancelled', 'Cancelled', 'Pending']);
  const last = await brand.open(`/console/bookings/${first}/withdraw-series`);
  expect(last.text).toContain('Withdraw 1 request?');
  await withdraw(later);
  const late = await brand.send(last, '/withdraw-series', { reason: 'x'.repeat(501) });
  expect(late.flash).toContain('No request of this series waits any more.');
});

test('a day that moves keeps its series; the API takes, returns and checks a series, and other brands share none', async () => {
  const [date = inDays(0), moved = inDays(0), third = inDays(0)] = weeks(3);
  const wanted = { account: NORTHWIND, permissions: ALL_PERMISSIONS, label: 'Test' };
  const { key } = accepted(await commands().apiKeys.issue(wanted, CONTEXT));
  const post = (body: object) =>
    fetch(`${running.url}/api/v1/bookings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ spaceId: hall, startHour: 10, ...body }),
    });
  const series = randomUUID();
  const made = (await (await post({ startTime: date, series })).json()) as { id: number; series: string };
  expect(made.series).toBe(series);
  for (const wrong of ['', 'x', series.toUpperCase(), 5]) {
    const answer = await post({ startTime: third, series: wrong });
    expect([answer.status, await answer.json()]).toEqual([400, expect.objectContaining({ error: 'ValidationError' })]);
  }
  await requested(third, { series });
  const foreign = await requested(third, { series, hour: 15, by: brandId(2) });
  accepted(await commands().moves.move({ bookingId: made.id, by: NORTHWIND, to: { date: moved } }, CONTEXT));
  const move = (await queries().bookings.get(HARBOUR, made.id))?.move;
  const answer = { bookingId: made.id, by: HARBOUR, moveId: move?.moveId ?? '', accepts: true };
  accepted(await commands().moves.answer(answer, CONTEXT));
  const booking = await queries().bookings.get(HARBOUR, made.id);
  expect(booking).toMatchObject({ date: moved, series, status: 'Approved' });
  const days = await queries().requests.series(booking ?? expect.fail('The booking is gone'));
  expect(days.map(({ date: day }) => day)).toEqual([moved, third]);
  expect(days.map(({ bookingId }) => bookingId)).not.toContain(foreign);
});
