import { afterAll, beforeAll, expect, test } from 'vitest';
import { SESSIONS } from '../../src/console/sessions/session-records.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { brandId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { type Running, startDemo } from './console.fixture.ts';

const PATH = '/console/account';
const password = 'correct horse battery';
const next = 'another good password';

let running: Running;
beforeAll(async () => {
  running = await startDemo();
});
afterAll(() => running.stop());

const FIREFOX = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' };
const SAFARI = {
  'user-agent':
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile Safari/604.1',
};

/** A new user, signed in in three browsers, one after the other. */
async function signedIn(email: string): Promise<readonly [Browser, Browser, Browser]> {
  const account = { kind: 'Brand', id: brandId(running.demo.brands[0].id) } as const;
  accepted(await running.service.core.users.add({ email, password, accounts: [account] }, BY_OPERATOR));
  const browsers = [FIREFOX, SAFARI, {}].map((headers) => new Browser(running.url, headers));
  for (const browser of browsers) await browser.signIn({ email, password });
  const [own, second, third] = browsers;
  return own && second && third ? [own, second, third] : expect.unreachable();
}

/** The sessions on the page, by their browsers. */
const rowsOf = ({ text }: Page) =>
  [...text.matchAll(/<th scope="row"[^>]*>(.*?)<\/th>/gs)].map(([, cell = '']) =>
    cell
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );

const isSignedIn = async (browser: Browser) => !(await browser.open('/console/bookings')).title.includes('Sign in');

test('changing the password asks for the current one, and ends every other session', async () => {
  const [own, other] = await signedIn('change@example.com');
  const page = await own.open(PATH);
  const wrong = await own.send(page, '/password', { current: 'not the password', password: next });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('This is not your password.');
  const short = await own.send(page, '/password', { current: password, password: 'short' });
  expect(short.text).toContain('10 to 256 characters');
  const changed = await own.send(page, '/password', { current: password, password: next });
  expect(changed.flash).toContain('Password changed.');
  expect([await isSignedIn(own), await isSignedIn(other)]).toEqual([true, false]);
  const again = new Browser(running.url);
  expect((await again.signIn({ email: 'change@example.com', password })).status).toBe(422);
  await again.signIn({ email: 'change@example.com', password: next });
  expect(await isSignedIn(again)).toBe(true);
});

test('a sign-in that had begun with the former password cannot be finished, at any of its steps', async () => {
  const [own] = await signedIn('halfway@example.com');
  /** Signs in, and keeps the redirect to `until` instead of following it. */
  async function held(until: string) {
    const browser = new Browser(running.url);
    const { target, body } = (await browser.open('/console')).form('/sign-in', {
      email: 'halfway@example.com',
      password,
    });
    let answer = await browser.request(target, { method: 'POST', body });
    while (answer.location !== undefined && !answer.location.pathname.startsWith(until))
      answer = await browser.request(answer.location);
    return { browser, next: answer.location ?? expect.fail(`Nothing leads to ${until}`) };
  }
  const steps = [await held('/connect/'), await held('/console/callback')];
  await own.send(await own.open(PATH), '/password', { current: password, password: next });
  expect(rowsOf(await own.open(PATH))).toEqual(['This browser Firefox on Linux']);
  for (const step of steps) {
    await step.browser.open(step.next);
    expect(await isSignedIn(step.browser)).toBe(false);
  }
});

test('guessing the current password counts like a sign-in', async () => {
  const [own] = await signedIn('guess@example.com');
  const page = await own.open(PATH);
  for (let guess = 0; guess < 10; guess += 1)
    await own.send(page, '/password', { current: `guess number ${guess}`, password: next });
  const late = await own.send(page, '/password', { current: password, password: next });
  expect(late.text).toContain('Too many wrong passwords');
  expect(await running.service.core.users.verifyPassword('guess@example.com', password)).toBeDefined();
});

test('lists the sessions, ends one, and ends all others; an ended browser has to give the password again', async () => {
  const [own, second, third] = await signedIn('sessions@example.com');
  const page = await own.open(PATH);
  expect(rowsOf(page)).toEqual(['This browser Firefox on Linux', 'Unknown browser', 'Safari on iPhone']);
  expect((await third.open(PATH)).text).not.toContain('Mozilla');
  const ends = [...page.text.matchAll(/sessions\/([\w-]{43})\/end/g)].map(([, hash]) => hash);
  expect(ends).toHaveLength(2);
  // After this browser, the latest first: it is the third.
  expect((await own.send(page, `/sessions/${ends[0]}/end`)).flash).toContain('Signed out of that browser.');
  const alive = async () => [await isSignedIn(own), await isSignedIn(second), await isSignedIn(third)];
  expect(await alive()).toEqual([true, true, false]);
  // The session of another user cannot be ended.
  const [stranger] = await signedIn('stranger@example.com');
  const theirs = await stranger.open(PATH);
  const { csrf } = theirs;
  const foreign = await stranger.request(`${PATH}/sessions/${ends[1]}/end`, {
    method: 'POST',
    body: new URLSearchParams({ csrf }),
  });
  expect(foreign.status).toBe(404);
  expect(await alive()).toEqual([true, true, false]);
  expect((await own.send(await own.open(PATH), '/sessions/end')).flash).toContain('every other browser');
  expect(await alive()).toEqual([true, false, false]);
});

test('removing a user erases their sessions, and no other', async () => {
  const { users, documents } = running.service.core;
  await signedIn('gone@example.com');
  const [stays] = await signedIn('stays@example.com');
  const user = (await users.byEmail('gone@example.com')) ?? expect.unreachable();
  const stored = async () =>
    JSON.stringify(await Array.fromAsync((await documents.open(SESSIONS)).find(everyDocument())));
  expect(await stored()).toContain(user.id);
  await users.remove(user.id, BY_OPERATOR);
  expect(await stored()).not.toContain(user.id);
  expect(await isSignedIn(stays)).toBe(true);
});

test('a new address replaces the current one once its link is opened', async () => {
  const { users, addressConfirmation, clock } = running.service.core;
  const [own] = await signedIn('before@example.com');
  const page = await own.open(PATH);
  expect(page.text).toContain('is not confirmed.');
  const wrong = await own.send(page, '/address', { email: 'after@example.com', confirmWith: 'a wrong password' });
  expect(wrong.text).toContain('This is not your password.');
  const sent = await own.send(page, '/address', { email: 'After@example.com', confirmWith: password });
  expect(sent.flash).toContain('A mail with a link is on its way.');
  expect(sent.text).toContain('after@example.com');
  const user = await users.byEmail('before@example.com');
  if (user === undefined) throw new Error('The address changed before it was confirmed');
  const { url } = addressConfirmation.mailed(user, clock());
  const done = await own.send(await own.open(url), '/address');
  expect(done.text).toContain('Your address is confirmed');
  expect((await own.open(PATH)).text).toContain('is confirmed.');
  const history = await own.open('/console/history?topic=members');
  expect(history.text).toMatch(/after@example\.com<\/bdi> changed their address/);
});
