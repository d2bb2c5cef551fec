import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { OIDC_RECORDS } from '../../src/authorization-server/oidc-record.ts';
import { SESSIONS } from '../../src/console/sessions/session-records.ts';
import { ownPath } from '../../src/console/sessions/sign-in.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser, Page } from '../browser.ts';
import { ask } from '../document-store/ask.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
beforeAll(async () => {
  running = await startDemo();
});
afterAll(() => running.stop());

const community = () => running.demo.communities[0];

const asCommunity = ({ id }: { readonly id: number }) => ({ kind: 'Community', id: communityId(id) }) as const;
const asBrand = ({ id }: { readonly id: number }) => ({ kind: 'Brand', id: brandId(id) }) as const;

const sessions = () => running.service.core.documents.open(SESSIONS);

test('signs in through the authorization server and returns to the requested page', async () => {
  const browser = new Browser(running.url);
  const form = await browser.open('/console/spaces');
  expect(form.title).toContain('Sign in');
  const page = await browser.send(form, /sign-in$/, community().user);
  expect(page.status).toBe(200);
  expect(page.title).toContain('Spaces');
});

test('a session is stored under the digest of its id, which is new at every sign-in', async () => {
  const browser = new Browser(running.url);
  browser.setCookie('console', 'chosen-by-an-attacker');
  await browser.signIn(community().user);
  const id = browser.cookie('console') ?? '';
  expect(id).not.toBe('chosen-by-an-attacker');
  expect(id.length).toBeGreaterThan(40);
  const stored = await sessions();
  expect(await stored.get(id)).toBeUndefined();
  expect(await stored.get(createHash('sha256').update(id).digest('base64url'))).toBeDefined();
});

test('the cookie cannot be read by scripts or sent by other sites', async () => {
  const answer = await new Browser(running.url).request('/console/sign-in');
  const cookie = answer.headers.getSetCookie().join('\n');
  expect(cookie).toMatch(/HttpOnly/);
  expect(cookie).toMatch(/SameSite=Lax/);
});

test('each of two tabs signs in and returns to the page that it wanted', async () => {
  const browser = new Browser(running.url);
  const spaces = await browser.open('/console/spaces');
  const reviews = await browser.open('/console/reviews');
  const first = await browser.send(spaces, /sign-in$/, community().user);
  expect(first.title).toContain('Spaces');
  expect((await browser.send(reviews, /sign-in$/, community().user)).title).toContain('Reviews');
  // The forms of the first tab are still valid.
  expect((await browser.send(first, '/sign-out')).title).toContain('You are signed out');
  expect(browser.cookieNames('console_sign_in')).toEqual([]);
});

test('a sign-in that fails leads back to its page; the oldest one ends when there are many', async () => {
  const browser = new Browser(running.url);
  const first = await browser.open('/console/spaces?x=1');
  for (let tab = 0; tab < 20; tab += 1) await browser.request('/console/sign-in');
  expect(browser.cookieNames('console_sign_in')).toHaveLength(20);
  const answer = await browser.send(first, /sign-in$/, community().user);
  expect(answer.status).toBe(400);
  expect(answer.text).toContain('href="/console/spaces?x=1"');
});

test('a callback with a state that was not issued to this browser does not sign anyone in', async () => {
  const browser = new Browser(running.url);
  await browser.request('/console/sign-in');
  const answer = await browser.request('/console/callback?code=stolen&state=forged');
  expect(answer.status).toBe(400);
  expect(browser.cookie('console')).toBeUndefined();
});

/** Signs in, but does not follow the redirect to the callback. `ask` overrides parameters of the authorization request. */
async function answerFor(browser: Browser, ask: Readonly<Record<string, string>> = {}): Promise<URL> {
  const asked = new URL((await browser.request('/console/sign-in')).headers.get('location') ?? '');
  for (const [name, value] of Object.entries(ask)) asked.searchParams.set(name, value);
  const { email, password } = community().user;
  const { target, body } = (await browser.open(asked.href)).form(/sign-in$/, { email, password });
  const done = await browser.request(target, { method: 'POST', body });
  const answer = await browser.request(done.headers.get('location') ?? '');
  return new URL(answer.headers.get('location') ?? '');
}

/** The cookie of the sign-in that this browser has begun. */
function pendingOf(browser: Browser): readonly [name: string, value: string] {
  const [name = ''] = browser.cookieNames('console_sign_in');
  return [name, browser.cookie(name) ?? ''];
}

const changed = (url: URL, name: string, value: string): string => {
  const other = new URL(url);
  other.searchParams.set(name, value);
  return other.href;
};

test('a callback works once: repeated in this browser or another, it does not sign anyone in', async () => {
  const browser = new Browser(running.url);
  const answer = await answerFor(browser);
  const pending = pendingOf(browser);
  expect((await browser.request(answer.href)).status).toBe(303);
  expect(browser.cookie('console')).toBeDefined();
  expect(await browser.request(answer.href)).toMatchObject({
    status: 400,
    text: expect.stringContaining('not started'),
  });

  const thief = new Browser(running.url);
  thief.setCookie(...pending);
  const replayed = await thief.request(answer.href);
  expect(replayed).toMatchObject({ status: 400, text: expect.stringContaining('could not be verified') });
  expect(thief.cookie('console')).toBeUndefined();
});

test('a code issued to another browser does not sign anyone in, with either browser’s state', async () => {
  const [victim, thief] = [new Browser(running.url), new Browser(running.url)];
  const stolen = await answerFor(victim);
  const own = await answerFor(thief);
  const pending = pendingOf(thief);
  for (const [href, why] of [
    [stolen.href, 'not started in this browser'],
    [changed(own, 'code', stolen.searchParams.get('code') ?? ''), 'could not be verified'],
  ] as const) {
    thief.setCookie(...pending);
    expect(await thief.request(href)).toMatchObject({ status: 400, text: expect.stringContaining(why) });
    expect(thief.cookie('console')).toBeUndefined();
  }
});

test.each([
  ['a nonce that the console did not send', { ask: { nonce: 'of-another-sign-in' } }],
  [
    'a challenge that the console did not send',
    { ask: { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM' } },
  ],
  ['another issuer', { answered: { iss: 'https://evil.example' } }],
  ['no issuer', { answered: { iss: '' } }],
  ['an unknown code', { answered: { code: 'made-up' } }],
])('a callback with %s does not sign anyone in', async (_, { ask = {}, answered = {} }: Tampering) => {
  const browser = new Browser(running.url);
  let answer = await answerFor(browser, ask);
  for (const [name, value] of Object.entries(answered)) answer = new URL(changed(answer, name, value));
  const refused = await browser.request(answer.href);
  expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('could not be verified') });
  expect(browser.cookie('console')).toBeUndefined();
});
type Tampering = { readonly ask?: Record<string, string>; readonly answered?: Record<string, string> };

test('cancelling the sign-in is confirmed, starts no session, and links back to the requested page', async () => {
  const browser = new Browser(running.url);
  const page = await browser.send(await browser.open('/console/reviews?page=1'), /cancel$/);
  expect(page.text).toContain('href="/console/reviews?page=1"');
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('You cancelled the sign-in') });
  expect(page.text).not.toContain('failed');
  expect(browser.cookie('console')).toBeUndefined();
});

test('signing in and out works when the process cannot reach its own public address', async () => {
  const publicUrl = 'https://booking.example';
  const behind = await startDemo({ PUBLIC_URL: publicUrl });
  onTestFinished(() => behind.stop());
  const asked: string[] = [];
  const direct = fetch;
  // Stands in for a reverse proxy: only it knows where the service listens.
  const proxy = vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    asked.push(String(input));
    return direct(String(input).replace(publicUrl, behind.url), init);
  });
  onTestFinished(() => proxy.mockRestore());
  const browser = new Browser(publicUrl);
  const page = await browser.signIn(behind.demo.communities[0].user);
  expect(page.title).toContain('Overview');
  expect(browser.cookie('__Host-console')).toBeDefined();
  expect(asked).toContainEqual(expect.stringContaining('/connect/authorize'));
  expect(asked).not.toContainEqual(expect.stringContaining('/connect/token'));
  expect((await browser.send(page, '/console/sign-out')).text).toContain('You are signed out');
  expect(browser.cookie('venue_session')).toBeUndefined();
});

test('sign-in returns only to pages of the console', () => {
  expect(ownPath('/console/bookings/7?at=2026-11-20T10:00')).toBe('/console/bookings/7?at=2026-11-20T10:00');
  for (const to of [
    'https://evil.example',
    '//evil.example',
    '/consoleevil',
    '/console/\\evil.example',
    '/api',
    undefined,
  ])
    expect(ownPath(to)).toBe('/console');
});

test('signing out ends the session here and at the authorization server; apps stay connected', async () => {
  const { users, documents } = running.service.core;
  const login = { email: 'leaver@demo.example', password: 'long enough 1' };
  const account = { kind: 'Community', id: communityId(community().id) } as const;
  const user = await users.add({ ...login, accounts: [account] }, BY_OPERATOR);
  if ('refused' in user) throw new Error(user.details);
  const records = await documents.open(OIDC_RECORDS);
  const kept = async () =>
    (
      await Array.fromAsync(records.find(ask({ where: { userId: user.id } })), ({ document }) => document.model)
    ).toSorted();

  const app = await TestApp.register(running.url);
  const { refresh_token: refreshToken } = await app.tokens({ ...login, account: `Community:${account.id}` });
  const browser = new Browser(running.url);
  await browser.signIn(login);
  const cookies = ['console', 'venue_session', 'venue_session.sig'] as const;
  const before = cookies.map((name) => [name, browser.cookie(name) ?? ''] as const);
  // The app's browser has a session, and so has this one.
  const sessionsBefore = (await kept()).filter((model) => model === 'Session');
  expect(sessionsBefore).toHaveLength(2);

  const page = await browser.send(await browser.open('/console/inbox'), '/console/sign-out');
  expect(page.text).toContain('You are signed out');
  expect(cookies.map((name) => browser.cookie(name))).toEqual([undefined, undefined, undefined]);
  expect((await kept()).filter((model) => model === 'Session')).toHaveLength(1);
  // The old cookies open no page, and signing in requires the password.
  for (const [name, value] of before) browser.setCookie(name, value);
  expect((await browser.open('/console/inbox')).text).toContain('name="password"');
  expect((await app.refresh(refreshToken)).access_token).toBeDefined();
  expect((await app.browser.open((await app.authorizationUrl()).url)).text).not.toContain('name="password"');
});

test('changing the password or leaving the account ends the session', async () => {
  const { users } = running.service.core;
  const [account, other] = [asCommunity(community()), asCommunity(running.demo.communities[1])];
  const added = await users.add(
    { email: 'two@demo.example', password: 'long enough 1', accounts: [account, other] },
    BY_OPERATOR,
  );
  if ('refused' in added) throw new Error(added.details);
  const browser = new Browser(running.url);
  const page = await browser.signIn({ email: 'two@demo.example', password: 'long enough 1' });
  expect(page.text).toContain(community().name);

  await users.removeAccount(added.id, account, BY_OPERATOR);
  expect((await browser.request('/console/inbox')).status).toBe(303);
  expect((await browser.open('/console/inbox')).text).not.toContain(community().name);
  await users.changePassword(added.id, 'long enough 2', BY_OPERATOR);
  expect((await browser.request('/console/inbox')).status).toBe(303);
});

test('a user with several accounts switches between them; a form made for the previous account then does nothing', async () => {
  const { users } = running.service.core;
  const [one, two] = running.demo.communities;
  await users.add(
    { email: 'both@demo.example', password: 'long enough 1', accounts: [asCommunity(one), asCommunity(two)] },
    BY_OPERATOR,
  );
  const browser = new Browser(running.url);
  const first = await browser.signIn({ email: 'both@demo.example', password: 'long enough 1' });
  const before = await browser.open('/console/spaces/new');
  const page = await browser.send(first, '/console/account', { account: `Community:${two.id}` });
  expect(page.text).toContain(`<span class="name"><bdi>${two.name}</bdi></span>`);

  expect((await browser.send(before, '/console/spaces/new', { name: 'Wrong account' })).status).toBe(403);
  const forbidden = await browser.send(page, '/console/account', { account: 'Brand:1' });
  expect(forbidden.status).toBe(403);
});

test('a link to a page of another account of the same user offers to switch, then opens the page', async () => {
  const { core } = running.service;
  const { communities, brands } = running.demo;
  const [harbour, union] = [asCommunity(communities[0]), asCommunity(communities[1])];
  const [northwind, juniper] = [asBrand(brands[0]), asBrand(brands[1])];
  const login = { email: 'three@demo.example', password: 'long enough 1' };
  await core.users.add({ ...login, accounts: [union, harbour, northwind] }, BY_OPERATOR);
  const browser = new Browser(running.url);
  await browser.signIn(login);
  const own = async (account: typeof harbour | typeof northwind) => {
    for await (const { bookingId, communityId: of, brandId: by } of core.queries.bookings.list(account, {}))
      if (of !== union.id && (account.kind === 'Community' || by === account.id)) return bookingId;
    throw new Error('The demo lacks a booking');
  };
  const path = `/console/bookings/${await own(northwind)}`;
  const offered = await browser.open(path);
  expect(offered.status).toBe(404);
  expect(offered.text).toContain('This page belongs to another of your accounts');
  // It is a booking of both of them.
  expect(offered.text).toContain('value="Community:1"><span>Switch to <bdi>Harbour Lofts</bdi>');
  expect(offered.text).toContain('value="Brand:1"><span>Switch to <bdi>Northwind Coffee</bdi>');
  /** Only the form in the content counts; the menu has another one for switching accounts. */
  const switched = (page: Page, account: string) => {
    const main = new Page({ ...page, text: page.text.slice(page.text.indexOf('<main')) });
    return browser.send(main, '/console/account', { account });
  };
  const there = await switched(offered, 'Brand:1');
  expect(there.status).toBe(200);
  expect(there.url.pathname).toBe(path);
  expect(there.text).toContain('<span class="name"><bdi>Northwind Coffee</bdi></span>');

  // A page that only the other kind of account has.
  const find = await switched(await browser.open('/console/calendar?month=2026-12'), 'Community:1');
  expect(find.url.href).toContain('/console/calendar?month=2026-12');
  expect(find.status).toBe(200);

  // A foreign id and an unknown id get the same answer.
  await browser.send(find, '/console/account', { account: 'Community:2' });
  const foreign = core.queries.bookings.list(juniper, {});
  const ofOthers: number[] = [];
  for await (const { bookingId, communityId: of } of foreign) if (of === harbour.id) ofOthers.push(bookingId);
  const stranger = new Browser(running.url);
  await stranger.signIn(running.demo.communities[1].user);
  const seen = await Promise.all(
    [ofOthers[0], 987_654].map(async (id) =>
      (await stranger.open(`/console/bookings/${id}`)).text.replace(/(?:csrf" value|data-live)="[^"]*"/g, ''),
    ),
  );
  expect(seen[0]).toContain('Booking not found');
  expect(seen[0]).toBe(seen[1]);
  for (const to of ['https://evil.example/', '//evil.example', '/api/v1/bookings']) {
    const page = await browser.open('/console/reviews');
    const { target, body } = page.form('/console/account', { account: 'Community:2', to });
    const answer = await browser.request(target, { method: 'POST', body });
    expect(answer.headers.get('location')).toBe('/console');
  }
});

test('signing out at the authorization server signs out of the console in this browser only', async () => {
  const browser = new Browser(running.url);
  await browser.signIn(community().user);
  const elsewhere = new Browser(running.url);
  await elsewhere.signIn(community().user);

  const kept = await browser.send(await browser.open('/connect/logout'), '/logout/confirm');
  expect(kept.title).toContain('You are still signed in');
  expect((await browser.open('/console/spaces')).title).toContain('Spaces');

  const left = await browser.send(await browser.open('/connect/logout'), '/logout/confirm', { logout: 'yes' });
  expect(left.title).toContain('You are signed out');
  expect((await browser.open('/console/spaces')).title).toContain('Sign in');
  expect((await elsewhere.open('/console/spaces')).title).toContain('Spaces');
});

test('an open page is notified when its user signs out', async () => {
  const browser = new Browser(running.url);
  await browser.signIn(community().user);
  const cookie = browser.cookie('console') ?? '';
  await browser.send(await browser.open('/connect/logout'), '/logout/confirm', { logout: 'yes' });
  const stored = await sessions();
  expect(await stored.get(createHash('sha256').update(cookie).digest('base64url'))).toBeUndefined();
});
