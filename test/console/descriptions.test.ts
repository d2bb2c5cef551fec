import { afterAll, beforeAll, expect, test } from 'vitest';
import { communityId, type SpaceId, spaceId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { inDays } from '../in-days.ts';
import { type Running, startDemo } from './console.fixture.ts';

let running: Running;
let harbour: Browser;
let northwind: Browser;
let hall: number;

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

beforeAll(async () => {
  running = await startDemo();
  const [community] = running.demo.communities;
  const [brand] = running.demo.brands;
  hall = community.spaces[0].id;
  [harbour, northwind] = [new Browser(running.url), new Browser(running.url)];
  await Promise.all([harbour.signIn(community.user), northwind.signIn(brand.user)]);
});
afterAll(() => running.stop());

const describeHall = (wanted: object) =>
  running.service.core.commands.catalogue.describeSpace({ spaceId: hall, wanted }, CONTEXT);
const seenByBrand = async () => {
  const { text } = await northwind.open(`/console/find/${hall}`);
  return /<section class="card prose" id="about".*?<\/section>/s.exec(text)?.[0] ?? '';
};

test('a Manager describes a space, and brands read it where they choose', async () => {
  const path = `/console/spaces/${hall}/description`;
  const page = await harbour.open(path);
  const saved = await harbour.send(page, path, {
    standing: '150',
    about: '**Bright** <script>alert(1)</script>',
    ownAmenities: 'Grand piano\nSkylight',
    languages: 'french, German',
  });
  expect(saved.flash).toBe('Saved. Brands see it now.');
  const about = await seenByBrand();
  expect(about).toContain('Hall · 80 seated, 150 standing · 165 m²');
  expect(about).toContain('<strong>Bright</strong> &lt;script&gt;');
  for (const shown of ['Grand piano', 'Skylight', 'French, German', 'Kaistraße 7, 20457 Hamburg, Germany'])
    expect(about).toContain(shown);
  expect((await northwind.open('/console/find')).text).toContain('Hall · 80 seated, 150 standing · 165 m²');

  const again = await harbour.send(await harbour.open(path), path, {});
  expect(again.flash).toBe('Nothing has changed.');
});

test('wrong input is told at its field, and kept in it', async () => {
  const path = `/console/spaces/${hall}/description`;
  const refused = await harbour.send(await harbour.open(path), path, { seated: 'many', languages: 'Klingonish' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('“Guests, seated” must be a whole number, 1 to 100000.');
  expect(refused.text).toContain('“Languages spoken” must be languages such as English, German.');
  expect(refused.text).toContain('value="Klingonish"');

  const house = await harbour.open('/console/spaces/house');
  const wrong = { street: '', coordinates: 'north', website: 'javascript:alert(1)' };
  const wrongHouse = await harbour.send(house, '/console/spaces/house', wrong);
  expect(wrongHouse.status).toBe(422);
  for (const told of [
    '“Street and number” must have 1 to 200 characters.',
    '“Coordinates” must be degrees north and east',
    '“Website” must be an address that begins with https:// or http://.',
  ])
    expect(wrongHouse.text).toContain(told);
});

test('what a user did not touch stays as others made it; what both changed is not overwritten unseen', async () => {
  const path = `/console/spaces/${hall}/description`;
  const first = await harbour.open(path);
  accepted(await describeHall({ area: 170 }));
  expect((await harbour.send(first, path, { seated: '82' })).flash).toContain('Saved.');
  expect(await seenByBrand()).toContain('82 seated, 150 standing · 170 m²');

  const third = await harbour.open(path);
  accepted(await describeHall({ area: 175 }));
  const wrong = await harbour.send(third, path, { seated: '0' });
  expect((await harbour.send(wrong, path, { seated: '82' })).flash).toBe('Nothing has changed.');
  expect(await seenByBrand()).toContain('82 seated, 150 standing · 175 m²');

  const second = await harbour.open(path);
  accepted(await describeHall({ area: 180, seated: 84 }));
  const refused = await harbour.send(second, path, { seated: '90' });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('“Guests, seated” was changed meanwhile. Your value is still in the field.');
  expect((await harbour.send(refused, path, {})).flash).toContain('Saved.');
  expect(await seenByBrand()).toContain('90 seated, 150 standing · 180 m²');
});

test('what is no language stays in its field, also if others have changed the languages meanwhile', async () => {
  const path = `/console/spaces/${hall}/description`;
  const page = await harbour.open(path);
  accepted(await describeHall({ languages: ['fr'] }));
  const refused = await harbour.send(page, path, { languages: 'Klingonish' });
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('value="klingonish"')]);
});

test('a space like another one has its terms, its hours and its description', async () => {
  const { catalogue } = running.service.core.commands;
  const special = { [inDays(90)]: { windowStart: 10, windowEnd: 14 } };
  accepted(await catalogue.changeSpace({ spaceId: hall, terms: { gapHours: 1 }, special }, CONTEXT));
  const path = `/console/spaces/${hall}/duplicate`;
  const refused = await harbour.send(await harbour.open(path), path, { name: ' ' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('“Name” must have 1 to 200 characters.');
  const added = await harbour.send(refused, path, { name: 'Small Hall' });
  expect(added.flash).toContain('Space added, like');
  const id = Number(/\d+$/.exec(added.url.pathname)?.[0]);
  const { spaces, descriptions } = running.service.core.queries;
  const account = { kind: 'Community', id: communityId(1) } as const;
  const [original, copy] = await Promise.all([spaces.get(account, hall), spaces.get(account, id)]);
  if (original === undefined || copy === undefined) throw new Error('A space is missing');
  expect(copy).toMatchObject({ name: 'Small Hall', gapHours: 1, special, durationHours: original.durationHours });
  const { published, ...described } = await descriptions.ofSpace(original);
  expect(published).toBe(true);
  expect(await descriptions.ofSpace(copy)).toEqual(described);
});

test('a community orders and groups its spaces, and sees them so', async () => {
  const path = '/console/spaces/order';
  const { text } = await harbour.open('/console/spaces');
  const [first = '', second = ''] = new Set(text.match(/(?<=href="\/console\/spaces\/)\d+(?=">)/g));
  const unchanged = await harbour.send(await harbour.open(path), path, {});
  expect(unchanged.flash).toBe('Nothing has changed.');
  const page = await harbour.open(path);
  const wanted = { [`place-${second}`]: '0', [`group-${second}`]: 'Upper <floor>', [`group-${first}`]: 'Quay' };
  const long = await harbour.send(page, path, { ...wanted, [`group-${first}`]: 'x'.repeat(201) });
  expect(long.status).toBe(422);
  expect(long.text).toContain('“Order and groups of spaces” must have 1 to 200 characters.');
  const saved = await harbour.send(long, path, wanted);
  expect(saved.flash).toContain('Saved.');
  expect(saved.text).toMatch(/Upper &lt;floor&gt;.*Quay/s);
  const { spaces } = running.service.core.queries;
  const account = { kind: 'Community', id: communityId(1) } as const;
  const ordered = await spaces.list(account);
  expect(ordered.slice(0, 2).map(({ spaceId }) => String(spaceId))).toEqual([second, first]);
  const late = await harbour.send(page, path, { [`place-${first}`]: '9' });
  expect(late.status).toBe(409);
  expect(late.text).toContain('Someone else changed this in the meantime.');
  expect((await harbour.send(late, path, {})).flash).toContain('Saved.');

  const add = (groups: readonly { spaceIds: readonly SpaceId[] }[]) =>
    running.service.core.commands.catalogue.describeCommunity({ communityId: 1, wanted: { groups } }, CONTEXT);
  expect(await add([{ spaceIds: [spaceId(999)] }])).toMatchObject({ field: 'groups' });
  expect(await add([{ spaceIds: [spaceId(hall), spaceId(hall)] }])).toMatchObject({ field: 'groups' });
});

test('more guests than the space takes are refused, and told where they were typed', async () => {
  const path = `/console/find/${hall}`;
  const page = await northwind.open(`${path}?date=${inDays(100)}`);
  expect(page.text).toContain('This space takes up to 150.');
  const wanted = { date: inDays(100), startHour: '10', guests: '151' };
  const refused = await northwind.send(page, path, wanted);
  expect(refused.status).toBe(422);
  expect(refused.text).toContain('The space takes at most 150 guests.');
  const sent = await northwind.send(refused, path, { ...wanted, guests: '150' });
  expect(sent.flash).toContain('Request sent.');
  expect(sent.text).toContain('<dt>Guests</dt>');
});

test('the texts of a community that is forgotten read as erased', async () => {
  const { commands } = running.service.core;
  accepted(await commands.personalData.forget(`community:${communityId(1)}`, CONTEXT));
  const about = await seenByBrand();
  expect(about).toContain('<p>erased</p>');
  expect(about).toContain('Kaistraße 7');
  expect(about).not.toContain('Mara');
});
