import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPageViews } from '../../src/console/public/page-views.ts';
import { communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const OWNER = { kind: 'Community', id: communityId(1) } as const;
const HOUSE = '/h/1-harbour-lofts';
const HALL = `${HOUSE}/1-harbour-hall`;

let running: Running;
let harbour: Browser;
let northwind: Browser;
let stranger: Browser;
let hall: SpaceId;

beforeAll(async () => {
  running = await startDemo();
  const [community] = running.demo.communities;
  hall = spaceId(community.spaces[0].id);
  [harbour, northwind, stranger] = [new Browser(running.url), new Browser(running.url), new Browser(running.url)];
  await Promise.all([harbour.signIn(community.user), northwind.signIn(running.demo.brands[0].user)]);
});
afterAll(() => running.stop());

const describeHall = (wanted: object) =>
  running.service.core.commands.catalogue.describeSpace({ spaceId: hall, wanted }, CONTEXT);
const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${running.url}${path}`, { redirect: 'manual', headers });
const dataIn = (page: string): unknown =>
  JSON.parse(/<script type="application\/ld\+json">(.*?)<\/script>/s.exec(page)?.[1] ?? '');

test('what is not published looks like what does not exist', async () => {
  accepted(await describeHall({ published: null }));
  for (const path of [
    HALL,
    '/h/1/1',
    '/embed/1',
    '/h/1-harbour-lofts/999',
    '/h/2-union-yard/1-harbour-hall',
    '/h/999',
    '/h/x',
    '/embed/x',
  ]) {
    const answer = await get(path);
    expect([path, answer.status]).toEqual([path, 404]);
    expect(answer.headers.get('x-robots-tag')).toBe('noindex');
    expect(await answer.text()).toContain('There is no such page');
  }
  expect(await (await get('/sitemap.xml')).text()).not.toContain('harbour-hall');
  expect(await (await get(HOUSE)).text()).not.toContain('Harbour Hall');
  accepted(await describeHall({ published: true }));
  expect((await get(HALL)).status).toBe(200);
  expect(await (await get('/sitemap.xml')).text()).toContain(`<loc>${running.url}${HALL}</loc>`);
});

test('a name that changes leads on, and an address with another name, too', async () => {
  for (const path of ['/h/1/1', '/h/1-x/1-y', `${HOUSE}/1`]) {
    const answer = await get(path);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, HALL]);
  }
});

/** The days of a month that the page of the hall links to. */
async function freeDays(month: string): Promise<readonly string[]> {
  const page = await stranger.open(`${HALL}?month=${month}`);
  return page.text.match(/(?<=\/sign-up\?space=1&amp;date=)[\d-]{10}/g) ?? [];
}

test('a closed day is not free, and a name cannot break out of the data about it', async () => {
  const { catalogue, closures } = running.service.core.commands;
  const date = inDays(25);
  expect(await freeDays(date.slice(0, 7))).toContain(date);
  const closed = { communityId: communityId(1), kind: 'Closure', from: date, to: date, start: 0, until: 24 } as const;
  accepted(await closures.add(closed, CONTEXT));
  expect(await freeDays(date.slice(0, 7))).not.toContain(date);

  const name = '</script><script>alert(1)</script>';
  accepted(await catalogue.changeSpace({ spaceId: hall, terms: { name } }, CONTEXT));
  const page = await stranger.open('/h/1/1');
  expect(page.text).not.toContain('<script>alert');
  expect(dataIn(page.text)).toMatchObject({ '@type': 'EventVenue', name, maximumAttendeeCapacity: 140 });
  expect(page.text).toContain(`<link rel="canonical" href="${running.url}${page.url.pathname}">`);
  accepted(await catalogue.changeSpace({ spaceId: hall, terms: { name: 'Harbour Hall' } }, CONTEXT));
});

test('a house chooses what is public and which websites embed its calendars', async () => {
  const path = '/console/spaces/public';
  const wrong = await harbour.send(await harbour.open(path), path, {
    sites: 'https://example.com/page\njavascript:alert(1)',
  });
  expect(wrong.status).toBe(422);
  expect(wrong.text).toContain('“Websites that show calendars” must be addresses without a path');
  const policy = async () => (await get('/embed/1')).headers.get('content-security-policy');
  expect(await policy()).toContain("frame-ancestors 'none'");
  const late = await harbour.open(path);
  const saved = await harbour.send(wrong, path, {
    sites: 'https://www.example.com/\nhttps://example.org',
    published: ['1'],
  });
  expect(saved.flash).toContain('Saved.');
  expect(await policy()).toContain('frame-ancestors https://www.example.com https://example.org');
  expect((await get('/embed/1')).headers.get('x-frame-options')).toBeNull();
  expect((await get(HALL)).headers.get('x-frame-options')).toBe('DENY');
  expect((await get('/embed/2')).status).toBe(404);
  const refused = await harbour.send(late, path, { sites: 'https://other.example', published: ['1'] });
  expect(refused.status).toBe(409);
  expect((await harbour.send(refused, path, { published: ['1'] })).flash).toContain('Saved.');
  expect(await policy()).toContain('frame-ancestors https://other.example');
  for (const site of ['https://x;report-uri', 'https://*', 'https://a,b'])
    expect((await harbour.send(await harbour.open(path), path, { sites: site })).status).toBe(422);

  const copy = accepted(
    await running.service.core.commands.catalogue.duplicateSpace({ spaceId: hall, name: 'Copy' }, CONTEXT),
  );
  expect((await get(`/embed/${copy}`)).status).toBe(404);
  expect((await northwind.open(path)).status).toBe(404);
});

test('views are counted by space and day, without those of programs, and two processes add up', async () => {
  const { documents, queries } = running.service.core;
  const [first, second] = [await queries.spaces.get(OWNER, 1), await queries.spaces.get(OWNER, 2)];
  if (first === undefined || second === undefined) throw new Error('A space is missing');
  let now = Date.parse('2031-05-01T10:00:00Z');
  const logger = { warn: (details: object) => expect.fail(JSON.stringify(details)) };
  const processes = [1, 2].map(() => openPageViews({ documents, clock: () => now, logger }));
  const [here, there] = await Promise.all(processes);
  if (here === undefined || there === undefined) throw new Error('A process is missing');
  const asked = (agent: string, method = 'GET') => ({ method, headers: { 'user-agent': agent } });
  const days = async () => (await here.inLast30Days([first, second])).get(hall);
  for (const process of [here, there]) {
    process.add(first, asked('Mozilla/5.0'));
    process.add(first, asked('Googlebot/2.1'));
    process.add(first, asked('Mozilla/5.0', 'HEAD'));
    process.add(first, { method: 'GET', headers: {} });
  }
  await Promise.all([here.stop(), there.stop()]);
  expect(await days()).toEqual([{ date: '2031-05-01', count: 2 }]);
  now += 29 * 24 * 3_600_000;
  here.add(first, asked('Mozilla/5.0'));
  await here.stop();
  expect(await days()).toEqual([
    { date: '2031-05-30', count: 1 },
    { date: '2031-05-01', count: 2 },
  ]);
  now += 2 * 24 * 3_600_000;
  expect(await days()).toEqual([{ date: '2031-05-30', count: 1 }]);
});

test('the script for websites is small, and any website can load it', async () => {
  const answer = await get('/embed.js');
  expect(answer.headers.get('content-type')).toContain('javascript');
  expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  expect((await answer.text()).length).toBeLessThan(2_048);
  expect(await (await get('/robots.txt')).text()).toContain(`Sitemap: ${running.url}/sitemap.xml`);
});
