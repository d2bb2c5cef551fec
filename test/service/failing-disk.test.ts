import { spawnSync } from 'node:child_process';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { envFor, programs, type Tool } from '../tool.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { call } from './client.ts';
import { runNode } from './node-process.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const COMPILER = programs('a C compiler', 'apt-get install gcc libc6-dev', 'cc');
const LINUX: Tool = {
  name: 'Linux',
  look: () =>
    process.platform === 'linux'
      ? { found: process.arch }
      : { missing: 'calls of the C library cannot be replaced', install: 'run the tests on such a machine' },
};

const { ENOSPC, EROFS, EIO } = constants.errno;
const ERRORS = { 'a full disk': ENOSPC, 'a read-only disk': EROFS, 'a broken disk': EIO };

/** Settings of a process whose writes can fail, and what makes them fail: an error for the files whose path ends so. */
function failingWrites() {
  const folder = temporaryDataDir();
  const [shim, rule] = [join(folder, 'failing-writes.so'), join(folder, 'rule')];
  const source = new URL('failing-writes.c', import.meta.url).pathname;
  const compile = ['-shared', '-fPIC', '-O2', '-o', shim, source, '-ldl'];
  expect(spawnSync('cc', compile, { env: envFor(COMPILER) }).stderr.toString()).toBe('');
  return {
    settings: { LD_PRELOAD: shim, FAILING: rule },
    fail: (error: number, pathEnd: string) => writeFileSync(rule, `${error} ${pathEnd}`),
    heal: () => rmSync(rule, { force: true }),
  };
}

/** The log, the records and the read models, each with what SQLite keeps beside it, and the other files of a data folder. */
const filesOf = (dataDir: string): readonly string[] =>
  readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));

test.skipIf(lacks(COMPILER) || lacks(LINUX))(
  'while writes to any file fail, what is refused names the disk, and nothing that was answered is lost',
  { timeout: 240_000 },
  async () => {
    const dataDir = temporaryDataDir();
    const disk = failingWrites();
    const receiver = await startReceiver();
    onTestFinished(() => receiver.close());
    const service = await startServiceProcess(dataDir, { ...disk.settings, WEBHOOKS_ALLOW_PRIVATE: 'true' });
    const { brands, communities } = service.demo();
    const key = brands[0]?.apiKey ?? '';
    const spaceId = communities[0]?.spaces[0]?.id;
    const register = (events: number) => call(service, key, '/webhooks', { url: receiver.url, events });
    expect((await register(1)).status).toBe(201);
    const booked: number[] = [];
    let days = 0;
    async function book() {
      days += 1;
      const answer = await call(service, key, '/bookings', { spaceId, startTime: inDays(30 + days), startHour: 12 });
      if (answer.status === 201) booked.push(answer.body.id);
      return answer;
    }
    expect((await book()).status).toBe(201);

    let refusals = 0;
    for (const path of filesOf(dataDir)) {
      // An account can have 20 webhooks, so one of each file is enough.
      let isRegistered = false;
      for (const [what, error] of Object.entries(ERRORS)) {
        disk.fail(error, path);
        const answers: Awaited<ReturnType<typeof call>>[] = await Promise.all([
          book(),
          book(),
          ...(isRegistered ? [] : [register(2)]),
        ]);
        disk.heal();
        isRegistered ||= answers[2]?.status === 201;
        for (const { status, body } of answers) {
          if (status === 201) continue;
          refusals += 1;
          expect({ path, what, status, body }).toMatchObject({
            status: 500,
            body: {
              error: 'InternalError',
              details: expect.stringMatching(/^The disk (is full|is read-only|fails), /),
            },
          });
          expect(service.output.stdout).toContain(` ${path.replace(/-(wal|shm)$/, '')} `);
        }
        await eventually(async () => expect((await book()).status).toBe(201));
      }
    }
    // Bookings in the log, webhooks in the records, with each error.
    expect(refusals).toBeGreaterThanOrEqual(9);
    await service.end('SIGKILL');

    const again = await startServiceProcess(dataDir, { WEBHOOKS_ALLOW_PRIVATE: 'true' });
    const listed = await call(again, key, '/bookings');
    expect(listed.body.map(({ id }: { readonly id: number }) => id)).toEqual(expect.arrayContaining(booked));
    await eventually(() => {
      const sent = receiver.received.map(({ body }) => JSON.parse(body).data.bookingId);
      expect(sent).toEqual(expect.arrayContaining(booked));
    });
    expect(await venue(dataDir, 'verify')).toMatchObject({ code: 0 });
  },
);

test.skipIf(lacks(COMPILER) || lacks(LINUX)).for(['events.db', 'records.sqlite', 'read-models.sqlite'])(
  'a start with %s on a read-only disk ends with one line that names it',
  async (file) => {
    const dataDir = temporaryDataDir();
    expect(await venue(dataDir, 'brand', 'add', '--name', 'Acme')).toMatchObject({ code: 0 });
    const disk = failingWrites();
    const path = join(dataDir, file);
    disk.fail(EROFS, path);
    const settings = { ...disk.settings, DATA_DIR: dataDir, PORT: String(await freePort()) };
    expect(await runNode('src/main.js', [], settings)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^The disk of the .* ${path} is read-only\n$`)),
    });
  },
);
