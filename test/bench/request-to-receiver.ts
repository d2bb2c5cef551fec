import { once } from 'node:events';
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

/** From when a client sends `POST /bookings` until the receiver has its webhook, on an idle service. */
export const requestToReceiver: Bench = async () => {
  const worker = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [port] = await once(worker, 'message');
  const venue = await makeVenue();
  const service = await startNode('src/main.js', '/readyz', {
    ...{ DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn', WEBHOOKS_ALLOW_PRIVATE: 'true' },
  });

  async function post(path: string, body: object): Promise<void> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${venue.key}` };
    const response = await request(`${service.url}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
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

  try {
    await post('/webhooks', { url: `http://127.0.0.1:${port}/hook`, events: 1 });
    const answers: number[] = [];
    const arrivals: number[] = [];
    for (let i = 0; i < WARM_UP + SAMPLES; i += 1) {
      await pause(PAUSE_MS);
      const startTime = dateIn(2 + Math.floor(i / SLOTS_PER_DAY));
      const sentAt = performance.timeOrigin + performance.now();
      await post('/bookings', { spaceId: venue.spaceIds[0], startTime, startHour: i % SLOTS_PER_DAY });
      const answeredAt = performance.timeOrigin + performance.now();
      const arrivedAt = await arrival();
      if (i < WARM_UP) continue;
      answers.push(answeredAt - sentAt);
      arrivals.push(arrivedAt - sentAt);
    }
    const figure = (p: number, below: number): Figure => ({
      ...{ name: `request to receiver, idle, p${p}`, value: percentile(arrivals, p), unit: 'ms' },
      ceiling: { what: 'until its response', value: percentile(answers, p) },
      aim: { below },
    });
    return [figure(50, 3), figure(99, 10)];
  } finally {
    await service.end('SIGKILL');
    worker.postMessage('close');
    await venue.remove();
  }
};
