import { afterAll, beforeAll, expect, test } from 'vitest';
import { TYPED_FIELDS } from '../../src/console/sessions/rejected-form.ts';
import { cents, communityId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';
import { endSession as endSessionOf } from './end-session.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
type User = { readonly email: string; readonly password: string };

let running: Running;
let planner: User;
let manager: User;
let colleague: User;
let hall: number;

beforeAll(async () => {
  running = await startDemo();
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  [planner, manager] = [northwind.user, harbour.user];
  hall = harbour.spaces[0].id;
  colleague = { email: 'cleo@harbour.example', password: 'correct horse battery' };
  const account = { kind: 'Community', id: communityId(harbour.id) } as const;
  accepted(await running.service.core.users.add({ ...colleague, accounts: [account] }, CONTEXT));
});
afterAll(() => running.stop());

const signedIn = (user: User) => Browser.signedIn(running.url, user);
const endSession = (browser: Browser) => endSessionOf(running, browser);
/** Follows the sign-in link of the page for a lost form, in the same browser. */
async function signInAgain(browser: Browser, lost: Page, user: User): Promise<{ again: Browser; page: Page }> {
  const again = new Browser(running.url);
  for (const name of ['console_form', 'console_flash']) again.setCookie(name, browser.cookie(name) ?? '');
  const [, href = ''] = /<a class="button" href="([^"]*)"/.exec(lost.text) ?? [];
  return { again, page: await again.send(await again.open(href.replaceAll('&amp;', '&')), '/sign-in', user) };
}
const refererOf = (path: string) => ({ referer: running.url + path });
const bookings = async () => {
  const account = { kind: 'Community', id: communityId(1) } as const;
  return (await Array.fromAsync(running.service.core.queries.bookings.list(account, {}))).length;
};

test('a request submitted after the session ended is not sent, and signing in restores it in the form', async () => {
  const browser = await signedIn(planner);
  const url = `/console/find/${hall}?date=${inDays(50)}`;
  const list = `/console/find?date=${inDays(50)}&name=hall`;
  const page = await browser.request(url, { headers: { referer: running.url + list } });
  const before = await bookings();
  await endSession(browser);
  const typed = { startHour: '14', message: 'Words that took <b>long</b>.\nTwo lines.' };
  const lost = await browser.send(page, `/console/find/${hall}`, typed, { referer: new URL(url, running.url).href });
  expect(lost.status).toBe(401);
  expect(lost.text).toContain('took &lt;b&gt;long');
  // The other fields of the form are not personal.
  expect(lost.text).not.toMatch(/Via, as|Price, as/);
  expect(await bookings()).toBe(before);

  const { again, page: back } = await signInAgain(browser, lost, planner);
  expect(back.url.pathname + back.url.search).toBe(url);
  expect(back.flash).toContain('Your changes weren&#39;t saved. Review and save again.');
  expect(back.text).toContain('Two lines.</textarea>');
  expect(back.text).toMatch(/value="14" required checked/);
  expect(back.text).toContain(`href="${list.replace('&', '&amp;')}"`);
  const sent = await again.send(back, `/console/find/${hall}`, { startHour: '14' });
  expect(sent.flash).toContain('Request sent.');
  expect(sent.text).toContain('Two lines.');
  // Once.
  expect((await again.open(url)).text).not.toContain('Two lines.');
});

test('… but not for another user who signs in there', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}`;
  const page = await browser.open(path);
  await endSession(browser);
  const lost = await browser.send(page, path, { name: 'A secret name' });
  const { again, page: theirs } = await signInAgain(browser, lost, colleague);
  expect(theirs.url.pathname).toBe(path);
  expect(theirs.text).not.toContain('A secret name');
  // It is not kept for later either.
  expect(again.cookie('console_form')).toBeUndefined();
});

test('a reason submitted after the session ended is restored only for its author', async () => {
  for (const [user, isShown] of [
    [colleague, false],
    [manager, true],
  ] as const) {
    const browser = await signedIn(manager);
    const pending = await running.service.core.queries.requests.pending(communityId(1), {}, { order: 'deadline' });
    const path = `/console/bookings/${pending[0]?.bookingId}`;
    const page = await browser.open(path);
    await endSession(browser);
    const lost = await browser.send(page, '/decline', { reason: 'They never paid.' });
    expect(lost.text).toContain('They never paid.');
    const { again, page: next } = await signInAgain(browser, lost, user);
    expect(next.url.pathname).toBe(path);
    expect(next.text.includes('They never paid.')).toBe(isShown);
    expect(again.cookie('console_flash')).toBeUndefined();
  }
});

test('signing in as another user discards a saved form, on any page', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}`;
  const page = await browser.open(path);
  await endSession(browser);
  await browser.send(page, path, { name: 'A secret name' });
  const again = new Browser(running.url);
  again.setCookie('console_form', browser.cookie('console_form') ?? '');
  await again.signIn(colleague);
  expect(again.cookie('console_form')).toBeUndefined();
});

test('the hours of a space that were typed before the session ended are filled in again', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}/hours`;
  const page = await browser.open(path);
  await endSession(browser);
  const lost = await browser.send(page, path, { do: 'save', day3To: '19', date0: '24 Dec 2030', date0From: '10' });
  const { page: back } = await signInAgain(browser, lost, manager);
  expect(back.url.pathname).toBe(path);
  for (const value of ['19', 'Tue 24 Dec 2030', '10']) expect(back.text).toContain(`value="${value}"`);
});

test('a form from before the last sign-in keeps its input and its original values', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}`;
  const page = await browser.open(path);
  // In another window.
  await endSession(browser);
  await browser.open('/console');
  const stale = await browser.send(page, path, { name: 'Typed before', eventFee: '430' });
  expect(stale.status).toBe(403);
  accepted(
    await running.service.core.commands.catalogue.changeSpace(
      { spaceId: spaceId(hall), terms: { eventFee: cents(440_00) } },
      CONTEXT,
    ),
  );
  const again = await browser.open(path);
  expect(again.text).toContain('value="Typed before"');
  expect(again.text).toContain('value="430"');
  const refused = await browser.send(again, path);
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('changed by the operator in the meantime');
  expect(refused.text).toContain('value="Typed before"');
  expect((await browser.send(refused, path)).flash).toContain('Saved.');
});

test('a new space is not added twice, and its terms are restored in the form', async () => {
  const browser = await signedIn(manager);
  const page = await browser.open('/console/spaces/new');
  await endSession(browser);
  const typed = { name: 'Boathouse', eventFee: '1,234.50', durationHours: '2.5' };
  const lost = await browser.send(page, '/console/spaces/new', typed);
  const { again, page: back } = await signInAgain(browser, lost, manager);
  expect(back.url.pathname).toBe('/console/spaces/new');
  for (const value of Object.values(typed)) expect(back.text).toContain(`value="${value}"`);
  expect((await again.send(back, '/console/spaces/new')).flash).toContain('Space added.');
});

test('an own event is restored in its form', async () => {
  const browser = await signedIn(manager);
  const path = '/console/calendar/closures/new';
  const page = await browser.open(`${path}?kind=OwnEvent`);
  await endSession(browser);
  const lost = await browser.send(page, path, { title: 'Tango', from: inDays(60), weekdays: ['Monday', 'Friday'] });
  const { page: back } = await signInAgain(browser, lost, manager);
  expect(back.text).toContain('value="Tango"');
  expect(back.text).toContain('Add own event</button>');
  for (const day of ['Monday', 'Friday']) expect(back.text).toMatch(new RegExp(`value="${day}" checked`));
});

test('the change of an own event is restored in its form', async () => {
  const browser = await signedIn(manager);
  const path = '/console/calendar/closures/new';
  const own = { title: 'Tango', from: inDays(66), start: '9', until: '11', spaces: 'all' };
  const added = await browser.send(await browser.open(`${path}?kind=OwnEvent`), path, own);
  const page = await browser.open(`${added.url.pathname}/change`);
  await endSession(browser);
  const lost = await browser.send(page, /\/change$/, { title: 'Milonga', start: '10', until: '12' });
  const { page: back } = await signInAgain(browser, lost, manager);
  expect(back.text).toContain('value="Milonga"');
  expect(back.text).toContain('<option value="10" selected>');
});

test('what was chosen of mail and the contact address are restored in their forms', async () => {
  const browser = await signedIn(manager);
  const contact = '/console/mail/contact';
  const page = await browser.open(contact);
  await endSession(browser);
  const lost = await browser.send(page, contact, { contact: 'office@harbour.example' });
  const { again, page: back } = await signInAgain(browser, lost, manager);
  expect(back.url.pathname).toBe(contact);
  expect(back.text).toContain('value="office@harbour.example"');

  const settings = '/console/mail/settings';
  const all = await again.open(settings);
  await endSession(again);
  const unticked = await signInAgain(again, await again.send(all, settings, { kind: 'EventTomorrow' }), manager);
  expect([...unticked.page.text.matchAll(/value="(\w+)" checked/g)].map(([, kind]) => kind)).toEqual(['EventTomorrow']);

  // A choice for one space is not restored on the page of another one.
  const one = `${settings}/space?space=${hall}`;
  const other = `${settings}/space?space=${hall + 1}`;
  const first = await unticked.again.open(one);
  await endSession(unticked.again);
  const ofOne = await unticked.again.send(first, `${settings}/space`, { BookingRequested: 'off' }, refererOf(one));
  const back1 = await signInAgain(unticked.again, ofOne, manager);
  expect(back1.page.url.search).toBe(`?space=${hall}`);
  expect(back1.page.text).toMatch(/value="off" selected/);
  await endSession(back1.again);
  await back1.again.send(back1.page, `${settings}/space`, { BookingRequested: 'off' }, refererOf(one));
  const later = await signedIn(manager);
  later.setCookie('console_form', back1.again.cookie('console_form') ?? expect.fail());
  expect((await later.open(other)).text).not.toMatch(/value="off" selected/);
});

test('the address and the role of an invitation are shown, also after signing in, and no password is', async () => {
  const browser = await signedIn(manager);
  const page = await browser.open('/console/people');
  await endSession(browser);
  const typed = { email: 'new@harbour.example', role: 'Viewer' };
  const lost = await browser.send(page, '/people/invitations', typed, refererOf('/console/people'));
  for (const shown of Object.values(typed)) expect(lost.text).toContain(shown);
  const { again, page: back } = await signInAgain(browser, lost, manager);
  expect(back.url.pathname).toBe('/console/people');
  expect(back.text).toContain('Address, as you typed it: new@harbour.example');
  const account = await again.open('/console/account');
  await endSession(again);
  const secrets = { current: 'secret number one', password: 'secret number two' };
  expect((await again.send(account, '/account/password', secrets)).text).not.toContain('secret number');
});

test('a form that is sent after signing out in another tab shows what was typed', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}`;
  const page = await browser.open(path);
  await browser.send(await browser.open('/console/spaces'), '/sign-out');
  const lost = await browser.send(page, path, { name: 'Typed in the first tab' });
  expect(lost.status).toBe(401);
  expect(lost.text).toContain('Typed in the first tab');
});

test('of a browser that has had no session here, a form is not read', async () => {
  const browser = await signedIn(manager);
  const path = `/console/spaces/${hall}`;
  const { target, body } = (await browser.open(path)).form(path, { name: 'Typed by a stranger' });
  for (const cookie of [undefined, 'made up', `${browser.cookie('console')?.split('.')[0]}.AAAAAAAAAAAAAAAAAAAAAA`]) {
    const stranger = new Browser(running.url);
    if (cookie !== undefined) stranger.setCookie('console', cookie);
    const lost = await stranger.request(target, { method: 'POST', body });
    expect(lost.status).toBe(401);
    expect(lost.text).not.toContain('Typed by a stranger');
    expect(stranger.cookie('console_form')).toBeUndefined();
  }
});

test('a form submitted by another site is not stored', async () => {
  const browser = await signedIn(planner);
  const page = await browser.open(`/console/find/${hall}`);
  await endSession(browser);
  const { target, body } = page.form(`/console/find/${hall}`, { message: 'Planted' });
  const headers = { origin: 'https://evil.example' };
  expect((await browser.request(target, { method: 'POST', body, headers })).text).not.toContain('Planted');
  expect(browser.cookie('console_form')).toBeUndefined();
  expect((await browser.open(`/console/find/${hall}`)).text).not.toContain('Planted');
});

test('the page for a lost form shows every field of the console that people type into', async () => {
  const [community, brand] = [await signedIn(manager), await signedIn(planner)];
  const account = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const hook = { owner: { credential: 'user:test', account }, url: 'https://receiver.example/', events: 1 } as const;
  const own = accepted(await running.service.core.commands.webhooks.register(hook, CONTEXT));
  const typed = new Set<string>();
  const pages: readonly (readonly [Browser, string])[] = [
    ...[
      'inbox',
      'spaces/new',
      'spaces/1',
      'spaces/1/description',
      'spaces/house',
      'keys',
      'webhooks',
      'webhooks/deliveries',
      'apps',
      'clients',
    ]
      .concat(`webhooks/${own.webhookId}`, 'people', 'account', 'mail/settings', 'mail/contact')
      .map((path) => [community, path] as const),
    ...[`find/${hall}`, 'bookings/3', 'bookings/3/cancel'].map((path) => [brand, path] as const),
  ];
  for (const [browser, path] of pages) {
    const { text } = await browser.open(`/console/${path}`);
    for (const [form] of text.matchAll(/<form\b[^>]*method="post"[^>]*>.*?<\/form>/gs))
      for (const [tag] of form.matchAll(/<(?:input|textarea|select)\b[^>]*>/g))
        if (!/type="(?:hidden|checkbox|range|password)"/.test(tag)) typed.add(/ name="(\w+)"/.exec(tag)?.[1] ?? tag);
  }
  expect([...typed].filter((name) => !Object.hasOwn(TYPED_FIELDS, name))).toEqual([]);
  expect(typed.size).toBeGreaterThan(8);
});
