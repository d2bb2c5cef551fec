import { readFileSync } from 'node:fs';
import { spaces } from '../../projections/spaces.ts';
import { type Environment, type NodeProcess, startNode } from '../service/node-process.ts';
import type { Bench, Figure } from './figure.ts';
import { load } from './load.ts';
import { appendBookings, dateIn, makeVenue, withCore } from './venue.ts';

const BOOKINGS = 200_000;
/** The V8 heap limit of the service while it lists. */
const HEAP_MIB = 96;

/** Memory of the service, without the mapped pages of its files: idle, after load, and while it streams 200,000 bookings. */
export const memory: Bench = async () => {
  const venue = await makeVenue(1);
  try {
    await withCore(venue.dataDir, async (core) => {
      const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
      if (space === undefined) throw new Error('The space is not in the read model');
      await appendBookings(core, venue, space.document, BOOKINGS);
      while ((await core.projector.status()).lag > 0) await new Promise((resolve) => setTimeout(resolve, 250));
    });
    const settings = { DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn' };
    const idleAndLoaded = await withService(settings, async (service) => {
      const idle = memoryOf(service);
      const requests = [{ path: `/api/v1/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(5)}` }];
      await load({ url: service.url, key: venue.key, connections: 32, seconds: 3, requests });
      return [
        { ...mebibytes('memory, idle', idle), aim: { below: 100 } },
        mebibytes('memory, after a load', memoryOf(service)),
      ];
    });
    // A small heap, so that garbage is not counted as needed: a list held in memory would not fit.
    const constrained = { ...settings, NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` };
    const listing = await withService(constrained, async (service) => {
      await list(service, venue.key, BOOKINGS);
      const before = memoryOf(service);
      return (await list(service, venue.key, BOOKINGS)) - before;
    });
    const name = `memory, one more GET /bookings of ${BOOKINGS.toLocaleString('en')}`;
    return [...idleAndLoaded, { ...mebibytes(name, listing), aim: { below: 32 } }];
  } finally {
    await venue.remove();
  }
};

async function withService<T>(env: Environment, work: (service: NodeProcess) => Promise<T>): Promise<T> {
  const service = await startNode('src/main.js', '/readyz', env);
  try {
    return await work(service);
  } finally {
    await service.end('SIGKILL');
  }
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
