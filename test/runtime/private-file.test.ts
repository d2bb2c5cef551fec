import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { restrictToOwner, writePrivate } from '../../src/runtime/private-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'venue-private-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const mode = (file: string) => statSync(join(folder, file)).mode & 0o777;

describe('private files', () => {
  test('are complete, readable by their owner only, and leave no draft behind', () => {
    writePrivate(join(folder, 'a'), 'first', 'new');
    writePrivate(join(folder, 'a'), 'second', 'replace');
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('second');
    expect(mode('a')).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['a']);
  });

  test('a new file never replaces an existing one', () => {
    writePrivate(join(folder, 'a'), 'first', 'new');
    expect(() => writePrivate(join(folder, 'a'), 'second', 'new')).toThrow('EEXIST');
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('first');
    expect(readdirSync(folder)).toEqual(['a']);
  });

  test('a database that others could read is restricted to its owner, with its side files', () => {
    for (const file of ['a.db', 'a.db-wal', 'a.db-shm']) {
      writeFileSync(join(folder, file), '');
      chmodSync(join(folder, file), 0o644);
    }
    restrictToOwner(join(folder, 'a.db'));
    for (const file of ['a.db', 'a.db-wal', 'a.db-shm']) expect(mode(file)).toBe(0o600);
    expect(() => restrictToOwner(join(folder, 'missing.db'))).not.toThrow();
  });
});
