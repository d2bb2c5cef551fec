import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { envFor, succeeds, type Tool } from '../tool.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const MB = 1_000_000;

const mount = (folder: string, size: string) => ['mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder];

const SMALL_DISK: Tool = {
  name: 'a small disk',
  look() {
    const folder = mkdtempSync(join(tmpdir(), 'venue-disk-'));
    const isMounted = succeeds(mount(folder, '1m'));
    if (isMounted) succeeds(['umount', folder]);
    rmSync(folder, { recursive: true });
    return isMounted
      ? { found: 'tmpfs' }
      : { missing: 'it cannot be mounted', install: 'run the tests as root of a machine with Linux' };
  },
};

/** A small disk for this test. */
function smallDisk(size: string): string {
  const folder = temporaryDataDir();
  const env = envFor(SMALL_DISK);
  const [program = '', ...args] = mount(folder, size);
  execFileSync(program, args, { env });
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder], { env }));
  return folder;
}

test.skipIf(lacks(SMALL_DISK))('/readyz warns before a disk is full; a build without space is refused', async () => {
  const dataDir = smallDisk('300m');
  const service = await startServiceProcess(dataDir);
  const { brands, communities } = service.demo();
  const readiness = async () => {
    const response = await fetch(`${service.url}/readyz`);
    return [response.status, await response.json()];
  };
  const book = (day: number) =>
    call(service, brands[0]?.apiKey ?? '', '/bookings', {
      spaceId: communities[0]?.spaces[0]?.id,
      startTime: inDays(day),
      startHour: 12,
    });
  const fill = (name: string, left: number) => {
    const { bavail, bsize } = statfsSync(dataDir);
    try {
      writeFileSync(join(dataDir, name), Buffer.alloc(Math.max(0, bavail * bsize - left)));
    } catch (error) {
      // The service has written meanwhile, so the disk is as full as intended.
      if (left > 0 || !(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    }
  };
  const before = await readiness();
  expect(before).toMatchObject([200, { status: 'ready' }]);
  expect(before[1]).not.toHaveProperty('disk');

  fill('filler', 20 * MB);
  expect(await readiness()).toMatchObject([200, { disk: expect.stringMatching(/^nearly full: (1\d|20) MB free$/) }]);
  expect(await book(30)).toMatchObject({ status: 201 });
  const refused = await venue(dataDir, 'rebuild');
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no room to build read models: \d+ MB are/),
  });

  fill('last', 0);
  await expect
    .poll(() => book(31))
    .toMatchObject({
      status: 500,
      body: {
        error: 'InternalError',
        details: expect.stringMatching(/^The disk is full, so nothing can be written/),
      },
    });
  unlinkSync(join(dataDir, 'last'));
  unlinkSync(join(dataDir, 'filler'));
  await expect.poll(async () => (await book(32)).status).toBe(201);
  expect((await readiness())[1]).not.toHaveProperty('disk');
});
