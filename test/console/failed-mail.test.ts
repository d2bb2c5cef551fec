import { afterAll, beforeAll, expect, test } from 'vitest';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import type { NewMail } from '../../src/mail/mail.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { eventually } from '../eventually.ts';
import { startSmtp } from '../mail/smtp.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let smtp: Awaited<ReturnType<typeof startSmtp>>;
let userId: string;

beforeAll(async () => {
  smtp = await startSmtp();
  smtp.onRecipient = async (address) => ({ status: 550, text: `<${address}> is not known here` });
  running = await startDemo({ SMTP_URL: smtp.url, MAIL_FROM: 'bookings@venue.example' });
  const { users, clock, mail } = running.service.core;
  userId = (await users.byEmail(running.demo.communities[0].user.email))?.id ?? '';
  const at = toTimestamp(clock());
  const about = { kind: 'PasswordChanged', userId, account: 'Community:1', about: {}, at } as const;
  for (const cause of ['one', 'two']) await mail.enqueue({ ...about, cause } satisfies NewMail);
  await eventually(async () => expect(await mail.list('Failed', 10)).toHaveLength(2));
});
afterAll(async () => {
  await running.stop();
  await smtp.kill();
});

const browserOf = async (user: { readonly email: string; readonly password: string }) => {
  const browser = new Browser(running.url);
  await browser.signIn(user);
  return browser;
};

test('managers see which mails the mail server refused, with its answer, and send one again', async () => {
  const { user } = running.demo.communities[0];
  const browser = await browserOf(user);
  const page = await browser.open('/console/mail');
  expect(page.text).toContain('Changed password');
  expect(page.text).toContain(user.email);
  expect(page.text).toContain('550 (address) is not known here');
  smtp.onRecipient = async () => undefined;
  const after = await browser.send(page, `/console/mail/PasswordChanged%3Aone%3A${userId}/resend`);
  expect(after.text).toContain('The mail is being sent again.');
  await smtp.until(1);
  expect(smtp.arrived[0]?.to).toEqual([user.email]);
});

test('an invitation that was refused names the address that was invited', async () => {
  const { invitations, mail } = running.service.core;
  const { user, id } = running.demo.communities[0];
  smtp.onRecipient = async () => ({ status: 550, text: 'No such mailbox' });
  const account = { kind: 'Community', id: communityId(id) } as const;
  const invited = { account, role: 'Viewer', email: 'typo@example.com' } as const;
  accepted(await invitations.invite(invited, undefined, CONTEXT));
  await eventually(async () => expect((await mail.list('Failed', 10))[0]).toMatchObject({ kind: 'Invitation' }));
  const page = await (await browserOf(user)).open('/console/mail');
  expect(page.text).toContain('Invitation');
  expect(page.text).toContain('typo@example.com');
});

test('the address of a person who has left the account is not shown', async () => {
  const { users, mail, clock } = running.service.core;
  const { communities, brands } = running.demo;
  smtp.onRecipient = async () => ({ status: 550, text: 'No such mailbox' });
  const account = { kind: 'Community', id: communityId(communities[0].id) } as const;
  const accounts = [account, { kind: 'Brand', id: brandId(brands[0].id) } as const];
  const { id } = accepted(
    await users.add({ email: 'left@example.com', password: 'a good password', accounts }, CONTEXT),
  );
  const about = { kind: 'PasswordChanged', userId: id, account: 'Community:1', about: {} } as const;
  await mail.enqueue({ ...about, cause: 'left', at: toTimestamp(clock()) });
  await eventually(async () => expect((await mail.list('Failed', 10))[0]).toMatchObject({ userId: id }));
  const shown = async () => (await (await browserOf(communities[0].user)).open('/console/mail')).text;
  expect(await shown()).toContain('left@example.com');
  accepted(await users.removeAccount(id, account, CONTEXT));
  expect(await shown()).not.toContain('left@example.com');
});

test('another account sees none of them, and cannot send one again', async () => {
  const browser = await browserOf(running.demo.communities[1].user);
  const page = await browser.open('/console/mail');
  expect(page.text).toContain('Every mail was sent');
  const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
  const path = `/console/mail/PasswordChanged%3Atwo%3A${userId}/resend`;
  const refused = await browser.request(path, { method: 'POST', body: new URLSearchParams({ csrf }) });
  expect(refused.status).toBe(404);
  expect((await running.service.core.mail.list('Failed', 10)).map(({ kind }) => kind)).toContain('PasswordChanged');
});
