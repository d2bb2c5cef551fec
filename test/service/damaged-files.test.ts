import { readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freePort } from '../free-port.ts';
import { runNode } from './node-process.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const start = async (dataDir: string) =>
  runNode('src/main.js', [], { PORT: String(await freePort()), DATA_DIR: dataDir, LOG_LEVEL: 'warn' });

/** A store with some data, not open in any process. */
async function store(): Promise<string> {
  const dataDir = temporaryDataDir();
  const added = await venue(dataDir, 'brand', 'add', '--name', 'Acme');
  expect(added.code, added.stderr).toBe(0);
  return dataDir;
}

const DAMAGE = {
  overwritten: (path: string) => writeFileSync(path, Buffer.alloc(8_192, 'not a database')),
  'cut off': (path: string) => truncateSync(path, Math.floor(readFileSync(path).length / 4_096 / 2) * 4_096),
  emptied: (path: string) => {
    truncateSync(path, 0);
    rmSync(`${path}-wal`, { force: true });
  },
};

test.each([
  ['events.db', 'overwritten', 'venue restore FILE --overwrite'],
  ['events.db', 'cut off', 'venue restore FILE --overwrite'],
  ['records.sqlite', 'overwritten', 'venue restore FILE --overwrite'],
  ['records.sqlite', 'cut off', 'venue restore FILE --overwrite'],
  ['read-models.sqlite', 'overwritten', 'venue rebuild --from-nothing'],
  ['read-models.sqlite', 'cut off', 'venue rebuild --from-nothing'],
  ['events.db', 'emptied', 'venue restore'],
  ['records.sqlite', 'emptied', 'venue restore FILE --overwrite'],
] as const)(
  'a start on %s, %s, ends with one line that names the file and the way to recover',
  async (file, how, way) => {
    const dataDir = await store();
    DAMAGE[how](join(dataDir, file));
    const ended = await start(dataDir);
    expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) });
    expect(ended.stderr).toContain(join(dataDir, file));
    expect(ended.stderr).toContain(way);
    const listed = await venue(dataDir, 'brand', 'list');
    expect(listed.code).toBe(1);
    expect(listed.stderr).toContain(way);
  },
);

test('one command discards damaged read models and rebuilds them', async () => {
  const dataDir = await store();
  DAMAGE.overwritten(join(dataDir, 'read-models.sqlite'));
  const rebuilt = await venue(dataDir, 'rebuild', '--from-nothing');
  expect(rebuilt.code, rebuilt.stderr).toBe(0);
  const listed = await venue(dataDir, 'brand', 'list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject([{ name: 'Acme' }]);
  const verified = await venue(dataDir, 'verify', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ differences: [], notVerified: [] });
});

test('read models are not discarded while a process reads them', async () => {
  const dataDir = await store();
  const service = await startServiceProcess(dataDir);
  const refused = await venue(dataDir, 'rebuild', '--from-nothing');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^ValidationError: .* Stop the service first\.\n$/),
  });
  expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
});
