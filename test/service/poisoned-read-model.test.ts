import { randomUUIDv7 } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** Appends an event of a newer release, which this one cannot handle. @returns its id */
async function appendFromTheFuture(dataDir: string, type: string): Promise<string> {
  const events = await openSqliteEventStore({ path: join(dataDir, 'events.db') });
  const id = randomUUIDv7();
  const metadata = {
    at: new Date().toISOString(),
    actor: { kind: 'System', id: 'test' },
    correlationId: 'c',
    schema: 99,
  };
  await events.append('review-999', [{ id, type, data: {}, metadata }], { expectedRevision: 'none' });
  await events.close();
  return id;
}

test('an event that some read models cannot handle stops only those, until an operator skips it', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const { brands, communities } = service.demo();
  const [brand] = brands;
  const [community] = communities;
  const spaceId = community?.spaces[0]?.id;
  if (brand === undefined || community === undefined) throw new Error('No demo data');
  const reviews = `/communities/${community.id}/reviews`;
  expect((await call(service, community.apiKey, reviews)).status).toBe(200);

  const eventId = await appendFromTheFuture(dataDir, 'ReviewPosted');
  await eventually(async () => {
    const ready = await fetch(`${service.url}/readyz`);
    expect([ready.status, await ready.json()]).toEqual([
      503,
      expect.objectContaining({
        readModels: {
          customerRatings: expect.stringContaining('failing'),
          reviews: expect.stringContaining('failing'),
          spaceRatings: expect.stringContaining('failing'),
        },
      }),
    ]);
  });
  // Requests that need it are refused, without stale or empty data, and the client is asked to retry later.
  const refused = await fetch(`${service.url}/api/v1${reviews}`, {
    headers: { authorization: `Bearer ${community.apiKey}` },
  });
  expect([refused.status, refused.headers.get('retry-after') !== null, await refused.json()]).toEqual([
    500,
    true,
    expect.objectContaining({ error: 'InternalError' }),
  ]);
  // Everything else continues without delay.
  const began = performance.now();
  for (let day = 40; day < 45; day++) {
    const wanted = { spaceId, startTime: inDays(day), startHour: 14 };
    const { status, body } = await call(service, brand.apiKey, '/bookings', wanted);
    expect(status).toBe(201);
    const listed = await call(service, brand.apiKey, `/bookings?startDate=${inDays(day)}&endDate=${inDays(day)}`);
    expect(listed.body).toContainEqual(body);
  }
  // Five waits for the stuck read model would have taken ten seconds.
  expect(performance.now() - began).toBeLessThan(8_000);
  expect(await venue(dataDir, 'api-key', 'list')).toMatchObject({ code: 0, stderr: '' });
  expect(await venue(dataDir, 'verify')).toMatchObject({ code: 1, stderr: expect.stringContaining('reviews') });

  for (const name of ['customerRatings', 'reviews', 'spaceRatings']) {
    const why = ['--event', eventId, '--reason', 'posted by a test'];
    expect(await venue(dataDir, 'read-model', 'skip', name, ...why)).toMatchObject({ code: 0, stderr: '' });
  }
  await eventually(async () => expect((await fetch(`${service.url}/readyz`)).status).toBe(200));
  expect((await call(service, community.apiKey, reviews)).status).toBe(200);
  expect(await venue(dataDir, 'verify')).toMatchObject({ code: 0 });
  expect((await venue(dataDir, 'read-model', 'list')).stdout).toMatch(/posted by a test/);
});
