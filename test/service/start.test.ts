import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runNode } from './node-process.ts';

test('a start loads only the modules that it needs at once', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-start-'));
  onTestFinished(() => rm(dataDir, { recursive: true }));
  const start = (...args: readonly string[]) => runNode('test/service/loaded-packages.ts', args, { DATA_DIR: dataDir });
  // The first start creates keys.
  await start();
  const { code, stdout, stderr } = await start();
  expect(code, stderr).toBe(0);
  const loaded = stdout.trim().split('\n');
  expect(loaded).toEqual(expect.arrayContaining(['fastify', 'src/api/docs.ts']));
  const later = [
    'oidc-provider',
    'koa',
    'openid-client',
    'oauth4webapi',
    'mongodb',
    '@eventstore/db-client',
    'undici',
    'nodemailer',
    'jose',
    'yaml',
    'ajv',
    'json-schema-ref-resolver',
    '@fastify/ajv-compiler',
    'fast-uri',
    '@fastify/static',
    'marked',
    'prom-client',
    'pino-pretty',
    'src/description/server.ts',
    'src/description/openapi.ts',
    'src/description/guide.ts',
  ];
  expect(loaded.filter((name) => later.includes(name))).toEqual([]);
  // Folders of pages. Public pages, which are loaded, use parts of `find`.
  const pages = /^src\/console\/(?!(find|links|live|parts|public|sessions)\/)[^/]+\//;
  expect(loaded.filter((name) => pages.test(name))).toEqual([]);

  // The first request would otherwise load it in one turn.
  const listening = (await start('listen')).stdout.trim().split('\n');
  const added = listening.filter((name) => !loaded.includes(name));
  expect(added).toEqual(expect.arrayContaining(['ajv', 'fast-uri']));
  expect(added.filter((name) => later.includes(name) && !['ajv', 'fast-uri'].includes(name))).toEqual([]);
});
