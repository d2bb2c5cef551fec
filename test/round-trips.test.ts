import { randomBytes } from 'node:crypto';
import { test as base, describe, expect } from 'vitest';
import { daysLater } from '../src/domain/calendar.ts';
import type { PlainDate } from '../src/domain/ids.ts';
import { CONNECTIONS } from '../src/mail/mailer.ts';
import { readMarks } from '../src/outbox/marks.ts';
import { accepted } from './accepted.ts';
import { MONGODB, ownDatabase } from './document-store/engines.ts';
import { monitorCommands } from './document-store/mongodb/commands.ts';
import { EventStoreDbServer } from './event-store/eventstoredb/server.ts';
import { eventually } from './eventually.ts';
import { lacks } from './lacks.ts';
import { startSmtp } from './mail/smtp.ts';
import { CONTEXT, runService } from './running-service.fixture.ts';

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
  const smtp = await startSmtp();
  const service = await runService({
    EVENTSTORE_URL: log.url,
    MONGODB_URL: mongo.url,
    SECRET_KEY,
    SMTP_URL: smtp.url,
    MAIL_FROM: 'bookings@venue.example',
  });
  const community = await service.community();
  const spaceId = await service.space(community);
  const { key } = await service.brand();
  const book = async (startTime: string, startHour: number, message?: string) => {
    const { statusCode } = await service.post('/bookings', { key, body: { spaceId, startTime, startHour, message } });
    expect(statusCode).toBe(201);
  };
  for (const day of DAYS) await book(day, FIRST);
  const stop = async () => {
    await service.stop();
    mongo.close();
    await Promise.all([log.stop(), smtp.kill()]);
  };
  const availability = (day: string) => service.get(`/spaces/${spaceId}/availability?date=${day}`, { key });
  const list = () => service.get('/bookings', { key: community.key });
  return { log, mongo, smtp, book, list, availability, account: community.account, core: service.core, stop };
}

/** Holds the answers of a mail server until a group of mails, or the last of all, has come. */
function answeredTogether(group: number, all: number): () => Promise<undefined> {
  let arrived = 0;
  let waiting: (() => void)[] = [];
  return () =>
    new Promise((resolve) => {
      arrived += 1;
      waiting.push(() => resolve(undefined));
      if (waiting.length < group && arrived < all) return;
      for (const answer of waiting) answer();
      waiting = [];
    });
}

describe.skipIf(lacks(MONGODB))('round trips to servers', () => {
  test('a booking of a known day takes one round trip to the log, of another two', async ({ venue: { log, book } }) => {
    const [sent, read] = [{ ...log.appends }, log.reads.length];
    const readDays = () => log.reads.filter((stream) => stream.startsWith('spaceDay-')).length;
    expect(readDays()).toBe(DAYS.length);
    for (const day of DAYS) await book(day, SECOND);
    expect(log.appends).toEqual({ batch: sent.batch + DAYS.length, unary: sent.unary });
    expect(log.batchCalls).toBe(1);
    expect(readDays()).toBe(DAYS.length);
    // Whether a key has ended is known from records.
    expect(log.reads.slice(read).filter((stream) => stream.startsWith('apiKey-'))).toEqual([]);
  });

  test('the documents of a booking take one write per collection, and no read', async ({ venue: { mongo, book } }) => {
    const count = (name: string, collection: RegExp) =>
      mongo.commands.filter((command) => command.name === name && collection.test(command.collection)).length;

    mongo.commands.length = 0;
    for (const day of DAYS) await book(day, SECOND);
    expect(count('find', /\.(bookings|availability)$/)).toBe(0);
    expect([count('insert', /\.bookings$/), count('update', /\.bookings$/)]).toEqual([DAYS.length, 0]);
    expect([count('insert', /\.availability$/), count('update', /\.availability$/)]).toEqual([0, DAYS.length]);
    // The location of the space, and the name of the brand, are in memory.
    expect(count('find', /^[0-9a-f]{8}\.\d+\./)).toBe(0);
    // Answers do not wait for the checkpoint, and no process reads it or the catalogue.
    await eventually(() => expect(count('update', /^readModelCheckpoints$/)).toBeGreaterThanOrEqual(DAYS.length));
    expect(count('find', /^readModelGenerations$/)).toBeLessThan(DAYS.length);
  });

  test('availability is asked of the server once, and again after a booking of that day', async ({ venue }) => {
    const { mongo, book, availability } = venue;
    const [day = '', other = ''] = DAYS;
    await availability(other);
    for (const hour of [SECOND, SECOND + 6]) {
      await book(day, hour);
      mongo.commands.length = 0;
      const answers = [await availability(day), await availability(day), await availability(other)];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
      expect(answers[0]?.body).toBe(answers[1]?.body);
      expect(answers[0]?.json().timeSlots).toContainEqual(expect.objectContaining({ hour, isAvailable: false }));
      const reads = mongo.commands.filter(({ collection }) => /^[0-9a-f]{8}\.\d+\./.test(collection));
      expect(reads.map(({ name, collection }) => `${name} ${collection.split('.').at(-1)}`)).toEqual([
        'find availability',
      ]);
    }
  });

  test('a list with messages reads the key of their brand once, and the next list none', async ({ venue }) => {
    const { mongo, book, list } = venue;
    for (const day of DAYS) await book(day, SECOND, `For ${day}`);
    // The key of the caller is known from now on.
    await venue.list();
    await book('2027-02-01', FIRST, 'One more');
    const reads = () =>
      mongo.commands
        .map(({ name, collection }) => `${name} ${collection.split('.').at(-1)}`)
        .filter((read) => /bookings|subjectKeys/.test(read));
    const erasures = 'aggregate subjectKeys';
    mongo.commands.length = 0;
    const { body } = await list();
    expect(JSON.parse(body)).toContainEqual(expect.objectContaining({ brandName: 'Acme', message: 'One more' }));
    expect(reads()).toEqual(['find bookings', erasures, 'find subjectKeys']);
    mongo.commands.length = 0;
    expect((await list()).body).toBe(body);
    expect(reads()).toEqual([erasures]);
  });

  test('a file of bookings is read over one cursor', async ({ venue: { mongo, book, core, account } }) => {
    // More than are shown together.
    const days = Array.from({ length: 60 }, (_, day) => daysLater('2027-01-01' as PlainDate, day));
    await Promise.all(days.map((day) => book(day, FIRST)));
    mongo.commands.length = 0;
    const pages = await Array.fromAsync(core.queries.bookings.wholeList(account, { direction: 'ascending' }));
    expect(pages.flat()).toHaveLength(DAYS.length + days.length);
    const finds = mongo.commands.filter(({ name, collection }) => name === 'find' && collection.endsWith('.bookings'));
    expect(finds).toHaveLength(1);
  });

  test('concurrent bookings are written together', async ({ venue: { mongo, book } }) => {
    const count = (name: string, collection: string) =>
      mongo.commands.filter((command) => command.name === name && command.collection.endsWith(collection)).length;
    mongo.commands.length = 0;
    await Promise.all(DAYS.map((day) => book(day, SECOND)));
    expect(count('update', '.availability')).toBe(count('insert', '.bookings'));
    expect(count('insert', '.bookings')).toBeLessThan(DAYS.length);
  });

  test('the recipients of events are in memory', async ({ venue: { core, mongo, book } }) => {
    const { events, webhooks } = core;
    const fannedOut = () =>
      eventually(async () => {
        const requests = await Array.fromAsync(events.readAll({ types: ['BookingRequested'] }));
        const { BookingRequested: marked = '' } = await readMarks(core.documents, 'webhooks');
        expect(marked >= (requests.at(-1)?.position ?? 'z')).toBe(true);
      });
    await webhooks.start();
    await fannedOut();
    mongo.commands.length = 0;
    await Promise.all(DAYS.map((day) => book(day, SECOND)));
    await fannedOut();
    expect(mongo.commands.filter(({ collection }) => collection.endsWith('.webhooks'))).toEqual([]);
    await webhooks.stop();
  });

  test('the mails of many events are stored, made and recorded together', async ({ venue, onTestFinished }) => {
    const { core, mongo, book, account, smtp } = venue;
    const reader = { email: 'ada@example.com', password: 'a long password', accounts: [account] };
    accepted(await core.users.add(reader, CONTEXT));
    await core.mail.prepare(core.mailContent);
    for (const day of DAYS) await book(day, SECOND);
    smtp.onData = answeredTogether(CONNECTIONS, DAYS.length);
    mongo.commands.length = 0;
    core.mail.start(core.mailContent);
    onTestFinished(() => core.mail.stop());
    await eventually(async () => expect(await core.mail.list('Sent', 100)).toHaveLength(DAYS.length));
    const count = (name: string, collection: string) =>
      mongo.commands.filter((command) => command.name === name && command.collection.endsWith(collection)).length;
    const perMail = {
      stored: count('insert', 'mails') + count('update', 'recentMails'),
      chosen: count('find', 'mailPreferences'),
      addressed: count('find', 'users'),
      recorded: count('update', 'mails'),
    };
    for (const commands of Object.values(perMail)) expect(commands).toBeLessThan(DAYS.length);
  });
});
