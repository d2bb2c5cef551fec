import { setTimeout as pause } from 'node:timers/promises';
import type { Environment } from '../service/node-process.ts';
import { book, cpuAtRest, get, only, post, samples, timed } from './bookings.ts';
import { type Checkout, registerWebhook, type Service } from './checkout.ts';
import { type Figure, median } from './figure.ts';
import { hostileFigures, measureHostile } from './hostile.ts';
import { load } from './load.ts';
import { mailFigures, mailOnMongoFigures, measureMail, measureMailOnMongo } from './mail.ts';
import { measureMongo, mongoFigures } from './mongodb.ts';
import type { Receiver } from './receiver.ts';
import { availabilityRequests, bookingRequests, bookingRequestsByHour, dateIn } from './requests.ts';
import { measureSearch, searchFigures } from './space-search.ts';
import {
  measureTwoProcesses,
  measureTwoServedProcesses,
  twoProcessFigures,
  twoServedProcessFigures,
} from './two-processes.ts';

/** How much is measured. */
export type Size = {
  readonly seconds: number;
  /** One after another. */
  readonly samples: number;
  /** Bookings whose deliveries wait, and bookings in the log of a rebuild. */
  readonly waiting: number;
  readonly rebuilt: number;
  readonly burst: number;
  /** How often an hour of a busy day has been requested and cancelled. */
  readonly pairs: number;
  /** What a service is given to come to rest. */
  readonly restMs: number;
};

export const FULL: Size = {
  seconds: 4,
  samples: 200,
  waiting: 2_500,
  rebuilt: 100_000,
  burst: 100_000,
  pairs: 4_000,
  restMs: 30_000,
};
export const QUICK: Size = {
  seconds: 1,
  samples: 50,
  waiting: 500,
  rebuilt: 5_000,
  burst: 5_000,
  pairs: 500,
  restMs: 2_000,
};

export type Disk = 'fast' | 'slow';

type Setting = {
  readonly checkout: Checkout;
  readonly size: Size;
  /** Settings of the service's process that make its disk what it is. */
  readonly disk: Environment;
  readonly receiver: Receiver;
};

/** What is measured together, in one process of the service, on a store of its own. */
export type Measurement = {
  readonly figures: Readonly<Record<string, Figure>>;
  /** By default the fast one. */
  readonly disks?: readonly Disk[];
  /** Once instead of in every round: it takes minutes. */
  readonly isLong?: boolean;
  /** @returns a number per figure */
  readonly measure: (setting: Setting) => Promise<Readonly<Record<string, number>>>;
};

const BOTH_DISKS = ['fast', 'slow'] as const;
const LISTED = 10_000;
const HOOKS = 4;
const PER_SECOND = 1_000;
/** Bookings that a process counts as just started for. */
const FIRST_BOOKINGS = 20;

export const measurements: Readonly<Record<string, Measurement>> = {
  'one-client': {
    figures: { p50: { name: 'POST by one client, p50', unit: 'ms', ratioFloor: { atMost: 0.8 } } },
    disks: BOTH_DISKS,
    measure: (setting) =>
      withNewService(setting, async (service) => {
        await book(service, 32, 1);
        const took = await samples(setting.size.samples, bookingRequests(service.venue, 5_000), (body) =>
          timed(() => post(service, '/bookings', body)),
        );
        return { p50: median(took) };
      }),
  },

  'one-after-another': {
    figures: {
      p50: { name: 'thousands of POST, one after another, p50', unit: 'ms' },
      p99: { name: 'the same, p99', unit: 'ms' },
    },
    measure: (setting) =>
      withNewService(setting, async (service) => {
        await book(service, 32, setting.size.seconds / 2, { atMost: 6_000 });
        const count = 15 * setting.size.samples;
        const took = await samples(count, bookingRequests(service.venue, 2 * count), (body) =>
          timed(() => post(service, '/bookings', body)),
        );
        return { p50: median(took), p99: took.toSorted((a, b) => a - b)[Math.ceil(0.99 * count) - 1] ?? Number.NaN };
      }),
  },

  'booked-days': {
    figures: {
      started: { name: 'POST by one client right after a start, days that hold bookings, p50', unit: 'ms' },
      p50: {
        name: 'POST by one client, days that hold bookings, p50',
        unit: 'ms',
        ratioFloor: { atMost: 0.45 },
      },
    },
    disks: BOTH_DISKS,
    measure: (setting) =>
      setting.checkout.withVenue(async (venue) => {
        const { checkout, size, disk } = setting;
        // Each request is for another day, which another process has booked.
        const [first = [], ...later] = bookingRequestsByHour(venue, 2 * (FIRST_BOOKINGS + size.samples));
        const connections = 8;
        await checkout.withService(venue, async ({ url }) => {
          await load({
            url,
            key: venue.key,
            connections,
            seconds: 0,
            amount: first.length - connections,
            requests: first,
          });
        });
        const [requests = []] = later;
        return checkout.withService(
          venue,
          async (service) => {
            const booking = (body: object | undefined) => timed(() => post(service, '/bookings', body));
            const started = await samples(FIRST_BOOKINGS, requests, booking, 0);
            await book(service, 32, 1);
            const took = await samples(size.samples, requests.slice(FIRST_BOOKINGS), booking);
            return { started: median(started), p50: median(took) };
          },
          disk,
        );
      }),
  },

  'request-to-receiver': {
    figures: { p50: { name: 'request to receiver, idle, p50', unit: 'ms', ratioFloor: { atMost: 0.95 } } },
    disks: BOTH_DISKS,
    measure: (setting) =>
      withNewService(setting, async (service) => {
        const { receiver } = setting;
        await registerWebhook(service, receiver.url);
        const took = await samples(setting.size.samples, bookingRequests(service.venue, 5_000), async (body) => {
          await pause(20);
          const [sentAt, expected] = [performance.timeOrigin + performance.now(), receiver.arrivals.length + 1];
          await post(service, '/bookings', body);
          await receiver.received(expected);
          return (receiver.arrivals.at(-1)?.at ?? Number.NaN) - sentAt;
        });
        return { p50: median(took) };
      }),
  },

  'many-clients': {
    figures: {
      perSecond: { name: 'POST by 32 clients', unit: '/s', ratioFloor: { atLeast: 1 } },
      p99: { name: 'POST by 32 clients, p99', unit: 'ms', floor: { atMost: 25 } },
      cpu: { name: 'processor time per booking', unit: 'µs', ratioFloor: { atMost: 0.85 } },
    },
    disks: BOTH_DISKS,
    measure: (setting) =>
      withNewService(setting, async (service) => {
        await book(service, 32, setting.size.seconds / 2);
        const before = await cpuAtRest(service);
        const { perSecond, p99, booked } = await book(service, 32, setting.size.seconds);
        const cpu = (((await cpuAtRest(service)) - before) / booked) * 1_000;
        return { perSecond, p99, cpu };
      }),
  },

  'busy-deliveries': {
    figures: {
      p50: { name: 'event to receiver while 32 clients book, p50', unit: 'ms' },
      perSecond: { name: 'bookings made and delivered meanwhile', unit: '/s' },
    },
    disks: BOTH_DISKS,
    measure: (setting) =>
      withNewService(setting, async (service) => {
        const { receiver, size } = setting;
        await registerWebhook(service, receiver.url);
        const before = receiver.arrivals.length;
        const warmUp = await book(service, 32, 1);
        await receiver.received(before + warmUp.booked);
        const startedAt = performance.now();
        const { booked } = await book(service, 32, size.seconds);
        await receiver.received(before + warmUp.booked + booked);
        const seconds = (performance.now() - startedAt) / 1_000;
        const arrived = receiver.arrivals.slice(before + warmUp.booked);
        return { p50: median(arrived.map(({ at, eventAt }) => at - eventAt)), perSecond: booked / seconds };
      }),
  },

  availability: {
    figures: { perSecond: { name: 'GET availability', unit: '/s', ratioFloor: { atLeast: 0.9 } } },
    measure: (setting) =>
      withNewService(setting, async (service) => {
        await book(service, 8, 0.5);
        const request = { url: service.url, key: service.venue.key, requests: availabilityRequests(service.venue) };
        const read = async (seconds: number) => only('200', await load({ ...request, connections: 32, seconds }));
        await read(1);
        return { perSecond: (await read(setting.size.seconds)).perSecond };
      }),
  },

  deliveries: {
    figures: { perSecond: { name: 'deliveries from the log', unit: '/s', ratioFloor: { atLeast: 0.9 } } },
    disks: BOTH_DISKS,
    measure: async ({ checkout, size, disk, receiver }) => {
      const begin = receiver.arrivals.length;
      const content = { bookings: size.waiting, hooks: Array.from({ length: HOOKS }, () => receiver.url) };
      await checkout.withVenue(
        (venue) => checkout.withService(venue, () => receiver.received(begin + HOOKS * size.waiting), disk),
        content,
      );
      const arrivals = receiver.arrivals.slice(begin).map(({ at }) => at);
      return { perSecond: (arrivals.length / (Math.max(...arrivals) - Math.min(...arrivals))) * 1_000 };
    },
  },

  rebuild: {
    figures: {
      perSecond: { name: 'rebuild of all read models', unit: 'events/s', ratioFloor: { atLeast: 1 } },
    },
    disks: BOTH_DISKS,
    measure: (setting) =>
      withNewService(
        setting,
        async ({ venue }) => {
          const command = (...args: readonly string[]) => timed(() => setting.checkout.venueCommand(venue, ...args));
          const overhead = await command('read-model', 'list');
          return { perSecond: (setting.size.rebuilt / ((await command('rebuild')) - overhead)) * 1_000 };
        },
        setting.size.rebuilt,
      ),
  },

  list: {
    figures: {
      perSecond: { name: 'list of 10,000', unit: '/s' },
      changed: { name: 'list of 10,000, changed before each', unit: '/s', ratioFloor: { atLeast: 1 } },
    },
    measure: (setting) =>
      withNewService(
        setting,
        async (service) => {
          const { url, venue } = service;
          const request = { url, key: venue.key, connections: 4, requests: [{ path: '/api/v1/bookings' }] };
          await load({ ...request, seconds: 1 });
          const { perSecond } = only('200', await load({ ...request, seconds: setting.size.seconds }));
          const list = () => timed(() => get(service, '/bookings'));
          const took = await samples(setting.size.samples / 4, bookingRequests(venue, 5_000), async (body) => {
            await post(service, '/bookings', body);
            return list();
          });
          return { perSecond, changed: 1_000 / median(took) };
        },
        LISTED,
      ),
  },

  start: {
    figures: {
      first: { name: 'first start, until it is ready', unit: 's' },
      again: { name: 'start, until it is ready', unit: 's', floor: { atMost: 0.7 } },
    },
    measure: ({ checkout, disk }) =>
      checkout.withVenue(async (venue) => {
        const demo = { ...disk, DATA_DIR: `${venue.settings.DATA_DIR}-demo`, DEMO: 'true' };
        const start = () => checkout.withService(venue, async ({ startedIn }) => startedIn / 1_000, demo);
        return { first: await start(), again: await start() };
      }),
  },

  'slow-disk': {
    figures: {
      ratio: { name: 'reader while bookings wait for a slow disk, p50, ÷ idle', unit: '×', floor: { atMost: 2 } },
      p50: { name: 'reader while bookings wait for a slow disk, p50', unit: 'ms' },
      written: { name: 'bookings written meanwhile, of 1,000/s attempted', unit: '/s' },
    },
    disks: ['slow'],
    measure: (setting) =>
      withNewService(setting, async (service) => {
        const { url, venue } = service;
        const path = `/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(1)}`;
        const read = async () => {
          const took: number[] = [];
          for (const end = performance.now() + setting.size.seconds * 1_000; performance.now() < end; ) {
            took.push(await timed(() => get(service, path)));
            // A reader among many, not a load of its own.
            await pause(2);
          }
          return median(took);
        };
        await read();
        const idle = await read();
        const requests = bookingRequests(venue, PER_SECOND * (setting.size.seconds + 1));
        const sent = { url, key: venue.key, seconds: setting.size.seconds, requests, connections: 64 };
        const [p50, { perSecond }] = await Promise.all([read(), load({ ...sent, rate: PER_SECOND })]);
        return { ratio: p50 / idle, p50, written: perSecond };
      }),
  },

  search: {
    isLong: true,
    figures: searchFigures,
    measure: measureSearch,
  },

  'two-processes': {
    figures: twoProcessFigures,
    measure: measureTwoProcesses,
  },

  'two-served-processes': {
    figures: twoServedProcessFigures,
    measure: measureTwoServedProcesses,
  },

  mail: {
    isLong: true,
    figures: mailFigures,
    measure: measureMail,
  },

  'mail-on-mongodb': {
    isLong: true,
    figures: mailOnMongoFigures,
    measure: measureMailOnMongo,
  },

  mongodb: {
    isLong: true,
    figures: mongoFigures,
    measure: ({ checkout, size }) => measureMongo(checkout.root, size),
  },

  hostile: {
    isLong: true,
    figures: hostileFigures,
    measure: ({ checkout, receiver, size: { seconds, pairs } }) =>
      measureHostile({ checkout, receiver, seconds, pairs, bookings: LISTED }),
  },

  rest: {
    isLong: true,
    figures: {
      cpu: { name: 'at rest, of one core', unit: '%', floor: { atMost: 0.5 } },
      memory: { name: 'memory, idle', unit: 'MiB', floor: { atMost: 75 } },
    },
    measure: (setting) =>
      withNewService(setting, async (service) => {
        // A start ends with V8's last collections of garbage after half a minute, and with the first seal after a minute.
        await pause(2.5 * setting.size.restMs);
        const before = service.cpuMs();
        const periodMs = 2 * setting.size.restMs;
        await pause(periodMs);
        return { cpu: ((service.cpuMs() - before) / periodMs) * 100, memory: service.memoryMiB() };
      }),
  },

  burst: {
    isLong: true,
    figures: {
      most: { name: 'memory, most during a burst of 100,000 bookings and deliveries', unit: 'MiB' },
      after: { name: 'memory, 30 s after it', unit: 'MiB', floor: { atMost: 200 } },
    },
    measure: (setting) =>
      withNewService(setting, async (service) => {
        const { receiver } = setting;
        const amount = setting.size.burst;
        await registerWebhook(service, receiver.url);
        let most = 0;
        const watch = setInterval(() => {
          most = Math.max(most, service.memoryMiB());
        }, 250);
        const before = receiver.arrivals.length;
        try {
          const { url, venue } = service;
          const requests = bookingRequests(venue, amount);
          only('201', await load({ url, key: venue.key, connections: 64, seconds: 0, amount, requests }));
          await receiver.received(before + amount);
        } finally {
          clearInterval(watch);
        }
        await pause(setting.size.restMs);
        // Once a minute the log is sealed, which takes memory for a few seconds.
        const after: number[] = [];
        for (let i = 0; i < 13; i += 1, await pause(setting.size.restMs / 6)) after.push(service.memoryMiB());
        return { most, after: median(after) };
      }),
  },
};

const withNewService = <T>(
  { checkout, disk }: Setting,
  work: (service: Service) => Promise<T>,
  bookings = 0,
): Promise<T> => checkout.withVenue((venue) => checkout.withService(venue, work, disk), { bookings });
