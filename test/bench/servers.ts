import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { EventStoreDBClient, jsonEvent, NO_STREAM, StreamNotFoundError, streamNameFilter } from '@eventstore/db-client';
import { MongoClient } from 'mongodb';
import { projections } from '../../projections/index.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Core } from '../../src/app.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openEventStoreDb } from '../../src/event-store/eventstoredb/event-store.ts';
import { rebuild } from '../../src/projector/rebuild.ts';
import { type Environment, startNode } from '../service/node-process.ts';
import { type Bench, type Figure, interleaved, median, percentile, rangeOf } from './figure.ts';
import { load } from './load.ts';
import { appendBookings, dateIn, makeVenue, SLOTS_PER_DAY, type Venue, withCore } from './venue.ts';

const ROUNDS = 3;
const SECONDS = 3;
const CLIENTS = 32;
/** Enough slots for a round. */
const DAYS_PER_ROUND = 200;
const REBUILT_EVENTS = 20_000;
const DELIVERIES = 100;

/**
 * The service on the EventStoreDB and the MongoDB that the environment names, against what the client of EventStoreDB does by
 * itself. It works in a part of the log and in a database of its own, which it removes.
 */
export const servers: Bench = async () => {
  const { EVENTSTORE_URL, MONGODB_URL } = process.env;
  if (!EVENTSTORE_URL || !MONGODB_URL) {
    const notMeasured = 'EVENTSTORE_URL and MONGODB_URL must name servers, and no stand-in is quoted';
    return [{ name: 'on EventStoreDB and MongoDB', notMeasured }];
  }
  const database = `bench-${randomUUID().slice(0, 8)}`;
  const log = await openEventStoreDb({ url: EVENTSTORE_URL, prefix: database });
  const client = EventStoreDBClient.connectionString(EVENTSTORE_URL.replace(/^kurrent(db)?(?=[:+])/, 'esdb'));
  // What everything is called on the server begins with this.
  const own = `${database}.`;
  const settings = {
    EVENTSTORE_URL,
    EVENTSTORE_PREFIX: database,
    MONGODB_URL: withDatabase(MONGODB_URL, database),
    SECRET_KEY: randomBytes(32).toString('base64'),
    WEBHOOKS_ALLOW_PRIVATE: 'true',
  };
  try {
    const venue = await makeVenue(4, settings);
    try {
      return [
        ...(await bookings({ log, client, own, venue, settings })),
        await rebuilds({ client, own, venue, settings }),
      ];
    } finally {
      await venue.remove();
    }
  } finally {
    await removeFrom(log, client, own);
    await Promise.all([log.close(), client.dispose()]);
    const mongo = await MongoClient.connect(settings.MONGODB_URL);
    await mongo.db(database).dropDatabase();
    await mongo.close();
  }
};

type Measured = {
  readonly log: EventStore;
  readonly client: EventStoreDBClient;
  readonly own: string;
  readonly venue: Venue;
  readonly settings: Environment;
};

async function bookings({ log, client, own, venue, settings }: Measured): Promise<Figure[]> {
  const service = await startNode('src/main.js', '/readyz', {
    ...{ ...settings, DATA_DIR: venue.dataDir, DEMO: 'false', LOG_LEVEL: 'warn' },
  });
  try {
    // In the time zone of the space, it may already be tomorrow.
    let day = 2;
    const book = async (connections: number) => {
      const requests = requestsFor(venue, day);
      day += DAYS_PER_ROUND;
      const { statuses, perSecond } = await load({
        ...{ url: service.url, key: venue.key },
        ...{ connections, seconds: SECONDS, requests },
      });
      if (Object.keys(statuses).join() !== '201') throw new Error(`Responses were ${JSON.stringify(statuses)}`);
      return perSecond;
    };
    const batch = (atOnce: number) =>
      appends(atOnce, (n) => log.append(`bare-${randomUUID()}`, [eventLikeABooking(n)], { expectedRevision: 'none' }));
    const unary = (atOnce: number) =>
      appends(atOnce, (n) =>
        client.appendToStream(`${own}bare-${randomUUID()}`, jsonEvent(eventLikeABooking(n, own)), {
          expectedRevision: NO_STREAM,
          // Makes the client use the plain call.
          credentials: credentialsIn(settings.EVENTSTORE_URL ?? ''),
        }),
      );
    // First, while fan-out has nothing to catch up with.
    const delivered = await deliveries(service.url, venue, day);
    day += DAYS_PER_ROUND;
    await Promise.all([book(CLIENTS), batch(CLIENTS), unary(CLIENTS)]);
    const many = await inTurns(() => book(CLIENTS), { batch: () => batch(CLIENTS), unary: () => unary(CLIENTS) });
    const one = await inTurns(() => book(1), { batch: () => batch(1), unary: () => unary(1) });
    const ms = (perSecond: readonly number[]) => perSecond.map((rate) => 1_000 / rate);
    const what = 'bare appends over one BatchAppend';
    return [
      {
        ...figureOf(`on servers: POST /bookings, ${CLIENTS} clients`, '/s', many.value, { what, rounds: many.batch }),
        aim: { atLeast: 2_500 },
      },
      figureOf(`on servers: bare unary appends, ${CLIENTS} at once`, '/s', many.unary),
      {
        ...figureOf('on servers: POST /bookings, one client', 'ms', ms(one.value), { what, rounds: ms(one.batch) }),
        aim: { below: 1.6 },
      },
      figureOf('on servers: a bare unary append', 'ms', ms(one.unary)),
      ...delivered,
    ];
  } finally {
    await service.end('SIGTERM');
  }
}

/** Bookings hour by hour, because concurrent callers rarely want the same space on the same day. */
const requestsFor = (venue: Venue, firstDay: number) =>
  Array.from({ length: SLOTS_PER_DAY }, (_, startHour) =>
    Array.from({ length: DAYS_PER_ROUND }, (_, i) =>
      venue.spaceIds.map((spaceId) => ({
        path: '/api/v1/bookings',
        body: { spaceId, startTime: dateIn(firstDay + i), startHour },
      })),
    ),
  ).flat(2);

/** From the request that books to the arrival of its webhook, one after another. */
async function deliveries(url: string, venue: Venue, day: number): Promise<Figure[]> {
  const receiver = new Worker(new URL('webhook-receiver.ts', import.meta.url));
  const [port] = await once(receiver, 'message');
  const arrivals = async (): Promise<number[]> => {
    receiver.postMessage('arrivals');
    return (await once(receiver, 'message'))[0];
  };
  const headers = { authorization: `Bearer ${venue.key}`, 'content-type': 'application/json' };
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    const created = await response.json();
    return created instanceof Object && 'id' in created ? created.id : undefined;
  };
  try {
    const id = await post('/webhooks', { url: `http://127.0.0.1:${port}/hook`, events: 1 });
    const took: number[] = [];
    for (const { body } of requestsFor(venue, day).slice(0, DELIVERIES)) {
      const started = performance.timeOrigin + performance.now();
      await post('/bookings', body);
      let [arrived] = await arrivals();
      while (arrived === undefined) {
        await pause(1);
        [arrived] = await arrivals();
      }
      took.push(arrived - started);
    }
    await fetch(`${url}/api/v1/webhooks/${id}`, { method: 'DELETE', headers });
    return [50, 99].map((p) => ({
      ...{ name: `on servers: request to receiver, p${p}`, value: percentile(took, p), unit: 'ms' },
    }));
  } finally {
    receiver.postMessage('close');
  }
}

async function rebuilds({ client, own, venue, settings }: Omit<Measured, 'log'>): Promise<Figure> {
  return withCore(
    venue.dataDir,
    async (core) => {
      const space = await core.projector.readModels.collection(spaces).get(String(venue.spaceIds[0]));
      if (space === undefined) throw new Error('The space is not in the read model');
      await appendBookings(core, venue, space.document, REBUILT_EVENTS, 20_000);
      while ((await core.projector.status()).lag > 0) await pause(100);
      const count = await eventsIn(core);
      const perSecond = async (work: () => Promise<void>) => {
        const startedAt = performance.now();
        await work();
        return (count / (performance.now() - startedAt)) * 1_000;
      };
      const { value, ceiling, ratio, ranges } = await interleaved(ROUNDS, {
        value: () => perSecond(() => rebuild({ ...core, projections })),
        ceiling: () => perSecond(() => readBySubscription(client, own, count)),
      });
      return {
        ...{ name: 'on servers: rebuild of all read models', value, unit: 'events/s', ratio, ranges },
        ...{ ceiling: { what: 'a bare filtered subscription', value: ceiling }, aim: { atLeast: 0.5 } },
      };
    },
    settings,
  );
}

async function eventsIn({ events }: Pick<Core, 'events'>): Promise<number> {
  let count = 0;
  for await (const _ of events.readAll()) count += 1;
  return count;
}

async function readBySubscription(client: EventStoreDBClient, own: string, count: number): Promise<void> {
  const subscription = client.subscribeToAll({ filter: streamNameFilter({ prefixes: [own] }) });
  let remaining = count;
  for await (const { event } of subscription) {
    if (event !== undefined) remaining -= 1;
    if (remaining === 0) break;
  }
  await subscription.unsubscribe();
}

/** About the size of a booking's event. */
const eventLikeABooking = (n: number, own = '') => ({
  type: `${own}Booked`,
  data: { n, more: 'x'.repeat(700) },
  metadata: { more: 'x'.repeat(250) },
});

/** How many appends per second, so many at a time. */
async function appends(atOnce: number, append: (n: number) => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  const until = startedAt + SECONDS * 1_000;
  let count = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() < until) await append(count++);
    }),
  );
  return (count / (performance.now() - startedAt)) * 1_000;
}

/** Measures the service and what it is compared with in turns. */
async function inTurns(
  service: () => Promise<number>,
  bare: { readonly batch: () => Promise<number>; readonly unary: () => Promise<number> },
) {
  const rounds = { batch: [] as number[], unary: [] as number[], value: [] as number[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.batch.push(await bare.batch());
    rounds.unary.push(await bare.unary());
    rounds.value.push(await service());
  }
  return rounds;
}

function figureOf(
  name: string,
  unit: string,
  rounds: readonly number[],
  against?: { readonly what: string; readonly rounds: readonly number[] },
): Figure {
  const value = rangeOf(rounds);
  if (against === undefined) return { name, unit, value: median(rounds), ranges: { value } };
  const ceiling = { what: against.what, value: median(against.rounds) };
  return { name, unit, value: median(rounds), ceiling, ranges: { value, ceiling: rangeOf(against.rounds) } };
}

/** Deletes the streams and groups of the benchmark. The server's next scavenge takes the events. */
async function removeFrom(log: EventStore, client: EventStoreDBClient, own: string): Promise<void> {
  const streams = new Set<string>();
  for await (const { stream } of log.readAll()) streams.add(`${own}${stream}`);
  if (await hasStream(client, `${own}clock`)) streams.add(`${own}clock`);
  const left = [...streams];
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let stream = left.pop(); stream !== undefined; stream = left.pop()) await client.deleteStream(stream);
    }),
  );
  const groups = await client.listPersistentSubscriptionsToAll();
  for (const { groupName } of groups)
    if (groupName.startsWith(own)) await client.deletePersistentSubscriptionToAll(groupName);
}

async function hasStream(client: EventStoreDBClient, stream: string): Promise<boolean> {
  try {
    return (await Array.fromAsync(client.readStream(stream, { maxCount: 1 }))).length > 0;
  } catch (error) {
    if (error instanceof StreamNotFoundError) return false;
    throw error;
  }
}

/** A URL of MongoDB, which may name several hosts, with another database. */
function withDatabase(url: string, database: string): string {
  const [, start = '', user, before = '', query = ''] =
    /^([^:]+:\/\/([^/@]*@)?[^/?]+)(?:\/([^?]*))?(?:\?(.*))?$/.exec(url) ?? [];
  const options = new URLSearchParams(query);
  // Users are looked up in the database that the URL names, unless it says otherwise.
  if (user !== undefined && !options.has('authSource')) options.set('authSource', before || 'admin');
  return `${start}/${database}${options.size > 0 ? `?${options}` : ''}`;
}

function credentialsIn(url: string) {
  const [, username = '', password = ''] = /^[^:]+:\/\/([^:@/]+):([^@/]+)@/.exec(url) ?? [];
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}
