import { readFileSync } from 'node:fs';
import { spaces } from '../../projections/spaces.ts';
import { type NodeProcess, startNode } from '../service/node-process.ts';
import type { Bench, Figure } from './figure.ts';
import { load } from './load.ts';
import { appendBookings, dateIn, makeVenue, withCore } from './venue.ts';

const BOOKINGS = 200_000;

/** Memory of the service, without the mapped pages of its files: idle, after a load, and while it streams 200,000 bookings. */
export const memory: Bench = async () => {
  const venue = await makeVenue(1);
  try {
    await withCore(venue.dataDir, async (core) => {
      const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
      if (space === undefined) throw new Error('The space is not in the read model');
      await appendBookings(core, venue, space.document, BOOKINGS);
      while ((await core.projector.status()).lag > 0) await new Promise((resolve) => setTimeout(resolve, 250));
    });
    const service = await startNode('src/main.ts', '/readyz', {
      DATA_DIR: venue.dataDir,
      DEMO: 'false',
      LOG_LEVEL: 'warn',
    });
    try {
      const idle = residentOf(service);
      const requests = [{ path: `/api/v1/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(5)}` }];
      await load({ url: service.url, key: venue.key, connections: 32, seconds: 3, requests });
      const afterLoad = residentOf(service);
      // Once to warm up: what matters is what one more list takes.
      await list(service, venue.key, BOOKINGS);
      const before = residentOf(service);
      const peak = await list(service, venue.key, BOOKINGS);
      return [
        mebibytes('memory, idle', idle),
        mebibytes('memory, after a load', afterLoad),
        { ...mebibytes('memory, one more GET /bookings of 200,000', peak - before), aim: { below: 32 } },
      ];
    } finally {
      await service.end('SIGKILL');
    }
  } finally {
    await venue.remove();
  }
};

const mebibytes = (name: string, kibibytes: number): Figure => ({ name, value: kibibytes / 1_024, unit: 'MiB' });

/** KiB in memory that belongs to the process alone; the store's mapped files are the system's cache. */
function residentOf({ pid }: NodeProcess): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Reads the whole list, slowly enough to look on. @returns the most memory that was resident meanwhile */
async function list(service: NodeProcess, key: string, expected: number): Promise<number> {
  let most = residentOf(service);
  let bookings = 0;
  const response = await fetch(`${service.url}/api/v1/bookings`, { headers: { authorization: `Bearer ${key}` } });
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    bookings += decoder.decode(chunk, { stream: true }).split('"createdAt"').length - 1;
    most = Math.max(most, residentOf(service));
  }
  // A name that is cut by two chunks is missed: rarely, so the count is close.
  if (bookings < expected * 0.95) throw new Error(`The list had ${bookings} bookings only`);
  return most;
}
