import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { envFor, programs, type Tool } from '../tool.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

const COMPILER = programs('a C compiler', 'apt-get install gcc libc6-dev', 'cc');
const LINUX_WITH_CORES: Tool = {
  name: 'Linux with two cores',
  look: () =>
    process.platform === 'linux' && availableParallelism() > 1
      ? { found: `${availableParallelism()} cores` }
      : { missing: 'with one core there are no threads', install: 'run the tests on such a machine' },
};

/** A failing receiver, so that each delivery must be on the disk before the next step. */
async function startFailing(): Promise<{ readonly url: string; readonly tried: () => number }> {
  let tried = 0;
  const receiver = createServer((request, response) => {
    tried += 1;
    request.resume();
    response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void receiver.close());
  return { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`, tried: () => tried };
}

test.skipIf(lacks(COMPILER) || lacks(LINUX_WITH_CORES))(
  'only the writer waits for disk writes of log or records',
  async () => {
    const dataDir = temporaryDataDir();
    const shim = join(dataDir, 'watched-sync.so');
    const source = new URL('watched-sync.c', import.meta.url).pathname;
    const compile = ['-shared', '-fPIC', '-O2', '-o', shim, source, '-ldl'];
    expect(spawnSync('cc', compile, { env: envFor(COMPILER) }).stderr.toString()).toBe('');
    const syncs = join(dataDir, 'syncs');
    const service = await startServiceProcess(join(dataDir, 'store'), {
      LD_PRELOAD: shim,
      SYNCS: syncs,
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    });
    const { brands, communities } = service.demo();
    const key = brands[0]?.apiKey ?? '';
    const spaceId = communities[0]?.spaces[0]?.id;
    const { url, tried } = await startFailing();
    expect((await call(service, key, '/webhooks', { url, events: 15 })).status).toBe(201);
    // Until then, the main thread creates missing files and tables.
    await eventually(() => expect(readFileSync(syncs, 'utf8')).toMatch(/^writer: /m));
    rmSync(syncs);

    for (let day = 0; day < 8; day += 1) {
      const { status } = await call(service, key, '/bookings', { spaceId, startTime: inDays(40 + day), startHour: 12 });
      expect(status).toBe(201);
    }
    await eventually(() => expect(tried()).toBeGreaterThan(3));

    // Before the end, when each thread syncs its open files to the disk.
    const waits = readFileSync(syncs, 'utf8').trim().split('\n');
    const by = (file: string) =>
      waits.filter((line) => line.endsWith(`/${file}-wal`)).map((line) => line.split(':')[0]);
    expect(new Set(by('events.db'))).toEqual(new Set(['writer']));
    expect(new Set(by('records.sqlite'))).toEqual(new Set(['writer']));
  },
);
