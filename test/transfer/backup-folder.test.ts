import { copyFileSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { inProcessWith, jsonWith } from '../cli/in-process.ts';
import { temporaryDataDir } from '../service/service-process.ts';

test('venue backup --into keeps the newest complete backups of this store, and deletes nothing else', async () => {
  const [DATA_DIR, other, folder] = [temporaryDataDir(), temporaryDataDir(), temporaryDataDir()];
  const inFolder = (name: string) => join(folder, name);
  const run = (dataDir: string, ...args: readonly string[]) => inProcessWith({ DATA_DIR: dataDir }, ...args);

  const original = inFolder('by hand.ndjson');
  await jsonWith({ DATA_DIR }, 'backup', original);
  await jsonWith({ DATA_DIR: other }, 'backup', inFolder('venue-2026-01-01T00-00-00Z.ndjson'));
  const complete = ['02', '03', '04', '05'].map((day) => `venue-2026-01-${day}T00-00-00Z.ndjson`);
  for (const name of complete) copyFileSync(original, inFolder(name));
  // The key of one that is to be deleted, and files of other names.
  for (const name of ['venue-2026-01-02T00-00-00Z.ndjson.key', 'venue-2026-01-01.ndjson', 'notes.txt'])
    writeFileSync(inFolder(name), 'text');
  // Cut short within the last line, within the first one, before anything was written, and a foreign file.
  const cut = ['07', '08', '09'].map((day) => `venue-2026-01-${day}T00-00-00Z.ndjson`);
  const { length } = readFileSync(original);
  for (const [index, size] of [length - 2, 20, 0].entries()) {
    copyFileSync(original, inFolder(cut[index] ?? ''));
    truncateSync(inFolder(cut[index] ?? ''), size);
  }
  writeFileSync(inFolder('venue-2026-01-10T00-00-00Z.ndjson'), '{"trailer":{}}\n');
  // After a clock was set back, an older backup has a later name.
  copyFileSync(original, inFolder('venue-9999-01-01T00-00-00Z.ndjson'));
  const before = readdirSync(folder);

  const made = await jsonWith({ DATA_DIR }, 'backup', '--into', folder, '--keep', '3', '--with-secret-key');
  const named = (files: readonly string[]) => files.map((file) => basename(file));
  expect(named(made.deleted)).toEqual(complete.slice(0, 3));
  expect(named(made.interrupted)).toEqual(cut);
  const gone = [...complete.slice(0, 3), 'venue-2026-01-02T00-00-00Z.ndjson.key'];
  const own = basename(made.file);
  expect(readdirSync(folder).toSorted()).toEqual(
    [...before.filter((name) => !gone.includes(name)), own, `${own}.key`].toSorted(),
  );

  for (const args of [
    ['--into', folder, '--keep', '0'],
    ['--into', folder, '--keep', 'seven'],
    ['--keep', '7'],
    ['--into', folder, 'file.ndjson'],
    [],
  ])
    expect(await run(DATA_DIR, 'backup', ...args)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^ValidationError: .+\n$/),
    });
  expect(await run(DATA_DIR, 'backup', '--into', join(folder, 'missing'))).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/missing.* cannot be written: the folder .*missing does not exist.*\n$/),
  });
});
