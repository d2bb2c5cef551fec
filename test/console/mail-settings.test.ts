import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AccountKey } from '../../src/domain/account.ts';
import { Browser, type Page } from '../browser.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

const SETTINGS = '/console/mail/settings';

let running: Running;
let community: Browser;
let brand: Browser;
let userId: string;
let account: AccountKey;

beforeAll(async () => {
  running = await startDemo();
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  community = new Browser(running.url);
  await community.signIn(harbour.user);
  brand = new Browser(running.url);
  await brand.signIn(northwind.user);
  userId = (await running.service.core.users.byEmail(harbour.user.email))?.id ?? '';
  account = `Community:${harbour.id}`;
});
afterAll(() => running.stop());

const stored = () => running.service.core.mailContent.preferences.get(userId, account);
const ticked = ({ text }: Page): readonly string[] =>
  [...text.matchAll(/name="kind"\s+value="(\w+)" checked/g)].map(([, kind]) => kind ?? '');
const ALL = [
  ...['BookingRequested', 'AnswerDue', 'BookingCancelled', 'BookingExpired', 'Message'],
  ...['BookingMoveAsked', 'BookingMoveEnded', 'BookingMoved', 'ReviewPublished', 'EventTomorrow'],
];

test('each user turns kinds on and off, and only differences from the default are stored', async () => {
  const page = await community.open(SETTINGS);
  expect(ticked(page)).toEqual(ALL);
  const saved = await community.send(page, SETTINGS, { kind: ['BookingRequested', 'EventTomorrow'] });
  expect(saved.flash).toContain('Mail settings saved.');
  expect(ticked(saved)).toEqual(['BookingRequested', 'EventTomorrow']);
  expect((await stored()).all).toEqual({
    AnswerDue: false,
    BookingCancelled: false,
    BookingExpired: false,
    Message: false,
    BookingMoveAsked: false,
    BookingMoveEnded: false,
    BookingMoved: false,
    ReviewPublished: false,
  });
  expect(ticked(await community.send(saved, SETTINGS, { kind: ALL }))).toEqual(ALL);
  expect((await stored()).all).toEqual({});
  // Nothing ticked is a choice, too.
  expect(ticked(await community.send(saved, SETTINGS, { kind: [] }))).toEqual([]);
  await community.send(saved, SETTINGS, { kind: ALL });
});

test('a space differs from the choice for all spaces, until it follows it again', async () => {
  const [space] = running.demo.communities[0].spaces;
  const path = `${SETTINGS}/space?space=${space.id}`;
  const page = await community.open(path);
  expect(page.text).toContain('As for all spaces (on)');
  const saved = await community.send(page, `${SETTINGS}/space`, { BookingRequested: 'off', EventTomorrow: 'on' });
  expect(saved.flash).toContain(`Mail settings saved for`);
  expect(saved.text).toMatch(/1 on, 1 off/);
  expect((await stored()).spaces).toEqual({ [space.id]: { BookingRequested: false, EventTomorrow: true } });
  const again = await community.send(await community.open(path), `${SETTINGS}/space`, {
    BookingRequested: '',
    EventTomorrow: '',
  });
  expect(again.text).not.toMatch(/1 on/);
  expect((await stored()).spaces).toEqual({});
});

test('a brand chooses for all its bookings at once, and has no page for a space', async () => {
  const page = await brand.open(SETTINGS);
  expect(ticked(page)).toEqual([
    ...[
      'BookingRequested',
      'BookingApproved',
      'BookingDeclined',
      'BookingCancelled',
      'BookingExpired',
      'Message',
      'BookingMoveAsked',
      'BookingMoveEnded',
      'BookingMoved',
      'EventTomorrow',
    ],
  ]);
  expect(page.text).not.toContain('Single spaces');
  expect((await brand.open(`${SETTINGS}/space?space=1`)).status).toBe(404);
});

test.each(['0', 'x', '999999', ''])('there is no page for space %j', async (space) => {
  expect((await community.open(`${SETTINGS}/space?space=${space}`)).status).toBe(404);
});

test('unknown kinds in a form change nothing', async () => {
  const { target, body } = (await community.open(SETTINGS)).form(SETTINGS, { kind: ALL });
  for (const kind of ['__proto__', 'PasswordChanged', 'BookingApproved', 'x'.repeat(1_000)]) body.append('kind', kind);
  expect((await community.request(target, { method: 'POST', body })).status).toBe(303);
  expect((await stored()).all).toEqual({});
});

test('the contact address is validated, shown and removed', async () => {
  const path = '/console/mail/contact';
  const wrong = await brand.send(await brand.open(path), path, { contact: 'not an address' });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('not an address');
  const saved = await brand.send(wrong, path, { contact: 'planner@northwind.example' });
  expect(saved.flash).toContain('A link to confirm the contact address was sent to it.');
  expect(saved.text).toContain('planner@northwind.example');
  // The other party does not see it in the console.
  expect((await community.open(SETTINGS)).text).not.toContain('planner@northwind.example');
  const removed = await brand.send(await brand.open(path), path, { contact: '' });
  expect(removed.flash).toContain('Contact address removed.');
});

test('the link in a mail leads to the page after signing in, and to a switch of the account if that is another', async () => {
  const { users, mailContent, queries } = running.service.core;
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  const both = { email: 'both@example.com', password: 'a long password' };
  const accounts = [
    { kind: 'Brand', id: northwind.id },
    { kind: 'Community', id: harbour.id },
  ] as never;
  const user = await users.add({ ...both, accounts }, CONTEXT);
  if (!('id' in user)) throw new Error('No user');
  const ofHarbour = { kind: 'Community', id: harbour.id } as never;
  const { bookings } = await queries.bookings.page(ofHarbour, {
    list: { status: 'Pending' },
    direction: 'ascending',
    limit: 20,
  });
  // Not one of the brand of this user, which would see the page as the brand.
  const pending = bookings.find(({ brandId }) => Number(brandId) !== Number(northwind.id));
  if (pending === undefined) throw new Error('No request of another brand');
  const { bookingId, spaceId } = pending;
  const message = await mailContent.compose({
    kind: 'BookingRequested',
    cause: 'test',
    userId: user.id,
    account,
    at: pending.createdAt,
    about: { bookingId, spaceId },
  });
  if ('skipped' in message) throw new Error(message.skipped);
  const [link = ''] = /http\S+\/console\/bookings\/\d+/.exec(message.text) ?? [];
  const [settings = ''] = /http\S+\/console\/mail\/settings\S+/.exec(message.text) ?? [];

  const browser = new Browser(running.url);
  const arrived = await browser.send(await browser.open(link), '/sign-in', both);
  expect(arrived.url.href).toBe(link);
  expect(arrived.text).toContain('This page belongs to another of your accounts');
  const elsewhere = await browser.open(settings);
  expect(elsewhere.text).toContain('This page belongs to another of your accounts');
  const to = new URL(link).pathname;
  expect(arrived.text).toContain(`<input type="hidden" name="to" value="${to}">`);
  const switched = await browser.send(arrived, '/console/account', { account, to });
  expect(switched.url.href).toBe(link);
  const approved = await browser.send(switched, `/console/bookings/${bookingId}/approve`);
  expect(approved.text).toMatch(/was charged|Approved/);
  expect((await browser.open(settings)).text).toContain('Mail settings');
});
