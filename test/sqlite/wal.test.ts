import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { checkpointFile } from '../../src/sqlite/wal.ts';

test('a file that has been removed is not created again for its checkpoint', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-wal-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const removed = join(folder, 'removed #1.sqlite');
  expect(() => checkpointFile(removed)).toThrow('unable to open database file');
  expect(existsSync(removed)).toBe(false);
});
