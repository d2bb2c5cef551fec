import { afterAll, beforeAll, expect, test } from 'vitest';
import { Browser, type Page } from '../browser.ts';
import { type Running, startDemo } from '../console/console.fixture.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';

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
  expect(approval.calendar).toContain(`UID:booking-${link.split('/').at(-1)}@venue-booking`);
  // The planner, who asked, and the manager, who approved, get no mail about it.
  const subjects = (await kept())
    .filter(({ text }) => text.includes(link))
    .map(({ to, subject }) => `${to} ${subject}`);
  expect(subjects.filter((each) => each.startsWith(`${northwind.user.email} Request`))).toEqual([]);
  expect(subjects.filter((each) => each.startsWith(`${harbour.user.email} Approved`))).toEqual([]);
}, 60_000);
