import { afterAll, beforeAll, expect, test } from 'vitest';
import { cents, communityId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let community: Browser;
let brand: Browser;
let hall: number;

beforeAll(async () => {
  running = await startDemo();
  const [harbour] = running.demo.communities;
  const [northwind] = running.demo.brands;
  hall = harbour.spaces[0].id;
  community = new Browser(running.url);
  brand = new Browser(running.url);
  await community.signIn(harbour.user);
  await brand.signIn(northwind.user);
});
afterAll(() => running.stop());

const rows = (text: string) => [...text.matchAll(/<tr><td.*?<\/tr>/gs)].map(([row]) => row);
const text = (row = '') => row.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');

test('the history records a change made in the console with the old value, the new value and the actor', async () => {
  const page = await community.open(`/console/spaces/${hall}`);
  const { target, body } = page.form(`/console/spaces/${hall}`);
  body.set('eventFee', '500.00');
  body.set('name', '<script>alert(1)</script>');
  await community.request(target, { method: 'POST', body });
  const history = await community.open('/console/history');
  expect(history.status).toBe(200);
  expect(history.text).not.toContain('<script>alert');
  const [newest] = rows(history.text);
  expect(text(newest)).toContain('Space “ Harbour Hall ” was changed');
  expect(text(newest)).toContain('Event fee $420.00 → $500.00');
  expect(text(newest)).toContain('harbour@demo.example');
  expect(newest).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
});

test('can be filtered by kind of thing and by a single thing', async () => {
  const of = async (query: string) => rows((await community.open(`/console/history?${query}`)).text).map(text);
  for (const row of await of('topic=keys')) expect(row).toMatch(/API key/);
  for (const row of await of('topic=spaces')) expect(row).toMatch(/Space/);
  expect((await of('topic=members'))[0]).toMatch(/harbour@demo\.example became a Manager the operator/);
  const ofHall = await of(`of=space:${hall}`);
  expect(ofHall.length).toBeGreaterThan(1);
  expect(ofHall.at(-1)).toContain('was added');
  expect((await community.open(`/console/spaces/${hall}`)).text).toContain(`/console/history?of=space%3A${hall}`);
});

test('every page of the history of a space links back to the space, and the space to its filtered list', async () => {
  const links = ({ text: page }: { readonly text: string }) =>
    [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
  const one = `/console/spaces/${hall}?via=%2Fconsole%2Fspaces%3Fq%3Dhall`;
  const history = links(await community.open(one)).find((href) => href.startsWith('/console/history?of=')) ?? '';
  for (const page of [history, `${history}&after=x`]) expect(links(await community.open(page)), page).toContain(one);
  expect(links(await community.open(one))).toContain('/console/spaces?q=hall');
  expect(links(await brand.open(`/console/history?of=space:${hall}`))).not.toContain(`/console/spaces/${hall}`);
});

test('an entry is one line and expands when it has details', async () => {
  const history = await community.open(`/console/history?of=space:${hall}`);
  const [changed = '', ...older] = rows(history.text);
  // Two terms were changed, and all are those of a new space.
  expect(/<summary>(.*?)<\/summary>/s.exec(changed)?.[1]?.replace(/<[^>]+>/g, '')).toMatch(
    /was changed Name, Event fee$/,
  );
  expect(older.at(-1)).toMatch(/<summary>.*was added<\/strong><\/summary>\n<dl/s);
});

test('closed times and feeds name their spaces, and count those that are too many', async () => {
  const { catalogue, closures } = running.service.core.commands;
  const context = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  const owner = communityId(running.demo.communities[0].id);
  const terms = { windowStart: 8, windowEnd: 20, durationHours: 1, eventFee: cents(0), answerHours: 72 };
  const spaceIds = [];
  for (const name of ['Oak', 'Elm', 'Ash', 'Fir', 'Yew', 'Box', 'Bay', 'Fig'])
    spaceIds.push(accepted(await catalogue.addSpace({ ...terms, name, communityId: owner }, context)));
  const day = { communityId: owner, from: inDays(90), to: inDays(90), start: 0, until: 24, kind: 'Closure' } as const;
  accepted(await closures.add({ ...day, spaceIds: spaceIds.slice(0, 2) }, context));
  accepted(await closures.add({ ...day, spaceIds: spaceIds.slice(1) }, context));
  const { id: userId } = accepted(
    await running.service.core.users.add(
      { email: 'feeds@harbour.example', password: 'ten or more', accounts: [{ kind: 'Community', id: owner }] },
      context,
    ),
  );
  const feed = {
    userId,
    account: { kind: 'Community', id: owner } as const,
    showsNames: true,
    spaceId: spaceIds[0] ?? 0,
  };
  accepted(await running.service.core.commands.calendarFeeds.add(feed, context));
  expect(text(rows((await community.open('/console/history?topic=feeds')).text)[0])).toContain('Space Oak ');
  const [all, two] = rows((await community.open('/console/history?topic=spaces')).text).map(text);
  expect(two).toContain('Spaces Oak, Elm');
  expect(all).toContain('Spaces Elm, Ash, Fir, Yew, Box, Bay and 1 other ');
});

test('an address of an unknown thing does not show the whole history', async () => {
  for (const query of ['of=hall', 'of=space:999999', 'of=space:a b']) {
    const page = await community.open(`/console/history?${query}`);
    expect(rows(page.text), query).toEqual([]);
    expect(page.text, query).toContain('The whole history');
  }
});

test('the address of a webhook, which may hold a secret, is shown to Managers only', async () => {
  const { core } = running.service;
  const account = { kind: 'Community', id: communityId(running.demo.communities[0].id) } as const;
  const context = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  const url = 'http://127.0.0.1:9/hooks/s3cret?token=s3cret';
  const webhook = accepted(
    await core.commands.webhooks.register({ owner: { account, credential: 'user:usr_1' }, url, events: 15 }, context),
  );
  accepted(await core.commands.webhooks.disable({ webhookId: webhook.webhookId, reason: 'Test' }, context));
  const shownTo = async (browser: Browser) => text((await browser.open('/console/history?topic=webhooks')).text);
  expect(await shownTo(community)).toContain(`Webhook “ ${url} ” was added`);
  for (const role of ['Viewer', 'Coordinator'] as const) {
    const user = { email: `${role.toLowerCase()}@harbour.example`, password: 'correct horse battery' };
    accepted(await core.users.add({ ...user, accounts: [account], role }, context));
    const browser = new Browser(running.url);
    await browser.signIn(user);
    const shown = await shownTo(browser);
    expect(shown).toContain('Webhook “ http://127.0.0.1:9 ” was added');
    expect(shown).toContain('Webhook “ http://127.0.0.1:9 ” was disabled');
    expect(shown).not.toContain('s3cret');
  }
});

test('a brand sees its own history and none of the community’s', async () => {
  const { text: page } = await brand.open('/console/history');
  expect(page).not.toContain('harbour@demo.example');
  expect(page).not.toContain('Spaces and fees');
  expect(rows(page).map(text).join()).toContain('northwind@demo.example became a Manager');
  for (const query of ['topic=spaces', `of=space:${hall}`, 'topic=keys&of=space:1'])
    expect((await brand.open(`/console/history?${query}`)).text).not.toContain('Harbour Hall');
});

test('is paged', async () => {
  const { catalogue } = running.service.core.commands;
  const context = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
  for (let fee = 1; fee <= 40; fee += 1)
    accepted(await catalogue.changeSpace({ spaceId: spaceId(hall), terms: { eventFee: cents(fee * 100) } }, context));
  const first = await community.open('/console/history?topic=spaces');
  expect(rows(first.text)).toHaveLength(30);
  const [, next = ''] = /href="(\/console\/history\?[^"]*before=[^"]*)"/.exec(first.text) ?? [];
  const second = await community.open(next.replaceAll('&amp;', '&'));
  const fees = [...rows(first.text), ...rows(second.text)].map((row) => /→ <\/span><bdi>\$(\d+)\./.exec(row)?.[1]);
  expect(fees.slice(0, 40)).toEqual(Array.from({ length: 40 }, (_, index) => String(40 - index)));
  const [, previous = ''] = /rel="prev" href="([^"]*)"/.exec(second.text) ?? [];
  expect(previous).toContain('topic=spaces');
  const back = await community.open(previous.replaceAll('&amp;', '&'));
  for (const page of [first, second, back]) expect(page.flash).toBe('');
  // A cursor of another account’s history is not valid here.
  const elsewhere = await brand.open(next.replaceAll('&amp;', '&'));
  expect(elsewhere.flash).toMatch(/^The page that this address asks for is not there any more\./);
  expect(rows(elsewhere.text)).toEqual(rows((await brand.open('/console/history')).text));
  expect(rows(back.text)).toEqual(rows(first.text));
  expect(back.text).not.toContain('rel="prev"');
  // Also from the middle: there is a page before the last but one.
  accepted(await catalogue.changeSpace({ spaceId: spaceId(hall), terms: { eventFee: cents(999_00) } }, context));
  const middle = await community.open(previous.replaceAll('&amp;', '&'));
  expect(rows(middle.text)).toEqual(rows(first.text));
  expect(middle.text).toContain('rel="prev"');
});

test.each([
  'topic=prices',
  'of=%01',
  'of=space:999999',
  'before=zzzz',
  'before=',
  `of=user:${'x'.repeat(600)}`,
  'of=x&topic=x',
])('answers the query %s', async (query) => {
  expect((await community.open(`/console/history?${query}`)).status).toBe(200);
});
