import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

/** A write waits for a locked file for 10 s; the rest is for a busy machine. */
const TOGETHER_MS = 15_000;

test.each([
  ['events.db', 'event log'],
  ['records.sqlite', 'record file'],
])('8 POSTs behind a locked %s wait 10 s together and are told what they waited for', async (file, name) => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
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
  const other = new DatabaseSync(join(dataDir, file));
  onTestFinished(() => other.close());

  other.exec('BEGIN IMMEDIATE');
  const responses = await Promise.all(Array.from({ length: 8 }, (_, n) => post(n)));
  for (const response of responses) {
    expect(response.status).toBe(500);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    const body = await response.text();
    expect(JSON.parse(body)).toEqual({ error: 'InternalError', details: expect.stringContaining(`${name} is locked`) });
    expect(body).not.toContain(dataDir);
  }
  expect(service.output.stdout).toContain(join(dataDir, file));

  // Reads go on, and so do writes once the file is free again.
  const headers = { authorization: `Bearer ${brands[0]?.apiKey}` };
  expect((await fetch(`${service.url}/api/v1/bookings`, { headers })).status).toBe(200);
  other.exec('ROLLBACK');
  expect((await post(0)).status).toBe(201);
});
