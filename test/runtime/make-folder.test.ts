import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from '../../src/runtime/make-folder.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'venue-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('creates a folder with its parents, and accepts an existing one', () => {
  const top = temporaryFolder();
  const folder = join(top, 'a', 'b', 'c');
  makeFolder(folder, 0o700);
  makeFolder(folder, 0o700);
  expect([join(top, 'a'), folder].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
});

test('a path that is not a folder is an error', () => {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, '');
  expect(() => makeFolder(file)).toThrow(/EEXIST/);
  expect(() => makeFolder(join(file, 'a', 'b'))).toThrow(/ENOTDIR/);
});

test.skipIf(!existsSync('/proc/self'))('a place without write access is an error at once', () => {
  expect(() => makeFolder('/proc/nowhere/a')).toThrow(/ENOENT.*\/proc\/nowhere/);
});
