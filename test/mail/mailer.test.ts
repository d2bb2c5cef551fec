import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Recorded } from '../../src/domain/events.ts';
import { LOG_START } from '../../src/event-store/event-store.ts';
import type { NewMail } from '../../src/mail/mail.ts';
import { readMarks, replaceMarks } from '../../src/outbox/marks.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { requested } from '../webhooks/deliverable-events.ts';
import { watched } from '../webhooks/watched-documents.ts';
import { addressOf, openMailVenue, READERS, type SourcedMail } from './mail-venue.ts';
import { type Smtp, startSmtp } from './smtp.ts';

const HOUR_MS = 3_600_000;
const ADA = addressOf(READERS[0]);

let smtp: Smtp;
let venue: Awaited<ReturnType<typeof openMailVenue>>;

beforeEach(async () => {
  smtp = await startSmtp();
  venue = await openMailVenue({ url: smtp.url });
});
afterEach(async () => {
  await venue.close();
  await smtp.kill();
});

const request = (bookingId: number) => venue.append(requested({ bookingId }));
/** A mail about each booking, each to another user. */
const idsOf = (bookingIds: readonly number[]) =>
  bookingIds.map((id) => ({ ...venue.newMail(id), userId: `usr_${id}` }));
/** How often each mail arrived, by its subject and recipient. */
const arrivals = () => Map.groupBy(smtp.arrived, ({ to, mail }) => `${mail.subject} to ${to}`);
const messageIds = () => new Set(smtp.arrived.map(({ mail }) => mail.messageId));
const inState = async (mail: SourcedMail, state: 'Sent' | 'Pending' | 'Failed' | 'Skipped', count: number) =>
  eventually(async () => {
    const found = await mail.list(state, 1_000);
    expect(found).toHaveLength(count);
    return found;
  });

test('each reader of an event gets one mail, also if the event comes again; events before mail was set up make none', async () => {
  await request(1);
  const mail = await venue.send();
  await request(2);
  await smtp.until(2);
  expect([...arrivals().keys()].toSorted()).toEqual(READERS.map((user) => `Booking 2 to ${addressOf(user)}`));
  await inState(mail, 'Sent', 2);
  await mail.stop();
  await replaceMarks(venue.documents, 'mail', { BookingRequested: LOG_START });
  const again = await venue.send();
  await request(3);
  // The event before the first start is mailed now: the mark has been moved in front of it.
  await inState(again, 'Sent', 6);
  expect(smtp.arrived).toHaveLength(6);
});

test('a mail is stored before its event is acknowledged: a process that dies in between loses and repeats nothing', async () => {
  const mail = await venue.open();
  await mail.prepare();
  await request(4);
  await dieAt('mails stored, not acknowledged');
  await inState(mail, 'Pending', 2);
  mail.start();
  await inState(mail, 'Sent', 2);
  expect(smtp.arrived).toHaveLength(2);
});

test('a process that dies between the end of the data and the record repeats that mail under the same Message-ID', async () => {
  const mail = await venue.open();
  await mail.enqueue(venue.newMail(5));
  await dieAt('mail sent, not recorded');
  await inState(mail, 'Pending', 1);
  expect(smtp.arrived).toHaveLength(1);
  mail.start();
  await inState(mail, 'Sent', 1);
  expect(smtp.arrived).toHaveLength(2);
  expect(messageIds().size).toBe(1);
  expect(new Set(smtp.arrived.map(({ mail: { date } }) => date?.getTime())).size).toBe(1);
});

test('a server that is killed mid-run and comes back gets each mail; only mails whose data had ended come twice', async () => {
  const mail = await venue.send();
  const bookings = Array.from({ length: 60 }, (_, i) => i + 1);
  /** How many mails had arrived at each kill. */
  const killedAt: number[] = [];
  let sinceKill = 0;
  let kills = 0;
  let restarted = Promise.resolve();
  smtp.onData = async () => {
    sinceKill += 1;
    if (sinceKill === 15 && kills < 3) {
      kills += 1;
      sinceKill = 0;
      killedAt.push(smtp.arrived.length);
      restarted = smtp.kill().then(() => smtp.start());
    }
    return undefined;
  };
  for (const each of idsOf(bookings)) await mail.enqueue(each);
  await inState(mail, 'Sent', bookings.length);
  await restarted;
  expect(kills).toBe(3);
  expect(messageIds().size).toBe(bookings.length);
  // Four are in flight at most, so only those that arrived just before or during a kill may have come again.
  const ids = smtp.arrived.map(({ mail: each }) => each.messageId);
  for (const id of messageIds()) {
    const first = ids.indexOf(id);
    if (ids.lastIndexOf(id) > first) expect(killedAt.some((at) => first >= at - 4 && first < at + 4)).toBe(true);
  }
  expect(ids.length - bookings.length).toBeLessThanOrEqual(3 * 4);
});

test('a mail whose connection closes in the middle of its data arrives once, with the next attempt', async () => {
  const text = 'A line of the text.\r\n'.repeat(100_000);
  const mail = await venue.send({
    compose: async ({ userId }) => ({ to: addressOf(userId), subject: 'Long', text, html: '<p>Long</p>' }),
  });
  let breaks = 0;
  smtp.onFirstData = () => {
    breaks += 1;
    if (breaks === 1) smtp.breakConnections();
  };
  await mail.enqueue(venue.newMail(6));
  const [sent] = await inState(mail, 'Sent', 1);
  expect(sent?.attempts.map(({ code }) => code)).toEqual([undefined, 250]);
  expect(breaks).toBe(2);
  expect(smtp.arrived).toHaveLength(1);
});

test('a recipient refused for good fails at once, is shown, holds no other mail up and can be sent again', async () => {
  const mail = await venue.send();
  smtp.onRecipient = async (address) => (address === ADA ? { status: 550, text: `${address} is unknown` } : undefined);
  await request(7);
  const [failed] = await inState(mail, 'Failed', 1);
  await inState(mail, 'Sent', 1);
  expect(failed).toMatchObject({ userId: READERS[0], account: 'Community:3', tries: 1, attempts: [{ code: 550 }] });
  expect(JSON.stringify(failed)).not.toContain('@');
  expect(await mail.list('Failed', 10, 'Community:4')).toEqual([]);
  expect(await mail.list('Failed', 10, 'Community:3')).toHaveLength(1);

  smtp.onRecipient = async () => undefined;
  venue.advance(72 * HOUR_MS);
  const { mailId = '' } = failed ?? {};
  expect(await mail.resend(mailId, 'Community:4')).toMatchObject({ refused: 'ResourceNotFound' });
  accepted(await mail.resend(mailId, 'Community:3'));
  await inState(mail, 'Sent', 2);
  // Otherwise mail programs would sort it three days back.
  const dates = smtp.arrived.map(({ mail: { date } }) => date?.getTime() ?? 0);
  expect((dates[1] ?? 0) - (dates[0] ?? 0)).toBeGreaterThan(71 * HOUR_MS);

  // Otherwise a Manager could fill the inbox of an address by inviting it once.
  expect(await mail.resend(mailId, 'Community:3')).toMatchObject({ refused: 'ResourceNotFound' });
  accepted(await mail.resend(mailId));
});

test('a recipient refused for now is tried again on the schedule of deliveries', async () => {
  const mail = await venue.send();
  smtp.onRecipient = async () => ({ status: 450, text: 'Greylisted' });
  await mail.enqueue(venue.newMail(8));
  await eventually(async () => expect((await mail.list('Pending', 1))[0]).toMatchObject({ tries: 1 }));
  const [waiting] = await mail.list('Pending', 1);
  const delay = Date.parse(waiting?.due ?? '') - Date.parse(waiting?.attempts[0]?.at ?? '');
  expect(delay).toBeGreaterThan(3_900);
  expect(delay).toBeLessThan(7_000);
  smtp.onRecipient = async () => undefined;
  venue.advance(7_000);
  await inState(mail, 'Sent', 1);
});

test('a mail older than a day is not sent: neither one that waited so long, nor one of an old event or copy', async () => {
  const mail = await venue.open();
  await mail.prepare();
  await mail.enqueue(venue.newMail(9, 25 * HOUR_MS));
  await inState(mail, 'Pending', 0);
  await mail.enqueue(venue.newMail(10, 23 * HOUR_MS));
  await request(11);
  venue.advance(25 * HOUR_MS);
  await request(12);
  mail.start();
  const [late] = await inState(mail, 'Failed', 1);
  expect(late).toMatchObject({ about: { bookingId: 10 }, reason: 'It was older than a day.', attempts: [] });
  await inState(mail, 'Sent', 2);
  expect([...new Set(smtp.arrived.map(({ mail: { subject } }) => subject))]).toEqual(['Booking 12']);
});

test('while the clock is wrong, no mail is given up, no event dropped and nothing reminded', async () => {
  let problem: string | undefined = 'The clock of this machine is 2 days ahead of MongoDB';
  let reminders = 0;
  const mail = await venue.open({
    clockProblem: async () => problem,
    tuning: { reminderIntervalMs: 20 },
    reminders: async function* () {
      reminders += 1;
      yield venue.newMail(18);
    },
  });
  await mail.prepare();
  await mail.enqueue(venue.newMail(16));
  await request(17);
  venue.advance(48 * HOUR_MS);
  mail.start();
  await eventually(async () => expect((await mail.list('Pending', 10))[0]).toMatchObject({ tries: 0, delayMs: 5_000 }));
  await eventually(async () => expect(await mail.countFailedEvents()).toEqual({ parked: 0, retrying: 1 }));
  expect({ reminders, arrived: smtp.arrived }).toEqual({ reminders: 0, arrived: [] });

  venue.advance(-48 * HOUR_MS);
  problem = undefined;
  await inState(mail, 'Sent', 4);
  await eventually(async () => expect(await mail.countFailedEvents()).toEqual({ parked: 0, retrying: 0 }));
});

test('a mail that a wrong clock has put off is sent once the clock is right', async () => {
  const mail = await venue.send({ tuning: { reminderIntervalMs: 20 } });
  smtp.onRecipient = async () => ({ status: 450, text: 'Greylisted' });
  venue.advance(12 * HOUR_MS);
  await mail.enqueue(venue.newMail(19));
  await eventually(async () => expect((await mail.list('Pending', 1))[0]).toMatchObject({ tries: 1 }));
  smtp.onRecipient = async () => undefined;
  venue.advance(-12 * HOUR_MS);
  await inState(mail, 'Sent', 1);
});

test('a user who turned it off, or who is gone, gets nothing, and an ended mail is in no list', async () => {
  let isGone = false;
  const mail = await venue.open({
    compose: async ({ userId }) =>
      isGone ? { skipped: 'The user was removed.' } : { to: addressOf(userId), subject: 's', text: 't', html: 'h' },
  });
  isGone = true;
  await mail.enqueue(venue.newMail(13));
  mail.start();
  const [skipped] = await inState(mail, 'Skipped', 1);
  expect(skipped).toMatchObject({ reason: 'The user was removed.', attempts: [] });
  await mail.endAllOf(READERS[0]);
  await inState(mail, 'Skipped', 0);
  expect(smtp.arrived).toEqual([]);
});

test('a mail whose text cannot be made now waits, without counting a try', async () => {
  let isAway = true;
  const mail = await venue.send({
    compose: async ({ userId }) => {
      if (isAway) throw new Unavailable('The read models are being rebuilt');
      return { to: addressOf(userId), subject: 's', text: 't', html: 'h' };
    },
  });
  await mail.enqueue(venue.newMail(14));
  await eventually(async () => expect((await mail.list('Pending', 1))[0]).toMatchObject({ tries: 0, delayMs: 5_000 }));
  isAway = false;
  venue.advance(6_000);
  const [sent] = await inState(mail, 'Sent', 1);
  expect(sent).toMatchObject({ tries: 1 });
});

test('an outcome that cannot be stored is stored later, and the mail is not sent again', async () => {
  let isFull = false;
  const documents = {
    ...venue.documents,
    ...watched(venue.documents, {
      before: (method, collection) => {
        if (isFull && method === 'update' && collection === 'mails') throw new Unavailable('The disk is full');
      },
    }),
  };
  const mail = await venue.send({ documents });
  isFull = true;
  await mail.enqueue(venue.newMail(15));
  await smtp.until(1);
  await inState(mail, 'Pending', 1);
  isFull = false;
  await inState(mail, 'Sent', 1);
  expect(smtp.arrived).toHaveLength(1);
});

test('while the server is away it is tried by one mail at a time, and a stop does not wait for it', async () => {
  await smtp.kill();
  const pauses: number[] = [];
  const pauseAfter = (failures: number) => {
    pauses.push(failures);
    return 200;
  };
  const mail = await venue.send({ tuning: { pauseAfter } });
  for (const each of idsOf(Array.from({ length: 30 }, (_, i) => i + 20))) await mail.enqueue(each);
  await eventually(async () => {
    const tried = (await mail.list('Pending', 100)).filter(({ tries }) => tries > 0);
    expect(tried.length).toBeGreaterThan(4);
    expect(pauses.length).toBeGreaterThan(2);
  });
  const before = (await mail.list('Pending', 100)).reduce((sum, { tries }) => sum + tries, 0);
  // The first attempts, side by side, make one pause. Then there is one for each.
  expect(pauses.slice(0, 3)).toEqual([1, 2, 3]);
  expect(before).toBeLessThan(4 + pauses.length + 1);
  venue.advance(10 * 60_000);
  expect(await mail.warning()).toMatch(/^the mail server has taken no mail since /);
  await smtp.start();
  await inState(mail, 'Sent', 30);
  expect(await mail.warning()).toBeUndefined();
  expect(messageIds().size).toBe(30);
});

test('while the server refuses the service at RCPT, every mail waits without a try, is probed one at a time, and arrives', async () => {
  const pauses: number[] = [];
  const pauseAfter = (failures: number) => {
    pauses.push(failures);
    return 100;
  };
  const outcomes: string[] = [];
  const mail = await venue.send({ tuning: { pauseAfter }, onOutcome: (outcome) => outcomes.push(outcome) });
  let refused = 0;
  smtp.onRecipient = async () => {
    refused += 1;
    return { status: 554, text: '5.7.1 <unknown[10.0.0.1]>: Client host rejected: Access denied' };
  };
  for (let i = 20; i < 30; i += 1) await request(i);
  await inState(mail, 'Pending', 20);
  await eventually(() => expect(refused).toBeGreaterThan(12));
  expect(await mail.list('Failed', 10)).toEqual([]);
  expect((await mail.list('Pending', 100)).filter(({ tries }) => tries > 0)).toEqual([]);
  // After those that were in flight at first, one for each pause.
  expect(refused).toBeLessThanOrEqual(4 + Math.max(...pauses) + 1);
  expect(new Set(outcomes)).toEqual(new Set(['held']));
  venue.advance(10 * 60_000);
  expect(await mail.warning()).toContain(': it refuses this service;');
  expect(await mail.awayBecause()).toBe('RefusesService');
  smtp.onRecipient = async () => undefined;
  await inState(mail, 'Sent', 20);
  expect(await mail.warning()).toBeUndefined();
  expect(smtp.arrived).toHaveLength(20);
});

test('mails that failed before the third recipient got the same answer are sent after all', async () => {
  const mail = await venue.send();
  smtp.onRecipient = async () => ({ status: 550, text: 'relay not permitted' });
  for (const [i, user] of [...READERS, 'usr_cy'].entries())
    await mail.enqueue({ ...venue.newMail(90 + i), userId: user });
  await inState(mail, 'Pending', 3);
  await eventually(async () => expect((await mail.list('Pending', 10))[0]?.attempts).not.toEqual([]));
  smtp.onRecipient = async () => undefined;
  venue.advance(60_000);
  await inState(mail, 'Sent', 3);
});

test('mail of one account that floods the queue delays no other: security first, then the accounts in turn', async () => {
  smtp.onRecipient = async () => ({ status: 554, text: '5.7.1 Not now' });
  const mail = await venue.open();
  await mail.prepare();
  for (const flood of idsOf(Array.from({ length: 300 }, (_, i) => i + 1_000))) await mail.enqueue(flood);
  const other = { ...venue.newMail(1), account: 'Brand:9', userId: 'usr_other' } as const;
  await mail.enqueue(other);
  await mail.enqueue({ ...other, kind: 'PasswordReset', userId: 'usr_reset' });
  smtp.onRecipient = async () => undefined;
  mail.start();
  await smtp.until(30);
  const to = smtp.arrived.map((arrived) => arrived.to[0]);
  // Four are in flight at once.
  expect(to.indexOf('usr_reset@example.com')).toBeLessThan(4);
  expect(to.indexOf('usr_other@example.com')).toBeLessThan(8);

  await mail.enqueue({ ...venue.newMail(2), kind: 'PasswordReset', userId: 'usr_late' });
  // Others went on while it was stored.
  const before = smtp.arrived.length;
  await eventually(() => expect(smtp.arrived.map((arrived) => arrived.to[0])).toContain('usr_late@example.com'));
  const late = smtp.arrived.findIndex((arrived) => arrived.to[0] === 'usr_late@example.com');
  expect(late - before).toBeLessThan(9);
  await inState(mail, 'Sent', 303);
});

test('a user gets twenty mails about bookings in an hour, and then one digest of what else happened, each hour', async () => {
  const mail = await venue.send();
  for (let i = 1; i <= 50; i += 1) await mail.enqueue(venue.newMail(i));
  await mail.enqueue({ ...venue.newMail(1), kind: 'ApiKeyIssued' });
  await inState(mail, 'Sent', 21);
  await inState(mail, 'Pending', 30);
  venue.advance(30 * 60_000);
  for (let i = 51; i <= 60; i += 1) await mail.enqueue(venue.newMail(i));
  venue.advance(31 * 60_000);
  await inState(mail, 'Sent', 61);
  const subjects = smtp.arrived.map(({ mail: { subject } }) => subject);
  expect(subjects.filter((subject) => subject?.startsWith('Digest'))).toEqual(['Digest of 40']);
  expect(subjects).toHaveLength(22);
  // The same cause makes no second mail, whether it went out alone or not.
  for (let i = 1; i <= 60; i += 1) await mail.enqueue(venue.newMail(i));
  await inState(mail, 'Pending', 0);
  expect(smtp.arrived).toHaveLength(22);
});

test('a digest that is refused for now is tried again as a whole, under the same Message-ID', async () => {
  const mail = await venue.open();
  await mail.prepare();
  for (let i = 1; i <= 30; i += 1) await mail.enqueue(venue.newMail(i));
  venue.advance(61 * 60_000);
  smtp.onData = async () =>
    smtp.arrived.at(-1)?.mail.subject?.startsWith('Digest') ? { status: 451, text: 'Later' } : undefined;
  mail.start();
  await inState(mail, 'Sent', 20);
  await eventually(async () =>
    expect((await mail.list('Pending', 20)).map(({ tries }) => tries)).toEqual(Array(10).fill(1)),
  );
  smtp.onData = async () => undefined;
  venue.advance(10_000);
  await inState(mail, 'Sent', 30);
  const digests = smtp.arrived.filter(({ mail: { subject } }) => subject?.startsWith('Digest'));
  expect(digests.map(({ mail: { subject } }) => subject)).toEqual(['Digest of 10', 'Digest of 10']);
  expect(new Set(digests.map(({ mail: { messageId } }) => messageId)).size).toBe(1);
});

test('a server that never answers delays no fan-out, holds a few connections, and a stop breaks them', async () => {
  const sockets: unknown[] = [];
  const silent = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const url = `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const other = await openMailVenue({ folder: venue.folder, url });
  onTestFinished(() => other.close());
  const mail = await other.send();
  for (const id of [50, 51, 52, 53, 54]) await request(id);
  await inState(mail, 'Pending', 10);
  await eventually(() => expect(sockets.length).toBeGreaterThan(0));
  expect(sockets.length).toBeLessThanOrEqual(4);
  await mail.stop();
  // What was in flight is still to be sent, by another process.
  await inState(mail, 'Pending', 10);
  const next = await venue.send();
  await inState(next, 'Sent', 10);
});

test('an event whose readers cannot be found holds up no other that is handled at the same time', async () => {
  const of = async ({ type, id, metadata, data }: Recorded): Promise<readonly NewMail[]> => {
    if (type !== 'BookingRequested' || Number(data.bookingId) === 101) throw new Error('No readers');
    const about = { bookingId: data.bookingId };
    return [{ kind: type, cause: id, userId: 'usr_ada', account: 'Community:3', about, at: metadata.at }];
  };
  const mail = await venue.send({ recipients: { kinds: ['BookingRequested'], reads: [], of } });
  await Promise.all([100, 101, 102, 103].map(request));
  await inState(mail, 'Sent', 3);
  await eventually(async () => expect(await mail.countFailedEvents()).toEqual({ parked: 0, retrying: 1 }));
});

test('a mail that was made ahead and then waited for a connection is made again', async () => {
  let isGone = false;
  const released = Promise.withResolvers<undefined>();
  smtp.onData = () => released.promise;
  const mail = await venue.open({
    compose: async ({ userId }) =>
      isGone ? { skipped: 'The user was removed.' } : { to: addressOf(userId), subject: 's', text: 't', html: 'h' },
  });
  await mail.prepare();
  for (const each of idsOf([110, 111, 112, 113, 114, 115])) await mail.enqueue(each);
  mail.start();
  // Four connections hold a mail each, and the others are made.
  await smtp.until(4);
  await sleep(400);
  isGone = true;
  released.resolve(undefined);
  await inState(mail, 'Skipped', 2);
  await inState(mail, 'Sent', 4);
});

test('digests that take long to make leave a connection to other mail', async () => {
  const released = Promise.withResolvers<void>();
  const mail = await venue.open({
    compose: async ({ userId }, others = []) => {
      if (others.length > 0) await released.promise;
      return { to: addressOf(userId), subject: 's', text: 't', html: 'h' };
    },
  });
  await mail.prepare();
  for (const userId of Array.from({ length: 6 }, (_, i) => `usr_${i}`))
    for (let i = 1; i <= 22; i += 1) await mail.enqueue({ ...venue.newMail(i), userId });
  venue.advance(61 * 60_000);
  for (const each of idsOf([120, 121, 122, 123, 124])) await mail.enqueue(each);
  mail.start();
  await inState(mail, 'Sent', 6 * 20 + 5);
  // What is made for connections that are held up waits for too long, so fewer are made ahead from then on.
  const held = Promise.withResolvers<undefined>();
  smtp.onData = () => held.promise;
  for (const each of idsOf([125, 126, 127, 128, 129, 130, 131, 132])) await mail.enqueue(each);
  await smtp.until(6 * 20 + 9);
  await sleep(400);
  held.resolve(undefined);
  await inState(mail, 'Sent', 6 * 20 + 13);
  released.resolve();
  await inState(mail, 'Pending', 0);
});

test('one process sends, and another takes over when it stops', async () => {
  const [one, two] = [await venue.send(), await venue.send()];
  await request(60);
  await inState(one, 'Sent', 2);
  await one.stop();
  await request(61);
  await inState(two, 'Sent', 4);
  expect(smtp.arrived).toHaveLength(4);
});

test('reminders are stored once, however often they are due', async () => {
  const mail = await venue.send({
    reminders: async function* () {
      yield venue.newMail(70);
    },
    tuning: { reminderIntervalMs: 20 },
  });
  await inState(mail, 'Sent', 1);
  await request(71);
  await inState(mail, 'Sent', 3);
  expect(smtp.arrived).toHaveLength(3);
});

test('a plan of the day and a digest are dated when they are sent', async () => {
  const mail = await venue.open();
  await mail.prepare();
  await mail.enqueue({ ...venue.newMail(1), kind: 'EventTomorrow' });
  for (let i = 2; i <= 23; i += 1) await mail.enqueue(venue.newMail(i));
  venue.advance(3 * HOUR_MS);
  mail.start();
  await inState(mail, 'Sent', 23);
  const dateOf = (subject: string) =>
    smtp.arrived.find((arrived) => arrived.mail.subject === subject)?.mail.date?.getTime() ?? 0;
  const now = venue.clock();
  for (const subject of ['Booking 1', 'Digest of 2']) expect(now - dateOf(subject)).toBeLessThan(HOUR_MS);
  expect(now - dateOf('Booking 2')).toBeGreaterThan(2 * HOUR_MS);
});

test('without a mail server there are no marks, no records and no warning', async () => {
  const other = await openMailVenue({ folder: venue.folder });
  onTestFinished(() => other.close());
  const mail = await other.send();
  await mail.enqueue(venue.newMail(80));
  expect(mail.isConfigured).toBe(false);
  expect(await mail.list('Pending', 10)).toEqual([]);
  expect(await readMarks(venue.documents, 'mail')).toEqual({});
  expect(await mail.warning()).toBeUndefined();
  expect(await mail.sendTest('ada@example.com')).toBeUndefined();
});

/** Runs another process on the same stores until it kills itself at this step. */
async function dieAt(step: string): Promise<void> {
  const file = join(venue.folder, 'fault');
  writeFileSync(file, `${step}|process`);
  const child = fork(new URL('mail-process.ts', import.meta.url), [venue.folder, smtp.url], {
    env: { ...process.env, FAULT_POINT: file },
    stdio: 'inherit',
  });
  const [, signal] = await once(child, 'exit');
  expect(signal).toBe('SIGKILL');
}
