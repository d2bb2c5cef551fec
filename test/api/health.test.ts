import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { type Health, healthRoutes, MAX_LAG } from '../../src/api/health.ts';

const up = async () => {};
const down = async () => {
  throw new Error('connect ECONNREFUSED');
};
const behind =
  (lag: number): Health['readModels'] =>
  async () => ({ lag });

async function readiness(health: Health) {
  const app = Fastify();
  await app.register(healthRoutes(health));
  const response = await app.inject('/readyz');
  await app.close();
  return [response.statusCode, response.json()];
}

it('is ready as long as the read models are close behind the log', async () => {
  const ping = { eventStore: up, documentStore: up };
  const stores = { eventStore: 'ok', documentStore: 'ok' };
  expect(await readiness({ ping, readModels: behind(MAX_LAG) })).toEqual([
    200,
    { status: 'ready', ...stores, eventsBehind: MAX_LAG },
  ]);
  expect(await readiness({ ping, readModels: behind(MAX_LAG + 1) })).toEqual([
    503,
    { status: 'not ready', ...stores, eventsBehind: MAX_LAG + 1 },
  ]);
});

it('reports a failing projector', async () => {
  const failure = { doing: 'project' as const, attempts: 3, message: 'secret innards' };
  const [status, body] = await readiness({
    ping: { eventStore: up, documentStore: up },
    readModels: async () => ({ lag: 2, failure }),
  });
  expect(status).toBe(200);
  expect(body).toMatchObject({ eventsBehind: 2, readModels: 'stuck after 3 attempts to project' });
  expect(JSON.stringify(body)).not.toContain('secret');
});

it('is not ready without a store, and does not query the read models then', async () => {
  const readModels = async () => {
    throw new Error('must not be asked');
  };
  expect(await readiness({ ping: { eventStore: up, documentStore: down }, readModels })).toEqual([
    503,
    { status: 'not ready', eventStore: 'ok', documentStore: 'unreachable', eventsBehind: null },
  ]);
});

it('is not ready once the process is stopping, and asks nothing then', async () => {
  const ping = { eventStore: down, documentStore: down };
  expect(await readiness({ ping, readModels: behind(0), stopping: () => true })).toEqual([503, { status: 'stopping' }]);
});

it('warns of a disk that is nearly full, and stays ready', async () => {
  const health = { ping: { eventStore: up, documentStore: up }, readModels: behind(0) };
  const warning = 'nearly full: 120 MB free';
  expect(await readiness({ ...health, disk: async () => warning })).toMatchObject([200, { disk: warning }]);
  expect(await readiness({ ...health, disk: down })).toMatchObject([200, { status: 'ready' }]);
});
