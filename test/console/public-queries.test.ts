import { afterAll, beforeAll, expect, test } from 'vitest';
import { cents, communityId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

/** What people without an account ask for in the address of a public page. */

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const HALL = '/h/1-harbour-lofts/1-harbour-hall';

let running: Running;
let stranger: Browser;

beforeAll(async () => {
  running = await startDemo();
  stranger = new Browser(running.url);
});
afterAll(() => running.stop());

/** Adds a house that has published so many spaces. @returns its id */
async function addHouse(count: number): Promise<number> {
  const { catalogue } = running.service.core.commands;
  const { communityId } = accepted(
    await catalogue.addCommunity({ name: 'Long House', timeZone: 'Europe/Berlin' }, CONTEXT),
  );
  const terms = {
    communityId,
    windowStart: 8,
    windowEnd: 20,
    durationHours: 1,
    answerHours: 72,
    eventFee: cents(100_00),
  };
  for (let at = 1; at <= count; at += 1) {
    const name = at % 2 === 0 ? `Loft ${at}` : `Hall ${at}`;
    const id = spaceId(accepted(await catalogue.addSpace({ ...terms, name }, CONTEXT)));
    accepted(await catalogue.describeSpace({ spaceId: id, wanted: { published: true } }, CONTEXT));
  }
  return communityId;
}

test('a house with many rooms has pages of them, and a search', async () => {
  const house = `/h/${await addHouse(50)}-long-house`;
  const open = async (query: string) => {
    const page = await stranger.open(`${house}${query}`);
    return {
      page,
      names: [...page.text.matchAll(/(?<=<h3>).*?(?=<\/h3>)/g)].map(([name]) => name.replace(/<[^>]+>/g, '')),
    };
  };
  const first = await open('');
  expect([first.names.length, first.names[0]]).toEqual([48, 'Hall 1']);
  expect(first.page.text).toContain('50 rooms to book');
  expect(first.page.text).toContain(`href="${house}?page=2"`);
  for (const query of ['?page=2', '?page=99']) expect((await open(query)).names).toEqual(['Hall 49', 'Loft 50']);
  for (const query of ['?page=0', '?page=x', '?page=-1']) expect((await open(query)).names).toEqual(first.names);
  const lofts = await open('?q=loft');
  expect(lofts.names).toHaveLength(25);
  expect((await open('?q=cellar')).page.text).toContain('No spaces match');
  const refused = await open(`?q=${'x'.repeat(201)}`);
  expect([refused.page.status, refused.names]).toEqual([422, []]);
  expect(refused.page.text).toContain('Search for at most 200 characters.');
  expect((await stranger.open('/h/1-harbour-lofts')).text).not.toContain('role="search"');
});

test('the spaces of a house have pages in the console, too', async () => {
  const { core } = running.service;
  const user = { email: 'many@example.com', password: 'correct horse battery' };
  const account = { kind: 'Community', id: communityId(await addHouse(50)) } as const;
  accepted(await core.users.add({ ...user, accounts: [account] }, BY_OPERATOR));
  const browser = new Browser(running.url);
  await browser.signIn(user);
  const linesOf = async (query: string) =>
    (await browser.open(`/console/spaces${query}`)).text.match(/<a class="whole" href="\/console\/spaces\/\d+">/g);
  expect(await linesOf('')).toHaveLength(48);
  expect(await linesOf('?page=2')).toHaveLength(2);
  expect(await linesOf('?q=loft')).toHaveLength(25);
});

test.each([
  ['/rooms?guests=many', 'Guests', 'value="many"'],
  [`/rooms?date=${inDays(-3)}`, 'Choose today or a later date.', 'Find a room'],
  ['/rooms?month=2020-01', 'Instead of dates', 'Find a room'],
  ['/rooms?max=cheap', 'Maximum price', 'value="cheap"'],
  ['/rooms?weekday=Saturday', 'Choose a month for this day of the week.', 'Find a room'],
  ['/rooms?sort=distance', 'To sort by distance', 'Find a room'],
  ['/rooms?amenity=Helipad', 'Choose amenities of the list.', 'Find a room'],
  ['/rooms/compare?space=1&space=2&space=3&space=4&space=5', 'Compare at most 4 spaces.', 'Compare rooms'],
  ['/rooms/compare?space=1&space=999', '1 space of this address cannot be found.', 'Nothing to compare yet'],
  [`${HALL}?month=May`, '“May” is not a month such as 2026-11.', 'Ask for this room'],
  ['/embed/1?month=May', '“May” is not a month such as 2026-11.', 'Harbour Hall'],
])('%s is answered with 422, the problem, and the page', async (path, problem, rest) => {
  const page = await stranger.open(path);
  expect([page.status, page.title.startsWith('Error: ')]).toEqual([422, true]);
  expect(page.text).toContain('role="alert"');
  expect(page.text).toContain(problem);
  expect(page.text).toContain(rest);
  // What is wrong now may be right later.
  expect(page.headers.get('cache-control')).toBe('no-store');
});

test.each(['/rooms', '/rooms?guests=40', '/rooms/compare', '/rooms/compare?space=1&space=2', HALL, '/embed/1'])(
  '%s is answered with 200',
  async (path) => {
    const page = await stranger.open(path);
    expect([page.status, page.title.startsWith('Error: ')]).toEqual([200, false]);
    expect(page.text).not.toContain('role="alert"');
  },
);
