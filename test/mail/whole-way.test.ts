import { afterAll, beforeAll, expect, test } from 'vitest';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser, type Page } from '../browser.ts';
import { type Running, startDemo } from '../console/console.fixture.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { answering, startReceiver } from '../webhooks/receiver.ts';

let running: Running;
beforeAll(async () => {
  running = await startDemo();
});
afterAll(() => running.stop());

const kept = () => running.service.core.mail.inbox?.list() ?? expect.fail('There is no inbox');
/** The newest mail in the inbox whose subject begins so. */
const mailTo = (to: string, subject: string) =>
  eventually(async () => {
    const found = (await kept()).find((mail) => mail.to === to && mail.subject.startsWith(subject));
    return (
      found ?? expect.fail(`No "${subject}" to ${to}: ${JSON.stringify((await kept()).map((one) => one.subject))}`)
    );
  });
const linkIn = ({ text }: { readonly text: string }): string =>
  /http\S+\/console\/bookings\/\d+/.exec(text)?.[0] ?? expect.fail(`No link in ${text}`);

test('a request becomes a mail, whose link leads to its decision after signing in, which becomes a mail with a calendar file', async () => {
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  const [space] = harbour.spaces;
  const planner = new Browser(running.url);
  await planner.signIn(northwind.user);
  const date = inDays(40);
  const page = await planner.open(`/console/find/${space.id}?date=${date}`);
  const hour = /name="startHour"\s+value="(\d+)"/.exec(page.text)?.[1] ?? expect.fail(page.text);
  const sent = await planner.send(page, `/console/find/${space.id}`, { startHour: hour, message: 'For 40 people' });
  expect(sent.status).toBe(200);

  const request = await mailTo(harbour.user.email, 'Request: ');
  expect(request.text).toContain('Message: For 40 people');
  const link = linkIn(request);

  // A link that a mail scanner opens changes nothing, and shows nothing.
  const stranger = await new Browser(running.url).open(link);
  expect(stranger.title).toContain('Sign in');
  expect(stranger.text).not.toContain('For 40 people');

  const manager = new Browser(running.url);
  const arrived: Page = await manager.send(await manager.open(link), '/sign-in', harbour.user);
  expect(arrived.url.href).toBe(link);
  expect(arrived.text).toContain('For 40 people');
  const decided = await manager.send(arrived, '/approve');
  expect(decided.flash).toContain('Request approved');

  const approval = await mailTo(northwind.user.email, 'Approved: ');
  expect(linkIn(approval)).toBe(link);
  const uid = `booking-${link.split('/').at(-1)}@${running.service.core.logId}.venue-booking`;
  expect(approval.calendar?.replaceAll('\r\n ', '')).toContain(`UID:${uid}`);
  // The planner, who asked, gets a receipt, and the manager, who approved, no mail about it.
  const subjects = (await kept())
    .filter(({ text }) => text.includes(link))
    .map(({ to, subject }) => `${to} ${subject}`);
  expect(subjects.filter((each) => each.startsWith(`${northwind.user.email} Request`))).toEqual([
    expect.stringMatching(/ Requested: Harbour Hall, /),
  ]);
  expect(subjects.filter((each) => each.startsWith(`${harbour.user.email} Approved`))).toEqual([]);
}, 60_000);

test('a webhook whose receiver is gone becomes a mail with its last error', async () => {
  const { core } = running.service;
  const [harbour] = running.demo.communities;
  const account = { kind: 'Community', id: communityId(harbour.id) } as const;
  const receiver = await startReceiver(answering(410, {}, 'moved away'));
  const owner = { credential: 'user:usr_1', account } as const;
  accepted(await core.commands.webhooks.register({ owner, url: receiver.url, events: 15 }, CONTEXT));
  const brand = brandId(running.demo.brands[0].id);
  const details = { spaceId: spaceId(harbour.spaces[0].id), date: inDays(50) as PlainDate, startHour: 12 };
  accepted(await core.commands.bookings.request({ brandId: brand, details }, CONTEXT));
  const { text } = await mailTo(harbour.user.email, 'Webhook disabled');
  expect(text).toContain(`URL: ${receiver.url}`);
  expect(text).toContain('Last error: The endpoint answered with status 410.');

  // Disabled by hand: the last attempt is no error.
  const other = await startReceiver();
  const well = accepted(await core.commands.webhooks.register({ owner, url: other.url, events: 15 }, CONTEXT));
  const { deliveryId } = accepted(await core.webhooks.sendTest(well.webhookId));
  await eventually(async () => expect((await core.webhooks.getDelivery(deliveryId))?.state).toBe('Delivered'));
  accepted(await core.commands.webhooks.disable({ webhookId: well.webhookId, reason: 'By hand' }, CONTEXT));
  const byHand = await eventually(async () => {
    const mails = (await kept()).filter((mail) => mail.text.includes(other.url));
    return mails[0] ?? expect.fail('No mail');
  });
  expect(byHand.text).toContain('Reason: By hand');
  expect(byHand.text).not.toContain('Last error');
  await other.close();
  await receiver.close();
});

test('a changed role and a changed password become one mail each to the user concerned', async () => {
  const { users } = running.service.core;
  const [harbour, union] = running.demo.communities;
  const accounts = [harbour, union].map(({ id }) => ({ kind: 'Community', id: communityId(id) }) as const);
  const email = 'viewer@example.com';
  const { id } = accepted(await users.add({ email, password: 'a long password', accounts, role: 'Viewer' }, CONTEXT));
  accepted(await users.setRole(id, accounts[0] ?? expect.fail(), 'Coordinator', CONTEXT));
  accepted(await users.changePassword(id, 'another long password', CONTEXT));
  const role = await mailTo(email, 'Your role in Harbour Lofts');
  expect(role.subject).toContain('Coordinator');
  expect(role.text).toContain('Changed by: the operator');
  await mailTo(email, 'Your password was changed');
  // The user belongs to two accounts, whose histories both have the change.
  await eventually(async () =>
    expect(await Array.fromAsync(running.service.core.events.readAll(), ({ type }) => type)).toContain(
      'PasswordChanged',
    ),
  );
  const subjects = (await kept()).filter(({ to }) => to === email).map(({ subject }) => subject);
  expect(subjects.filter((each) => each.startsWith('Your password'))).toHaveLength(1);
});
