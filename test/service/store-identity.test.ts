import { randomBytes } from 'node:crypto';
import { copyFileSync, cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, test } from 'vitest';
import type { Demo } from '../../src/demo/demo-file.ts';
import { atEnd } from '../at-end.ts';
import { inProcessWith } from '../cli/in-process.ts';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { call } from './client.ts';
import { type Environment, runNode, startNode } from './node-process.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** A start that is expected to end by itself. */
const start = async (dataDir: string, env: Environment = {}) =>
  runNode('src/main.js', [], { PORT: String(await freePort()), DATA_DIR: dataDir, LOG_LEVEL: 'warn', ...env });

/** Copies one database of a store that is not running. */
function copyFile(file: string, from: string, to: string): void {
  for (const side of ['-wal', '-shm']) rmSync(join(to, `${file}${side}`), { force: true });
  copyFileSync(join(from, file), join(to, file));
}

const ONE_LINE = /^[^\n]+\n$/;

/** A store with demo data, which no process has open. */
let demo: Demo;
let store: string;
const whenFinished = atEnd();
beforeAll(async () => {
  store = temporaryDataDir(whenFinished);
  const service = await startNode('src/main.js', '/readyz', { DATA_DIR: store, LOG_LEVEL: 'warn' });
  expect(await service.end('SIGTERM')).toBe(0);
  demo = JSON.parse(readFileSync(join(store, 'demo.json'), 'utf8'));
});

/** A store whose log is a copy from before its last booking. `end` ends the service that accepted that booking. */
async function storeWithOlderLog(end: (service: ServiceProcess) => Promise<unknown>): Promise<string> {
  const dataDir = temporaryDataDir();
  cpSync(store, dataDir, { recursive: true });
  const later = await startServiceProcess(dataDir);
  const wanted = { spaceId: demo.communities[0]?.spaces[0]?.id, startTime: inDays(30), startHour: 12 };
  expect(await call(later, demo.brands[0]?.apiKey ?? '', '/bookings', wanted)).toMatchObject({ status: 201 });
  await end(later);
  copyFile('events.db', store, dataDir);
  return dataDir;
}

test('the service and the command line refuse a log that is older than its records and read models', async () => {
  const dataDir = await storeWithOlderLog(async (service) => expect(await service.end('SIGTERM')).toBe(0));

  const refused = await start(dataDir);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(refused.stderr).toMatch(/events\.db is older than the records in .*records\.sqlite: it has no event /);
  expect(refused.stderr).toContain('venue restore --adopt');
  const listed = await venue(dataDir, 'booking', 'list', '--community', '1');
  expect(listed.code).toBe(1);
  expect(listed.stderr).toContain('venue restore --adopt');
});

test('a log that lost only its last moments is refused, too', async () => {
  // Long before background tasks store anything. The checkpoints of read models are stored a moment after their documents are shown.
  const dataDir = await storeWithOlderLog(async (service) => {
    await delay(200);
    await service.end('SIGKILL');
  });
  const refused = await start(dataDir);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(refused.stderr).toContain('venue restore --adopt');
});

test('read models of another store are refused with the command that rebuilds them', async () => {
  const [one, other] = [temporaryDataDir(), temporaryDataDir()];
  for (const dataDir of [one, other]) {
    const added = await venue(dataDir, 'brand', 'add', '--name', 'Acme');
    expect(added.code, added.stderr).toBe(0);
  }
  copyFile('read-models.sqlite', other, one);
  const refused = await start(one);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(refused.stderr).toContain('read-models.sqlite belong to another event log');
  expect(refused.stderr).toContain('venue rebuild --from-nothing');
});

test('the service and the command line refuse a store in another format', async () => {
  const dataDir = temporaryDataDir();
  await venue(dataDir, 'brand', 'add', '--name', 'Acme');
  const database = new DatabaseSync(join(dataDir, 'events.db'));
  database.exec(`UPDATE events SET data = json_set(data, '$.format', 3) WHERE type = 'LogCreated'`);
  database.close();
  const refused = await start(dataDir);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(refused.stderr).toMatch(
    /^The event log has store format 3; .* start the release that wrote it, or name an empty store with DATA_DIR/,
  );
  for (const command of [['brand', 'list'], ['export'], ['restore', '--adopt'], ['backup', join(dataDir, 'copy')]]) {
    const { code, stderr } = await venue(dataDir, ...command);
    expect({ code, stderr }, command.join(' ')).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^[^\n]*has store format 3;[^\n]+\n$/),
    });
  }
});

test('a different secret key is refused with a line that names the setting', async () => {
  const dataDir = temporaryDataDir();
  await venue(dataDir, 'brand', 'add', '--name', 'Acme');
  const refused = await start(dataDir, { SECRET_KEY: randomBytes(32).toString('base64') });
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^SECRET_KEY: [^\n]+\n$/) });
  expect(refused.stderr).toContain('records.sqlite');
});

test.skipIf(lacks(MONGODB))('two data folders on one MONGODB_URL are refused', async () => {
  const url = ownDatabase();
  const env = { MONGODB_URL: url, SECRET_KEY: randomBytes(32).toString('base64') };
  const add = (dataDir: string) => inProcessWith({ DATA_DIR: dataDir, ...env }, 'brand', 'add', '--name', 'Acme');
  const first = await add(temporaryDataDir());
  expect(first.code, first.stderr).toBe(0);

  const other = temporaryDataDir();
  const refused = await start(other, env);
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
  expect(refused.stderr).toMatch(/is not the one that the records in MONGODB_URL belong to/);
  expect(refused.stderr).not.toContain(url);
  expect(await add(other)).toMatchObject({ code: 1 });
});
