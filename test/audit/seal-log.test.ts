import { describe, expect, test } from 'vitest';
import { openCheckpoint } from '../../src/audit/checkpoint.ts';
import { leafHash, portableEvent } from '../../src/audit/portable-event.ts';
import { obtainSealKey, publishedKey } from '../../src/audit/seal-key.ts';
import { EVENTS_PER_CHECKPOINT, sealLog } from '../../src/audit/seal-log.ts';
import { parseVerifierKey, verifierKeyText } from '../../src/audit/signed-note.ts';
import { continueTree } from '../../src/audit/tree-tiles.ts';
import { documentEngines } from '../document-store/engines.ts';
import { replace } from '../document-store/replace.ts';
import { SECRET_KEY, sealedStore } from './sealed-store.ts';

type Store = Awaited<ReturnType<typeof sealedStore>>;

/** The root of the log's first events, computed from nothing. */
async function rootOf(store: Store, size: number): Promise<string> {
  const tree = await continueTree(0, async () => []);
  for (const event of (await store.all()).slice(0, size)) tree.add(leafHash(portableEvent(event)));
  return (await tree.root()).toString('base64');
}

describe.each(documentEngines)('sealing with the documents on %s', (_, createDatabase) => {
  test('continues from the stored tiles, and computes the tree of all events each time', async () => {
    const store = await sealedStore(createDatabase);
    const { seal } = await store.sealing();
    expect(await seal()).toBeUndefined();
    for (const count of [1, 1, 2, 252, 1, 300, 17]) {
      await store.append(count);
      const head = await seal();
      const size = (await store.all()).length;
      expect(head?.size).toBe(size);
      expect(head?.note.split('\n').slice(0, 3)).toEqual([
        'venue-booking-service/11111111-2222-3333-4444-555555555555',
        String(size),
        await rootOf(store, size),
      ]);
      // Nothing has happened since: the same head, and no other checkpoint.
      expect(await seal()).toEqual(head);
    }
    const sizes = await Array.fromAsync(store.records.after(0), ({ size }) => size);
    expect(sizes).toEqual([1, 2, 4, 256, 257, 557, 574]);
    const key = await publishedKey(store.records);
    for await (const { note, size } of store.records.after(0))
      expect(key && openCheckpoint(note, key)).toMatchObject({ size });
  });

  test('reads no event twice', async () => {
    const store = await sealedStore(createDatabase);
    await store.append(300);
    await (await store.sealing()).seal();
    await store.append(5);
    const key = await obtainSealKey(store.records, { secretKey: SECRET_KEY, logId: async () => 'unused' });
    const read: string[] = [];
    const events = {
      readStream: store.events().readStream.bind(store.events()),
      async *readAll(options: Parameters<ReturnType<Store['events']>['readAll']>[0]) {
        for await (const event of store.events().readAll(options)) {
          read.push(event.id);
          yield event;
        }
      },
    };
    await sealLog({ events, records: store.records, key });
    expect(read).toEqual((await store.all()).slice(300).map(({ id }) => id));
  });

  test('several processes at once write the same seals without errors', async () => {
    const store = await sealedStore(createDatabase);
    const processes = await Promise.all([1, 2, 3].map(async () => (await store.sealing()).seal));
    for (let round = 0; round < 3; round += 1) {
      await store.append(150);
      await Promise.all(processes.map((seal) => seal()));
    }
    expect(await Array.fromAsync(store.records.after(0), ({ size }) => size)).toEqual([150, 300, 450]);
    expect((await store.records.head())?.note).toContain(await rootOf(store, 450));
    expect(await store.documents.names()).toEqual(
      expect.arrayContaining(['seals', 'sealTiles', 'sealKeys', 'sealsSent']),
    );
  });

  test('a process does not seal while another does', async () => {
    const store = await sealedStore(createDatabase);
    await store.append(1);
    const [one, other] = [await store.sealing(), await store.sealing()];
    const ended: string[] = [];
    const inTheMeantime: Promise<unknown>[] = [];
    const onProgress = () => void inTheMeantime.push(other.seal().then(() => ended.push('other')));
    await one.seal({ onProgress }).then(() => ended.push('one'));
    await Promise.all(inTheMeantime);
    expect(ended).toEqual(['one', 'other']);
  });

  test('a process that is behind does not overwrite newer hashes of another', async () => {
    const { records } = await sealedStore(createDatabase);
    const hashes = [1, 2, 3].map((byte) => Buffer.alloc(32, byte));
    await records.keep([{ level: 0, index: 0, hashes }]);
    await records.keep([{ level: 0, index: 0, hashes: hashes.slice(0, 2) }]);
    expect(await records.tile(0, 0)).toEqual(hashes);
  });

  test('two processes that seal at the same time without a lease write the same seals', async () => {
    const store = await sealedStore(createDatabase);
    await store.append(400);
    const key = await obtainSealKey(store.records, { secretKey: SECRET_KEY, logId: async () => 'x' });
    const deps = { events: store.events(), records: store.records, key };
    await Promise.all([sealLog(deps), sealLog(deps), sealLog(deps)]);
    expect((await store.records.head())?.note).toContain(await rootOf(store, 400));
    await store.append(1);
    expect((await sealLog(deps))?.note).toContain(await rootOf(store, 401));
  });
});

test('a seal that was stopped or killed before its checkpoint is completed the next time', async () => {
  const store = await sealedStore();
  await store.append(1_200);
  const stopping = new AbortController();
  const { seal } = await store.sealing();
  await expect(seal({ signal: stopping.signal, onProgress: () => stopping.abort() })).rejects.toThrow('aborted');
  expect(await store.records.head()).toBeUndefined();

  const killed = { ...store.records, add: async () => Promise.reject(new Error('killed')) };
  const key = await obtainSealKey(store.records, { secretKey: SECRET_KEY, logId: async () => 'x' });
  await expect(sealLog({ events: store.events(), records: killed, key })).rejects.toThrow('killed');
  await store.append(100);
  expect((await seal())?.note).toContain(await rootOf(store, 1_300));
});

test('events appended during a seal wait for the next one, so a busy store does not seal all the time', async () => {
  const store = await sealedStore();
  await store.append(1);
  const { seal } = await store.sealing();
  const appending: Promise<void>[] = [];
  const head = await seal({ onProgress: () => void (appending.length < 5 && appending.push(store.append(1))) });
  await Promise.all(appending);
  expect(head?.size).toBe(1);
  expect(await Array.fromAsync(store.records.after(0), ({ size }) => size)).toEqual([1]);
  expect((await seal())?.size).toBe(1 + appending.length);
});

test('a long log is sealed in steps', async () => {
  const store = await sealedStore();
  await store.append(1);
  const [first] = await store.all();
  if (first === undefined) throw new Error('There is no event');
  const all = { ...store.events(), readStream: store.events().readStream.bind(store.events()) };
  const long = {
    ...all,
    async *readAll({ limit = 0 }: { readonly limit?: number } = {}) {
      for (let at = 0; at < limit; at += 1) yield first;
    },
  };
  const key = await obtainSealKey(store.records, { secretKey: SECRET_KEY, logId: async () => 'x' });
  const done: number[] = [];
  const onProgress = (progress: { readonly done: number }) => void done.push(progress.done);
  expect((await sealLog({ events: long, records: store.records, key, onProgress }))?.size).toBe(EVENTS_PER_CHECKPOINT);
  expect(done.slice(0, 2)).toEqual([1_000, 2_000]);
});

test('text that is not Unicode is sealed like any other', async () => {
  const store = await sealedStore();
  await store.append(2, JSON.parse(String.raw`{"name":"half \ud83d","\ude00":1}`));
  const head = await (await store.sealing()).seal();
  expect(head?.note).toContain(await rootOf(store, 2));
  const [event] = await store.all();
  expect(String(event?.data.name).isWellFormed()).toBe(false);
});

describe('the key', () => {
  test('is the same in every process, named after the log, and sealed under the secret key', async () => {
    const store = await sealedStore();
    const logId = async () => 'the-log';
    const keys = await Promise.all([1, 2, 3].map(() => obtainSealKey(store.records, { secretKey: SECRET_KEY, logId })));
    const [text] = keys.map(verifierKeyText);
    expect(new Set(keys.map(verifierKeyText)).size).toBe(1);
    expect(text).toMatch(/^venue-booking-service\/the-log\+[0-9a-f]{8}\+/);
    const published = await publishedKey(store.records);
    expect(published && verifierKeyText(published)).toBe(text);
    expect(parseVerifierKey(text ?? '')?.name).toBe('venue-booking-service/the-log');
    const stored = JSON.stringify(await store.records.key.get('log'));
    const secret = keys[0]?.privateKey.export({ format: 'jwk' }).d ?? 'no key';
    expect(stored).not.toContain(secret);
    expect(Buffer.from(stored).includes(Buffer.from(secret, 'base64url'))).toBe(false);
    const other = { secretKey: Buffer.alloc(32, 6), logId };
    await expect(obtainSealKey(store.records, other)).rejects.toThrow('cannot be opened');
  });
});

describe('nothing is sealed on top of', () => {
  async function sealed() {
    const store = await sealedStore();
    await store.append(300);
    const { seal } = await store.sealing();
    await seal();
    await store.append(3);
    return { ...store, seal };
  }

  test('a log whose last sealed event is another one', async () => {
    const { attack, seal, records } = await sealed();
    await attack((database) => database.exec("UPDATE events SET id = 'other' WHERE position = 300"));
    await expect(seal()).rejects.toThrow(
      /^The log does not hold event .*, revision 99 of space-2, which was sealed\. /,
    );
    expect((await records.head())?.size).toBe(300);
  });

  test('a log that was cut', async () => {
    const { attack, seal } = await sealed();
    await attack((database) => database.exec('DELETE FROM events WHERE position > 290'));
    await expect(seal()).rejects.toThrow('which was sealed. Nothing is sealed until that is explained');
  });

  test('hashes of the tree that were altered, or are gone', async () => {
    const { documents, seal } = await sealed();
    const tiles = await documents.open<{ hashes: string }>({ name: 'sealTiles', kind: 'record', indexes: [] });
    const [key, stored] = ['0/0000000000000001', await tiles.get('0/0000000000000001')];
    const { hashes = '' } = stored?.document ?? {};
    await replace(
      tiles,
      key,
      { hashes: `${hashes.startsWith('A') ? 'B' : 'A'}${hashes.slice(1)}` },
      stored?.version ?? 0,
    );
    await expect(seal()).rejects.toThrow('The stored tree differs from the checkpoint of 300 events');
    await tiles.delete(key);
    await expect(seal()).rejects.toThrow('Hashes are missing from what is kept of the tree, in tile 0/1');
  });

  test('a checkpoint that was altered', async () => {
    const { documents, records, seal } = await sealed();
    const head = await records.head();
    const seals = await documents.open<object>({ name: 'seals', kind: 'record', indexes: [] });
    await replace(seals, '0000000000000300', { ...head, note: head?.note.replace('\n300\n', '\n299\n') }, 1);
    await expect(seal()).rejects.toThrow('that is not one');
    await replace(seals, '0000000000000300', { ...head, size: 299 }, 2);
    await expect(seal()).rejects.toThrow('The checkpoint of 299 events is one of 300');
  });
});
