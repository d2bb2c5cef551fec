import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runNode } from './node-process.ts';

test('a start loads no packages that are needed later or not at all', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-start-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const { code, stdout, stderr } = await runNode('test/service/loaded-packages.ts', [], { DATA_DIR: dataDir });
  expect(code, stderr).toBe(0);
  const loaded = stdout.trim().split('\n');
  expect(loaded).toContain('fastify');
  const later = [
    'oidc-provider',
    'koa',
    'openid-client',
    'oauth4webapi',
    'mongodb',
    '@eventstore/db-client',
    'undici',
    'typebox',
  ];
  expect(loaded.filter((name) => later.includes(name))).toEqual([]);
});
