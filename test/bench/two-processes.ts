import { setTimeout as pause } from 'node:timers/promises';
import { startMongoServer } from '../document-store/mongodb/server.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { ToolMissing } from '../tool.ts';
import { book, post, samples, timed } from './bookings.ts';
import { type Checkout, openCheckout, type Service } from './checkout.ts';
import { type Figure, median } from './figure.ts';
import { bookingRequests, dateIn } from './requests.ts';

const figuresOn = (engines: string) =>
  ({
    first: { name: `${engines}: POST by one client through the process that projects, p50`, unit: 'ms' },
    other: { name: `${engines}: the same through another process, p50`, unit: 'ms', floor: { atMost: 10 } },
    rested: {
      name: `${engines}: the same after three seconds without bookings, p50`,
      unit: 'ms',
      floor: { atMost: 20 },
    },
    firstPerSecond: { name: `${engines}: POST by 32 clients through the process that projects`, unit: '/s' },
    otherPerSecond: { name: `${engines}: the same through another process`, unit: '/s' },
    share: { name: `${engines}: the other process, of the one that projects`, unit: '×', floor: { atLeast: 0.7 } },
    closing: {
      name: `${engines}: venue closure add of 1,500 days of spaces beside both`,
      unit: 's',
      floor: { atMost: 5 },
    },
  }) as const satisfies Readonly<Record<string, Figure>>;

export const twoProcessFigures = figuresOn('two processes');
export const twoServedProcessFigures = figuresOn('two processes on servers');

/** Bookings that are made after a rest each. */
const RESTED = 3;
const REST_MS = 3_000;
/** With four spaces, 1,500 days of spaces. */
const CLOSED_DAYS = 375;

/** More than two processes take on two cores. */
const MANY = { atMost: 6_000 };

type Setting = {
  readonly checkout: Checkout;
  readonly size: { readonly seconds: number; readonly samples: number };
};

/** Books through each of two processes on one store, of which the first projects. */
export function measureTwoProcesses({ checkout, size }: Setting) {
  return checkout.withVenue((venue) =>
    checkout.withService(venue, async (first) => {
      await book(first, 8, 0.5);
      return checkout.withService(venue, async (other) => {
        const one = (service: Service, count: number, restMs = 0) =>
          samples(
            count,
            bookingRequests(venue, 2 * count),
            async (body) => {
              await pause(restMs);
              return timed(() => post(service, '/bookings', body));
            },
            restMs === 0 ? undefined : 0,
          );
        const many = async (service: Service) => {
          await book(service, 32, 1, MANY);
          return (await book(service, 32, size.seconds, MANY)).perSecond;
        };
        const alone = { first: median(await one(first, size.samples)), other: median(await one(other, size.samples)) };
        const rested = median(await one(other, RESTED, REST_MS));
        const closed = ['--from', dateIn(venue.nextDay), '--to', dateIn(venue.nextDay + CLOSED_DAYS - 1)];
        const closing = await timed(() =>
          checkout.venueCommand(venue, 'closure', 'add', '--community', '1', ...closed),
        );
        venue.nextDay += CLOSED_DAYS;
        const [firstPerSecond, otherPerSecond] = [await many(first), await many(other)];
        return {
          ...alone,
          rested,
          firstPerSecond,
          otherPerSecond,
          share: otherPerSecond / firstPerSecond,
          closing: closing / 1_000,
        };
      });
    }),
  );
}

/** The same on the test server of EventStoreDB and the stand-in of MongoDB: what the service itself waits for, not how fast servers are. */
export async function measureTwoServedProcesses({ checkout: { root }, size }: Setting) {
  const mongo = await startMongoServer();
  if ('missing' in mongo.server) throw new ToolMissing('MongoDB', mongo.server);
  const eventStore = await EventStoreDbServer.start();
  const checkout = await openCheckout(root, { eventStore: eventStore.url, mongo: mongo.server.url });
  try {
    return await measureTwoProcesses({ checkout, size });
  } finally {
    await checkout.close();
    await Promise.all([mongo.stop(), eventStore.stop()]);
  }
}
