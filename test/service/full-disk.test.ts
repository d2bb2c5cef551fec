import { execFileSync } from 'node:child_process';
import { statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const MB = 1_000_000;

/** A small disk for this test. Mounting it requires root. @returns undefined without root */
function smallDisk(size: string): string | undefined {
  const folder = temporaryDataDir();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

test('/readyz warns before a disk is full, and a build without enough space is refused', async (context) => {
  const dataDir = smallDisk('300m');
  if (dataDir === undefined) return context.skip('mounting a small disk takes the rights of root');
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
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/no room to build read models: \d+ MB are/) });

  fill('last', 0);
  await expect
    .poll(() => book(31))
    .toMatchObject({
      status: 500,
      body: { error: 'InternalError', details: expect.stringMatching(/^The disk is full, so nothing can be written/) },
    });
  unlinkSync(join(dataDir, 'last'));
  unlinkSync(join(dataDir, 'filler'));
  await expect.poll(async () => (await book(32)).status).toBe(201);
  expect((await readiness())[1]).not.toHaveProperty('disk');
});
