import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accountKey } from '../../src/domain/account.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { type Running, startDemo } from './console.fixture.ts';

const NEW_PASSWORD = 'a rather new password';
const FORGOTTEN = '/console/password/forgotten';

let running: Running;
beforeAll(async () => {
  running = await startDemo();
});
afterAll(() => running.stop());

const core = () => running.service.core;
const brand = () => ({ kind: 'Brand', id: brandId(running.demo.brands[0].id) }) as const;
const community = () => ({ kind: 'Community', id: communityId(running.demo.communities[0].id) }) as const;

async function addUser(email: string, password = 'correct horse battery') {
  return accepted(await core().users.add({ email, password, accounts: [brand()] }, BY_OPERATOR));
}

/** Everything that a reader of an answer could tell apart, except ids that differ in every answer. */
const shapeOf = ({ status, text, headers }: Page) => ({
  status,
  text,
  location: headers.get('location'),
  headers: [...headers.keys()].sort(),
});

async function ask(email: string, browser = new Browser(running.url)) {
  const form = await browser.open(FORGOTTEN);
  const { target, body } = form.form(FORGOTTEN, { email });
  return browser.request(target, { method: 'POST', body });
}

test('a user who forgot the password sets one with the link of a mail, which ends every session', async () => {
  const email = 'forgot@example.com';
  const user = await addUser(email);
  const elsewhere = new Browser(running.url);
  await elsewhere.signIn({ email, password: 'correct horse battery' });
  expect((await elsewhere.open('/console/bookings')).title).toContain('bookings');

  const browser = new Browser(running.url);
  const signIn = await browser.open('/console');
  expect(signIn.text).toContain(`href="${FORGOTTEN}"`);
  const sent = await browser.send(await browser.open(FORGOTTEN), FORGOTTEN, { email });
  expect(sent.text).toContain('If a user has this address');

  const { url } = core().passwordReset.mailed(user, core().clock());
  const page = await browser.open(url);
  expect(page.text).toContain(email);
  // A scanner opens it, too.
  await new Browser(running.url).open(url);
  expect(await core().users.get(user.id)).toEqual(user);

  const short = await browser.send(page, '/new', { password: 'short' });
  expect(short.status).toBe(422);
  expect(short.text).toContain('10 to 256 characters');
  const done = await browser.send(short, '/new', { password: ` ${NEW_PASSWORD} ` });
  expect(done.text).toContain('Your password is changed');
  for (const again of [await browser.open(url), await browser.send(page, '/new', { password: NEW_PASSWORD })]) {
    expect(again.status).toBe(404);
    expect(again.text).toContain('This link does not work');
  }
  expect((await elsewhere.open('/console/bookings')).title).toContain('Sign in');
  // Blanks at the ends of a password belong to it.
  expect((await browser.signIn({ email, password: NEW_PASSWORD })).status).toBe(422);
  expect((await browser.signIn({ email, password: ` ${NEW_PASSWORD} ` })).status).toBe(200);
  const history = await browser.open('/console/history?topic=members');
  expect(history.text).toMatch(/forgot@example\.com<\/bdi> got a new password/);
});

test('nothing tells a known address from an unknown one, also beyond the limits', async () => {
  await addUser('known@example.com');
  for (let time = 1; time <= 12; time += 1) {
    const [known, unknown] = [await ask('known@example.com'), await ask('stranger@example.com')];
    expect(shapeOf(unknown)).toEqual({
      ...shapeOf(known),
      text: shapeOf(known).text.replaceAll('known@example.com', 'stranger@example.com'),
    });
    expect(known.status, `attempt ${time}`).toBe(time <= 10 ? 303 : 429);
  }
  // A user who has forgotten the password may still try one.
  const browser = new Browser(running.url);
  expect((await browser.signIn({ email: 'known@example.com', password: 'correct horse battery' })).status).toBe(200);
});

test('a form from another site, an altered link and an impossible address do nothing', async () => {
  const user = await addUser('attacked@example.com');
  const { url } = core().passwordReset.mailed(user, core().clock());
  const link = new URL(url).searchParams.get('link') ?? '';
  const browser = new Browser(running.url);
  const body = new URLSearchParams({ link, password: NEW_PASSWORD });
  const foreign = await browser.request('/console/password/new', {
    method: 'POST',
    body,
    headers: { origin: 'https://evil.example' },
  });
  expect(foreign.status).toBe(403);
  for (const altered of ['', 'x', `${link}x`, link.replace('.', '..'), 'usr_x.abc.def', 'x'.repeat(5_000)]) {
    const sent = new URLSearchParams({ link: altered, password: NEW_PASSWORD });
    expect((await browser.request('/console/password/new', { method: 'POST', body: sent })).status).toBe(404);
    expect((await browser.open(`/console/invitation?link=${altered}`)).status).toBe(404);
    expect((await browser.open(`/console/address?link=${altered}`)).status).toBe(404);
  }
  expect(await core().users.get(user.id)).toEqual(user);
  for (const email of ['', 'unknown', `${'x'.repeat(300)}@example.com`, 'a@b.example\r\nBcc: c@d.example'])
    expect([400, 422]).toContain((await ask(email)).status);
});

test('`venue user reset-link` prints a link that works once and confirms no address', async () => {
  const user = await addUser('printed@example.com');
  useDataDir(core().config.dataDir, { PUBLIC_URL: running.url });
  const printed = await json('user', 'reset-link', '--email', 'Printed@example.com');
  expect(printed).toEqual({ id: user.id, url: expect.stringContaining(running.url), until: expect.any(String) });
  expect((await inProcess('user', 'reset-link', '--email', 'none@example.com')).code).toBe(1);
  const browser = new Browser(running.url);
  const done = await browser.send(await browser.open(printed.url), '/new', { password: NEW_PASSWORD });
  expect(done.text).toContain('Your password is changed');
  expect((await browser.open(printed.url)).status).toBe(404);
  expect(await core().users.get(user.id)).not.toHaveProperty('emailConfirmedAt');
});

test('a stranger is invited, sets a password, is signed in, and is in the history without an address in the log', async () => {
  const manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  const people = await manager.open('/console/people');
  expect(people.text).toContain(running.demo.communities[0].user.email);
  const email = 'stranger@example.org';
  const invited = await manager.send(people, '/invitations', { email, role: 'Manager' });
  expect(invited.flash).toContain('is invited');
  expect(invited.text).not.toContain('?link=');
  const [invitation] = await core().invitations.listOpen(community());
  if (invitation === undefined) throw new Error('There is no invitation');
  expect(invitation.email).toBe(email);

  const { url } = core().invitations.mailed(invitation);
  const stranger = new Browser(running.url);
  const page = await stranger.open(url);
  expect(page.text).toContain(running.demo.communities[0].name);
  await stranger.open(url);
  expect(await core().users.byEmail(email)).toBeUndefined();
  const done = await stranger.send(page, '/invitation', { password: NEW_PASSWORD });
  expect(done.title).toContain('Overview');
  expect(done.flash).toContain('You are a member');
  expect((await stranger.open('/console/inbox')).flash).toBe('');
  expect((await stranger.open(url)).status).toBe(404);
  expect((await stranger.open('/console/people')).text).toContain(email);
  expect((await new Browser(running.url).signIn({ email, password: NEW_PASSWORD })).title).toContain('Overview');

  const history = await manager.open('/console/history?topic=members');
  expect(history.text).toMatch(/Invitation inv_[\w-]+… was sent/);
  expect(history.text).toMatch(/stranger@example\.org<\/bdi> became a Manager/);
  const log = JSON.stringify(await Array.fromAsync(core().events.readAll()));
  expect(log).toContain('MemberInvited');
  expect(log).not.toContain('example.org');
});

test('who accepts an invitation gets a new session, which takes the place of the one in that browser', async () => {
  const browser = new Browser(running.url);
  await browser.signIn(running.demo.brands[0].user);
  const before = browser.cookie('console') ?? '';
  const email = 'shared-computer@example.org';
  const wanted = { account: community(), role: 'Viewer', email } as const;
  const { url } = core().invitations.mailed(accepted(await core().invitations.invite(wanted, undefined, BY_OPERATOR)));
  const form = await browser.open(url);
  const wrong = await browser.send(form, '/invitation', { password: 'short' });
  expect([wrong.status, browser.cookie('console')]).toEqual([422, before]);
  const foreign = await browser.request(form.form('/invitation').target, {
    method: 'POST',
    body: form.form('/invitation', { password: NEW_PASSWORD }).body,
    headers: { origin: 'https://evil.example' },
  });
  expect([foreign.status, browser.cookie('console')]).toEqual([403, before]);

  const { target, body } = form.form('/invitation', { password: NEW_PASSWORD });
  const joined = await browser.request(target, { method: 'POST', body });
  const [cookie = ''] = joined.headers.getSetCookie().filter((line) => line.startsWith('console='));
  expect(cookie).toMatch(/; HttpOnly; SameSite=Lax$/);
  expect(browser.cookie('console')).not.toBe(before);
  expect((await browser.open('/console/account')).text).toContain(email);

  const former = new Browser(running.url);
  former.setCookie('console', before);
  expect((await former.open('/console/account')).title).toContain('Sign in');
  // Nor is the former user still signed in at the authorization server, which would sign them in without a question.
  browser.setCookie('console', 'none');
  expect((await browser.open('/console/account')).title).toContain('Sign in');
});

test('a user accepts after signing in; another user, and a withdrawn invitation, are refused', async () => {
  const email = 'accepting@example.com';
  const user = await addUser(email);
  await addUser('other@example.com');
  const invite = async () =>
    accepted(await core().invitations.invite({ account: community(), role: 'Manager', email }, undefined, BY_OPERATOR));
  const { url } = core().invitations.mailed(await invite());
  const browser = new Browser(running.url);
  const page = await browser.open(url);
  expect(page.text).not.toContain('name="password"');
  const [, accept = ''] = /href="(\/console\/invitation\/accept[^"]*)"/.exec(page.text) ?? [];
  const other = new Browser(running.url);
  await other.signIn({ email: 'other@example.com', password: 'correct horse battery' });
  expect((await other.open(accept)).text).toContain('This invitation is for another person');

  const signIn = await browser.open(accept);
  const unconfirmed = await browser.send(signIn, /sign-in$/, { email, password: 'correct horse battery' });
  expect(unconfirmed.text).toContain('Your address is not confirmed yet');
  const asked = await browser.send(unconfirmed, '/confirm');
  expect(asked.flash).toContain('A mail with a link is on its way');
  const confirmation = core().addressConfirmation.mailed(user, core().clock());
  const confirmed = await browser.send(await browser.open(confirmation.url), '/address');
  expect(confirmed.text).toContain('Your address is confirmed');
  const ready = await browser.open(accept);
  const joined = await browser.send(ready, '/accept');
  expect(joined.title).toContain('You are a member');
  expect((await browser.send(joined, '/console/account', { account: accountKey(community()) })).title).toContain(
    'Overview',
  );
  expect((await browser.send(ready, '/accept')).status).toBe(403);
  // A link that has ended has one page, signed in or not.
  const ended = await browser.open(accept);
  expect([ended.status, ended.text]).toEqual([404, (await new Browser(running.url).open(url)).text]);

  const withdrawn = accepted(
    await core().invitations.invite(
      { account: community(), role: 'Viewer', email: 'late@example.com' },
      undefined,
      BY_OPERATOR,
    ),
  );
  const manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  const gone = await manager.send(await manager.open('/console/people'), `${withdrawn.id}/withdraw`);
  expect(gone.flash).toContain('Invitation withdrawn');
  expect((await browser.open(core().invitations.mailed(withdrawn).url)).status).toBe(404);
});

test('an invitation to the own address or to a member is refused, and one with line breaks or 300 characters', async () => {
  const manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  const people = await manager.open('/console/people');
  const invited = async (email: string) => manager.send(people, '/invitations', { email, role: 'Viewer' });
  const own = await invited(running.demo.communities[0].user.email);
  expect(own.status).toBe(422);
  expect(own.text).toContain('This is your own address.');
  expect((await invited(`${'x'.repeat(300)}@example.com`)).text).toContain('This is not an e-mail address.');
  const broken = await invited('a@example.com\r\nBcc: b@example.com');
  expect([400, 422]).toContain(broken.status);
  const none = await manager.send(people, '/invitations', { email: 'a@example.com' });
  expect(none.text).toContain('Choose a role.');
});

test('where no mail is sent, pages and the command line say so, and the operator prints the link', async () => {
  const silent = await startDemo({ MAIL_INBOX: 'false' });
  try {
    const browser = new Browser(silent.url);
    expect((await browser.open(FORGOTTEN)).text).toContain('user reset-link --email');
    const { user, id } = silent.demo.communities[0];
    await browser.signIn(user);
    expect((await browser.open('/console/account')).text).toContain('This service sends no mail');
    const people = await browser.open('/console/people');
    const invited = await browser.send(people, '/invitations', { email: 'n@example.com', role: 'Coordinator' });
    expect(invited.flash).toContain('The operator of this service prints the link');
    useDataDir(silent.service.core.config.dataDir, { PUBLIC_URL: silent.url, MAIL_INBOX: 'false' });
    const options = ['--community', `${id}`, '--email', 'n@example.com', '--role', 'coordinator'];
    const [first, again] = [await json('user', 'invite', ...options), await json('user', 'invite', ...options)];
    expect(again).toEqual(first);
    const stranger = new Browser(silent.url);
    const done = await stranger.send(await stranger.open(first.url), '/invitation', { password: NEW_PASSWORD });
    expect(done.flash).toContain('You are a member');
    const known = await silent.service.core.users.byEmail('n@example.com');
    expect(known).not.toHaveProperty('emailConfirmedAt');
    const wrong = await inProcess('user', 'invite', ...options.slice(0, 4), '--role', 'owner');
    expect(wrong.code).toBe(2);
  } finally {
    await silent.stop();
  }
});

test('a user who only wants to have an address ends no invitation to it by being removed', async () => {
  const email = 'invited-elsewhere@example.net';
  const wanted = { account: brand(), role: 'Viewer', email } as const;
  const { id } = accepted(await core().invitations.invite(wanted, undefined, BY_OPERATOR));
  const user = await addUser('wants-it@example.net');
  accepted(await core().users.requestEmail(user.id, email, BY_OPERATOR));
  await core().users.remove(user.id, BY_OPERATOR);
  expect(await core().invitations.get(id)).toMatchObject({ email });
  expect(await core().invitations.withdraw(wanted.account, id, BY_OPERATOR)).toBeUndefined();
});

test('after `venue user remove` and `venue forget` no file has an address', async () => {
  const gone = 'vanishing@example.net';
  const user = await addUser(gone);
  await core().users.requestEmail(user.id, 'pending-vanishing@example.net', BY_OPERATOR);
  const invite = async (email: string, account = community()) =>
    accepted(await core().invitations.invite({ account, role: 'Viewer', email } as never, undefined, BY_OPERATOR));
  await invite(gone);
  await core().invitations.invite(
    { account: brand(), role: 'Viewer', email: 'forgotten-v@example.net' },
    undefined,
    BY_OPERATOR,
  );
  const { dataDir } = core().config;
  const filesWith = (text: string) =>
    readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter((path) => readFileSync(path).includes(text));
  expect(filesWith('vanishing')).not.toEqual([]);
  useDataDir(dataDir, { PUBLIC_URL: running.url });
  await json('user', 'remove', '--email', gone);
  expect(filesWith('vanishing')).toEqual([]);
  expect(filesWith('forgotten-v@')).not.toEqual([]);
  await json('forget', '--brand', `${brand().id}`);
  expect(filesWith('forgotten-v@')).toEqual([]);
});
