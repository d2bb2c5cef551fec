import { afterAll, beforeAll, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, cents, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { endSession } from './end-session.ts';

let running: Running;
let manager: Browser;
let colleague: Browser;
let brand: Browser;

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HARBOUR = { kind: 'Community', id: communityId(1) } as const;
const COLLEAGUE = { email: 'colleague@harbour.example', password: 'a long enough password' };

beforeAll(async () => {
  running = await startDemo({ APPROVE_CONFIRM_ABOVE: '500', ROLES: 'api,projector' });
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  accepted(await running.service.core.users.add({ ...COLLEAGUE, accounts: [HARBOUR] }, CONTEXT));
  [manager, colleague, brand] = await Promise.all(
    [harbour.user, COLLEAGUE, northwind.user].map(async (user) => {
      const browser = new Browser(running.url);
      await browser.signIn(user);
      return browser;
    }),
  ).then(([a, b, c]) => {
    if (a === undefined || b === undefined || c === undefined) throw new Error('Not signed in');
    return [a, b, c];
  });
});
afterAll(() => running.stop());

let days = 30;
const freshDate = (): PlainDate => {
  days += 1;
  return inDays(days);
};

async function requested(): Promise<number> {
  const details = { spaceId: spaceId(1), date: freshDate(), startHour: 10 };
  const outcome = await running.service.core.commands.bookings.request({ brandId: brandId(1), details }, CONTEXT);
  if (isRefusal(outcome)) throw new Error(outcome.details);
  return outcome.bookingId;
}
const statusOf = async (id: number) => (await running.service.core.queries.bookings.get(HARBOUR, id))?.status;
const eventsOf = async (id: number) =>
  (await running.service.core.queries.bookingHistory.ofBooking(HARBOUR, id))?.steps.map(({ event }) => event.type);

test('declining a request that a colleague has approved cancels nothing and names the colleague', async () => {
  const id = await requested();
  const [mine, theirs] = await Promise.all([manager.open('/console/inbox'), colleague.open('/console/inbox')]);
  await colleague.send(theirs, `/console/bookings/${id}/approve`);
  const { target, body } = mine.form(`/console/bookings/${id}/decline`, { reason: 'The roof leaks.' });
  const answer = await manager.request(target, { method: 'POST', body });
  // No row has the focus, because that would scroll the explanation out of view.
  expect(answer.location?.hash).toBe('');
  const late = await manager.open(answer.location ?? '');
  expect(await statusOf(id)).toBe('Approved');
  expect(await eventsOf(id)).toEqual(['BookingRequested', 'BookingApproved']);
  expect(late.flash).toContain('colleague@harbour.example');
  expect(late.flash).toMatch(/was approved by .*Nothing was declined/s);
  // The input is kept.
  expect(late.text).toContain('The roof leaks.');
});

test('a live refresh does not consume the message that explains a decision', async () => {
  const id = await requested();
  const inbox = await manager.open('/console/inbox');
  const { target, body } = inbox.form(`/console/bookings/${id}/decline`, { reason: 'Closed that day.' });
  const answer = await manager.request(target, { method: 'POST', body });
  const refreshed = await manager.request('/console/inbox', { headers: { 'x-live-refresh': 'yes' } });
  expect(refreshed.flash).toBe('');
  expect((await manager.open(answer.location ?? '')).flash).toContain('Request declined');
});

test('after a decision, the inbox moves to the next request and confirms the decision', async () => {
  const [first, second] = [await requested(), await requested()];
  const inbox = await manager.open('/console/inbox');
  const approve = inbox.form(`/console/bookings/${first}/approve`);
  const answer = await manager.request(approve.target, { method: 'POST', body: approve.body });
  expect(answer.location?.pathname).toBe('/console/inbox');
  expect(answer.location?.hash).toBe(`#request-${second}`);
  const next = await manager.open(answer.location ?? '');
  expect(next.flash).toContain('Northwind Coffee');
  expect(next.flash).toMatch(/Request approved.*\$483\.00 was charged/s);

  const decline = next.form(`/console/bookings/${second}/decline`, { reason: 'Closed that day.' });
  const declined = await manager.request(decline.target, { method: 'POST', body: decline.body });
  expect(declined.location?.pathname).toBe('/console/inbox');
  expect((await manager.open(declined.location ?? '')).flash).toContain('Request declined');
  expect(await statusOf(second)).toBe('Cancelled');
});

test('a form sent after the session ended reports that nothing was approved, and signing in returns to its page', async () => {
  const id = await requested();
  const inbox = await manager.open('/console/inbox?sort=deadline');
  const { target, body } = inbox.form(`/console/bookings/${id}/approve`);
  const signedOut = new Browser(running.url);
  const page = await signedOut.request(target, { method: 'POST', body, headers: { referer: inbox.url.href } });
  expect(page.status).toBe(401);
  expect(page.text).toContain('Nothing was approved');
  expect(page.text).toContain('/console/sign-in?to=%2Fconsole%2Finbox%3Fsort%3Ddeadline');
  expect(await statusOf(id)).toBe('Pending');
});

test('an approval above the configured amount needs confirmation', async () => {
  const { catalogue } = running.service.core.commands;
  await catalogue.changeSpace({ spaceId: spaceId(1), terms: { eventFee: cents(15_000_00) } }, CONTEXT);
  const id = await requested();
  await catalogue.changeSpace({ spaceId: spaceId(1), terms: { eventFee: cents(420_00) } }, CONTEXT);
  // As an old page or a script would send it.
  const inbox = await manager.open('/console/inbox');
  const { target, body } = inbox.form(`/console/bookings/${id}/approve`);
  body.delete('confirmed');
  const asked = await manager.request(target, { method: 'POST', body });
  expect(asked.status).toBe(200);
  expect(await statusOf(id)).toBe('Pending');
  expect(asked.text).toContain('$17,250.00');
  expect(asked.text).toContain('$500.00');
  const done = await manager.send(asked, `/console/bookings/${id}/approve`);
  expect(done.flash).toContain('$17,250.00 was charged');
  expect(await statusOf(id)).toBe('Approved');
});

test('withdrawing a request approved in the meantime cancels nothing and reports it', async () => {
  const id = await requested();
  const ask = await brand.open(`/console/bookings/${id}/cancel`);
  await manager.send(await manager.open('/console/inbox'), `/console/bookings/${id}/approve`);
  const late = await brand.send(ask, `/console/bookings/${id}/cancel`, { reason: 'Our plans have changed.' });
  expect(await statusOf(id)).toBe('Approved');
  expect(late.flash).toMatch(/was approved by .*Harbour Lofts/s);
  expect(late.text).toContain('Our plans have changed.');
});

test('the input of a form whose session ended is shown at once, and again after sign-in', async () => {
  const id = await requested();
  const browser = new Browser(running.url);
  await browser.signIn(COLLEAGUE);
  const inbox = await browser.open('/console/inbox?space=1');
  const { target, body } = inbox.form(`/console/bookings/${id}/decline`, { reason: 'The <b>roof</b> leaks.' });
  await endSession(running, browser);
  const lost = await browser.request(target, { method: 'POST', body, headers: { referer: inbox.url.href } });
  expect(lost.status).toBe(401);
  expect(lost.text).toMatch(/<h1>Nothing was declined<\/h1>.*The &lt;b&gt;roof&lt;\/b&gt; leaks\./s);
  expect(lost.text).not.toContain(body.get('csrf') ?? '?');
  const back = /href="([^"]*sign-in[^"]*)"/.exec(lost.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const returned = await browser.open(back);
  expect(returned.url.href).toBe(inbox.url.href);
  expect(returned.flash).toContain('Nothing was declined: your session had ended.');
  expect(returned.flash).toContain('Reason, as you typed it: The &lt;b&gt;roof&lt;/b&gt; leaks.');
  expect(await statusOf(id)).toBe('Pending');
});

test('a form of another session reports that nothing was done, keeps its input and links to its page', async () => {
  const id = await requested();
  const page = await colleague.open(`/console/bookings/${id}/decline`);
  const { target, body } = page.form('/decline', { reason: 'The roof leaks.' });
  const headers = { referer: page.url.href };
  const refused = await manager.request(target, { method: 'POST', body, headers });
  expect(refused.status).toBe(403);
  expect(refused.text).toMatch(/<h1>Nothing was declined<\/h1>.*The roof leaks\./s);
  expect(refused.text).toContain(`href="${page.url.pathname}"`);
  expect(await statusOf(id)).toBe('Pending');

  // The page neither shows input sent by another site nor links to it.
  const foreign = { origin: 'https://evil.example', referer: 'https://evil.example/console/inbox' };
  for (const browser of [manager, new Browser(running.url)]) {
    const answer = await browser.request(target, { method: 'POST', body, headers: foreign });
    expect(answer.text).toContain('Nothing was declined');
    expect(answer.text).not.toMatch(/roof|evil/);
  }
});

test('a repeated decline, one’s own or a colleague’s, changes nothing and names who declined', async () => {
  const id = await requested();
  const [mine, theirs] = await Promise.all([manager.open('/console/inbox'), colleague.open('/console/inbox')]);
  const action = `/console/bookings/${id}/decline`;
  await colleague.send(theirs, action, { reason: 'We are full.' });
  const second = await manager.send(mine, action, { reason: 'The roof leaks.' });
  expect(second.flash).toMatch(/It was already declined by .*colleague@harbour\.example.* Nothing has changed\./);
  expect(second.flash).toContain('You typed: The roof leaks.');
  const again = await colleague.send(theirs, action, { reason: 'We are full.' });
  expect(again.flash).toMatch(/It was already declined by you on /);
  expect(await eventsOf(id)).toEqual(['BookingRequested', 'BookingCancelled']);
  expect((await running.service.core.queries.bookings.get(HARBOUR, id))?.reason).toBe('We are full.');
});

test('an approval after the deadline reports the deadline', async () => {
  const waiting = await requested();
  const old = await manager.open('/console/inbox');
  const long = Date.now() - 73 * 3_600_000;
  const then = await running.service.core.commandsAt(() => long);
  const details = { spaceId: spaceId(1), date: freshDate(), startHour: 10 };
  const { bookingId } = accepted(await then.bookings.request({ brandId: brandId(1), details }, CONTEXT));
  // The button is gone, but an old page may still show it.
  expect((await manager.open('/console/inbox')).text).toContain('The time to answer is over.');
  const { body } = old.form(`/console/bookings/${waiting}/approve`);
  const late = await manager.request(`/console/bookings/${bookingId}/approve`, { method: 'POST', body });
  const { flash } = await manager.open(late.location ?? '');
  expect(flash).toMatch(/The time to answer was over on \d+ \w+ \d{4}, \d\d:\d\d Berlin time\./);
  expect(flash).toContain('Nothing was approved.');
  expect(await statusOf(bookingId)).toBe('Pending');
});
