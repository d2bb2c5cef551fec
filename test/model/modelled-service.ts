import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { type Config, readConfig } from '../../src/config.ts';
import { createScheduler } from '../../src/scheduler/scheduler.ts';
import { startInProcess } from '../running-service.fixture.ts';

const LOGGER = pino({ level: process.env.LOG_LEVEL ?? 'silent' });

/** The service on the embedded engines, with the clock of a model, that can be closed and opened again on its store. */
export async function openModelledService(clock: () => number) {
  const dataDir = await mkdtemp(join(tmpdir(), 'venue-model-'));
  const config: Config = readConfig({ DATA_DIR: dataDir, DEMO: 'false', WEBHOOKS_ALLOW_PRIVATE: 'true' });
  let running = await open(config, clock);
  return {
    get core() {
      return running.core;
    },
    async restart() {
      await running.close();
      running = await open(config, clock);
    },
    /** What is due now happens. */
    runScheduler: () => running.scheduler.runOnce(true),
    async call(method: 'GET' | 'POST' | 'DELETE', url: string, key: string, body?: object, idempotencyKey?: string) {
      const headers = {
        authorization: `Bearer ${key}`,
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      };
      const payload = body === undefined ? {} : { payload: body };
      const { statusCode, body: text } = await running.app.inject({
        method,
        url: `/api/v1${url}`,
        headers,
        ...payload,
      });
      return { status: statusCode, body: text === '' ? undefined : JSON.parse(text) };
    },
    async stop() {
      await running.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export type ModelledService = Awaited<ReturnType<typeof openModelledService>>;

async function open(config: Config, clock: () => number) {
  const service = await startInProcess(config, LOGGER, { clock });
  const { commands, projector } = service.core;
  const scheduler = createScheduler({
    bookings: commands.bookings,
    readModels: projector.readModels,
    clock,
    clockProblem: async () => undefined,
    logger: LOGGER,
  });
  return { ...service, scheduler };
}
