import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { type Environment, type NodeProcess, startNode } from '../service/node-process.ts';
import type { Bench, Figure } from './figure.ts';
import { load } from './load.ts';
import { fillWithBookings } from './long-log.ts';
import { dateIn, makeVenue, SLOTS_PER_DAY, type Venue } from './venue.ts';

const MANY_BOOKINGS = 1_000_000;
const BURST = 100_000;
/** After so long at rest, threads have given back what they do not need (docs/decisions/memory.md). */
const REST_MS = 30_000;
const CONNECTIONS = 64;
const SECONDS = 5;
/** Days that are booked in one go. */
const DAYS = 400;
/** The V8 heap limit of the service while it lists. */
const HEAP_MIB = 96;

/** Memory of the service over all its threads, without the mapped pages of its files. */
export const memory: Bench = async () => [...(await burst()), ...(await manyBookings())];

/** Idle, and after a burst of bookings and deliveries. */
async function burst(): Promise<Figure[]> {
  const venue = await makeVenue();
  const receiver = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  try {
    const [port] = await once(receiver, 'message');
    return await withService({ DATA_DIR: venue.dataDir, WEBHOOKS_ALLOW_PRIVATE: 'true' }, async (service) => {
      await delay(REST_MS);
      const idle = memoryOf(service);
      await register(service, venue.key, `http://127.0.0.1:${port}/hook`);
      let peak = 0;
      const watch = setInterval(() => {
        peak = Math.max(peak, memoryOf(service));
      }, 250);
      let booked = 0;
      for (let day = 2; booked < BURST; day += DAYS) booked += await book(service, venue, day);
      for (let delivered = 0; delivered < booked; await delay(250)) {
        receiver.postMessage('arrivals');
        const [arrivals] = await once(receiver, 'message');
        delivered += arrivals.length;
      }
      clearInterval(watch);
      await delay(REST_MS);
      const atRest = await medianOverAMinute(service);
      const of = `a burst of ${BURST.toLocaleString('en')} bookings and deliveries`;
      return [
        { ...mebibytes('memory, idle', idle), aim: { below: 100 } },
        mebibytes(`memory, most during ${of}`, peak),
        { ...mebibytes(`memory, at rest after ${of}`, atRest), aim: { below: 200 } },
      ];
    });
  } finally {
    receiver.postMessage('close');
    await venue.remove();
  }
}

/** With a million bookings: at rest after reads and bookings, and while all of them are listed. */
async function manyBookings(): Promise<Figure[]> {
  const venue = await makeVenue();
  const count = MANY_BOOKINGS.toLocaleString('en');
  try {
    await fillWithBookings(venue, MANY_BOOKINGS, 'requested');
    const settings = { DATA_DIR: venue.dataDir };
    const used = await withService(settings, async (service) => {
      const requests = Array.from({ length: 4 * DAYS }, (_, i) => ({
        path: `/api/v1/spaces/${venue.spaceIds[i % venue.spaceIds.length]}/availability?date=${dateIn(10 + i)}`,
      }));
      await load({ url: service.url, key: venue.key, connections: CONNECTIONS, seconds: SECONDS, requests });
      // After the days that are full.
      await book(service, venue, 20_000);
      await delay(REST_MS);
      return memoryOf(service);
    });
    // A small heap, so that garbage is not counted as needed: a list held in memory would not fit.
    const constrained = { ...settings, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` };
    const listing = await withService(constrained, async (service) => {
      await list(service, venue.key, MANY_BOOKINGS);
      const before = memoryOf(service);
      return (await list(service, venue.key, MANY_BOOKINGS)) - before;
    });
    return [
      { ...mebibytes(`memory, with ${count} bookings, at rest`, used), aim: { below: 250 } },
      { ...mebibytes(`memory, one more GET /bookings of ${count}`, listing), aim: { below: 32 } },
    ];
  } finally {
    await venue.remove();
  }
}

/** Books as fast as possible for a while, from a day on. @returns how many bookings it made */
async function book({ url }: NodeProcess, { key, spaceIds }: Venue, day: number): Promise<number> {
  const requests = Array.from({ length: SLOTS_PER_DAY }, (_, startHour) =>
    Array.from({ length: DAYS }, (_, i) =>
      spaceIds.map((spaceId) => ({
        path: '/api/v1/bookings',
        body: { spaceId, startTime: dateIn(day + i), startHour },
      })),
    ),
  ).flat(2);
  const { statuses } = await load({ url, key, connections: CONNECTIONS, seconds: SECONDS, requests });
  const booked = statuses[201] ?? 0;
  if (booked === 0) throw new Error(`Responses were ${JSON.stringify(statuses)}`);
  return booked;
}

async function register({ url }: NodeProcess, key: string, receiver: string): Promise<void> {
  const { status } = await fetch(`${url}/api/v1/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver, events: 15 }),
  });
  if (status !== 201) throw new Error(`The registration was answered with ${status}`);
}

async function withService<T>(env: Environment, work: (service: NodeProcess) => Promise<T>): Promise<T> {
  const service = await startNode('src/main.js', '/readyz', { DEMO: 'false', LOG_LEVEL: 'warn', ...env });
  try {
    return await work(service);
  } finally {
    await service.end('SIGKILL');
  }
}

/** The log is sealed once a minute, which takes some 80 MiB for a few seconds. */
async function medianOverAMinute(service: NodeProcess): Promise<number> {
  const samples: number[] = [];
  for (let sample = 0; sample < 13; sample += 1, await delay(5_000)) samples.push(memoryOf(service));
  return samples.toSorted((a, b) => a - b)[6] ?? Number.NaN;
}

const mebibytes = (name: string, kibibytes: number): Figure => ({ name, value: kibibytes / 1_024, unit: 'MiB' });

/** KiB of memory private to the process; the mapped files of the store belong to the system's cache. */
function memoryOf({ pid }: NodeProcess): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Reads the whole list, slowly enough to watch. @returns the peak resident memory meanwhile */
async function list(service: NodeProcess, key: string, expected: number): Promise<number> {
  let peak = memoryOf(service);
  let bookings = 0;
  const response = await fetch(`${service.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${key}` } });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    bookings += decoder.decode(chunk, { stream: true }).split('"createdAt"').length - 1;
    peak = Math.max(peak, memoryOf(service));
  }
  // A name that spans two chunks is missed, but rarely, so the count is close.
  if (bookings < expected * 0.95) throw new Error(`The list had only ${bookings} bookings`);
  return peak;
}
