import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

/** As if it had been running for 57 s: the log is sealed at each full minute. */
const nearlyAMinute = { NODE_OPTIONS: `--import=${new URL('running-for-long.ts', import.meta.url).pathname}` };

test('a service seals its first events within minutes, and publishes the key', {
  timeout: 180_000,
}, async () => {
  const dataDir = temporaryDataDir();
  const file = join(dataDir, 'seals.txt');
  const settings = { SEAL_FILE: file, SEAL_FILE_LEAVES: 'true' };
  const service = await startServiceProcess(dataDir, { ...settings, ...nearlyAMinute });
  await expect
    .poll(() => existsSync(file) && readFileSync(file, 'utf8').includes('\n— '), { timeout: 120_000 })
    .toBe(true);
  const key = await (await fetch(`${service.url}/.well-known/seal-key`)).text();
  useDataDir(dataDir);
  const verified = await inProcess('verify', '--against', file, '--key', key);
  expect(verified).toMatchObject({ code: 0, stdout: expect.stringMatching(/^confirmed +1$/m) });
  expect((await inProcess('verify', '--seals')).code).toBe(0);
});

/** A service with a booking whose texts are sealed, and a checkpoint that an auditor kept. */
async function booked() {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  useDataDir(dataDir);
  const { brands, communities } = service.demo();
  const [brand] = brands;
  const wanted = {
    spaceId: communities[0]?.spaces[0]?.id,
    startTime: inDays(40),
    startHour: 12,
    message: 'Ein Geheimnis 🎉',
  };
  const { status, body } = await call(service, brand?.apiKey ?? '', '/bookings', wanted);
  expect(status).toBe(201);
  const { checkpoint, size } = await json('seal');
  const kept = join(dataDir, 'kept.txt');
  writeFileSync(kept, checkpoint);
  return { dataDir, service, brand, bookingId: String(body.id), kept, size };
}

test('after a brand is erased, everything still verifies, and no proof reveals its texts', async () => {
  const { brand, bookingId, kept, size } = await booked();
  const before = await json('proof', bookingId);
  expect(JSON.stringify(before)).not.toContain('Geheimnis');
  await json('forget', '--brand', String(brand?.id));
  expect((await inProcess('booking', 'show', bookingId)).stdout).not.toContain('Geheimnis');
  await json('seal');
  expect(await json('verify', '--seals', '--against', kept)).toMatchObject({
    findings: [],
    problems: [],
    confirmed: 3,
  });
  const after = await json('proof', bookingId);
  expect(after.events[0].event).toBe(before.events[0].event);
  expect(after.checkpoint).not.toBe(before.checkpoint);
  expect(await json('verify', '--against', kept)).toMatchObject({ confirmedUpTo: size, findings: [] });
});

test('a restored store keeps its origin only if it contains the newest retained checkpoint', async () => {
  const { dataDir, service, kept, size } = await booked();
  const backup = join(dataDir, 'backup');
  expect((await inProcess('backup', backup)).code).toBe(0);
  await json('brand', 'add', '--name', 'Later');
  const { checkpoint: newer } = await json('seal');
  const newest = join(dataDir, 'newer.txt');
  writeFileSync(newest, newer);
  await service.end('SIGTERM');
  const { origin, key } = await json('seal-key');
  const restore = async (checkpoint: string) => {
    const args = ['restore', backup, '--overwrite', '--checkpoint', checkpoint, '--json'];
    const { code, stdout, stderr } = await inProcess(...args);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const before = readdirSync(dataDir);
  const none = ['--checkpoint', join(dataDir, 'none.txt')];
  const says = expect.stringMatching(/^ValidationError: .*none\.txt cannot be read/);
  expect(await inProcess('restore', backup, '--overwrite', ...none)).toMatchObject({ code: 1, stderr: says });
  expect(readdirSync(dataDir)).toEqual(before);
  expect(await inProcess('restore', '--adopt', ...none)).toMatchObject({ code: 1, stderr: says });
  expect((await restore(kept)).fork).toBeUndefined();
  expect((await json('seal')).size).toBeGreaterThan(size);
  const same = await json('verify', '--seals', '--against', kept);
  expect(same).toMatchObject({ findings: [], problems: [], confirmed: 3 });

  const { fork } = await restore(newest);
  expect(fork.note).toContain(`${origin}\nfork\n${fork.origin}+`);
  const sealed = await json('seal');
  expect(sealed.checkpoint).toMatch(new RegExp(`^${fork.origin}\n`));
  expect(await json('seal-key')).toMatchObject({ origin: fork.origin, forks: [fork.note] });
  expect((await inProcess('verify', '--seals')).code).toBe(0);
  // With the former key, earlier checkpoints are verified and lost ones are found.
  const earlier = await json('verify', '--against', kept, '--key', key);
  expect(earlier).toMatchObject({ findings: [], confirmedUpTo: size });
  const lost = await inProcess('verify', '--against', newest, '--key', key);
  expect(lost).toMatchObject({ code: 1, stderr: expect.stringContaining('The log is not what was sealed.') });
});
