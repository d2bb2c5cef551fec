import { randomBytes } from 'node:crypto';
import { test as base, describe, expect } from 'vitest';
import { mongoServer, ownDatabase } from './document-store/engines.ts';
import { monitorCommands } from './document-store/mongodb/commands.ts';
import { EventStoreDbServer } from './event-store/eventstoredb/server.ts';
import { eventually } from './eventually.ts';
import { runService } from './running-service.fixture.ts';

const DAYS = Array.from({ length: 9 }, (_, day) => `2026-12-1${day}`);
/** Start hours of two bookings of one day that do not touch. */
const [FIRST, SECOND] = [9, 15];

const test = base.extend<{ venue: Awaited<ReturnType<typeof openVenue>> }>({
  venue: async ({ onTestFinished }, use) => {
    const venue = await openVenue();
    onTestFinished(venue.stop);
    await use(venue);
  },
});

/** The service on servers that count its requests, and one booking per day. */
async function openVenue() {
  const log = await EventStoreDbServer.start();
  const mongo = await monitorCommands(ownDatabase());
  const SECRET_KEY = randomBytes(32).toString('base64');
  const service = await runService({ EVENTSTORE_URL: log.url, MONGODB_URL: mongo.url, SECRET_KEY });
  const spaceId = await service.space(await service.community());
  const { key } = await service.brand();
  const book = async (startTime: string, startHour: number) => {
    const { statusCode } = await service.post('/bookings', { key, body: { spaceId, startTime, startHour } });
    expect(statusCode).toBe(201);
  };
  for (const day of DAYS) await book(day, FIRST);
  const stop = async () => {
    await service.stop();
    mongo.close();
    await log.stop();
  };
  return { log, mongo, book, stop };
}

describe.skipIf('missing' in mongoServer)('round trips to servers', () => {
  test('a booking of a known day takes one round trip to the log, of another two', async ({ venue: { log, book } }) => {
    const [sent, read] = [{ ...log.appends }, log.reads.length];
    const readDays = () => log.reads.filter((stream) => stream.startsWith('spaceDay-')).length;
    expect(readDays()).toBe(DAYS.length);
    const began = performance.now();
    for (const day of DAYS) await book(day, SECOND);
    expect(log.appends).toEqual({ batch: sent.batch + DAYS.length, unary: sent.unary });
    expect(log.batchCalls).toBe(1);
    expect(readDays()).toBe(DAYS.length);
    const reads = log.reads.slice(read);
    // Checked again after a second.
    const seconds = Math.ceil((performance.now() - began) / 1_000);
    expect(reads.filter((stream) => stream.startsWith('apiKey-')).length).toBeLessThanOrEqual(seconds);
  });

  test('the documents of a booking take one write per collection, and no read', async ({ venue: { mongo, book } }) => {
    const count = (name: string, collection: RegExp) =>
      mongo.commands.filter((command) => command.name === name && collection.test(command.collection)).length;
    const checkpoints = /^readModelCheckpoints$/;
    const written = /^(bookings|availability)@/;

    mongo.commands.length = 0;
    for (const day of DAYS) await book(day, SECOND);
    expect(count('find', written)).toBe(0);
    for (const collection of [/^bookings@/, /^availability@/]) expect(count('update', collection)).toBe(DAYS.length);
    // The location of the space, and the name of the brand.
    expect(count('find', /@/)).toBe(2 * DAYS.length);
    // A batch without booking events, such as the server’s own events, moves the checkpoints, too.
    await eventually(() => expect(count('update', checkpoints)).toBeGreaterThanOrEqual(DAYS.length));
  });

  test('concurrent bookings are written together', async ({ venue: { mongo, book } }) => {
    const updates = (name: string) =>
      mongo.commands.filter((command) => command.name === 'update' && command.collection.startsWith(name)).length;
    mongo.commands.length = 0;
    await Promise.all(DAYS.map((day) => book(day, SECOND)));
    expect(updates('availability@')).toBe(updates('bookings@'));
    await eventually(() => expect(updates('readModelCheckpoints')).toBeGreaterThanOrEqual(updates('bookings@')));
  });
});
