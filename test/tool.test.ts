import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { envFor, find, foundAt, onPath, programs } from './tool.ts';

const SHELL = programs('a shell', 'it is always there', 'sh');
const NONE = programs('nothing', 'write it', 'sh', 'no-such-program');

test('a test finds a program only if it names the tool', () => {
  const run = (env?: NodeJS.ProcessEnv) => spawnSync('sh', ['-c', 'echo ran'], { env, encoding: 'utf8' });
  expect(run(process.env).error).toMatchObject({ code: 'ENOENT' });
  expect(run(envFor(SHELL)).stdout).toBe('ran\n');
});

test('a tool is missing if one of its programs is', () => {
  expect(find(SHELL)).toEqual({ found: onPath('sh') });
  expect(find(NONE)).toEqual({ missing: 'no no-such-program', install: 'write it' });
  expect(() => foundAt(NONE)).toThrow('nothing: no no-such-program. To try it: write it');
  expect(() => envFor(NONE)).toThrow('nothing: no no-such-program. To try it: write it');
});
