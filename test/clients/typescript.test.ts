import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import createClient from 'openapi-fetch';
import { afterAll, beforeAll, expect, expectTypeOf, onTestFinished, test } from 'vitest';
import type { components, paths } from '../../.cache/paths.ts'; // `npm run check:types` makes it.
import { type RunningService, runService } from '../running-service.fixture.ts';

const run = promisify(execFile);
const here = (path: string) => new URL(path, import.meta.url).pathname;

let service: RunningService;
let baseUrl: string;

beforeAll(async () => {
  service = await runService();
  await service.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = service.app.server.address() as AddressInfo;
  baseUrl = `http://127.0.0.1:${port}/api/v1`;
});
afterAll(() => service.stop());

test('openapi-typescript generates a client without a warning', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-client-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const generator = here('node_modules/openapi-typescript/bin/cli.js');
  const to = join(folder, 'paths.ts');
  const { stdout, stderr } = await run(process.execPath, [generator, here('../../docs/openapi.json'), '-o', to]);
  expect(`${stdout}${stderr}`).not.toMatch(/warn|error|⚠|✘/i);
});

test('the generated client books, and reads a refusal', async () => {
  const community = await service.community();
  const spaceId = await service.space(community);
  const { key } = await service.brand();
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } });

  const path = { spaceId };
  const found = await client.GET('/spaces/{spaceId}/availability', { params: { path, query: { date: '2026-12-10' } } });
  const open = found.data?.timeSlots.find(({ isAvailable }) => isAvailable);
  expect(open?.label).toBe('9:00 AM');

  const body = { spaceId, startTime: '2026-12-10', startHour: open?.hour ?? 0 };
  const params = { header: { 'Idempotency-Key': 'first' } };
  const booked = await client.POST('/bookings', { body, params });
  expect(booked.data).toMatchObject({ status: 'Pending', startHour: 9 });
  expect((await client.POST('/bookings', { body, params })).data).toEqual(booked.data);

  const taken = await client.POST('/bookings', { body });
  expect([taken.response.status, taken.error?.error, taken.data]).toEqual([422, 'SlotUnavailable', undefined]);
  const fetched = await client.GET('/bookings/{id}', { params: { path: { id: booked.data?.id ?? 0 } } });
  expect(fetched.data).toEqual(booked.data);
  const missing = await client.GET('/bookings/{id}/history', { params: { path: { id: 4_711 } } });
  expect([missing.response.status, missing.error]).toEqual([
    404,
    { error: 'ResourceNotFound', details: 'There is no booking 4711.' },
  ]);
  const listed = await client.GET('/bookings', { params: { query: { status: 'Pending' } } });
  expect(listed.data).toEqual([booked.data]);

  const house = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${community.key}` } });
  const move = { params: { path: { id: booked.data?.id ?? 0 } }, body: { startTime: '2026-12-11' } };
  expect((await client.POST('/bookings/{id}/move', move)).data?.move?.date).toBe('2026-12-11');
  const moved = await house.POST('/bookings/{id}/move', move);
  expect(moved.data).toMatchObject({ date: '2026-12-11', status: 'Approved' });
  const added = await house.POST('/customers', { body: { name: 'Choir' } });
  expect(added.data).toMatchObject({ name: 'Choir', isKept: true });
  const customers = await house.GET('/customers', { params: { query: { q: 'choir' } } });
  expect(customers.data).toEqual([added.data]);
  const ofBrand = await client.GET('/customers');
  expect([ofBrand.response.status, ofBrand.error?.error]).toEqual([403, 'ScopeViolation']);
});

test('the generated client types refusals by status', () => {
  type Failure = components['schemas']['Error'];
  type Responses = paths['/bookings']['post']['responses'];
  expectTypeOf<Responses[422]['content']['application/json']>().toEqualTypeOf<Failure>();
  expectTypeOf<Responses[404]['content']['application/json']>().toEqualTypeOf<Failure>();
  expectTypeOf<Failure['error']>().extract<'SlotUnavailable'>().toEqualTypeOf<'SlotUnavailable'>();
  expectTypeOf<'NoSuchCode'>().not.toExtend<Failure['error']>();
});
