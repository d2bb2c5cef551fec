import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { decisionForms } from '../../src/console/requests/decision-forms.ts';
import { brandId, cents, communityId, type spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { at, requested as requestedEvent } from '../domain/bookings.fixture.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let manager: Browser;
let hall: ReturnType<typeof spaceId>;
let attic: ReturnType<typeof spaceId>;

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;
const ANNA = { email: 'anna@harbour.example', password: 'a long enough password' };

beforeAll(async () => {
  running = await startDemo({ APPROVE_CONFIRM_ABOVE: '1000' });
  const { users, commands } = running.service.core;
  accepted(await users.add({ ...ANNA, accounts: [HARBOUR] }, CONTEXT));
  manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  // An hour long and open all day, so that a day has room for many.
  const terms = { windowStart: 0, windowEnd: 23, durationHours: 1, eventFee: cents(100_00) };
  const add = async (name: string, answerHours: number) =>
    accepted(await commands.catalogue.addSpace({ ...terms, name, answerHours, communityId: HARBOUR.id }, CONTEXT));
  hall = await add('Hall', 72);
  attic = await add('Attic', 24);
});
afterAll(() => running.stop());

async function answerAll(): Promise<void> {
  for (const { bookingId } of await running.service.core.queries.requests.pending(
    HARBOUR.id,
    {},
    { order: 'deadline' },
  ))
    await decline(bookingId);
}
beforeEach(answerAll);

let day = 10;
function nextDay(): number {
  day += 1;
  return day;
}
type Wanted = { readonly space?: typeof hall; readonly days?: number; readonly hour?: number; readonly fee?: number };
async function requested({ space = hall, days = nextDay(), hour = 10, fee }: Wanted = {}): Promise<number> {
  const { catalogue, bookings } = running.service.core.commands;
  if (fee !== undefined)
    await catalogue.changeSpace({ spaceId: space, terms: { eventFee: cents(fee * 100) } }, CONTEXT);
  const details = { spaceId: space, date: inDays(days), startHour: hour, message: `Message of ${days}` };
  const { bookingId } = accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT));
  if (fee !== undefined) await catalogue.changeSpace({ spaceId: space, terms: { eventFee: cents(100_00) } }, CONTEXT);
  return bookingId;
}
const withdraw = async (bookingId: number) =>
  accepted(
    await running.service.core.commands.bookings.cancel({ bookingId, by: { kind: 'Brand', id: brandId(1) } }, CONTEXT),
  );
const decline = async (bookingId: number) =>
  accepted(await running.service.core.commands.bookings.cancel({ bookingId, by: HARBOUR, reason: 'Over.' }, CONTEXT));
const statusOf = async (id: number) => (await running.service.core.queries.bookings.get(HARBOUR, id))?.status;
const eventsOf = async (id: number) =>
  (await running.service.core.queries.bookingHistory.ofBooking(HARBOUR, id))?.steps.map(({ event }) => event.type);
const rowsOf = ({ text }: Page) => [...text.matchAll(/<article[^>]* id="request-(\d+)"/g)].map(([, id]) => Number(id));
const rowOf = ({ text }: Page, id: number) =>
  new RegExp(`<article[^>]* id="request-${id}".*?</article>`, 's').exec(text)?.[0] ?? '';
const BULK = '/console/inbox/approve';
const BULK_DECLINE = '/console/inbox/decline';
const selected = (...ids: readonly number[]) => ({ id: ids.map(String) });

test('approval is offered as long as it is possible', () => {
  const { data } = requestedEvent();
  const settings = { approveConfirmAbove: undefined };
  const shown = (now: number) => decisionForms({ csrf: 'x', now, settings, amount: undefined }, data, {}).markup;
  const lastMoment = at(data.expiresAt) - 1;
  expect(shown(lastMoment)).toMatch(/action="\/console\/bookings\/1\/approve".*Decline/s);
  const late = shown(lastMoment + 1);
  expect(late).not.toContain('approve');
  expect(late).toMatch(/The time to answer is over\. .*Decline/s);
});

test('several requests can be approved at once without JavaScript, and the others stay pending', async () => {
  const [first, second, third] = [await requested(), await requested(), await requested()];
  const inbox = await manager.open('/console/inbox');
  const done = await manager.send(inbox, BULK, selected(first, third));
  expect(done.url.pathname).toBe('/console/inbox');
  expect(done.flash).toBe('2 requests approved. $230.00 were charged.');
  expect(await Promise.all([first, second, third].map(statusOf))).toEqual(['Approved', 'Pending', 'Approved']);
  expect(rowsOf(done)).toEqual([second]);
});

test('a bulk approval lists each request that cannot be approved, with its state and actor', async () => {
  const [fine, withdrawn, answered] = [await requested(), await requested(), await requested()];
  const inbox = await manager.open('/console/inbox');
  await withdraw(withdrawn);
  const anna = new Browser(running.url);
  await anna.signIn(ANNA);
  await anna.send(await anna.open('/console/inbox'), `/console/bookings/${answered}/approve`);
  const done = await manager.send(inbox, BULK, selected(fine, withdrawn, answered));
  const [approved, refused, ...named] = done.flash.split('\n');
  expect(approved).toMatch(/^1 request approved: .*Hall.*\. \$115\.00 was charged\.$/);
  expect(refused).toBe('2 requests could not be approved:');
  expect(named).toEqual([
    expect.stringMatching(/Northwind Coffee.*Hall.*: It was withdrawn by the operator on /),
    expect.stringMatching(/Northwind Coffee.*Hall.*: It was approved by .*anna@harbour\.example.* on /),
  ]);
  expect(await eventsOf(answered)).toEqual(['BookingRequested', 'BookingApproved']);

  // The same form once more changes nothing.
  const again = await manager.send(inbox, BULK, selected(fine, withdrawn, answered));
  expect(again.flash).toMatch(/^Nothing was approved\.\n3 requests could not be approved:\n.*approved by you/s);
  expect(await eventsOf(fine)).toEqual(['BookingRequested', 'BookingApproved']);
});

test('twenty refusals are too many for a message, so the rows show them', async () => {
  const ids: number[] = [];
  for (let hour = 0; hour < 20; hour += 1) ids.push(await requested({ days: 9, hour }));
  const inbox = await manager.open('/console/inbox');
  await Promise.all(ids.map(withdraw));
  const done = await manager.send(inbox, BULK, selected(...ids));
  expect(done.flash).toMatch(/And \d+ others: see the rows below\.$/);
  expect(rowsOf(done)).toEqual(ids);
  for (const id of ids) expect(rowOf(done, id)).toContain('Withdrawn by the operator');
});

test('several requests can be declined at once for one reason, new or used before', async () => {
  const [first, second, third] = [await requested(), await requested(), await requested()];
  const inbox = await manager.open('/console/inbox?sort=date');
  const asked = await manager.send(inbox, BULK_DECLINE, selected(first, third));
  expect(asked.status).toBe(200);
  expect(asked.text).toContain('Decline 2 requests?');
  // As `answerAll` gave it.
  expect(asked.text).toContain('data-reason="Over."');
  const field = /<textarea id="reason"[^>]*>/;
  expect(field.exec(asked.text)?.[0]).toContain(' autofocus=""');
  const empty = await manager.send(asked, BULK_DECLINE, { reason: '' });
  expect(empty.status).toBe(422);
  expect(field.exec(empty.text)?.[0]).not.toContain('autofocus');
  expect(await Promise.all([first, second, third].map(statusOf))).toEqual(['Pending', 'Pending', 'Pending']);
  await withdraw(third);
  const done = await manager.send(empty, BULK_DECLINE, { reason: 'We are full.' });
  expect(done.url.search).toContain('sort=date');
  expect(done.flash).toMatch(/^1 request declined: .*\n1 request could not be declined:\n.*It was withdrawn by/s);
  expect(await Promise.all([first, second, third].map(statusOf))).toEqual(['Cancelled', 'Pending', 'Cancelled']);
  const { bookings } = running.service.core.queries;
  expect((await bookings.get(HARBOUR, first))?.reason).toBe('We are full.');
});

test('an empty selection approves nothing, and requests of other accounts are refused', async () => {
  const mine = await requested();
  const inbox = await manager.open('/console/inbox');
  expect((await manager.send(inbox, BULK)).flash).toBe('Nothing was selected, so nothing was approved.');
  const [theirs] = await running.service.core.queries.requests.pending(communityId(2), {}, { order: 'deadline' });
  const foreign = await manager.send(inbox, BULK, { id: [String(theirs?.bookingId), '999999', '-1', 'x'] });
  expect(theirs?.status).toBe('Pending');
  expect(foreign.flash).toContain('Nothing was approved: the selected requests are not to this account.');
  const tooMany = Array.from({ length: 101 }, (_, index) => String(mine + index));
  const refused = await manager.send(inbox, BULK, { id: tooMany });
  expect(refused.flash).toBe('Nothing was approved: you selected 101 requests. Select at most 100.');
  expect(await statusOf(mine)).toBe('Pending');
});

test('the requests of all pages of a filter can be selected, and are named before they are decided', async () => {
  const days = nextDay();
  const ids: number[] = [];
  for (let hour = 0; hour < 14; hour += 1) ids.push(await requested({ days, hour }));
  const other = await requested({ space: attic, days });
  const statuses = async () => new Set(await Promise.all(ids.map(statusOf)));
  const inbox = await manager.open(`/console/inbox?space=${hall}&sort=date`);
  expect(rowsOf(inbox)).toHaveLength(12);
  expect(inbox.text).toContain('Select all 14');
  const asked = await manager.send(inbox, BULK, { all: 'yes' });
  expect(asked.text).toContain('Approve 14 requests?');
  expect(asked.text).toContain('These are all requests of the list');
  expect(asked.text).toContain('$1,610.00 will be charged');
  // One button for all of them: none is above the amount that needs a confirmation, so no others can be chosen.
  expect(asked.text).toContain('>Approve all 14<');
  expect(asked.text).not.toContain('Approve only');
  expect(await statuses()).toEqual(new Set(['Pending']));
  // Those that were named, and none that came later.
  const late = await requested({ days, hour: 20 });
  expect((await manager.send(asked, BULK)).flash).toContain('14 requests approved. $1,610.00 were charged.');
  expect(await statuses()).toEqual(new Set(['Approved']));
  expect(await Promise.all([late, other].map(statusOf))).toEqual(['Pending', 'Pending']);
  expect((await manager.send(inbox, BULK_DECLINE, { all: 'yes' })).text).toContain('Decline 1 request?');
  const wrong = await manager.send(inbox, BULK, { all: 'yes', list: `space=${hall}&from=nonsense` });
  expect(wrong.flash).toContain('Nothing was approved: fix the filter first.');
  await manager.send(await manager.open(`/console/bookings/${late}`), /decline$/, { reason: 'Full that day.' });
  // Also a booking's own page suggests it.
  expect((await manager.open(`/console/bookings/${other}`)).text).toContain('value="Full that day."');
});

test('the button names how many of a long list it approves', async () => {
  const ids: number[] = [];
  for (const days of [201, 202, 203, 204, 205]) {
    for (let hour = 0; hour < 21; hour += 1) ids.push(await requested({ days, hour }));
  }
  const inbox = await manager.open(`/console/inbox?space=${hall}&sort=date`);
  const asked = await manager.send(inbox, BULK, { all: 'yes' });
  expect(asked.text).toContain('These are the first 100 of 105 requests');
  expect(asked.text).toContain('>Approve the first 100<');
  expect(asked.text).not.toContain('Approve all');
  expect((await manager.send(asked, BULK)).flash).toContain('100 requests approved.');
  expect(await Promise.all(ids.slice(100).map(statusOf))).toEqual(Array(5).fill('Pending'));
});

test('selected requests above the configured amount need confirmation and can be left out', async () => {
  const [cheap, dear, dearest] = [await requested(), await requested({ fee: 900 }), await requested({ fee: 15_000 })];
  const inbox = await manager.open('/console/inbox?sort=deadline');
  // In the list, the row itself asks for confirmation.
  expect(rowOf(inbox, cheap)).not.toContain('confirmed');
  expect(rowOf(inbox, dear)).toMatch(/<summary[^>]*>Approve…<\/summary>.*Approve for \$1,035\.00/s);
  const asked = await manager.send(inbox, BULK, selected(cheap, dear, dearest));
  expect(asked.status).toBe(200);
  expect(asked.text).toMatch(/2 requests of them are above \$1,000\.00/);
  expect(asked.text).toContain('$17,250.00');
  expect(await Promise.all([cheap, dear, dearest].map(statusOf))).toEqual(['Pending', 'Pending', 'Pending']);
  const rest = await manager.request(BULK, {
    method: 'POST',
    body: formWith(asked, 'Approve only the 1 up to $1,000.00'),
  });
  expect(rest.location?.search).toBe('?sort=deadline');
  expect(await Promise.all([cheap, dear, dearest].map(statusOf))).toEqual(['Approved', 'Pending', 'Pending']);
  const all = await manager.send(asked, BULK);
  expect(all.flash).toContain('2 requests approved. $18,285.00 were charged.');
});

/** The fields that the form with this button submits. */
function formWith({ text }: Page, button: string): URLSearchParams {
  const form = [...text.matchAll(/<form\b.*?<\/form>/gs)].map(([one]) => one).find((one) => one.includes(button)) ?? '';
  const fields = [...form.matchAll(/name="([^"]*)" value="([^"]*)"/g)];
  return new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value.replaceAll('&amp;', '&')]));
}

test('requests are filtered by space, date and amount, and sorted by deadline', async () => {
  const later = await requested({ days: 30, space: attic });
  const soon = await requested({ days: 29 });
  const dear = await requested({ days: 31, fee: 500 });
  const ids = async (query: string) => rowsOf(await manager.open(`/console/inbox${query}`));
  // Unanswered requests expire: the attic has an answer time of a day, the hall one of three.
  for (const query of ['', '?sort=deadline', '?sort=nonsense']) expect(await ids(query)).toEqual([later, soon, dear]);
  expect(await ids('?sort=date')).toEqual([soon, later, dear]);
  expect(await ids(`?space=${attic}`)).toEqual([later]);
  expect(await ids(`?from=${inDays(30)}`)).toEqual([later, dear]);
  expect(await ids(`?from=${inDays(30)}&to=${inDays(30)}`)).toEqual([later]);
  expect(await ids('?min=115.01')).toEqual([dear]);
  expect(await ids('?max=115')).toEqual([later, soon]);
  expect(await ids('?max=115&sort=date')).toEqual([soon, later]);
  expect(await ids(`?space=${hall}&min=200&to=${inDays(30)}`)).toEqual([]);
  expect((await manager.open('/console/inbox?min=9000')).text).toContain('No requests match');
  expect((await manager.open(`/console/inbox?space=${attic}`)).text).toContain('1 matching request');
});

test.each([
  ['?from=2026-02-30', 'from', '2026-02-30'],
  ['?from=2027-01-02&to=2027-01-01', 'to', 'Fri 1 Jan 2027'],
  ['?min=much', 'min', 'much'],
  ['?min=20&max=10', 'max', '10'],
])('an invalid filter %s is reported at its field and kept', async (query, field, typed) => {
  const page = await manager.open(`/console/inbox${query}`);
  expect(page.status).toBe(422);
  expect(page.text).toContain(`id="${field}-error"`);
  expect(page.text).toContain(`value="${typed}"`);
  expect(rowsOf(page)).toEqual([]);
});

test('a filter by another community’s space is reported instead of ignored', async () => {
  const foreign = running.demo.communities[1].spaces[0].id;
  for (const space of ['abc', '-1', '999999', foreign]) {
    const page = await manager.open(`/console/inbox?space=${space}`);
    expect(page.status, `${space}`).toBe(422);
    expect(page.text).toMatch(/id="space-error".*?There is no such space any more\./s);
    expect(rowsOf(page)).toEqual([]);
  }
});

const link = (page: Page, label: string) =>
  new RegExp(`href="([^"]*)">(?:<svg.*?</svg> )?${label}`).exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';

test.each(['', '?sort=date'])('paging lists every request exactly once, in both directions (%s)', async (order) => {
  // Ten at a time are requested at the same moment, so they share a deadline.
  let moment = Date.now();
  const { bookings } = await running.service.core.commandsAt(() => moment);
  const days = order === '' ? [40, 41] : [42, 43];
  const ids: number[] = [];
  for (let hour = 0; hour < 23; hour += 1)
    for (const date of days.map(inDays)) {
      const details = { spaceId: hall, date, startHour: hour };
      moment += ids.length % 10 === 9 ? 1 : 0;
      ids.push(accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT)).bookingId);
    }
  const first = await manager.open(`/console/inbox${order}`);
  expect(first.text).toContain('46 pending requests');
  if (order === '') expect(rowsOf(first)).toEqual(ids.slice(0, 12));
  const second = await manager.open(link(first, 'Next page'));
  const third = await manager.open(link(second, 'Next page'));
  const fourth = await manager.open(link(third, 'Next page'));
  const all = [first, second, third, fourth].flatMap(rowsOf);
  expect(all.length).toBe(46);
  expect(new Set(all)).toEqual(new Set(ids));
  expect(rowsOf(await manager.open(link(third, 'Previous page')))).toEqual(rowsOf(second));
  expect(rowsOf(await manager.open(link(second, 'Previous page')))).toEqual(rowsOf(first));
  expect(link(fourth, 'Next page')).toBe('');
  // The last one leads to the first.
  const last = rowsOf(fourth).at(-1) ?? 0;
  const approve = fourth.form(`/console/bookings/${last}/approve`);
  const gone = await manager.request(approve.target, { method: 'POST', body: approve.body });
  expect(gone.location?.hash).toBe(`#request-${all[0]}`);
  expect(rowsOf(await manager.open(gone.location ?? ''))).toEqual(rowsOf(first));

  // A decision on the second page stays there.
  const [one = 0, next = 0, ...rest] = rowsOf(second);
  const decline = second.form(`/console/bookings/${one}/decline`, { reason: 'Full.' });
  const answer = await manager.request(decline.target, { method: 'POST', body: decline.body });
  expect(answer.location?.hash).toBe(`#request-${next}`);
  expect(rowsOf(await manager.open(answer.location ?? '')).slice(0, rest.length + 1)).toEqual([next, ...rest]);
});

test('an open page keeps its rows, shows the outcome of each, and adds new requests', async () => {
  const [stays, approved, withdrawn, expired] = [
    await requested({ days: 50 }),
    await requested({ days: 51 }),
    await requested({ days: 52 }),
    await requested({ days: 53 }),
  ];
  const page = await manager.open('/console/inbox');
  const since = /data-live-since="(\d+)"/.exec(page.text)?.[1];
  await manager.send(page, `/console/bookings/${approved}/approve`);
  await withdraw(withdrawn);
  const muchLater = await running.service.core.commandsAt(() => Date.now() + 80 * 3_600_000);
  accepted(await muchLater.bookings.expire(expired, CONTEXT));
  const added = await requested({ days: 49 });
  const again = await manager.open(`/console/inbox?shown=${stays}.${approved}.${withdrawn}.${expired}&since=${since}`);
  expect(rowsOf(again)).toEqual([stays, approved, withdrawn, expired]);
  expect(rowOf(again, stays)).toContain('Decline request');
  expect(rowOf(again, approved)).toMatch(/is-approved.*Approved by you/s);
  expect(rowOf(again, withdrawn)).toMatch(/is-cancelled.*Withdrawn by the operator/s);
  expect(rowOf(again, expired)).toMatch(/is-cancelled.*Expired</s);
  for (const id of [approved, withdrawn, expired]) expect(rowOf(again, id)).not.toMatch(/<button|<input|<summary/);
  const href = /href="([^"]*)">1 new request – show/.exec(again.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  // The new one is appended.
  expect(rowsOf(await manager.open(href))).toEqual([stays, approved, withdrawn, expired, added]);
  expect(href).toMatch(new RegExp(`#request-${added}$`));
});

test('a full page links to a new request', async () => {
  const shown: number[] = [];
  for (let hour = 0; hour < 12; hour += 1)
    shown.push(await requested({ days: 54, hour }), await requested({ days: 55, hour }));
  const added = await requested({ days: 56 });
  const page = await manager.open(`/console/inbox?shown=${shown.join('.')}&since=${Date.now()}`);
  expect(rowsOf(page)).toEqual(shown);
  const href = /href="([^"]*)">1 new request – show/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect(href).toMatch(new RegExp(`#request-${added}$`));
  expect(rowsOf(await manager.open(href))).toEqual([added]);
});

test('pending requests are never reported as missing', async () => {
  const id = await requested();
  for (const query of ['?shown=999999', '?since=5', '?shown=999999&since=5']) {
    const page = await manager.open(`/console/inbox${query}`);
    expect(page.text).toContain('1 pending request,');
    expect(page.text).not.toContain('No pending requests');
    expect(rowsOf(await manager.open(link(page, 'Show pending requests')))).toEqual([id]);
  }
});

test.each(['?since=9007199254740991', '?since=-9007199254740991', '?after=999999999999999:1', '?since=x&after=1:x'])(
  'the invalid address %s shows the list',
  async (query) => {
    const id = await requested();
    expect(rowsOf(await manager.open(`/console/inbox${query}`))).toEqual([id]);
  },
);

test('the selection survives answering another request without JavaScript', async () => {
  const [first, second, third] = [await requested(), await requested(), await requested()];
  const inbox = await manager.open('/console/inbox');
  const done = await manager.send(inbox, `/console/bookings/${first}/approve`, selected(third));
  expect(rowOf(done, third)).toMatch(/<input type="checkbox"[^>]* checked>/);
  expect(rowOf(done, second)).not.toContain(' checked');
  expect(await statusOf(third)).toBe('Pending');
});

test('markup in names and messages of requests is shown as text', async () => {
  const { catalogue, bookings } = running.service.core.commands;
  const brand = accepted(await catalogue.addBrand({ name: '<b>\u202eevil</b>' }, CONTEXT));
  const details = { spaceId: hall, date: inDays(60), startHour: 3, message: '<script>alert(1)</script>' };
  const { bookingId } = accepted(await bookings.request({ brandId: brand.brandId, details }, CONTEXT));
  const inbox = await manager.open('/console/inbox');
  expect(rowOf(inbox, bookingId)).toContain('&lt;script&gt;');
  const done = await manager.send(inbox, `/console/bookings/${bookingId}/approve`);
  expect(done.flash).toContain('<bdi>&lt;b&gt;evil&lt;/b&gt;</bdi>');
});

test('the browser tab shows the number of requests, a long message expands in its row, and every control has a unique name', async () => {
  const ids = [await requested(), await requested()];
  const { bookings } = running.service.core.commands;
  const details = { spaceId: hall, date: inDays(nextDay()), startHour: 9, message: `${'longer '.repeat(40)}end` };
  const { bookingId } = accepted(await bookings.request({ brandId: brandId(1), details }, CONTEXT));
  const page = await manager.open('/console/inbox');
  expect(page.title).toBe('(3) Requests · Venue Booking');
  expect(rowOf(page, bookingId)).toMatch(
    /<details class="message"[^>]*><summary>(?:longer )+longer<span>…<\/span><\/summary><p[^>]*>(?:longer )+end<\/p>/s,
  );
  const names = [...page.text.matchAll(/aria-label="((?:Approve|Decline…|Select) request #\d+)"/g)].map(
    ([, name]) => name,
  );
  expect(names).toHaveLength(9);
  expect(new Set(names).size).toBe(9);
  for (const id of ids) expect(rowOf(page, id)).toContain(`aria-label="Decline request #${id}"`);
});

test('a page with the longest names and messages is at most 60 kB', async () => {
  const { catalogue, bookings } = running.service.core.commands;
  const brand = accepted(await catalogue.addBrand({ name: '🎈'.repeat(100) }, CONTEXT));
  const terms = { windowStart: 0, windowEnd: 23, durationHours: 1, eventFee: cents(2_000_00), answerHours: 72 };
  const added = await catalogue.addSpace({ ...terms, name: 'ق'.repeat(200), communityId: HARBOUR.id }, CONTEXT);
  for (let startHour = 0; startHour < 20; startHour += 1) {
    const details = { spaceId: accepted(added), date: inDays(70), startHour, message: 'ق'.repeat(500) };
    accepted(await bookings.request({ brandId: brand.brandId, details }, CONTEXT));
  }
  const page = await manager.open('/console/inbox');
  expect(rowsOf(page)).toHaveLength(12);
  expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(60_000);
});
