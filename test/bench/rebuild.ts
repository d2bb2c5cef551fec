import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { projections } from '../../projections/index.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Core } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { keysOf } from '../../src/domain/keys-of.ts';
import type { Space } from '../../src/domain/space.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { closeStores, openStores, type Stores } from '../../src/engines.ts';
import { logEnd } from '../../src/event-store/event-store.ts';
import { rebuild as rebuildReadModels } from '../../src/projector/rebuild.ts';
import { fanOutGroup } from '../../src/webhooks/fan-out-groups.ts';
import { startNode } from '../service/node-process.ts';
import { type Bench, type Figure, interleaved, percentile } from './figure.ts';
import { appendAnswered, appendBookings, dateIn, makeVenue, SLOTS_PER_DAY, type Venue, withCore } from './venue.ts';

/** Enough that what a rebuild takes whatever the length of the log, some 100 ms, does not count. */
const EVENTS = 200_000;
const ROUNDS = 3;
/** Pauses between two bookings and between two reads, in milliseconds, while a rebuild runs. */
const BOOKS_EVERY_MS = 20;
const READS_EVERY_MS = 5;
/** How long the same is measured without a rebuild. */
const IDLE_MS = 3_000;

/**
 * A rebuild of every read model by a running service, through to the swap, indexes included, while bookings are taken; against
 * reading and parsing the same log. Of a log in which every event makes a document, and of one of bookings that were answered.
 */
export const rebuild: Bench = async () => [
  ...(await measure('rebuild of all read models', (...log) => appendAnswered(...log, EVENTS / 3))),
  ...(await measure('rebuild, only requests in the log', (...log) => appendBookings(...log, EVENTS))),
];

type Append = (core: Core, venue: Venue, space: Space) => Promise<void>;

async function measure(name: string, append: Append): Promise<Figure[]> {
  const venue = await makeVenue(2);
  try {
    await withCore(venue.dataDir, async (core) => {
      const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
      if (space === undefined) throw new Error('The space is not in the read model');
      await append(core, venue, space.document);
      while ((await core.projector.status()).lag > 0) await delay(100);
      await skipFanOut(core);
    });
    const service = await startNode('src/main.js', '/readyz', {
      DATA_DIR: venue.dataDir,
      DEMO: 'false',
      LOG_LEVEL: 'warn',
    });
    const stores = await openStores(readConfig({ DATA_DIR: venue.dataDir }), pino({ level: 'silent' }));
    try {
      const [spaceId, booked] = venue.spaceIds;
      const headers = { authorization: `Bearer ${venue.key}`, 'content-type': 'application/json' };
      const reads: number[] = [];
      let slot = 0;
      /** Books and reads until it is told to stop. */
      const use = (signal: AbortSignal) =>
        Promise.all([
          repeat(signal, BOOKS_EVERY_MS, async () => {
            const startTime = dateIn(2 + Math.floor(slot / SLOTS_PER_DAY));
            const body = JSON.stringify({ spaceId: booked, startTime, startHour: slot++ % SLOTS_PER_DAY });
            const { status } = await fetch(`${service.url}/api/v1/bookings`, { method: 'POST', headers, body });
            if (status !== 201) throw new Error(`A booking was answered with ${status}`);
          }),
          repeat(signal, READS_EVERY_MS, async () => {
            const startedAt = performance.now();
            const path = `/api/v1/spaces/${spaceId}/availability?date=${dateIn(3)}`;
            const response = await fetch(`${service.url}${path}`, { headers });
            await response.text();
            if (response.status !== 200) throw new Error(`Availability was answered with ${response.status}`);
            reads.push(performance.now() - startedAt);
          }),
        ]);
      const whileUsed = async <R>(work: () => Promise<R>): Promise<R> => {
        const stopping = new AbortController();
        const using = use(stopping.signal);
        const result = await work();
        stopping.abort();
        await using;
        return result;
      };
      await read(stores);
      await whileUsed(() => delay(IDLE_MS));
      const withoutRebuild = percentile(reads.splice(0), 99);
      const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
        value: () => whileUsed(() => perSecond(() => rebuildReadModels({ ...stores, projections }))),
        ceiling: () => perSecond(() => read(stores)),
      });
      return [
        { name, value, ranges: { value: ranges.value }, unit: 'events/s', aim: { atLeast: 100_000 } },
        {
          name: `${name}, against reading`,
          value,
          unit: 'events/s',
          ceiling: { what: 'reading and parsing the log', value: ceiling },
          ...{ ratio, ranges },
          aim: { atLeast: 0.5 },
        },
        {
          name: `GET availability meanwhile, p99 (${name})`,
          value: percentile(reads, 99),
          unit: 'ms',
          ceiling: { what: 'the same bookings and reads without a rebuild', value: withoutRebuild },
          aim: { below: 10 },
        },
      ];
    } finally {
      await closeStores(stores);
      await service.end('SIGKILL');
    }
  } finally {
    await venue.remove();
  }
}

/** The service would otherwise look through the whole log for webhooks while it rebuilds, because it starts for the first time. */
async function skipFanOut({ events }: Core): Promise<void> {
  const after = await logEnd(events);
  for (const kind of keysOf(WEBHOOK_EVENTS)) await events.createGroup(fanOutGroup(kind), { types: [kind], after });
}

async function repeat(signal: AbortSignal, everyMs: number, work: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await delay(everyMs);
  }
}

async function read({ events }: Stores): Promise<void> {
  let count = 0;
  for await (const _ of events.readAll()) count += 1;
  if (count < EVENTS) throw new Error(`The log has only ${count} events`);
}

async function perSecond(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (EVENTS / (performance.now() - startedAt)) * 1_000;
}
