import { commandIn } from '../document-store/mongodb/commands.ts';
import { startMongoServer } from '../document-store/mongodb/server.ts';
import { startProxyTo } from '../proxy.ts';
import { ToolMissing } from '../tool.ts';
import { get, only, post } from './bookings.ts';
import { openCheckout, type Service } from './checkout.ts';
import { type Figure, median } from './figure.ts';
import { load } from './load.ts';
import { availabilityRequests, bookingRequests, dateIn } from './requests.ts';

export const mongoFigures = {
  commands: { name: 'MongoDB: commands before the answer to a booking', unit: '', floor: { atMost: 8 } },
  roundTrips: { name: 'MongoDB: round trips, one after another, once it is booked', unit: '', floor: { atMost: 2 } },
  together: { name: 'MongoDB: commands a booking, 32 clients', unit: '', floor: { atMost: 1.2 } },
  availability: { name: 'MongoDB: commands for GET availability', unit: '', floor: { atMost: 0 } },
  list: { name: 'MongoDB: commands for a list of bookings', unit: '', floor: { atMost: 1 } },
  availabilityCpu: { name: 'MongoDB: processor time for GET availability, one client', unit: 'µs' },
  listCpu: { name: 'MongoDB: processor time for a list of 200 bookings, 8 clients', unit: 'µs' },
} as const satisfies Readonly<Record<string, Figure>>;

/** How long a message takes to the server or back. Commands that are sent meanwhile belong to one round trip. */
const DISTANCE_MS = 1;
/** What a process sends by itself, such as heartbeats, and what a driver sends to look after its connections. */
export const OWN_WORK = /^(hello|isMaster|ping|endSessions|getMore|killCursors)$/;
/** The first collection that is asked for or written once the event has been appended. */
const READ_MODEL = /^[0-9a-f]{8}\.\d+\.(bookings|availability)$/;

/** Counts what the service sends to MongoDB through a proxy that reads it. The log is the embedded one. */
export async function measureMongo(root: string, { samples, seconds }: { samples: number; seconds: number }) {
  const { server, stop } = await startMongoServer();
  if ('missing' in server) throw new ToolMissing('MongoDB', server);
  const sent: { readonly at: number; readonly collection: string }[] = [];
  const proxy = await startProxyTo(server.url, (passing, chunk) => {
    const command = passing === 'request' ? commandIn(chunk) : undefined;
    if (command !== undefined && !OWN_WORK.test(command.name))
      sent.push({ at: performance.now(), collection: command.collection });
    return passing === 'connection' ? false : DISTANCE_MS;
  });
  const checkout = await openCheckout(root, { mongo: proxy.url });
  try {
    return await checkout.withVenue((venue) =>
      checkout.withService(venue, async (service) => {
        const firstDay = venue.nextDay;
        const bookings = bookingRequests(venue, samples);
        const dates = `startDate=${dateIn(firstDay)}&endDate=${dateIn(venue.nextDay - 1)}`;
        const list = { path: `/api/v1/bookings?${dates}` };
        for (const { body } of bookings.slice(0, samples / 2)) await post(service, '/bookings', body);
        const counted = [];
        for (const { body } of bookings.slice(samples / 2)) {
          sent.length = 0;
          await post(service, '/bookings', body);
          counted.push([...sent]);
        }
        sent.length = 0;
        const requests = bookingRequests(venue, seconds * 5_000);
        const { statuses } = await load({ url: service.url, key: venue.key, connections: 32, seconds, requests });
        const commandsOf = async ({ path }: { readonly path: string }) => {
          sent.length = 0;
          await get(service, path.replace('/api/v1', ''));
          return sent.length;
        };
        const days = availabilityRequests(venue);
        const readOnce = async () => ({
          availability: median(await Array.fromAsync(days, commandsOf)),
          list: median(
            await Array.fromAsync(
              Array.from({ length: 20 }, () => list),
              commandsOf,
            ),
          ),
        });
        const booked = sent.length / (statuses[201] ?? 0);
        await readOnce();
        return {
          ...(await readOnce()),
          availabilityCpu: await cpuOf(service, days, { connections: 1, amount: 10 * samples }),
          listCpu: await cpuOf(service, [list], { connections: 8, amount: 5 * samples }),
          commands: median(counted.map((commands) => commands.length)),
          roundTrips: median(counted.map(roundTripsIn)),
          together: booked,
        };
      }),
    );
  } finally {
    await checkout.close();
    proxy.close();
    await stop();
  }
}

/** The processor time of a request, in microseconds, once the service has compiled what it needs. */
async function cpuOf(
  service: Service,
  requests: readonly { readonly path: string }[],
  { connections, amount }: { readonly connections: number; readonly amount: number },
): Promise<number> {
  const { url, venue } = service;
  const read = () => load({ url, key: venue.key, connections, seconds: 0, amount, requests });
  await read();
  const before = service.cpuMs();
  only('200', await read());
  return ((service.cpuMs() - before) / amount) * 1_000;
}

/** Commands sent within one trip to the server cannot depend on the answer to one of them. */
function roundTripsIn(commands: readonly { readonly at: number; readonly collection: string }[]): number {
  const first = commands.findIndex(({ collection }) => READ_MODEL.test(collection));
  let [trips, beganAt] = [0, Number.NEGATIVE_INFINITY];
  for (const { at } of first === -1 ? [] : commands.slice(first)) {
    if (at - beganAt < 2 * DISTANCE_MS) continue;
    trips += 1;
    beganAt = at;
  }
  return trips;
}
