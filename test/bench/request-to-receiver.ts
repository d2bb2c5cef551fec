import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { request } from 'undici';
import { startNode } from '../service/node-process.ts';
import { type Bench, type Figure, percentile } from './figure.ts';
import { dateIn, makeVenue, SLOTS_PER_DAY } from './venue.ts';

const SAMPLES = 300;
const WARM_UP = 50;
/** Longer than a lane stays, so that each delivery finds the service idle. */
const PAUSE_MS = 60;

/**
 * From when a client sends `POST /bookings` until the receiver has its webhook, on an idle service; and in turns with it the same on
 * a bare route that appends and posts at once.
 */
export const requestToReceiver: Bench = async () => {
  const worker = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [port] = await once(worker, 'message');
  const receiver = `http://127.0.0.1:${port}/hook`;
  const venue = await makeVenue();
  const service = await startNode('src/main.js', '/readyz', {
    ...{ DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn', WEBHOOKS_ALLOW_PRIVATE: 'true' },
  });
  const bare = await startNode('test/bench/bare-server.ts', '/healthz', {
    ...{ BARE_LOG: join(venue.dataDir, 'bare-log.db'), BARE_RECEIVER: receiver },
  });

  async function post(url: string, path: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${venue.key}` };
    const response = await request(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.body.text();
    if (response.statusCode !== 201) throw new Error(`The response was ${response.statusCode}: ${answer}`);
  }

  async function arrival(): Promise<number> {
    for (;;) {
      worker.postMessage('arrivals');
      const [[arrived]] = await once(worker, 'message');
      if (arrived !== undefined) return arrived;
      await pause(5);
    }
  }

  /** Milliseconds until the receiver has it. */
  async function book(url: string, i: number): Promise<number> {
    await pause(PAUSE_MS);
    const startTime = dateIn(2 + Math.floor(i / SLOTS_PER_DAY));
    const sentAt = performance.timeOrigin + performance.now();
    await post(url, '/bookings', { spaceId: venue.spaceIds[0], startTime, startHour: i % SLOTS_PER_DAY });
    return (await arrival()) - sentAt;
  }

  try {
    await post(service.url, '/webhooks', { url: receiver, events: 1 });
    const values: number[] = [];
    const ceilings: number[] = [];
    for (let i = 0; i < WARM_UP + SAMPLES; i += 1) {
      const [value, ceiling] = [await book(service.url, i), await book(bare.url, i)];
      if (i < WARM_UP) continue;
      values.push(value);
      ceilings.push(ceiling);
    }
    const figure = (p: number, below: number): Figure => ({
      ...{ name: `request to receiver, idle, p${p}`, value: percentile(values, p), unit: 'ms' },
      ceiling: { what: 'a bare route, one durable append, one POST', value: percentile(ceilings, p) },
      aim: { below },
    });
    return [figure(50, 3), figure(99, 10)];
  } finally {
    await Promise.all([service.end('SIGKILL'), bare.end('SIGKILL')]);
    worker.postMessage('close');
    await venue.remove();
  }
};
