import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import type { PhotoSize } from '../../src/domain/photos.ts';
import { openPhotoRecords } from '../../src/photos/photo-records.ts';
import type { PhotoSizes } from '../../src/photos/resizer.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';

const HOUR_MS = 3_600_000;

const sizesOf = (lengths: Readonly<Record<PhotoSize, number>>): PhotoSizes => ({
  width: 1_600,
  height: 900,
  sizes: new Map([
    [400, randomBytes(lengths[400])],
    [800, randomBytes(lengths[800])],
    [1_600, randomBytes(lengths[1_600])],
  ]),
});
const photo = () => sizesOf({ 400: 1, 800: 65_536, 1600: 150_000 });
const newName = (): string => randomBytes(32).toString('hex');

describe.each(documentEngines)('photos on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let documents: OperatedDocumentStore;
  let now = Date.parse('2026-12-01T12:00:00Z');
  const open = (of: OperatedDocumentStore) => openPhotoRecords({ documents: of, clock: () => now });
  let records: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    database = await createDatabase();
    documents = await database.open();
    records = await open(documents);
  });
  afterAll(() => database.remove());

  const bytesOf = async (name: string, size: PhotoSize) => {
    const found = await records.sizeOf(name, size);
    return found && Buffer.concat(await Array.fromAsync(records.read(found)));
  };
  const countIn = async (name: string) =>
    (await documents.open({ name, kind: 'record', indexes: [] })).count(everyDocument());

  test('each size is read as it was stored', async () => {
    const [name, stored] = [newName(), photo()];
    expect(await records.store(name, stored)).toEqual({ photo: name, width: 1_600, height: 900 });
    for (const [size, bytes] of stored.sizes) expect((await bytesOf(name, size))?.equals(bytes)).toBe(true);
    expect(await records.bytesOf(new Set([name, newName()]))).toBe(1 + 65_536 + 150_000);
    expect(await bytesOf(newName(), 400)).toBeUndefined();
  });

  test('two processes that store the same photo at once store it once', async () => {
    const others = await Promise.all([1, 2, 3].map(async () => open(await database.open())));
    const [name, stored, before] = [newName(), photo(), await countIn('photoFiles')];
    const all = await Promise.all([records, ...others].map((one) => one.store(name, stored)));
    expect(new Set(all.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await countIn('photoFiles')).toBe(before + 1);
    expect((await bytesOf(name, 1_600))?.equals(stored.sizes.get(1_600) ?? Buffer.alloc(0))).toBe(true);
  });

  test('what is named again stays for an hour from when it was taken away again', async () => {
    const name = newName();
    await records.store(name, photo());
    const removeLater = (isNamed: boolean) => {
      now += HOUR_MS + 1;
      return records.removeUnnamed(() => isNamed);
    };
    for (let round = 0; round < 3; round += 1) {
      expect(await removeLater(false)).toBe(0);
      expect(await removeLater(true)).toBe(0);
    }
    expect(await removeLater(false)).toBe(0);
    const found = (await records.sizeOf(name, 800)) ?? expect.fail('It was removed');
    await removeLater(false);
    expect(await records.sizeOf(name, 800)).toBeUndefined();
    // A backup that has read its name still finds its bytes.
    expect(await Array.fromAsync(records.read(found))).toHaveLength(1);
    await removeLater(false);
    await expect(Array.fromAsync(records.read(found))).rejects.toThrow('is missing');
  });

  test('what nothing names is removed an hour later, and what a process that died has left', async () => {
    const [named, unnamed, wanted] = [newName(), newName(), newName()];
    for (const name of [named, unnamed, wanted]) await records.store(name, photo());
    const dying = {
      ...documents,
      open: async (of: Parameters<typeof documents.open>[0]) => {
        const opened = await documents.open(of);
        if (of.name !== 'photos') return opened;
        return {
          ...opened,
          get: opened.get,
          update: async (...given: Parameters<typeof opened.update>) => {
            if ((await countIn('photoFiles')) > files) throw new Error('The process died');
            return opened.update(...given);
          },
        };
      },
    } as OperatedDocumentStore;
    const files = await countIn('photoFiles');
    await expect((await open(dying)).store(newName(), photo())).rejects.toThrow('died');
    expect(await countIn('photoFiles')).toBe(files + 1);
    expect(await records.removeUnnamed((name) => name === named)).toBe(0);
    const removeLater = () => {
      now += HOUR_MS + 1;
      return records.removeUnnamed((name) => name === named);
    };
    // An hour after it was stored, and an hour after it was first found to be unnamed.
    expect(await removeLater()).toBe(0);
    await records.want(wanted);
    expect(await removeLater()).toBe(1);
    expect([await bytesOf(named, 400), await bytesOf(wanted, 400)].every(Boolean)).toBe(true);
    expect(await bytesOf(unnamed, 400)).toBeUndefined();
    await records.want(wanted);
    expect(await removeLater()).toBe(0);
    expect([await countIn('photos'), await countIn('photoFiles'), await countIn('photoParts')]).toEqual([2, 2, 2 * 5]);
  });
});
