import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'vitest';
import { freePort } from '../free-port.ts';
import { inDays } from '../in-days.ts';
import { runNode } from './node-process.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** A write waits for a locked file for 8 s; the rest is a margin for a busy machine. */
const TOGETHER_MS = 15_000;

// All tests wait for these 8 s at the same time.
test.concurrent.for([
  ['events.db', 'event log'],
  ['records.sqlite', 'record file'],
] as const)(
  '8 POSTs behind a locked %s wait 8 s together, and their answers name the reason',
  async ([file, name], { expect, onTestFinished }) => {
    const dataDir = temporaryDataDir(onTestFinished);
    const service = await startServiceProcess(dataDir, {}, onTestFinished);
    const { brands, communities } = service.demo();
    const post = (n: number, day = 40) =>
      fetch(`${service.url}/api/v1/bookings`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${brands[0]?.apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': `request ${n} for day ${day}`,
        },
        body: JSON.stringify({ spaceId: communities[0]?.spaces[0]?.id, startTime: inDays(day), startHour: 12 }),
        signal: AbortSignal.timeout(TOGETHER_MS),
      });
    // Reserves a block of ids, so that the 8 wait one after another for their space-day and not together for an id.
    expect((await post(0, 41)).status).toBe(201);
    const other = new DatabaseSync(join(dataDir, file), { timeout: 5_000 });
    onTestFinished(() => other.close());

    other.exec('BEGIN IMMEDIATE');
    const responses = await Promise.all(Array.from({ length: 8 }, (_, n) => post(n)));
    for (const response of responses) {
      expect(response.status).toBe(500);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      const body = await response.text();
      expect(JSON.parse(body)).toEqual({
        error: 'InternalError',
        details: expect.stringContaining(`${name} is locked`),
      });
      expect(body).not.toContain(dataDir);
    }
    // The log names the file and, if the system reveals it, the process that holds it: this one.
    const holder = existsSync('/proc/locks') ? `process ${process.pid}` : 'another process';
    const named = `${join(dataDir, file)} is locked: ${holder} has been holding`;
    await expect.poll(() => service.output.stdout).toContain(named);

    // Reads continue, and writes resume once the lock is released.
    const headers = { authorization: `Bearer ${brands[0]?.apiKey}` };
    expect((await fetch(`${service.url}/api/v1/bookings`, { headers })).status).toBe(200);
    other.exec('ROLLBACK');
    expect((await post(0)).status).toBe(201);
  },
);

test.concurrent('a start on a locked file ends with one line that names it', async ({ expect, onTestFinished }) => {
  const dataDir = temporaryDataDir(onTestFinished);
  expect(await venue(dataDir, 'brand', 'add', '--name', 'Acme')).toMatchObject({ code: 0 });
  const other = new DatabaseSync(join(dataDir, 'events.db'), { timeout: 5_000 });
  onTestFinished(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const ended = await runNode('src/main.js', [], { DATA_DIR: dataDir, PORT: String(await freePort()) });
  expect(ended).toMatchObject({ code: 1, stdout: '' });
  expect(ended.stderr).toMatch(/^The event log .*events\.db is locked: [^\n]+\n$/);
});
