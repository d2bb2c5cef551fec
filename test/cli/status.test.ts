import { hostname } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { RELEASE } from '../../src/release.ts';
import { eventually } from '../eventually.ts';
import { temporaryDataDir } from '../service/service-process.ts';
import { inProcess, json, useDataDir } from './in-process.ts';

test('status shows each living process, the roles in which it is active, and the last backup and seal', async () => {
  const dataDir = temporaryDataDir();
  useDataDir(dataDir, { DEMO: 'false' });
  const start = async (ROLES: string) => {
    const service = await startService(
      readConfig({ DATA_DIR: dataDir, ROLES, DEMO: 'false' }),
      pino({ level: 'silent' }),
    );
    onTestFinished(() => service.stop());
    return service.core.heartbeats;
  };
  const [first, second] = await Promise.all([start('projector,scheduler'), start('webhooks')]);
  // As in the lines of its log.
  const place = { hostname: hostname(), pid: process.pid };
  const before = Date.now();
  await inProcess('brand', 'add', '--name', 'Acme');
  await inProcess('seal');
  expect((await inProcess('backup', join(dataDir, 'backup.ndjson'))).code).toBe(0);

  await eventually(async () => {
    const { processes, lastBackup, lastSeal, ...counts } = await json('status');
    expect(processes.toSorted((a: { process: string }) => (a.process === first.session ? -1 : 1))).toEqual([
      {
        process: first.session,
        ...place,
        kind: 'service',
        release: RELEASE,
        roles: ['projector', 'scheduler'],
        active: ['projector', 'scheduler'],
      },
      {
        process: second.session,
        ...place,
        kind: 'service',
        release: RELEASE,
        roles: ['webhooks'],
        active: ['webhooks'],
      },
    ]);
    for (const time of [lastBackup, lastSeal]) expect(Date.parse(time)).toBeGreaterThanOrEqual(before - 1);
    expect(counts).toEqual({
      eventsBehind: 0,
      parkedEvents: 0,
      retryingEvents: 0,
      openBreakers: 0,
      oldestDelivery: null,
      oldestMail: null,
    });
  });
  const { stdout } = await inProcess('status');
  expect(stdout).toMatch(/^parkedEvents +0$/m);
  expect(stdout).toMatch(
    new RegExp(`^${second.session} +\\S+ +${process.pid} +service +\\S+ +webhooks +webhooks$`, 'm'),
  );
});
