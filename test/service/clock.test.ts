import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { lacks } from '../lacks.ts';
import { runService } from '../running-service.fixture.ts';
import { call } from './client.ts';
import type { Environment } from './node-process.ts';
import { type ServiceProcess, startServiceProcess, temporaryDataDir } from './service-process.ts';

const DAY_MS = 24 * 3_600_000;
/** Longer than a scheduler with a clock 20 days ahead would need to cancel every request. */
const SOME_ROUNDS_MS = 3_500;

/** A clock that the test sets while processes run with it. */
function clockToSet(dataDir: string): { set(ahead: number): void; readonly env: Environment } {
  const file = join(dataDir, 'ahead');
  const set = (ahead: number) => writeFileSync(file, String(ahead));
  set(0);
  const preload = new URL('clock-to-set.ts', import.meta.url).pathname;
  return { set, env: { CLOCK_AHEAD: file, NODE_OPTIONS: `--import=${preload}` } };
}

/** Status and clock, as `/readyz` shows them. */
async function readiness({ url }: ServiceProcess) {
  const response = await fetch(`${url}/readyz`);
  const { clock } = (await response.json()) as { readonly clock?: string };
  return { status: response.status, clock };
}

const errorsOf = ({ output }: ServiceProcess): string[] =>
  output.stdout
    .split('\n')
    .filter((line) => line.startsWith('{"level":50'))
    .map((line) => JSON.parse(line).msg);

test('beside a process with the right clock, one that is 20 days ahead cancels no request; CLOCK_SHIFT does not count as a wrong clock', async () => {
  const dataDir = temporaryDataDir();
  // Leaves the timed jobs to the next process.
  const service = await startServiceProcess(dataDir, { ROLES: 'api,projector,webhooks' });
  const demo = service.demo();
  const key = demo.brands[0]?.apiKey ?? '';
  const body = { spaceId: demo.communities[0]?.spaces[0]?.id, startTime: inDays(50), startHour: 12 };
  const { id } = (await call(service, key, '/bookings', body)).body;
  const statusOf = async (from: ServiceProcess) => {
    const { body: listed } = await call(from, key, `/bookings?startDate=${inDays(50)}`);
    return listed.find((booking: { readonly id: number }) => booking.id === id)?.status;
  };

  const clock = clockToSet(temporaryDataDir());
  clock.set(20 * DAY_MS);
  const ahead = await startServiceProcess(dataDir, clock.env);
  const wrong = { status: 200, clock: expect.stringContaining('20 days ahead of that of another process') };
  await eventually(async () => expect(await readiness(ahead)).toEqual(wrong));
  await sleep(SOME_ROUNDS_MS);
  expect(await statusOf(service)).toBe('Pending');
  expect(errorsOf(ahead)).toEqual([expect.stringContaining('timed jobs are paused')]);
  await eventually(() => expect(errorsOf(service)).toEqual([expect.stringContaining('timed jobs are paused')]));
  clock.set(0);
  await eventually(async () => expect(await readiness(ahead)).toEqual({ status: 200, clock: undefined }));
  await Promise.all([ahead.end('SIGKILL'), service.end('SIGKILL')]);

  const shifted = await startServiceProcess(dataDir, { CLOCK_SHIFT: 'P20D' });
  await eventually(async () => expect(await statusOf(shifted)).toBe('Cancelled'));
  expect(await readiness(shifted)).toEqual({ status: 200, clock: undefined });
});

describe.skipIf(lacks(MONGODB))('on EventStoreDB and MongoDB', () => {
  test('a process whose clock is 20 days ahead cancels no request; one with CLOCK_SHIFT does', async () => {
    const log = await createOwnLog();
    onTestFinished(() => log.stop());
    const engines = {
      ...log.settings,
      MONGODB_URL: ownDatabase(),
      SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    };
    const here = await runService(engines);
    onTestFinished(() => here.stop());
    here.time.now = Date.now();
    const [community, brand] = [await here.community(), await here.brand()];
    const body = { spaceId: await here.space(community), startTime: inDays(50), startHour: 12 };
    const { id } = (await here.post('/bookings', { key: brand.key, body })).json();
    const status = async () => (await here.core.queries.bookings.get(brand.account, id))?.status;

    const clock = clockToSet(temporaryDataDir());
    clock.set(20 * DAY_MS);
    const ahead = await startServiceProcess(temporaryDataDir(), { ...engines, ...clock.env });
    expect(await readiness(ahead)).toEqual({
      status: 200,
      clock: expect.stringContaining('20 days ahead of that of MongoDB'),
    });
    await sleep(SOME_ROUNDS_MS);
    expect(await status()).toBe('Pending');
    expect(errorsOf(ahead)).toEqual([expect.stringContaining('timed jobs are paused')]);
    clock.set(0);
    await eventually(async () => expect(await readiness(ahead)).toEqual({ status: 200, clock: undefined }));
    await ahead.end('SIGTERM');

    await startServiceProcess(temporaryDataDir(), { ...engines, CLOCK_SHIFT: 'P20D' });
    await eventually(async () => expect(await status()).toBe('Cancelled'));
  });
});
