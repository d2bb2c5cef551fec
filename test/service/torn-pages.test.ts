import { cpSync, readdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { startService } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

const PAGE = 4_096;
const BOOKINGS = 60;

/** What may become of the last page of a file that is being written when the power goes. */
const TEARS: Readonly<Record<string, (page: Buffer) => Buffer>> = {
  zeroed: (page) => Buffer.alloc(page.length),
  garbled: (page) => Buffer.alloc(page.length, 'garbled'),
  'half written': (page) => Buffer.concat([page.subarray(0, page.length / 2), Buffer.alloc(page.length / 2)]),
  'cut off': () => Buffer.alloc(0),
};

async function tear(path: string, torn: (page: Buffer) => Buffer): Promise<void> {
  const at = Math.max(0, statSync(path).size - PAGE);
  const file = await open(path, 'r+');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(PAGE), 0, PAGE, at);
  await file.truncate(at);
  const page = torn(buffer.subarray(0, bytesRead));
  await file.write(page, 0, page.length, at);
  await file.close();
}

type Used = { readonly dataDir: string; readonly key: string; readonly booked: readonly number[] };

/** A data folder after a service has booked, and has then been killed or stopped. Stopped, its files have no WALs. */
async function usedFolder(signal: 'SIGKILL' | 'SIGTERM'): Promise<Used> {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const { brands, communities } = service.demo();
  const key = brands[0]?.apiKey ?? '';
  const spaceId = communities[0]?.spaces[0]?.id;
  const booked: number[] = [];
  for (let day = 0; day < BOOKINGS; day += 1) {
    const wanted = { spaceId, startTime: inDays(30 + day), startHour: 12 };
    booked.push((await call(service, key, '/bookings', wanted)).body.id);
  }
  await service.end(signal);
  return { dataDir, key, booked };
}

/** What the service and `venue verify` say of a store: nothing if all is well and everything is there. */
async function findings(dataDir: string, { key, booked }: Used): Promise<string> {
  let said = '';
  const write = (line: string): void => {
    said += line;
  };
  try {
    const settings = { DATA_DIR: dataDir, PORT: String(await freePort()), DEMO: 'false' };
    const config = readConfig(settings);
    const service = await startService(config, pino({ level: 'warn' }, { write }));
    const { status, body } = await call({ url: `http://127.0.0.1:${config.port}` }, key, '/bookings');
    await service.stop();
    if (status === 200) {
      const listed = body.map(({ id }: { readonly id: number }) => id);
      expect(listed, 'the answer of a store with a torn page').toEqual(expect.arrayContaining([...booked]));
    } else expect(said, `the log of an answer with ${status}`).not.toBe('');
  } catch (error) {
    return said + String(error);
  }
  const verified = await venue(dataDir, 'verify');
  return said + (verified.code === 0 ? '' : verified.stderr);
}

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'after %s, a torn last page of any file is named, or everything is there',
  { timeout: 240_000 },
  async (signal) => {
    const used = await usedFolder(signal);
    const copy = join(temporaryDataDir(), 'copy');
    let named = 0;
    const files = readdirSync(used.dataDir, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((each) => statSync(join(used.dataDir, each)).isFile()))
      for (const [how, torn] of Object.entries(TEARS)) {
        rmSync(copy, { recursive: true, force: true });
        cpSync(used.dataDir, copy, { recursive: true });
        await tear(join(copy, file), torn);
        const said = await findings(copy, used);
        const database = join(copy, file).replace(/-(wal|shm)$/, '');
        if (said !== '') expect(said, `${file} ${how}`).toContain(database);
        if (said !== '') named += 1;
      }
    // The key and the log, at least.
    expect(named).toBeGreaterThanOrEqual(2 * Object.keys(TEARS).length);
  },
);
