import { join } from 'node:path';
import { startNode } from '../service/node-process.ts';
import { type Bench, interleaved } from './figure.ts';
import { load } from './load.ts';
import { dateIn, makeVenue, SLOTS_PER_DAY } from './venue.ts';

const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS = 64;
/** Enough slots for a round. */
const DAYS_PER_ROUND = 400;

/** `POST /bookings`, each durable and visible when its response arrives, against a bare route with one durable append. */
export const bookings: Bench = async () => {
  const venue = await makeVenue();
  const settings = { DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn' };
  const service = await startNode('src/main.js', '/readyz', settings);
  const bare = await startNode('test/bench/bare-server.ts', '/healthz', {
    BARE_LOG: join(venue.dataDir, 'bare-log.db'),
  });
  try {
    // In the time zone of the space, it may already be tomorrow.
    let day = 2;
    const book = async (url: string) => {
      // Hour by hour, because concurrent callers rarely want the same space on the same day.
      const requests = Array.from({ length: SLOTS_PER_DAY }, (_, startHour) =>
        Array.from({ length: DAYS_PER_ROUND }, (_, i) =>
          venue.spaceIds.map((spaceId) => ({
            path: '/api/v1/bookings',
            body: { spaceId, startTime: dateIn(day + i), startHour },
          })),
        ),
      ).flat(2);
      day += DAYS_PER_ROUND;
      const { statuses, perSecond } = await load({
        url,
        key: venue.key,
        connections: CONNECTIONS,
        seconds: SECONDS,
        requests,
      });
      if (Object.keys(statuses).join() !== '201') throw new Error(`Responses were ${JSON.stringify(statuses)}`);
      return perSecond;
    };
    await book(service.url);
    await book(bare.url);
    const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
      value: () => book(service.url),
      ceiling: () => book(bare.url),
    });
    const against = { what: 'bare route, one durable append', value: ceiling };
    return [
      {
        name: 'POST /bookings',
        value,
        unit: '/s',
        ranges: { value: ranges.value },
        aim: { atLeast: 10_000 },
      },
      {
        ...{ name: 'POST /bookings against a bare append', value, unit: '/s', ceiling: against, ratio, ranges },
        aim: { atLeast: 0.37 },
      },
    ];
  } finally {
    await Promise.all([service.end('SIGKILL'), bare.end('SIGKILL')]);
    await venue.remove();
  }
};
