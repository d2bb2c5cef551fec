import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brandId, cents, communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const SHORTLIST = '/console/find/shortlist';

let running: Running;
let brand: Browser;
/** Five spaces of a community of their own. */
const rooms: SpaceId[] = [];

beforeAll(async () => {
  running = await startDemo();
  const { catalogue } = running.service.core.commands;
  const owner = accepted(await catalogue.addCommunity({ name: 'Oasis', timeZone: 'Europe/Berlin' }, CONTEXT));
  const terms = { communityId: communityId(owner.communityId), windowStart: 8, windowEnd: 20, answerHours: 72 };
  for (const [at, name] of ['Alpha', 'Beta', 'Gamma', 'Delta', 'Epsilon'].entries()) {
    const space = { ...terms, name, durationHours: at < 2 ? 2 : 3, eventFee: cents(100_00) };
    const id = spaceId(accepted(await catalogue.addSpace(space, CONTEXT)));
    const amenities = at === 0 ? (['Wifi', 'Piano'] as const) : (['Wifi'] as const);
    const wanted = { kind: 'Hall', seated: 40 + at, amenities } as const;
    accepted(await catalogue.describeSpace({ spaceId: id, wanted }, CONTEXT));
    rooms.push(id);
  }
  brand = new Browser(running.url);
  await brand.signIn(running.demo.brands[0].user);
});
afterAll(() => running.stop());

const room = (at: number): SpaceId => rooms[at] ?? expect.fail(`There is no room ${at}`);
const textOf = (html: string) => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ');
const namesOf = ({ text }: Page) =>
  [...text.matchAll(/<h2><a[^>]*>(.*?)<\/a><\/h2>/gs)].map(([, name = '']) => textOf(name).trim());
const press = async (page: Page, at: number) => brand.send(page, `/console/find/${room(at)}/shortlist`);
const compared = (ids: readonly (number | string)[]) =>
  brand.open(`/console/find/compare?${ids.map((id) => `space=${id}`).join('&')}`);

describe('the shortlist', () => {
  test('is filled from the page of a space and from a list, and stays', async () => {
    expect((await brand.open(SHORTLIST)).text).toContain('No spaces yet');
    const first = await press(await brand.open(`/console/find/${room(0)}`), 0);
    expect([first.url.pathname, first.flash]).toEqual([`/console/find/${room(0)}`, 'Alpha is on your shortlist.']);
    const list = await brand.open('/console/find?name=beta&community=');
    const second = await press(list, 1);
    expect([second.url.pathname, second.url.searchParams.get('name')]).toEqual(['/console/find', 'beta']);
    expect(namesOf(await brand.open(SHORTLIST))).toEqual(['Beta', 'Alpha']);

    const again = new Browser(running.url);
    await again.signIn(running.demo.brands[0].user);
    expect(namesOf(await again.open(SHORTLIST))).toEqual(['Beta', 'Alpha']);
    const other = new Browser(running.url);
    await other.signIn(running.demo.brands[1].user);
    expect(namesOf(await other.open(SHORTLIST))).toEqual([]);

    const removed = await press(await brand.open(SHORTLIST), 1);
    expect([removed.url.pathname, removed.flash]).toEqual([SHORTLIST, 'Beta was taken off your shortlist.']);
    expect(namesOf(removed)).toEqual(['Alpha']);
  });

  test('takes no space that does not exist', async () => {
    const page = await brand.open(`/console/find/${room(2)}`);
    const { body } = page.form(`/console/find/${room(2)}/shortlist`);
    const answer = await brand.request('/console/find/99999/shortlist', {
      method: 'POST',
      body,
    });
    expect(answer.status).toBe(404);
    expect(namesOf(await brand.open(SHORTLIST))).toEqual(['Alpha']);
  });

  test('has at most fifty spaces', async () => {
    const { users } = running.service.core;
    const user = await users.byEmail(running.demo.brands[0].user.email);
    const id = user?.id ?? expect.fail('There is a user');
    for (let space = 1; space < 50; space += 1)
      accepted(await users.shortlist(id, spaceId(1000 + space), true, BY_OPERATOR));
    const full = await press(await brand.open(`/console/find/${room(2)}`), 2);
    expect(full.flash).toBe('The shortlist has 50 spaces. Remove one first.');
    // Spaces that the account may not see are not shown.
    expect(namesOf(await brand.open(SHORTLIST))).toEqual(['Alpha']);
    for (let space = 1; space < 50; space += 1)
      accepted(await users.shortlist(id, spaceId(1000 + space), false, BY_OPERATOR));
  });

  test('ends with its user', async () => {
    const { users } = running.service.core;
    const account = { kind: 'Brand', id: brandId(running.demo.brands[0].id) } as const;
    const added = await users.add(
      { email: 'guest@example.com', password: 'correct horse battery', accounts: [account] },
      BY_OPERATOR,
    );
    const { id } = accepted(added);
    accepted(await users.shortlist(id, room(0), true, BY_OPERATOR));
    expect((await users.get(id))?.shortlist).toEqual([room(0)]);
    await users.remove(id, BY_OPERATOR);
    expect(await users.get(id)).toBeUndefined();
  });
});

describe('comparing spaces', () => {
  /** The cells of a line, with what is bold in asterisks. */
  const lineOf = ({ text }: Page, label: string) => {
    const row =
      new RegExp(`<tr><th scope="row"[^>]*>(?:<div>)?${label}(?:</div>)?</th>(.*?)</tr>`, 's').exec(text)?.[1] ?? '';
    return [...row.matchAll(/<td.*?<\/td>/gs)].map(([cell]) => textOf(cell.replace(/<\/?strong>/g, '*')).trim());
  };

  test('shows up to four side by side, with the differences in bold', async () => {
    const page = await compared([room(0), room(1), room(2)]);
    expect(page.status).toBe(200);
    expect(lineOf(page, 'Price')).toEqual(['$115.00', '$115.00', '$115.00']);
    expect(lineOf(page, 'Length of an event')).toEqual(['*2 hours*', '*2 hours*', '*3 hours*']);
    expect(lineOf(page, 'Amenities')).toEqual(['Wi-Fi, *Piano*', 'Wi-Fi', 'Wi-Fi']);
    expect(page.text).not.toContain('Languages spoken');
    const returned = await press(page, 1);
    expect(returned.url.pathname + returned.url.search).toBe(page.url.pathname + page.url.search);
  });

  test.each<[string, () => readonly (number | string)[], number, string]>([
    ['five', () => rooms, 422, 'Compare at most 4 spaces. These are the first 4.'],
    ['an unknown one', () => [room(0), room(1), 99_999], 422, '1 space of this address cannot be found.'],
    ['one that is no number', () => [room(0), room(1), 'x'], 422, '1 space of this address cannot be found.'],
    ['one alone', () => [room(0)], 200, 'Nothing to compare yet'],
    ['the same twice', () => [room(0), room(0)], 200, 'Nothing to compare yet'],
    ['none', () => [], 200, 'Nothing to compare yet'],
  ])('says what is wrong with %s', async (_, ids, status, text) => {
    const page = await compared(ids());
    expect([page.status, textOf(page.text)]).toEqual([status, expect.stringContaining(text)]);
  });
});
