import { setTimeout as pause } from 'node:timers/promises';
import { runNode } from '../service/node-process.ts';
import { get, timed } from './bookings.ts';
import type { Checkout, Service } from './checkout.ts';
import { ask, localAddress } from './console-attacks.ts';
import { type Figure, median } from './figure.ts';
import { dateIn } from './requests.ts';

const ROOMS = 10_000;
/** How far ahead the month is, in days. */
const AHEAD = 40;
/** Milliseconds between the starts of two searches beside which availability is read: as many for a fast service as for a slow one. */
const BESIDE_MS = 50;
/** How long searches beside strangers take at most. */
const STRANGERS_MS = 30_000;

export const searchFigures = {
  first: { name: 'first search for a month among 10,000 rooms after a start', unit: 'ms' },
  p50: { name: 'search for a month among 10,000 rooms, p50', unit: 'ms' },
  p99: { name: 'the same, p99', unit: 'ms', floor: { atMost: 50 } },
  cpu: { name: 'processor time per search', unit: 'ms' },
  strangers: {
    name: 'the same, while 32 strangers ask for ever new days from ever new addresses, p99',
    unit: 'ms',
    floor: { atMost: 100 },
  },
  beside: { name: 'GET availability beside 20 searches a second, p99', unit: 'ms', floor: { atMost: 20 } },
} as const satisfies Readonly<Record<string, Figure>>;

type Setting = { readonly checkout: Checkout; readonly size: { readonly samples: number } };

/** Searches for rooms as planners do: by month, guests, hour, weekday, amenities, price and place. */
export function measureSearch({
  checkout,
  size,
}: Setting): Promise<Readonly<Record<keyof typeof searchFigures, number>>> {
  return checkout.withVenue(async (venue) => {
    const month = dateIn(AHEAD).slice(0, 7);
    const script = new URL('add-rooms.ts', import.meta.url).pathname;
    const added = await runNode(script, [month, String(ROOMS)], venue.settings, { root: checkout.root });
    if (added.code !== 0) throw new Error(added.stderr);
    return checkout.withService(venue, async (service) => {
      const searches = [
        `month=${month}`,
        `month=${month}&guests=40&hour=18`,
        `month=${month}&weekday=Saturday&amenity=Wifi&sort=price`,
        `month=${month}&maxPrice=300&sort=rating`,
        `month=${month}&near=50,10&within=100`,
      ];
      const search = (at: number) => timed(() => get(service, `/spaces?${searches[at % searches.length]}`));
      const first = await search(0);
      await inTurn(searches.length, search);
      const before = service.cpuMs();
      const took = await inTurn(5 * size.samples, search);
      const cpu = (service.cpuMs() - before) / took.length;
      let isOver = false;
      const reads: number[] = [];
      const path = `/spaces/${venue.spaceIds[0]}/availability?date=${dateIn(1)}`;
      const reading = (async () => {
        while (!isOver) reads.push(await timed(() => get(service, path)));
      })();
      await inTurn(size.samples, async (at) => {
        const wait = pause(BESIDE_MS);
        const took = await search(at);
        await wait;
        return took;
      });
      isOver = true;
      await reading;
      const strangers = await besideStrangers(service, () => inTurn(5 * size.samples, search, STRANGERS_MS));
      return {
        first,
        p50: median(took),
        p99: quantile(took),
        cpu,
        strangers: quantile(strangers),
        beside: quantile(reads),
      };
    });
  });
}

const STRANGERS = 32;
/** The days for which strangers can ask. */
const STRANGERS_DAYS = 540;

/** Does some work while strangers search for days that are not in memory. */
async function besideStrangers<T>({ url }: Service, work: () => Promise<T>): Promise<T> {
  let isOver = false;
  let sent = 0;
  const { host } = new URL(url.replace('127.0.0.1', 'localhost'));
  const searching = Array.from({ length: STRANGERS }, async () => {
    while (!isOver) {
      sent += 1;
      const day = 1 + ((sent * 7) % STRANGERS_DAYS);
      const path = `/rooms?date=${dateIn(day)}&date2=${dateIn(day + 1)}&date3=${dateIn(day + 2)}`;
      await ask(new URL(path, url), { localAddress: localAddress(sent), headers: { host }, method: 'GET', body: '' });
    }
  });
  const result = await work();
  isOver = true;
  await Promise.all(searching);
  return result;
}

async function inTurn(
  count: number,
  sample: (at: number) => Promise<number>,
  ms = Number.POSITIVE_INFINITY,
): Promise<number[]> {
  const took: number[] = [];
  const until = performance.now() + ms;
  for (let at = 0; at < count && performance.now() < until; at += 1) took.push(await sample(at));
  return took;
}

const quantile = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(0.99 * values.length) - 1] ?? Number.NaN;
