import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import type { Service } from './checkout.ts';
import { load } from './load.ts';
import { bookingRequests } from './requests.ts';

/** Books as fast as the service takes it, at most so many bookings a second: their days are reserved, and bookings are taken for five years. */
export async function book({ url, venue }: Service, connections: number, seconds: number, { atMost = 15_000 } = {}) {
  const requests = bookingRequests(venue, atMost * seconds + 1_000);
  const loaded = only('201', await load({ url, key: venue.key, connections, seconds, requests }));
  return { perSecond: loaded.perSecond, p99: loaded.p99 ?? Number.NaN, booked: loaded.statuses[201] ?? 0 };
}

export function only<T extends Awaited<ReturnType<typeof load>>>(status: string, loaded: T): T {
  if (Object.keys(loaded.statuses).join() === status && loaded.errors === 0) return loaded;
  throw new Error(`Responses were ${JSON.stringify(loaded.statuses)}, and ${loaded.errors} errors`);
}

type Request = { readonly path: string; readonly body?: object };

export async function post(service: Service, path: string, body: object | undefined): Promise<void> {
  await send(service, path, { method: 'POST', body: JSON.stringify(body) }, 201);
}

export const get = (service: Service, path: string): Promise<void> => send(service, path, { method: 'GET' }, 200);

async function send(
  { url, venue }: Service,
  path: string,
  options: { readonly method: 'GET' | 'POST'; readonly body?: string },
  expected: number,
): Promise<void> {
  const headers = { authorization: `Bearer ${venue.key}`, 'content-type': 'application/json' };
  const { statusCode, body } = await request(`${url}/api/v1${path}`, { ...options, headers });
  await body.dump();
  if (statusCode !== expected) throw new Error(`${options.method} ${path} was answered with ${statusCode}`);
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Takes so many samples, after a few that do not count, by default a tenth as many. */
export async function samples(
  count: number,
  requests: readonly Request[],
  sample: (body: object | undefined) => Promise<number>,
  warmUp = Math.ceil(count / 10),
): Promise<number[]> {
  const taken: number[] = [];
  for (const { body } of requests.slice(0, warmUp + count)) taken.push(await sample(body));
  return taken.slice(warmUp);
}

/** Processor time in milliseconds, once what was begun is done. */
export async function cpuAtRest(service: Service): Promise<number> {
  let used = service.cpuMs();
  for (let waited = 0; waited < 10_000; waited += 250) {
    await pause(250);
    const before = used;
    used = service.cpuMs();
    if (used - before <= 20) break;
  }
  return used;
}
