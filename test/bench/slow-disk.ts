import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { startNode } from '../service/node-process.ts';
import { type Bench, interleaved, median, percentile, rangeOf } from './figure.ts';
import { load } from './load.ts';
import { dateIn, makeVenue, SLOTS_PER_DAY } from './venue.ts';

const ROUNDS = 3;
const SECONDS = 4;
const PER_SECOND = 1_000;
const NAME = 'GET availability, p99 while 1,000 bookings/s are written and an fsync takes 20 ms';

/**
 * What a reader notices of a slow disk: the 99th percentile of its calls while others book, beside the same when nobody does. What
 * readers of another process notice meanwhile, the cores make of it.
 */
export const slowDisk: Bench = async () => {
  const venue = await makeVenue();
  const shim = join(venue.dataDir, 'slow-fsync.so');
  const source = new URL('slow-fsync.c', import.meta.url).pathname;
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-O2', '-o', shim, source, '-ldl']);
  if (process.platform !== 'linux' || compiled.status !== 0) {
    await venue.remove();
    return [{ name: NAME, notMeasured: 'it takes Linux and a C compiler (cc)' }];
  }
  const service = await startNode('src/main.js', '/readyz', {
    ...{ DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn', LD_PRELOAD: shim },
  });
  const bare = await startNode('test/bench/bare-server.ts', '/healthz', {});
  const dispatcher = new Agent({ connections: 1 });
  try {
    const p99 = async (server = service.url): Promise<number> => {
      const url = `${server}/api/v1/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(1)}`;
      const took: number[] = [];
      const until = performance.now() + SECONDS * 1_000;
      while (performance.now() < until) {
        const from = performance.now();
        const { statusCode, body } = await request(url, {
          dispatcher,
          headers: { authorization: `Bearer ${venue.key}` },
        });
        await body.dump();
        if (statusCode !== 200) throw new Error(`The response was ${statusCode}`);
        took.push(performance.now() - from);
        // A reader among many, not a load of its own.
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return percentile(took, 99);
    };
    let day = 2;
    const written: number[] = [];
    /** @param read whose readers are looked at */
    const whileBooking = async (read = service.url): Promise<number> => {
      const days = Math.ceil((PER_SECOND * (SECONDS + 1)) / (SLOTS_PER_DAY * venue.spaceIds.length));
      const requests = Array.from({ length: SLOTS_PER_DAY }, (_, startHour) =>
        Array.from({ length: days }, (_, i) =>
          venue.spaceIds.map((spaceId) => ({
            path: '/api/v1/bookings',
            body: { spaceId, startTime: dateIn(day + i), startHour },
          })),
        ),
      ).flat(2);
      day += days;
      const [measured, { perSecond, statuses }] = await Promise.all([
        p99(read),
        load({
          ...{ url: service.url, key: venue.key, seconds: SECONDS, requests },
          connections: 64,
          rate: PER_SECOND,
        }),
      ]);
      if (Object.keys(statuses).join() !== '201') throw new Error(`Responses were ${JSON.stringify(statuses)}`);
      written.push(perSecond);
      return measured;
    };
    await p99();
    await whileBooking();
    const elsewhere: number[] = [];
    const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
      value: async () => {
        elsewhere.push(await whileBooking(bare.url));
        return whileBooking();
      },
      ceiling: p99,
    });
    return [
      {
        ...{ name: NAME, value, unit: 'ms', ceiling: { what: 'idle', value: ceiling } },
        ratio,
        ranges,
        aim: { below: 2 },
      },
      {
        ...{ name: 'the same reads meanwhile, of a bare route in another process, p99', unit: 'ms' },
        ...{ value: median(elsewhere), ranges: { value: rangeOf(elsewhere) } },
      },
      { name: 'bookings written meanwhile', value: median(written), unit: '/s' },
    ];
  } finally {
    await dispatcher.close();
    await Promise.all([service.end('SIGKILL'), bare.end('SIGKILL')]);
    await venue.remove();
  }
};
