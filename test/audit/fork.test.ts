import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type CheckpointFiles, forkUnlessContinued } from '../../src/audit/fork.ts';
import { NotAsSealed } from '../../src/audit/not-as-sealed.ts';
import { UnusableCheckpoints } from '../../src/audit/retained-checkpoints.ts';
import { forksIn, isKeyOf, publishedKey } from '../../src/audit/seal-key.ts';
import { openNote, parseVerifierKey, type VerifierKey } from '../../src/audit/signed-note.ts';
import { documentEngines } from '../document-store/engines.ts';
import { SECRET_KEY, sealedStore } from './sealed-store.ts';

const LOG_ID = '11111111-2222-3333-4444-555555555555';
const ORIGIN = `venue-booking-service/${LOG_ID}`;

/** A store with a checkpoint of 60 events and one of 100, both in SEAL_FILE. */
async function storeWithFile(createDatabase?: Parameters<typeof sealedStore>[0]) {
  const store = await sealedStore(createDatabase);
  const file = join(store.folder, 'seals.txt');
  const sealing = await store.sealing({ sealFile: file });
  const notes: string[] = [];
  for (const count of [60, 40]) {
    await store.append(count);
    notes.push((await sealing.seal())?.note ?? '');
  }
  const fileOf = (name: string, text = ''): string => {
    writeFileSync(join(store.folder, name), text);
    return join(store.folder, name);
  };
  const [first, second] = [fileOf('first', notes[0]), fileOf('second', notes[1])];
  const key = await publishedKey(store.records);
  if (key === undefined) throw new Error('There is no key');
  return {
    ...store,
    ...sealing,
    file,
    fileOf,
    first,
    second,
    key,
    fork: (checkpointFiles: CheckpointFiles) =>
      forkUnlessContinued({
        events: store.events(),
        documents: store.documents,
        secretKey: SECRET_KEY,
        logId: LOG_ID,
        checkpointFiles,
      }),
    /** Puts back the log and the records as they were when the first 60 events had been sealed. */
    async putBack() {
      await store.attack((database) => database.exec('DELETE FROM events WHERE position > 60'));
      await (await store.documents.open<object>({ name: 'seals', kind: 'record', indexes: [] })).delete(
        '0000000000000100',
      );
    },
    async appendOthers(stream: string, count: number) {
      const made = Array.from({ length: count }, (_, n) => ({ type: 'Other', data: { n }, metadata: {} }));
      await store.events().append(stream, made, { expectedRevision: 'none' });
    },
  };
}

const textOf = (note: string, key: VerifierKey | undefined): string => {
  const opened = key === undefined ? { problem: 'there is no key' } : openNote(note, key);
  return 'problem' in opened ? opened.problem : opened.text;
};

test('a restored log keeps its origin if it begins with the newest checkpoint known elsewhere', async () => {
  const store = await storeWithFile();
  for (const files of [{ sealFile: store.file }, { checkpointFile: store.second }, { checkpointFile: store.first }])
    expect(await store.fork(files)).toBeUndefined();
  await store.append(1);
  expect((await store.seal())?.note).toMatch(new RegExp(`^${ORIGIN}\n101\n`));
  expect(store.copyProblems.size).toBe(0);
});

test.each<[string, (store: Awaited<ReturnType<typeof storeWithFile>>) => CheckpointFiles]>([
  ['SEAL_FILE', ({ file }) => ({ sealFile: file })],
  ['the file that was named', ({ first, second }) => ({ sealFile: first, checkpointFile: second })],
  ['nothing', () => ({})],
  ['a file that is missing', ({ folder }) => ({ sealFile: join(folder, 'none') })],
  ['a file of something else', ({ fileOf }) => ({ sealFile: fileOf('diary', 'Dear diary\n') })],
])('a log that was cut and has outgrown its checkpoint gets another origin, known from %s', async (_, keptIn) => {
  const store = await storeWithFile();
  await store.putBack();
  await store.appendOthers('second-history', 50);
  const before = readFileSync(store.file, 'utf8');
  const fork = await store.fork(keptIn(store));
  const key = await publishedKey(store.records);
  expect(fork?.origin).toMatch(new RegExp(`^${ORIGIN}/[0-9a-f-]{36}$`));
  expect(key?.name).toBe(fork?.origin);
  expect(key && isKeyOf(key, LOG_ID)).toBe(true);

  // Both keys have signed which log begins where, in a form that is no checkpoint.
  const text = textOf(fork?.note ?? '', store.key);
  expect(textOf(fork?.note ?? '', key)).toBe(text);
  const [former, kind, named, size, root] = text.split('\n');
  expect([former, kind, size]).toEqual([ORIGIN, 'fork', '110']);
  expect(parseVerifierKey(named ?? '')).toEqual(key);

  const { seal, copyProblems } = await store.sealing({ sealFile: store.file });
  expect((await seal())?.note).toMatch(new RegExp(`^${fork?.origin}\n110\n${root?.replaceAll('+', '\\+')}\n`));
  expect(copyProblems.get('SEAL_FILE')).toContain(`is of another log, ${ORIGIN}, and not of ${fork?.origin}`);
  expect(readFileSync(store.file, 'utf8')).toBe(before);
  // A restore that is repeated may fork again. No note is lost.
  const again = await store.fork({});
  expect(await forksIn(store.records)).toEqual([fork?.note, again?.note]);
  expect(textOf(again?.note ?? '', key)).toMatch(new RegExp(`^${fork?.origin}\nfork\n`));
});

test.each(documentEngines)('a fork with the documents on %s starts a new tree of seals', async (_, createDatabase) => {
  const store = await storeWithFile(createDatabase);
  await store.putBack();
  const fork = await store.fork({ sealFile: store.file });
  expect(await store.records.head()).toBeUndefined();
  expect((await (await store.sealing()).seal())?.note).toMatch(new RegExp(`^${fork?.origin}\n60\n`));
  const sizes = await Array.fromAsync(store.records.after(0), ({ size }) => size);
  expect(sizes).toEqual([60]);
});

test('a --checkpoint file that is missing or holds no checkpoint of the log is refused and changes nothing', async () => {
  const [store, other] = [await storeWithFile(), await storeWithFile()];
  await expect(store.fork({ checkpointFile: other.first })).rejects.toThrow(UnusableCheckpoints);
  await expect(store.fork({ checkpointFile: join(store.folder, 'none') })).rejects.toThrow('cannot be read: ENOENT');
  expect(await publishedKey(store.records)).toEqual(store.key);
  expect((await store.records.head())?.size).toBe(100);
});

test('a log that does not begin with the checkpoint in SEAL_FILE is not sealed, however long it grows', async () => {
  const store = await storeWithFile();
  await store.putBack();
  const before = readFileSync(store.file, 'utf8');
  for (const [stream, count] of Object.entries({ short: 20, 'as-long': 20, longer: 50 })) {
    await store.appendOthers(stream, count);
    const refused = store.seal();
    await expect(refused, stream).rejects.toThrow(NotAsSealed);
    await expect(refused).rejects.toThrow(
      'SEAL_FILE holds a checkpoint of 100 events that this log does not begin with',
    );
  }
  expect((await store.records.head())?.size).toBe(60);
  // Sealed without the file meanwhile.
  await (await store.sealing()).seal();
  expect((await store.records.head())?.size).toBe(150);
  await expect((await store.sealing({ sealFile: store.file })).seal()).rejects.toThrow('does not begin');
  expect(readFileSync(store.file, 'utf8')).toBe(before);
});

test('a log with older seals only continues to the checkpoint in SEAL_FILE', async () => {
  const store = await storeWithFile();
  await (await store.documents.open<object>({ name: 'seals', kind: 'record', indexes: [] })).delete('0000000000000100');
  await store.append(1);
  expect((await store.seal())?.size).toBe(101);
  expect(readFileSync(store.file, 'utf8').match(/^\d+$/gm)).toEqual(['60', '100', '101']);
});

test('two stores that append to one SEAL_FILE keep each other’s checkpoints', async () => {
  const store = await storeWithFile();
  const another = `${readFileSync(store.second, 'utf8').replace(ORIGIN, 'example.com/other')}`;
  writeFileSync(store.file, `${readFileSync(store.file, 'utf8')}\n${another}`);
  const before = readFileSync(store.file, 'utf8');
  await store.append(1);
  await store.seal();
  expect(store.copyProblems.get('SEAL_FILE')).toContain('ends with a checkpoint that');
  expect(readFileSync(store.file, 'utf8')).toBe(before);
});
