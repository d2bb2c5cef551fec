import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { GenerationFiles } from '../../../src/document-store/sqlite/generation-files.ts';

const GENERATION = '1a2b3c4d.5';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'venue-generations-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function filesOf(folder: string): GenerationFiles {
  const files = new GenerationFiles({ folder, repair: 'Remove it.', store: 7, options: {} });
  onTestFinished(() => files.close());
  return files;
}

test('a process that opens a generation while another one removes it finds it gone, not broken', async () => {
  const folder = temporaryFolder();
  const file = await filesOf(folder).open(GENERATION);
  await file.write(() => file.database.exec('CREATE TABLE full (x); INSERT INTO full VALUES (1)'));
  const path = join(folder, 'read-models', `${GENERATION}.7.sqlite`);
  rmSync(`${path}-wal`);

  const opening = filesOf(folder).open(GENERATION);
  setTimeout(() => {
    for (const removed of [`${path}-shm`, path]) rmSync(removed, { force: true });
  }, 30);
  const opened = await opening;
  expect(opened.database.prepare("SELECT name FROM sqlite_schema WHERE name = 'full'").all()).toEqual([]);
});

test('a generation that is damaged, and stays, is refused', async () => {
  const folder = temporaryFolder();
  const file = await filesOf(folder).open(GENERATION);
  await file.write(() => file.database.exec('CREATE TABLE full (x); INSERT INTO full VALUES (1)'));
  const path = join(folder, 'read-models', `${GENERATION}.7.sqlite`);
  rmSync(`${path}-wal`);
  await expect(filesOf(folder).open(GENERATION)).rejects.toThrow(`The disk of the read-model file ${path} fails`);
  expect(existsSync(path)).toBe(true);
});

test('what is left of a file that was removed goes with the next start, and nothing else', async () => {
  const folder = temporaryFolder();
  const file = await filesOf(folder).open(GENERATION);
  await file.write(() => file.database.exec('CREATE TABLE full (x)'));
  const before = readdirSync(join(folder, 'read-models'));
  for (const end of ['sqlite-wal', 'sqlite-shm']) writeFileSync(join(folder, 'read-models', `1a2b3c4d.4.7.${end}`), '');
  filesOf(folder);
  expect(readdirSync(join(folder, 'read-models'))).toEqual(before);
});
