import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { createReadinessCheck, type Health, healthRoutes, MAX_LAG } from '../../src/api/health.ts';
import type { ReadModelsStatus } from '../../src/read-models/status.ts';

const up = async () => {};
const down = async () => {
  throw new Error('connect ECONNREFUSED');
};
const stores = { eventStore: 'ok', documentStore: 'ok' };
const ping = { eventStore: up, documentStore: up };

async function readiness(health: Health) {
  const app = Fastify();
  await app.register(healthRoutes({ release: '1', check: createReadinessCheck(health) }));
  const response = await app.inject('/readyz');
  await app.close();
  return [response.statusCode, response.json()];
}

const readinessWith = (status: Partial<ReadModelsStatus>, health: Partial<Health> = {}) =>
  readiness({ ping, readModels: async () => ({ lag: 0, caughtUp: true, problems: [], ...status }), ...health });

it('is ready while the read models lag only slightly behind the log', async () => {
  expect(await readinessWith({ lag: MAX_LAG })).toEqual([200, { status: 'ready', ...stores, eventsBehind: MAX_LAG }]);
  expect(await readinessWith({ lag: MAX_LAG + 1 })).toEqual([
    503,
    { status: 'not ready', ...stores, eventsBehind: MAX_LAG + 1 },
  ]);
});

it('reports events that could not be fanned out, and stays ready', async () => {
  const failedEvents = async () => ({ parked: 2, retrying: 1 });
  const [status, body] = await readinessWith({}, { failedEvents });
  expect(status).toBe(200);
  expect(body.webhooks).toBe('events without deliveries: 2 parked, 1 tried again; see venue parked list');
});

it('warns that no mail is sent, and stays ready, also if that cannot be read', async () => {
  const [status, body] = await readinessWith({}, { mail: async () => 'no process sends mail' });
  expect([status, body.mail]).toEqual([200, 'no process sends mail']);
  const unread = await readinessWith({}, { mail: () => Promise.reject(new Error('The store is away')) });
  expect(unread).toEqual([200, { status: 'ready', ...stores, eventsBehind: 0 }]);
});

it('is not ready until the read models have caught up once, even if they lag by one event', async () => {
  expect(await readinessWith({ lag: 1, caughtUp: false })).toEqual([
    503,
    { status: 'catching up', ...stores, eventsBehind: 1 },
  ]);
});

it('names a failing read model without the cause, and is not ready', async () => {
  const problem = {
    readModel: 'bookings',
    state: 'failing' as const,
    readable: false,
    attempts: 3,
    message: 'secret innards',
  };
  const [status, body] = await readinessWith({ lag: 2, problems: [problem] });
  expect(status).toBe(503);
  expect(body).toMatchObject({
    eventsBehind: 2,
    readModels: { bookings: 'failing, tried 3 times; what needs it is refused' },
  });
  expect(JSON.stringify(body)).not.toContain('secret');
});

it('distinguishes the first build of a read model from a rebuild beside the old documents', async () => {
  const building = { readModel: 'bookings', state: 'building' as const, done: 10, total: 70 };
  expect(await readinessWith({ problems: [{ ...building, readable: false }] })).toMatchObject([
    503,
    { readModels: { bookings: 'being built, 10 events read of 70' } },
  ]);
  expect(await readinessWith({ problems: [{ ...building, secondsLeft: 12, readable: false }] })).toMatchObject([
    503,
    { readModels: { bookings: 'being built, 10 events read of 70, about 12 s left' } },
  ]);
  expect(await readinessWith({ problems: [{ ...building, readable: true }] })).toMatchObject([
    200,
    { readModels: { bookings: 'being rebuilt, 10 events read of 70; the former documents are in use' } },
  ]);
});

it('names the unreachable store', async () => {
  const never = () => new Promise<never>(() => {});
  expect(await readinessWith({}, { ping: { eventStore: up, documentStore: never }, answersWithinMs: 10 })).toEqual([
    503,
    { status: 'not ready', eventStore: 'ok', documentStore: 'unreachable', eventsBehind: null },
  ]);
  expect(await readinessWith({}, { readModels: never, answersWithinMs: 10 })).toEqual([
    503,
    { status: 'not ready', ...stores, eventsBehind: null },
  ]);
});

it('warns when no process projects the read models', async () => {
  const problem = { readModel: 'bookings', state: 'unattended' as const, readable: true as const };
  expect(await readinessWith({ problems: [problem] })).toMatchObject([
    200,
    { readModels: { bookings: 'no process keeps it up to date: start one with the role projector' } },
  ]);
});

it('is not ready while a store is down, and does not query the read models', async () => {
  const readModels = async () => {
    throw new Error('must not be asked');
  };
  expect(await readiness({ ping: { eventStore: up, documentStore: down }, readModels })).toEqual([
    503,
    { status: 'not ready', eventStore: 'ok', documentStore: 'unreachable', eventsBehind: null },
  ]);
});

it('reports a clock problem, and stays ready', async () => {
  const readModels = async () => ({ lag: 0, caughtUp: true, problems: [] });
  const [status, body] = await readiness({ ping, readModels, clock: () => 'The clock is off' });
  expect([status, body]).toEqual([200, expect.objectContaining({ status: 'ready', clock: 'The clock is off' })]);
});

it('is not ready during shutdown', async () => {
  const readModels = async () => ({ lag: 0, caughtUp: true, problems: [] });
  expect(await readiness({ ping, readModels, stopping: () => true })).toEqual([503, { status: 'stopping' }]);
});

it('warns about a nearly full disk, and stays ready', async () => {
  const health = {
    ping: { eventStore: up, documentStore: up },
    readModels: async () => ({ lag: 0, caughtUp: true, problems: [] }),
  };
  const warning = 'nearly full: 120 MB free';
  expect(await readiness({ ...health, disk: async () => warning })).toMatchObject([200, { disk: warning }]);
  expect(await readiness({ ...health, disk: down })).toMatchObject([200, { status: 'ready' }]);
});
