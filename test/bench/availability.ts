import { startNode } from '../service/node-process.ts';
import { type Bench, interleaved } from './figure.ts';
import { load } from './load.ts';
import { dateIn, makeVenue } from './venue.ts';

const ROUNDS = 3;
const SECONDS = 3;

/** Authenticated `GET availability` against a bare Fastify route with the same schema and payload. */
export const availability: Bench = async () => {
  const venue = await makeVenue();
  const service = await startNode('src/main.js', '/readyz', {
    DATA_DIR: venue.dataDir,
    DEMO: 'false',
    LOG_LEVEL: 'warn',
  });
  const bare = await startNode('test/bench/bare-server.ts', '/healthz', {});
  try {
    const requests = Array.from({ length: 56 }, (_, i) => ({
      path: `/api/v1/spaces/${venue.spaceIds[i % venue.spaceIds.length]}/availability?date=${dateIn(1 + (i % 14))}`,
    }));
    const body = (startHour: number) => ({ spaceId: venue.spaceIds[0], startTime: dateIn(1), startHour });
    await load({
      url: service.url,
      key: venue.key,
      connections: 1,
      seconds: 1,
      requests: [0, 1, 2].map((hour) => ({ path: '/api/v1/bookings', body: body(hour) })),
    });
    const measure = async (url: string) => {
      const { perSecond, statuses } = await load({ url, key: venue.key, connections: 32, seconds: SECONDS, requests });
      if (Object.keys(statuses).join() !== '200') throw new Error(`Responses were ${JSON.stringify(statuses)}`);
      return perSecond;
    };
    await measure(service.url);
    await measure(bare.url);
    const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
      value: () => measure(service.url),
      ceiling: () => measure(bare.url),
    });
    return [
      {
        name: 'GET availability',
        value,
        unit: '/s',
        ceiling: { what: 'bare Fastify route', value: ceiling },
        ...{ ratio, ranges },
        aim: { atLeast: 0.9 },
      },
    ];
  } finally {
    await Promise.all([service.end('SIGKILL'), bare.end('SIGKILL')]);
    await venue.remove();
  }
};
