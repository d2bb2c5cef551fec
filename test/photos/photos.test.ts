import { hash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { AddedPhotos } from '../../src/commands/photos.ts';
import { communityId, type SpaceId } from '../../src/domain/ids.ts';
import { MAX_PHOTO_BYTES, PHOTO_SIZES } from '../../src/domain/photos.ts';
import { photoName } from '../../src/photos/photos.ts';
import { accepted } from '../accepted.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';
import { emptyPng, grain, jpeg, picture } from './pictures.ts';

let service: RunningService;
let hall: SpaceId;
let harbour: Awaited<ReturnType<RunningService['community']>>;

beforeAll(async () => {
  service = await runService();
  harbour = await service.community();
  hall = await service.space(harbour);
});
afterAll(() => service.stop());

const HOUR_MS = 3_600_000;

const ofHall = () => ({ kind: 'space', id: hall }) as const;
const add = async (...files: readonly Uint8Array[]): Promise<AddedPhotos> =>
  accepted(
    await service.core.commands.photos.add(
      ofHall(),
      files.map((bytes) => ({ bytes })),
      CONTEXT,
    ),
  );
const told = ({ problems }: AddedPhotos) => problems.map(({ refusal }) => refusal.details);
const listed = async () => (await service.core.queries.photos.ofSpaces([hall])).get(hall) ?? [];
const clear = async () => accepted(await service.core.commands.photos.arrange(ofHall(), { arrange: [] }, CONTEXT));
const get = (url: string, headers: Record<string, string> = {}) => service.call('GET', url, { headers });

test('a photo is turned upright, stripped of what a camera wrote, and stored in three sizes', async () => {
  const exif = { IFD0: { Copyright: 'Ada' }, IFD3: { GPSLatitude: '53/1 32/1 0/1' } };
  const file = await picture('#b35', 2_000, 1_000)
    .withMetadata({ orientation: 6 })
    .withExifMerge(exif)
    .jpeg()
    .toBuffer();
  const { added } = await add(file);
  const photo = hash('sha256', file, 'hex');
  expect(added).toEqual([{ photo, width: 800, height: 1_600 }]);
  expect(await listed()).toEqual(added);
  for (const size of PHOTO_SIZES) {
    const answer = await get(`/photos/${photo}/${size}.webp`);
    expect(answer.headers['content-type']).toBe('image/webp');
    expect(answer.headers['content-length']).toBe(String(answer.rawPayload.length));
    const shown = await sharp(answer.rawPayload).metadata();
    expect([shown.format, shown.width, shown.height]).toEqual(['webp', size / 2, size]);
    expect([shown.exif, shown.icc, shown.xmp, shown.orientation]).toEqual([undefined, undefined, undefined, undefined]);
  }
});

test('PNG, WebP and AVIF are photos, too, and none is enlarged', async () => {
  await clear();
  const files = [
    await picture('#123', 300, 200).png().toBuffer(),
    await picture('#124', 300, 200).webp().toBuffer(),
    await picture('#125', 300, 200).avif({ effort: 0 }).toBuffer(),
  ];
  const { added, problems } = await add(...files);
  expect(problems).toEqual([]);
  expect(added.map(({ width, height }) => [width, height])).toEqual([
    [300, 200],
    [300, 200],
    [300, 200],
  ]);
});

test('what is no photo, too large or broken is told in a sentence, and nothing of it is stored', async () => {
  await clear();
  const whole = await grain(900, 600).jpeg().toBuffer();
  const heic = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypheic\0\0\0\0mif1heic')]);
  const files = [
    [Buffer.alloc(0), 'photo is empty.'],
    [Buffer.from('#!/bin/sh\nrm -rf /\n'), 'photo must be a JPEG, PNG, WebP or AVIF file.'],
    [Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'photo must be a JPEG, PNG, WebP or AVIF file.'],
    [await picture('#321', 200, 200).gif().toBuffer(), 'photo must be a JPEG, PNG, WebP or AVIF file.'],
    [heic, expect.stringContaining('photo is in HEIC, which few browsers can show. Save it as JPEG')],
    [Buffer.alloc(8_000_001, whole), 'photo must have at most 8 MB.'],
    [whole.subarray(0, whole.length / 2), 'photo cannot be read: the file is damaged or incomplete.'],
    [Buffer.concat([whole.subarray(0, 3), Buffer.from('<script>')]), expect.stringContaining('photo cannot be read')],
    [emptyPng(30_000, 30_000), 'photo must have at most 50 megapixels.'],
    [emptyPng(1, 65_535), expect.stringContaining('photo must be at least 100 pixels wide and high')],
  ] as const;
  const before = await recordsOfPhotos();
  expect(told(await add(...files.map(([file]) => file)))).toEqual(files.map(([, sentence]) => sentence));
  expect(await listed()).toEqual([]);
  expect(await recordsOfPhotos()).toBe(before);
});

/** How many records hold photos or parts of them. */
async function recordsOfPhotos(): Promise<number> {
  const counts = ['photos', 'photoFiles', 'photoParts'].map(async (name) => {
    const collection = await service.core.documents.open({ name, kind: 'record', indexes: [] });
    let count = 0;
    for await (const _ of collection.find({} as never)) count += 1;
    return count;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

test('a photo is added once, and no more than ten', async () => {
  await clear();
  const [red, green] = [await jpeg('#f00'), await jpeg('#0f0')];
  const twice = await add(red, green, red);
  expect(twice.added).toHaveLength(2);
  expect(told(twice)).toEqual(['photo is there already.']);
  expect(told(await add(green))).toEqual(['photo is there already.']);
  const nine = Array.from({ length: 9 }, () => red);
  const { commands } = service.core;
  const refused = await commands.photos.add(
    ofHall(),
    nine.map((bytes) => ({ bytes })),
    CONTEXT,
  );
  expect(refused).toMatchObject({ refused: 'ValidationError', details: 'There may be at most 10 photos.' });
});

test('naming a photo of 8 MB lets others have their turns meanwhile', async () => {
  const file = Buffer.alloc(MAX_PHOTO_BYTES, 'photo');
  let turns = 0;
  const count = setInterval(() => {
    turns += 1;
  }, 0);
  expect(await photoName(file)).toBe(hash('sha256', file, 'hex'));
  clearInterval(count);
  expect(turns).toBeGreaterThan(2);
});

test('a photo that is not there is a 404 in the shape of every error', async () => {
  for (const path of [
    'x/400.webp',
    `${'a'.repeat(64)}/400.webp`,
    `${'a'.repeat(64)}/401.webp`,
    `${'A'.repeat(64)}/400.webp`,
  ]) {
    const answer = await get(`/photos/${path}`);
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toEqual({ error: 'ResourceNotFound', details: 'There is no such photo.' });
  }
});

test('browsers keep a photo for good, and need not read it again', async () => {
  await clear();
  const { added } = await add(await grain(1_800, 1_500).jpeg().toBuffer());
  const path = `/photos/${added[0]?.photo}/1600.webp`;
  const first = await get(path);
  expect(first.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  expect((await sharp(first.rawPayload).stats()).channels[0]?.mean).toBeGreaterThan(100);
  const again = await get(path, { 'if-none-match': String(first.headers.etag) });
  expect([again.statusCode, again.rawPayload.length, again.headers.etag]).toEqual([304, 0, first.headers.etag]);
  const head = await service.app.inject({ method: 'HEAD', url: path });
  expect([head.statusCode, head.headers['content-length'], head.rawPayload.length]).toEqual([
    200,
    first.headers['content-length'],
    0,
  ]);
});

test('a photo that nothing names any more is removed after an hour', async () => {
  await clear();
  const [kept, gone] = [await jpeg('#00f'), await jpeg('#0ff')];
  const { added } = await add(kept, gone);
  const { photos } = service.core.commands;
  const status = async (index: number) => (await get(`/photos/${added[index]?.photo}/400.webp`)).statusCode;
  accepted(await photos.arrange(ofHall(), { arrange: [{ photo: added[0]?.photo ?? '' }] }, CONTEXT));
  await photos.removeUnnamed();
  expect([await status(0), await status(1)]).toEqual([200, 200]);
  service.time.now += HOUR_MS + 1;
  await photos.removeUnnamed();
  expect(await status(1)).toBe(200);
  service.time.now += HOUR_MS + 1;
  expect(await photos.removeUnnamed()).toBeGreaterThan(0);
  expect([await status(0), await status(1)]).toEqual([200, 404]);
  expect((await add(gone)).added).toHaveLength(1);
  expect(await status(1)).toBe(200);
});

test('a list that would name a photo too late, or one that is gone, is refused', async () => {
  await clear();
  const [late, gone] = [await jpeg('#f70'), await jpeg('#07f')];
  const { core } = service;
  const { photos } = core.commands;
  const [inTime] = (await add(late)).added;
  await clear();
  const named = inTime ?? expect.fail('It was not added');
  const waiting = photos.addStored(ofHall(), [named], CONTEXT);
  // The process stands still before it decides.
  service.time.now += HOUR_MS;
  await expect(waiting).rejects.toThrow('may have been removed meanwhile');
  expect(await listed()).toEqual([]);
  const photo = hash('sha256', gone, 'hex');
  await expect(photos.addStored(ofHall(), [{ ...named, photo }], CONTEXT)).rejects.toThrow('was removed');
  expect((await add(gone)).added).toHaveLength(1);
});

test('a photo whose file is gone is stored again', async () => {
  await clear();
  const bytes = await jpeg('#70f');
  const { photo = '' } = (await add(bytes)).added[0] ?? {};
  await clear();
  const recordsOf = (name: string) => service.core.documents.open<object>({ name, kind: 'record', indexes: [] });
  const { file = '' } = (await service.core.photos.sizeOf(photo, 400)) ?? {};
  const parts = await recordsOf('photoParts');
  await Promise.all(PHOTO_SIZES.map((size) => parts.delete(`${file}:${size}:0`)));
  expect(await (await recordsOf('photoFiles')).delete(file)).toBe(true);
  expect((await add(bytes)).added).toHaveLength(1);
  expect((await get(`/photos/${photo}/400.webp`)).statusCode).toBe(200);
});

test('a duplicate of a space has its photos, and a community that is forgotten none', async () => {
  await clear();
  const { commands, queries } = service.core;
  const file = { bytes: await jpeg('#ff0'), alt: 'The bar' };
  const { added } = accepted(await commands.photos.add(ofHall(), [file], CONTEXT));
  accepted(await commands.photos.add({ kind: 'house', id: harbour.id }, [file], CONTEXT));
  expect(added).toMatchObject([{ alt: 'The bar' }]);
  const copy = accepted(await commands.catalogue.duplicateSpace({ spaceId: hall, name: 'Small Hall' }, CONTEXT));
  expect((await queries.photos.ofSpaces([hall, copy])).get(copy)).toEqual(added);
  const id = communityId(harbour.id);
  expect(await queries.photos.ofHouse(id)).toEqual(added);

  accepted(await commands.personalData.forget(`community:${id}`, CONTEXT));
  expect([await queries.photos.ofHouse(id), (await queries.photos.ofSpaces([hall, copy])).size]).toEqual([[], 0]);
  for (let hour = 0; hour < 3; hour += 1) {
    service.time.now += HOUR_MS + 1;
    await commands.photos.removeUnnamed();
  }
  expect((await get(`/photos/${added[0]?.photo}/400.webp`)).statusCode).toBe(404);
  expect(await recordsOfPhotos()).toBe(0);
  expect(await commands.photos.add(ofHall(), [file], CONTEXT)).toMatchObject({ refused: 'BookingNotAllowed' });
});

test('clients get the addresses of all photos of a space and its house, which need no key', async () => {
  const union = await service.community();
  const yard = await service.space(union);
  const { photos } = service.core.commands;
  const file = { bytes: await jpeg('#0a0', 800, 600), alt: 'The yard' };
  const other = { bytes: await jpeg('#0b0', 600, 800) };
  accepted(await photos.add({ kind: 'space', id: yard }, [file], CONTEXT));
  accepted(await photos.add({ kind: 'house', id: union.id }, [other], CONTEXT));
  const brand = await service.brand();
  const answer = await service.get(`/spaces/${yard}`, { key: brand.key });
  const { photos: ofYard, housePhotos } = answer.json();
  expect(ofYard).toMatchObject([
    { alt: 'The yard', sizes: [{ width: 400, height: 300 }, { width: 800 }, { width: 800 }] },
  ]);
  expect(housePhotos).toMatchObject([{ sizes: [{ width: 300, height: 400 }, { width: 600 }, { width: 600 }] }]);
  expect(housePhotos[0]).not.toHaveProperty('alt');
  for (const { url } of [...ofYard[0].sizes, ...housePhotos[0].sizes])
    expect((await get(new URL(url).pathname)).statusCode).toBe(200);
  // The entity tag changes with them.
  accepted(await photos.arrange({ kind: 'house', id: union.id }, { arrange: [] }, CONTEXT));
  const again = await service.get(`/spaces/${yard}`, { key: brand.key });
  expect(again.json()).not.toHaveProperty('housePhotos');
  expect(again.headers.etag).not.toBe(answer.headers.etag);
});

test('the photos of a community take no more room than the operator allows, nor those of a day', async () => {
  const small = await runService({ PHOTO_BYTES_PER_COMMUNITY: '300000', ACCOUNT_BYTES_PER_DAY: '2000000' });
  onTestFinished(() => small.stop());
  const community = await small.community();
  const of = { kind: 'space', id: await small.space(community) } as const;
  const { photos } = small.core.commands;
  const files = await Promise.all([300, 310, 320, 330].map((width) => grain(width, 300).png().toBuffer()));
  const first = accepted(
    await photos.add(
      of,
      files.map((bytes) => ({ bytes })),
      CONTEXT,
    ),
  );
  expect(told(first)).toContain(
    'The photos of a community may take at most 0 MB. Remove some, or ask the operator for more.',
  );
  expect(first.added.length).toBeGreaterThan(0);
  const user = { ...CONTEXT, actor: { kind: 'user', id: 'usr_1', account: community.account } } as const;
  accepted(await photos.arrange(of, { arrange: [] }, CONTEXT));
  for (let day = 0; day < 40; day += 1) {
    const bytes = await grain(260 + day, 240)
      .png()
      .toBuffer();
    const [problem] = accepted(await photos.add(of, [{ bytes }], user)).problems;
    if (problem !== undefined) return expect(problem.refusal).toMatchObject({ retryAfter: expect.any(Number) });
    accepted(await photos.arrange(of, { arrange: [] }, CONTEXT));
  }
  return expect.fail('An account stored more than it may in a day');
});
