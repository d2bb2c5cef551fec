import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { photosIn } from '../../src/domain/photos.ts';
import { accepted } from '../accepted.ts';
import { Browser } from '../browser.ts';
import { grain, jpeg } from '../photos/pictures.ts';
import { type Running, startDemo } from './console.fixture.ts';

const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;

let running: Running;
let harbour: Browser;
let northwind: Browser;
let hall: number;
let path: string;

beforeAll(async () => {
  running = await startDemo();
  const [community] = running.demo.communities;
  const [brand] = running.demo.brands;
  hall = community.spaces[0].id;
  path = `/console/spaces/${hall}/photos`;
  [harbour, northwind] = [new Browser(running.url), new Browser(running.url)];
  await Promise.all([harbour.signIn(community.user), northwind.signIn(brand.user)]);
});
afterAll(() => running.stop());
beforeEach(async () => {
  const { photos } = running.service.core.commands;
  accepted(await photos.arrange({ kind: 'space', id: hall }, { arrange: [] }, CONTEXT));
});

const listed = async () =>
  photosIn(await running.service.core.queries.photos.listOf({ kind: 'space', id: hall })).map(({ photo }) => photo);
const file = (bytes: Buffer) => new Blob([new Uint8Array(bytes)]);
const upload = async (...files: readonly Buffer[]) =>
  harbour.upload(await harbour.open(path), path, { photo: files.map(file) });

test('a Manager uploads photos, describes and orders them, and brands see them where they choose', async () => {
  const added = await upload(await jpeg('#a11'), await jpeg('#1a1'));
  expect(added.flash).toBe('2 photos added.');
  const [first = '', second = ''] = await listed();
  const described = await harbour.send(added, `${path}/order`, { alt: ['Tables "by" the window', ''] });
  expect(described.flash).toBe('Saved. Brands see it now.');
  const ordered = await harbour.send(described, `${path}/order`, { do: `later:${first}` });
  expect(await listed()).toEqual([second, first]);
  const { text } = await northwind.open(`/console/find/${hall}`);
  const gallery = /<ul class="gallery".*?<\/ul>/s.exec(text)?.[0] ?? '';
  // Then those of the house.
  expect(gallery.match(/src="\/photos\/\w+/g)?.slice(0, 2)).toEqual(
    [second, first].map((photo) => `src="/photos/${photo}`),
  );
  expect(gallery).toContain('alt="Tables &quot;by&quot; the window"');
  await harbour.send(ordered, `${path}/order`, { do: `remove:${second}` });
  expect(await listed()).toEqual([first]);
  expect((await harbour.send(await harbour.open(path), `${path}/order`, {})).flash).toBe('Nothing has changed.');
});

test('what cannot be taken is told in a sentence, and the others are added', async () => {
  const page = await upload(await jpeg('#a12'), Buffer.from('<svg/>'), Buffer.alloc(0));
  expect(page.status).toBe(422);
  expect(page.text).toContain('Photo 2 must be a JPEG, PNG, WebP or AVIF file. Photo 3 is empty.');
  expect(await listed()).toHaveLength(1);
  expect((await upload()).text).toContain('Choose a photo.');
  expect((await upload(Buffer.from('#!/bin/sh'))).text).toContain('This photo must be a JPEG');
  const small = await jpeg('#a13');
  const eleven = await upload(...Array.from({ length: 11 }, () => small));
  expect(eleven.text).toContain('There may be at most 10 photos.');
  expect(await listed()).toHaveLength(1);
});

test('photos that are too large together are refused before they are read', async () => {
  const large = await grain(2_000, 1_500).png().toBuffer();
  const page = await upload(large, large, large);
  expect([page.status, page.text.includes('all photos that are sent at once 16 MB')]).toEqual([413, true]);
});

test('a list that someone else changed meanwhile is not overwritten', async () => {
  const page = await upload(await jpeg('#a14'), await jpeg('#a15'));
  const [first = '', second = ''] = await listed();
  const { photos } = running.service.core.commands;
  const arrange = [{ photo: second }, { photo: first }];
  accepted(await photos.arrange({ kind: 'space', id: hall }, { arrange }, CONTEXT));
  const refused = await harbour.send(page, `${path}/order`, { do: `remove:${second}` });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('Someone else changed this in the meantime.');
  await harbour.send(refused, `${path}/order`, { do: `remove:${second}` });
  expect(await listed()).toEqual([first]);
});

test('what was typed about photos stays in the form when it cannot be saved, and what others typed is not overwritten', async () => {
  await upload(await jpeg('#a24'), await jpeg('#a25'));
  const { photos } = running.service.core.commands;
  const of = { kind: 'space', id: hall } as const;
  const [first = '', second = ''] = await listed();
  const alts = async () => photosIn(await running.service.core.queries.photos.listOf(of)).map(({ alt }) => alt);
  const page = await harbour.open(path);
  accepted(await photos.arrange(of, { arrange: [{ photo: first, alt: 'The bar' }, { photo: second }] }, CONTEXT));
  // Of another photo.
  const merged = await harbour.send(page, `${path}/order`, { alt: ['', 'The "stage"'] });
  expect([merged.flash, await alts()]).toEqual(['Saved. Brands see it now.', ['The bar', 'The "stage"']]);
  // Of the same photo, or with another order.
  const late = await harbour.send(page, `${path}/order`, { alt: ['A counter', ''] });
  expect([late.status, late.text]).toEqual([409, expect.stringContaining('value="A counter"')]);
  expect(late.text).toContain('value="The &quot;stage&quot;"');
  accepted(await photos.arrange(of, { arrange: [{ photo: second }, { photo: first }] }, CONTEXT));
  const moved = await harbour.send(merged, `${path}/order`, { alt: ['Stools', ''], do: `later:${first}` });
  expect([moved.status, moved.text]).toEqual([409, expect.stringContaining('value="Stools"')]);
  const long = await harbour.send(moved, `${path}/order`, { alt: ['x'.repeat(301), 'Stools'] });
  expect([long.status, long.text]).toEqual([422, expect.stringContaining('x'.repeat(301))]);
  expect(long.text).toContain('“What a photo shows” must have');
  expect((await harbour.send(moved, `${path}/order`, {})).flash).toBe('Saved. Brands see it now.');
  expect(await alts()).toEqual(['', 'Stools'].map((alt) => alt || undefined));
});

test('a house has photos of its own, which each of its rooms shows after its own', async () => {
  const house = '/console/spaces/house/photos';
  const page = await harbour.upload(await harbour.open(house), house, { photo: [file(await jpeg('#a16'))] });
  expect(page.flash).toBe('1 photo added.');
  await upload(await jpeg('#a17'));
  const { text } = await northwind.open(`/console/find/${hall}`);
  expect(/<ul class="gallery".*?<\/ul>/s.exec(text)?.[0].match(/<li>/g)).toHaveLength(3);
  expect((await northwind.open(house)).status).toBe(404);
});
