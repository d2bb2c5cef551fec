import { afterAll, beforeAll, expect, test } from 'vitest';
import type { User } from '../../src/auth/users.ts';
import { type Account, accountKey } from '../../src/domain/account.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { communityId } from '../../src/domain/ids.ts';
import { composeLinks } from '../../src/mail/compose/links.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { type Running, startDemo } from '../console/console.fixture.ts';
import { eventually } from '../eventually.ts';

const PASSWORD = 'correct horse battery';
const NEW_PASSWORD = 'another good password';

let running: Running;
let account: Account;
beforeAll(async () => {
  running = await startDemo();
  account = { kind: 'Community', id: communityId(running.demo.communities[0].id) };
});
afterAll(() => running.stop());

const withOldPassword = (user: User | undefined) => user && { ...user, passwordChangedAt: toTimestamp(0) };
const core = () => running.service.core;

/** The links of the mails to an address with this subject, the latest first. */
const linksTo = (to: string, subject: RegExp): Promise<readonly [string, ...string[]]> =>
  eventually(async () => {
    const mails = (await core().mail.inbox?.list()) ?? [];
    const links = mails
      .filter((mail) => mail.to === to && subject.test(mail.subject))
      .flatMap(({ text }) => /https?:\S+/.exec(text)?.[0] ?? []);
    const [first, ...others] = links;
    if (first === undefined) throw new Error(`There is no mail to ${to}: ${mails.map((mail) => mail.to)}`);
    return [first, ...others];
  });

async function addUser(email: string) {
  return accepted(await core().users.add({ email, password: PASSWORD, accounts: [account] }, BY_OPERATOR));
}

test('the link of a mail sets a new password, and the next mail says that it changed', async () => {
  const email = 'mailed@example.com';
  const { id } = await addUser(email);
  const browser = new Browser(running.url);
  const form = await browser.open('/console/password/forgotten');
  await browser.send(form, '/forgotten', { email });
  const [link, ...others] = await linksTo(email, /Set a new password/);
  expect(others).toEqual([]);
  await browser.send(await browser.open(link), '/new', { password: NEW_PASSWORD });
  expect(await core().users.verifyPassword(email, NEW_PASSWORD)).toMatchObject({
    emailConfirmedAt: expect.any(String),
  });
  await linksTo(email, /password/i);
  const mails = (await core().mail.inbox?.list()) ?? [];
  // The address is in the mails alone, never in what is stored to send them.
  const queued = await core().mail.list('Sent', 100);
  expect(queued.some(({ userId }) => userId === id)).toBe(true);
  expect(JSON.stringify(queued)).not.toContain(email);
  expect(mails.every(({ html }) => !/<img|src=/.test(html))).toBe(true);
});

test('a new address gets a link, and the current one a notice that leads to the password', async () => {
  const [before, after] = ['mail-before@example.com', 'mail-after@example.com'];
  const { id } = await addUser(before);
  const browser = new Browser(running.url);
  await browser.signIn({ email: before, password: PASSWORD });
  const page = await browser.open('/console/account');
  await browser.send(page, '/address', { email: after, confirmWith: PASSWORD });
  expect(await linksTo(before, /about to change/)).toEqual([`${running.url}/console/account`]);
  const [link] = await linksTo(after, /Confirm/);
  await browser.send(await browser.open(link), '/address');
  expect(await core().users.get(id)).toMatchObject({ email: after, emailConfirmedAt: expect.any(String) });
});

test('a contact address is used once a reader of it has confirmed it, with the link of the last request alone', async () => {
  const { contacts } = core().mailContent;
  const path = '/console/mail/contact';
  const manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  accepted(await contacts.set(account, 'before@harbour.example'));
  const ask = async (contact: string) => manager.send(await manager.open(path), path, { contact });
  const asked = await ask('First@Harbour.example');
  expect(asked.flash).toContain('was sent to it');
  expect(asked.text).toContain('first@harbour.example');
  const [first] = await linksTo('first@harbour.example', /contact address/);
  await ask('second@harbour.example');
  const [second] = await linksTo('second@harbour.example', /contact address/);
  expect(await contacts.of(account)).toBe('before@harbour.example');
  const reader = new Browser(running.url);
  // It was replaced.
  expect((await reader.open(first)).status).toBe(404);
  expect((await reader.open(second.replace(`Community-${account.id}.`, 'Community-99.'))).status).toBe(404);
  const page = await reader.open(second);
  expect(page.text).toContain('second@harbour.example');
  // Scanners open every link.
  expect(await contacts.of(account)).toBe('before@harbour.example');
  expect((await reader.send(page, '/contact')).text).toContain('is confirmed');
  expect(await contacts.of(account)).toBe('second@harbour.example');
  expect((await reader.open(second)).status).toBe(404);

  await ask('third@harbour.example');
  const [third] = await linksTo('third@harbour.example', /contact address/);
  // The command line needs no link, and ends the one that was sent.
  accepted(await contacts.set(account, 'operator@harbour.example'));
  expect((await reader.open(third)).status).toBe(404);
  await ask('');
  expect(await contacts.of(account)).toBeUndefined();
  for (let i = 0; i < 4; i += 1) await ask(`stranger${i}@else.example`);
  expect((await ask('one-more@else.example')).text).toContain('too many changes');
  accepted(await contacts.set(account, ''));
});

test('an invited stranger becomes a member with the link of the mail', async () => {
  const email = 'mail-invited@example.com';
  const manager = new Browser(running.url);
  await manager.signIn(running.demo.communities[0].user);
  await manager.send(await manager.open('/console/people'), '/invitations', { email, role: 'Coordinator' });
  const [link] = await linksTo(email, /^Invitation/);
  const stranger = new Browser(running.url);
  const joined = await stranger.send(await stranger.open(link), '/invitation', { password: NEW_PASSWORD });
  expect(joined.title).toContain('Overview');
  // A Coordinator answers requests and may not invite people.
  expect((await stranger.open('/console/people')).status).toBe(403);
});

test('an invitation names its inviter, and is no tool for phishing', async () => {
  const { commands, invitations, users, mailContent } = core();
  const added = accepted(await commands.catalogue.addCommunity({ name: 'Quay Rooms', timeZone: 'UTC' }, BY_OPERATOR));
  const own: Account = { kind: 'Community', id: communityId(added.communityId) };
  const manager = accepted(
    await users.add({ email: 'mia@quay.example', password: PASSWORD, accounts: [own] }, BY_OPERATOR),
  );
  const evil =
    'Venue Booking security team. Your account ends today, sign in at https://evil.example/x or mail a@evil.example';
  const facts = { name: evil };
  accepted(await commands.catalogue.changeCommunity({ communityId: own.id, facts }, BY_OPERATOR));
  const wanted = { account: own, role: 'Viewer', email: 'phished@example.com' } as const;
  const { id } = accepted(await invitations.invite(wanted, manager, BY_OPERATOR));
  const at = toTimestamp(core().clock());
  const mail = await mailContent.compose({ kind: 'Invitation', cause: 'x', userId: id, about: {}, at });
  if ('skipped' in mail) throw new Error(mail.skipped);
  expect(mail.subject).toMatch(
    /^Invitation to act for the community “Venue Booking security team\. Your account ends today, sign …” \(until/,
  );
  expect(mail.text).toContain('mia@quay.example invites you to act for the community “Venue');
  expect(mail.text).toContain('(until recently “Quay Rooms”)');
  for (const part of [mail.text, mail.html, mail.subject]) expect(part).not.toMatch(/evil/);
});

test('a mail program turns a kind of mail off with one post, without a session, and with that link nothing else', async () => {
  const { unsubscribing, preferences } = core().mailContent;
  const { id: userId } = await addUser('unsubscribes@example.com');
  const key = accountKey(account);
  const link = (kind: 'BookingRequested' | 'all') => unsubscribing.url({ userId, account: key, kind }, core().clock());
  await preferences.choose(userId, key, 3, { BookingRequested: true, EventTomorrow: true });
  const url = link('BookingRequested');
  const reader = new Browser(running.url);
  // Scanners open every link.
  expect((await reader.open(url)).text).toContain('New request');
  expect((await preferences.get(userId, key)).all).toEqual({});
  const click = (to: string, body: URLSearchParams | FormData) =>
    fetch(to, { method: 'POST', body, redirect: 'manual' });
  const form = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
  for (const altered of [
    url.replace('BookingRequested', 'all'),
    url.replace(/of=Community%3A\d+/, 'of=Brand%3A1'),
    url.replace(userId, 'usr_other'),
    url.replace('kind=BookingRequested', 'kind=PasswordChanged'),
    `${url}x`,
  ])
    expect((await click(altered, form)).status).toBe(404);
  expect((await preferences.get(userId, key)).all).toEqual({});
  expect((await click(url, form)).status).toBe(200);
  expect(await preferences.get(userId, key)).toMatchObject({
    all: { BookingRequested: false },
    spaces: { 3: { EventTomorrow: true } },
  });
  // As some programs send it, and twice.
  const data = new FormData();
  data.append('List-Unsubscribe', 'One-Click');
  for (const _ of [1, 2]) expect((await click(link('all'), data)).status).toBe(200);
  const { all, spaces } = await preferences.get(userId, key);
  expect(new Set(Object.values(all))).toEqual(new Set([false]));
  expect(Object.keys(all)).toContain('EventTomorrow');
  expect(spaces).toEqual({});
  // No record of a user who is gone.
  await core().users.remove(userId, BY_OPERATOR);
  expect((await click(link('all'), form)).status).toBe(200);
  expect(await preferences.get(userId, key)).toEqual({ all: {}, spaces: {} });
});

test('a mail is not sent once its link would not work', async () => {
  const { mailContent, users, invitations, passwordReset, clock } = core();
  const email = 'too-late@example.com';
  const { id: userId } = await addUser(email);
  const at = new Date(clock()).toISOString() as never;
  const reset = { kind: 'PasswordReset', cause: 'slot-1', userId, about: {}, at } as const;
  const notice = { ...reset, kind: 'AddressConfirmation', about: { notice: 'change' } } as const;
  expect(await mailContent.compose(reset)).toMatchObject({ to: email });
  expect(await mailContent.compose(notice)).toMatchObject({ skipped: expect.any(String) });
  // As after an outage of the mail server, or sent again by hand.
  const before = (hours: number) => ({ at: toTimestamp(clock() - hours * 3_600_000) });
  const sincePassword = { ...users, get: async (id: string) => withOldPassword(await users.get(id)) };
  const links = composeLinks({
    ...core(),
    contacts: mailContent.contacts,
    accounts: core().queries.accounts,
    publicUrl: '',
    users: sincePassword,
  });
  expect(await links({ ...reset, ...before(0.9) })).toMatchObject({ to: email });
  expect(await links({ ...reset, ...before(1.1) })).toEqual({ skipped: 'Its link has ended.' });
  const confirmation = { ...notice, about: {} };
  expect(await links({ ...confirmation, ...before(23) })).toMatchObject({ to: email });
  expect(await links({ ...confirmation, ...before(25) })).toEqual({ skipped: 'Its link has ended.' });
  accepted(await users.changePassword(userId, NEW_PASSWORD, BY_OPERATOR));
  expect(await mailContent.compose(reset)).toMatchObject({ skipped: 'The password has changed since.' });
  await users.remove(userId, BY_OPERATOR);
  expect(await mailContent.compose(reset)).toMatchObject({ skipped: 'The user was removed.' });
  const wanted = { account, role: 'Viewer', email: 'withdrawn@example.com' } as const;
  const { id } = accepted(await invitations.invite(wanted, undefined, BY_OPERATOR));
  const invitation = { ...reset, kind: 'Invitation', userId: id } as const;
  expect(await mailContent.compose(invitation)).toMatchObject({ to: 'withdrawn@example.com' });
  await invitations.withdraw(account, id, BY_OPERATOR);
  expect(await mailContent.compose(invitation)).toHaveProperty('skipped');
  expect(passwordReset.sendsMail).toBe(true);
});
