import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { brandId, communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** What brands ask about spaces before a booking, and what communities answer. */

let running: Running;
let community: Browser;
let brand: Browser;
let space: SpaceId;
let house: Extract<Account, { kind: 'Community' }>;
let asking: Extract<Account, { kind: 'Brand' }>;

const signedIn = (user: { readonly email: string; readonly password: string }) => Browser.signedIn(running.url, user);

beforeAll(async () => {
  running = await startDemo({ CONSOLE_WRITES_PER_MINUTE: '1000' });
  const { communities, brands } = running.demo;
  community = await signedIn(communities[0].user);
  brand = await signedIn(brands[0].user);
  space = spaceId(communities[0].spaces[0].id);
  house = { kind: 'Community', id: communityId(communities[0].id) };
  asking = { kind: 'Brand', id: brandId(brands[0].id) };
});
afterAll(() => running.stop());

const core = () => running.service.core;
const pathOf = ({ id }: Account, of = space) => `/console/questions/${of}-${id}`;
const UNREAD = /<span class="visually-hidden"> unread/;
const NEW = 'questions? with a new message';

test('a brand asks from the page of a space, and the community is told, answers, and sees what is new', async () => {
  const room = await brand.open(`/console/find/${space}`);
  expect(room.text).toContain(`href="${pathOf(asking)}"`);
  const page = await brand.open(pathOf(asking));
  const sent = await brand.send(page, pathOf(asking), { text: 'Is there a <lift>?' });
  expect(sent.flash).toContain('Your message was sent.');
  expect(sent.text).toContain('Is there a &lt;lift&gt;?');
  expect(sent.text).not.toMatch(UNREAD);

  for (const path of ['/console/inbox', '/console/bookings']) {
    const { text } = await community.open(path);
    expect(text, path).toMatch(UNREAD);
    expect(text, path).toMatch(new RegExp(`1 ${NEW}`));
  }
  expect((await community.open('/console/questions')).text).toContain('New message');
  const asked = await community.open(pathOf(asking));
  expect(asked.text).toContain('Is there a &lt;lift&gt;?');
  expect(asked.text).not.toMatch(UNREAD);
  expect((await community.open('/console/inbox')).text).not.toMatch(new RegExp(NEW));

  await community.send(asked, pathOf(asking), { text: 'There is.' });
  expect((await brand.open('/console/find')).text).toMatch(UNREAD);
  const list = await brand.open('/console/questions');
  expect(list.text).toContain('New message');
  const { text } = await brand.open(pathOf(asking));
  expect(text.indexOf('Is there a')).toBeLessThan(text.indexOf('There is.'));
  expect((await brand.open('/console/questions')).text).not.toContain('New message');
});

test('refuses 4,001 characters and keeps them, and shows and takes nothing of others', async () => {
  const page = await brand.open(pathOf(asking));
  const typed = 'x'.repeat(4_001);
  const refused = await brand.send(page, pathOf(asking), { text: typed });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('1 to 4000 characters');
  expect(refused.text).toContain(typed);

  const other = await signedIn(running.demo.brands[1].user);
  const elsewhere = await signedIn(running.demo.communities[1].user);
  const viewer = { email: 'viewer.questions@example.com', password: 'correct horse battery' };
  accepted(await core().users.add({ ...viewer, accounts: [asking], role: 'Viewer' }, BY_OPERATOR));
  const reader = await signedIn(viewer);
  expect((await reader.open(pathOf(asking))).text).not.toContain('Send message');
  const post = async (browser: Browser, to: string) => {
    const [, csrf = ''] = /name="csrf" value="([^"]+)"/.exec((await browser.open('/console/account')).text) ?? [];
    return (await browser.request(to, { method: 'POST', body: new URLSearchParams({ csrf, text: 'Hi' }) })).status;
  };
  expect(await post(reader, pathOf(asking))).toBe(403);
  for (const browser of [other, elsewhere]) {
    expect((await browser.open(pathOf(asking))).status).toBe(404);
    expect(await post(browser, pathOf(asking))).toBe(404);
  }
  // A community begins nothing.
  const silent = pathOf({ kind: 'Brand', id: brandId(running.demo.brands[1].id) });
  expect((await community.open(silent)).status).toBe(404);
  expect(await post(community, silent)).toBe(404);
  for (const wrong of ['0-1', 'x', `${space}`, `${space}-`, `99999999-${asking.id}`])
    expect((await brand.open(`/console/questions/${wrong}`)).status, wrong).toBe(404);
  const { length } =
    (await core().queries.questions.thread(house, { spaceId: space, brandId: asking.id }))?.messages ?? [];
  expect(length).toBe(2);
});

test('a brand that signed up sends ten a day until a community knows it; one that is blocked or suspended sends none', async () => {
  const { bookings, catalogue, customers } = core().commands;
  const stranger = { kind: 'Brand', id: await catalogue.nextBrandId() } as const;
  accepted((await catalogue.addBrandOf({ brandId: stranger.id, name: 'Newcomer' }, CONTEXT)) ?? {});
  const user = { email: 'newcomer@example.com', password: 'correct horse battery' };
  accepted(await core().users.add({ ...user, accounts: [stranger] }, BY_OPERATOR));
  const browser = await signedIn(user);
  const path = pathOf(stranger);
  const ask = async (text = 'Hello?') => browser.send(await browser.open(path), path, { text });
  for (let sent = 0; sent < 10; sent += 1) {
    // What is refused does not count.
    expect((await ask('x'.repeat(4_001))).status).toBe(422);
    expect((await ask()).flash).toContain('Your message was sent.');
  }
  const tooMany = await ask('Is it <warm>?');
  expect(tooMany.status).toBe(422);
  expect(tooMany.text).toContain('at most 10 messages about spaces a day');
  expect(tooMany.text).toContain('Is it &lt;warm&gt;?');
  const details = { spaceId: space, date: inDays(200), startHour: 10 };
  const { bookingId } = accepted(await bookings.request({ brandId: stranger.id, details }, CONTEXT));
  accepted(await bookings.approve({ communityId: house.id, bookingId }, CONTEXT));
  expect((await ask()).flash).toContain('Your message was sent.');

  const page = await browser.open(path);
  const of = { communityId: house.id, brandId: stranger.id };
  accepted(await customers.setStanding({ ...of, standing: 'blocked' }, CONTEXT));
  const blocked = await browser.send(page, path, { text: 'Is it warm?' });
  expect(blocked.status).toBe(422);
  expect(blocked.text).toMatch(/does not take questions.*Is it warm\?/s);
  expect((await browser.open(path)).text).not.toContain('Send message');
  expect((await browser.open(`/console/find/${space}`)).text).not.toContain('Ask a question');
  accepted(await catalogue.suspendBrand({ brandId: stranger.id }, CONTEXT));
  expect((await browser.send(page, path, { text: 'Hello?' })).status).toBe(403);
  const thread = await core().queries.questions.thread(house, { spaceId: space, brandId: stranger.id });
  expect(thread?.messages).toHaveLength(11);
});

test('what was written is erased with its author, and then nothing can be written', async () => {
  const other = { kind: 'Brand', id: brandId(running.demo.brands[1].id) } as const;
  const about = { spaceId: space, brandId: other.id };
  const { questions, personalData } = core().commands;
  accepted(await questions.send({ ...about, account: other, text: 'Call me at 555-0100' }, CONTEXT));
  accepted(await questions.send({ ...about, account: house, text: 'We will.' }, CONTEXT));
  accepted(await personalData.forget(`brand:${other.id}`, CONTEXT));
  const thread = await core().queries.questions.thread(house, about);
  expect(thread?.messages.map(({ text }) => text)).toEqual(['erased', 'We will.']);
  for (const account of [house, other])
    expect(await questions.send({ ...about, account, text: 'Hello?' }, CONTEXT)).toMatchObject({
      refused: 'BookingNotAllowed',
    });
});
