import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { pino } from 'pino';
import { createApp } from '../../src/app.ts';
import { type Config, readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { createScheduler } from '../../src/scheduler/scheduler.ts';

const LOGGER = pino({ level: process.env.LOG_LEVEL ?? 'silent' });

/** A delivery as its receiver got it. */
type Received = { readonly path: string; readonly event: string; readonly bookingId: number };

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
  const core = await openCore(config, LOGGER, { clock });
  const app = await createApp(core);
  core.projector.start();
  await core.projector.readModels.readable(10_000);
  await app.ready();
  const scheduler = createScheduler({
    bookings: core.commands.bookings,
    readModels: core.projector.readModels,
    clock,
    clockProblem: async () => undefined,
    logger: LOGGER,
  });
  return {
    core,
    app,
    scheduler,
    async close() {
      await app.close();
      await core.projector.stop();
      await core.close();
    },
  };
}

/** A receiver of deliveries at one port, which tells registrations apart by the path. */
export async function openReceiver() {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const { event, data } = (await json(request)) as { event: string; data: { bookingId: number } };
    received.push({ path: request.url ?? '', event, bookingId: data.bookingId });
    response.writeHead(200).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    received,
    url: (path: string) => `http://127.0.0.1:${port}${path}`,
    close: () => new Promise((done) => server.close(done)),
  };
}
