import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { brandId as brandIdOf, cents } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { TestApp } from '../authorization-server/test-app.ts';
import { Browser, type Page } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { answering, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

/** User-chosen names, each in a right-to-left script. */
const ARABIC = {
  community: 'مجتمع الميناء',
  otherCommunity: 'ساحة الاتحاد',
  space: 'قاعة الاحتفالات (2)',
  closedSpace: 'غرفة مغلقة',
  brand: 'شركة القهوة العربية 24',
  key: 'لوحة الباب',
  revokedKey: 'مفتاح قديم',
  client: 'خدمة الاستيراد',
  app: 'مخطط المناسبات',
  message: 'نود أن نقيم حفلة.',
  reason: 'السقف قيد الإصلاح.',
  title: 'مكان رائع',
  content: 'كان كل شيء جيدا.',
  disabled: 'صيانة.',
} as const;

let running: Running;
let receiver: Receiver;
let community: Browser;
let brand: Browser;
/** The Latin names of the demo data. */
let chosen: readonly string[];
let spaceId: number;
let webhookId: string;
const password = 'correct horse battery';

beforeAll(async () => {
  running = await startDemo();
  receiver = await startReceiver(answering(200, {}, ARABIC.content));
  const { commands, users, webhooks } = running.service.core;
  const { catalogue, bookings, apiKeys } = commands;
  const { communityId } = accepted(
    await catalogue.addCommunity({ name: ARABIC.community, timeZone: 'Asia/Dubai' }, CONTEXT),
  );
  const other = accepted(
    await catalogue.addCommunity({ name: ARABIC.otherCommunity, timeZone: 'Asia/Dubai' }, CONTEXT),
  );
  const { brandId } = accepted(await catalogue.addBrand({ name: ARABIC.brand }, CONTEXT));
  const owner: Account = { kind: 'Community', id: communityId };
  const planner: Account = { kind: 'Brand', id: brandId };
  const terms = { windowStart: 8, windowEnd: 22, durationHours: 1, eventFee: cents(100_00), answerHours: 72 };
  const space = accepted(await catalogue.addSpace({ ...terms, name: ARABIC.space, communityId }, CONTEXT));
  spaceId = space;
  const closed = accepted(await catalogue.addSpace({ ...terms, name: ARABIC.closedSpace, communityId }, CONTEXT));
  accepted(await catalogue.closeSpace(closed, CONTEXT));
  const request = async (startHour: number) => {
    const details = { spaceId: space, date: inDays(20), startHour, message: ARABIC.message };
    return accepted(await bookings.request({ brandId, details }, CONTEXT)).bookingId;
  };
  const [, approved, declined] = await Promise.all([9, 11, 13, 15, 17].map(request));
  if (approved === undefined || declined === undefined) throw new Error('There are too few requests');
  accepted(await bookings.approve({ bookingId: approved, communityId }, CONTEXT));
  accepted(await bookings.cancel({ bookingId: declined, by: owner, reason: ARABIC.reason }, CONTEXT));
  for (const account of [owner, planner]) {
    accepted(await apiKeys.issue({ account, permissions: 31, label: ARABIC.key }, CONTEXT));
    const old = accepted(await apiKeys.issue({ account, permissions: 31, label: ARABIC.revokedKey }, CONTEXT));
    accepted(await apiKeys.revoke({ apiKeyId: old.apiKeyId, by: account }, CONTEXT));
    const added = { account, name: ARABIC.client } as const;
    accepted(await running.service.core.authorizationServer.clients.addClient(added, CONTEXT));
  }
  const hook = { owner: { credential: 'user:test', account: owner }, url: `${receiver.url}/خطاف`, events: 15 } as const;
  ({ webhookId } = accepted(await commands.webhooks.register(hook, CONTEXT)));
  await webhooks.sendTest(webhookId);
  accepted(await commands.webhooks.disable({ webhookId, by: { account: owner }, reason: ARABIC.disabled }, CONTEXT));
  const review = { bookingId: 3, brandId: brandIdOf(1), rating: 5, title: ARABIC.title, content: ARABIC.content };
  accepted(await commands.reviews.post(review, CONTEXT));
  const both = { kind: 'Community', id: other.communityId } as const;
  const user = async (email: string, accounts: readonly Account[]) => {
    accepted(await users.add({ email, password, accounts }, CONTEXT));
    const browser = new Browser(running.url);
    await browser.signIn({ email, password });
    return browser;
  };
  community = await user('owner@example.com', [owner, both]);
  brand = await user('planner@example.com', [planner]);
  const { brands, communities } = running.demo;
  chosen = [...Object.values(ARABIC), ...[...brands, ...communities].map(({ name }) => name), 'Harbour Hall'];
});
afterAll(async () => {
  await running.stop();
  await receiver.close();
});

const VOID = new Set(['meta', 'link', 'input', 'br', 'hr', 'img', 'use', 'path', 'col', 'wbr']);
/** U+2068 and U+2069 isolate the text between them in plain text. */
const MARKED = /\u2068[^\u2068\u2069]*\u2069/g;

/** The places where a page shows a name without isolating it from the text around it. */
function notIsolated({ text, url }: Page): string[] {
  const found: string[] = [];
  const open: { readonly name: string; readonly isolates: boolean }[] = [];
  const namesIn = (part: string) => chosen.filter((name) => part.includes(name));
  for (const [token] of text.matchAll(/<!doctype[^>]*>|<\/?[a-z][^>]*>|[^<]+/gi)) {
    if (/^<!/.test(token)) continue;
    const [, closing, tag = ''] = /^<(\/?)([a-z][a-z0-9]*)/i.exec(token) ?? [];
    if (closing === '/') {
      while (open.length > 0 && open.pop()?.name !== tag);
      continue;
    }
    const isolates = tag === 'bdi' || / dir="/.test(token);
    const apart = isolates || open.some((element) => element.isolates);
    // A control takes the direction of its value; other attributes are plain text. URLs are not shown.
    const hidden = isolates || / type="hidden"/.test(token);
    const read = tag === '' ? token : hidden ? '' : token.replaceAll(/ (?:href|action)="[^"]*"/g, '');
    const bare = read.replaceAll(MARKED, '');
    if ((tag !== '' || !apart) && namesIn(bare).length > 0) found.push(`${url.pathname}${url.search}: ${token.trim()}`);
    if (tag !== '' && !VOID.has(tag) && !token.endsWith('/>')) open.push({ name: tag, isolates });
  }
  return found;
}

/** Opens only this many pages of each kind, because the calendar has no end. */
const OF_A_KIND = 8;
const kindOf = (path: string) => path.replaceAll(/\d[\d-]*/g, '#').replaceAll(/(?<=[/=:])\w*_[\w-]+/g, '#');

/** Opens every page of the console that links lead to. */
async function crawl(browser: Browser): Promise<Page[]> {
  const pages: Page[] = [];
  const seen = new Set<string>();
  const kinds = new Map<string, number>();
  const queue = ['/console'];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const page = await browser.open(next);
    pages.push(page);
    for (const [, escaped = ''] of page.text.matchAll(/href="(\/console[^"#]*)/g)) {
      const path = escaped.replaceAll('&amp;', '&');
      // A file has no markup.
      if (path.includes('.csv')) continue;
      const kind = kindOf(path);
      const known = kinds.get(kind) ?? 0;
      if (seen.has(path) || known >= OF_A_KIND) continue;
      seen.add(path);
      kinds.set(kind, known + 1);
      queue.push(path);
    }
  }
  return pages;
}

/** Expects every name to be isolated, and the given pages to be among those opened. */
function expectIsolated(pages: readonly Page[], wanted: readonly string[]): void {
  expect(pages.flatMap(notIsolated)).toEqual([]);
  const shown = new Set(pages.map(({ url }) => url.pathname.replace('/console/', '')));
  expect(wanted.filter((path) => !shown.has(path))).toEqual([]);
}

const CONNECTIONS = ['bookings', 'reviews', 'charges', 'history', 'keys', 'webhooks', 'apps', 'clients'];

test('user-chosen names are isolated on every page of a community', async () => {
  const pages = [
    ...(await crawl(community)),
    await community.open(`/console/calendar/${inDays(20)}`),
    await community.open(`/console/calendar?month=${inDays(20).slice(0, 7)}&space=${spaceId}`),
    await community.open(`/console/webhooks/${webhookId}`),
  ];
  expectIsolated(pages, [...CONNECTIONS, 'inbox', 'calendar', `calendar/${inDays(20)}`, 'spaces', `spaces/${spaceId}`]);
});

test('… on every page of a brand', async () => {
  expectIsolated(await crawl(brand), [...CONNECTIONS, 'find', `find/${spaceId}`]);
});

test('… on every page that shows reviews, for both kinds of account', async () => {
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  for (const account of [harbour, northwind]) {
    const browser = new Browser(running.url);
    await browser.signIn(account.user);
    const reviews = await browser.open('/console/reviews');
    expect(reviews.text).toContain(ARABIC.content);
    expectIsolated(await crawl(browser), CONNECTIONS);
    expectIsolated([reviews, await browser.open('/console/bookings/3')], []);
  }
});

test('… on the consent page of an app and in the list of connected apps', async () => {
  const app = await TestApp.register(running.url, { client_name: ARABIC.app });
  const asked = await community.open((await app.authorizationUrl()).url);
  expect(asked.text).toContain(ARABIC.app);
  expect(asked.text).toContain(ARABIC.otherCommunity);
  const [, account = ''] = /name="account" value="(Community:\d+)"/.exec(asked.text) ?? [];
  await community.send(asked, /consent$/, { account });
  const listed = await community.open('/console/apps');
  expect(listed.text).toContain(ARABIC.app);
  expectIsolated([asked, listed], []);
});

test('… in form responses and in restored input', async () => {
  const waiting = await community.open('/console/bookings?status=Pending');
  const [, id] = /\/console\/bookings\/(\d+)"/.exec(waiting.text) ?? [];
  const approved = await community.send(await community.open(`/console/bookings/${id}`), /approve$/);
  expect(approved.flash).toContain(`Request approved: <bdi>${ARABIC.brand}</bdi>, `);
  const typed = { name: ARABIC.space, windowStart: '8', windowEnd: '20', durationHours: '2', answerHours: '24' };
  const form = await community.open('/console/spaces/new');
  const wrong = await community.send(form, '/spaces/new', { ...typed, eventFee: '' });
  expect([wrong.status, wrong.text.includes(ARABIC.space)]).toEqual([422, true]);
  const added = await community.send(form, '/spaces/new', { ...typed, eventFee: '10' });
  expect(added.flash).toContain(`<bdi>${ARABIC.space}</bdi>.`);
  const key = { label: ARABIC.key, permission: 'ReadBookings' };
  const made = await community.send(await community.open('/console/keys'), '/console/keys', key);
  expect(made.text).toContain(`“<bdi>${ARABIC.key}</bdi>”`);
  const client = await community.send(await community.open('/console/clients'), '/clients', { name: ARABIC.client });
  expect(client.text).toContain(`“<bdi>${ARABIC.client}</bdi>”`);
  const search = await brand.open(`/console/find/${spaceId}?date=${inDays(20)}`);
  const refused = await brand.send(search, `/find/${spaceId}`, { message: ARABIC.message });
  expect([refused.status, refused.text.includes(ARABIC.message)]).toEqual([422, true]);
  expectIsolated([approved, wrong, added, made, client, refused], []);
});

test('the test detects a page without isolation', () => {
  const page = (text: string) => ({ text, url: new URL('http://localhost/console/inbox') }) as Page;
  for (const wrong of [
    `<p>${ARABIC.brand}, 10:00</p>`,
    `<p><bdi>x</bdi>${ARABIC.brand}</p>`,
    `<a title="${ARABIC.brand}">x</a>`,
    `<title>${ARABIC.brand}</title>`,
    `<input value="${ARABIC.brand}">`,
  ])
    expect(notIsolated(page(wrong)), wrong).toHaveLength(1);
  for (const right of [
    `<p><bdi>${ARABIC.brand}</bdi>, 10:00</p>`,
    `<p dir="auto">${ARABIC.message}</p>`,
    `<a title="\u2068${ARABIC.brand}\u2069, 10">x</a>`,
    `<input dir="auto" value="${ARABIC.brand}">`,
  ])
    expect(notIsolated(page(right)), right).toEqual([]);
});
