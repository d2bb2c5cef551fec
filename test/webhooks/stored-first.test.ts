import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import { timestamp, webhookId as webhookIdOf } from '../../src/domain/ids.ts';
import { readHolder } from '../../src/leases/read-holder.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import type { DeliveryDocument, Webhooks } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested, reviewed } from './deliverable-events.ts';
import { type Answer, answering } from './receiver.ts';
import { COMMUNITY, openVenue } from './venue.ts';
import { openVenueWithReceiver, receiver, venue } from './venue-with-receiver.ts';
import { watched } from './watched-documents.ts';

openVenueWithReceiver();

/** Makes the first attempt to an endpoint, which others of its account may delay. */
async function makeKnown(webhooks: Webhooks, webhookId: string): Promise<void> {
  const { deliveryId } = accepted(await webhooks.sendTest(webhookId));
  await eventually(async () => expect((await webhooks.getDelivery(deliveryId))?.state).toBe('Delivered'));
}

/** Received deliveries, without tests. */
const arrived = () => receiver.received.filter(({ body }) => JSON.parse(body).event !== 'Test');
const untilArrived = (count: number) => eventually(() => expect(arrived().length).toBeGreaterThanOrEqual(count));
const delivered = (webhooks: Webhooks, webhookId: string, count: number) =>
  eventually(async () => {
    const found = await webhooks.listDeliveries({ webhookId, state: 'Delivered', limit: 1_000 });
    expect(found.filter(({ event }) => event !== 'Test')).toHaveLength(count);
  });

test('every delivery is stored before its request is sent, and its event is marked as handled before the receiver answers', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await makeKnown(webhooks, webhookId);
  const looks: Promise<DeliveryDocument | undefined>[] = [];
  const finish: (() => void)[] = [];
  receiver.answer = ({ headers }, response) => {
    looks.push(webhooks.getDelivery(String(headers['webhook-id'])));
    finish.push(() => response.end());
  };
  await venue.append(requested({ bookingId: 1 }));
  await venue.append(requested({ bookingId: 2 }));
  await untilArrived(2);
  for (const look of looks) expect(await look).toMatchObject({ state: 'Pending', tries: 0, attempts: [] });
  await venue.fannedOut('BookingRequested');
  for (const answer of finish) answer();
  await delivered(webhooks, webhookId, 2);
  expect(arrived()).toHaveLength(2);
});

test('deliveries that were just stored are sent without a read of the store, whose polling is once a second', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  let reads = 0;
  const count = (method: string, collection: string) => {
    if (collection === 'webhookDeliveries' && method === 'find') reads += 1;
  };
  const documents = watched(venue.documents, { before: count });
  const webhooks = await venue.deliver({ documents, tuning: { pollIntervalMs: 60_000 } });
  await makeKnown(webhooks, webhookId);
  const before = reads;
  const bookings = Array.from({ length: 60 }, (_, i) => i + 10);
  for (const bookingId of bookings) await happen([bookingId]);
  await untilArrived(3 * bookings.length);
  // Without handing over, each delivery would be read. An event that finds an earlier one of its booking just sent looks once more.
  expect(reads - before).toBeLessThan(bookings.length);
});

/** A delivery that has arrived at its receiver, which answers when `finish` is called. */
async function deliveryInFlight() {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await makeKnown(webhooks, webhookId);
  let finish = () => {};
  receiver.answer = (_, response) => {
    finish = () => response.end();
  };
  await venue.append(requested());
  await untilArrived(1);
  return { webhooks, webhookId, finish: () => finish() };
}

test('a delivery whose event was marked as handled, and that was never sent, is sent by the next process', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const sendsNothing = { perEndpoint: 0, perAccount: 64, all: 1_024 };
  const first = await venue.deliver({ tuning: { inFlight: sendsNothing } });
  await venue.append(requested());
  await venue.fannedOut('BookingRequested');
  await first.stop();
  expect(arrived()).toEqual([]);
  await delivered(await venue.deliver(), webhookId, 1);
  expect(arrived()).toHaveLength(1);
});

test('a process that has lost the role without noticing disturbs neither the order nor the new holder', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const stale = await venue.deliver();
  await makeKnown(stale, webhookId);
  await venue.silence(stale);
  const other = await openVenue({ folder: venue.folder });
  try {
    const holder = await other.deliver();
    let isTakenOver = false;
    holder.onDelivery(() => {
      isTakenOver = true;
    });
    receiver.answer = (_, response) => void setTimeout(() => response.end(), 5);
    const bookings: number[] = [];
    // The stale one fans out until it notices, the new holder sends as well.
    while (!isTakenOver || bookings.length < 10) {
      bookings.push(10 + bookings.length);
      await happen(bookings.slice(-1));
      await pause(20);
    }
    await delivered(holder, webhookId, 3 * bookings.length);
    expect(await holder.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]);
    expectAllInOrder(bookings, webhookId);
  } finally {
    await other.close();
  }
});

test('the active process sends deliveries that another process has stored', async () => {
  const { webhooks, webhookId, finish } = await deliveryInFlight();
  const other = await openVenue({ folder: venue.folder });
  try {
    const queue = await DeliveryQueue.open(other);
    const event = requested({ bookingId: 2 });
    const webhook = { webhookId: webhookIdOf(webhookId), account: 'Community:3' } as const;
    await queue.add({ ...webhook, eventId: event.id, ...noticeOf(event) });
    await untilArrived(2);
    receiver.answer = answering(200);
    finish();
    await delivered(webhooks, webhookId, 2);
  } finally {
    await other.close();
  }
});

test('events of one booking in quick succession arrive one at a time and in order', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await makeKnown(webhooks, webhookId);
  const inFlight = new Set<number>();
  receiver.answer = ({ body }, response) => {
    const { bookingId } = JSON.parse(body).data;
    expect(inFlight).not.toContain(bookingId);
    inFlight.add(bookingId);
    setTimeout(() => {
      inFlight.delete(bookingId);
      response.end();
    }, 40);
  };
  const bookings = Array.from({ length: 8 }, (_, i) => i + 1);
  await Promise.all(
    bookings.map(async (bookingId) => {
      const stream = `spaceDay-7-2026-06-0${bookingId}`;
      await venue.appendTo(stream, [requested({ bookingId }), approved({ bookingId })]);
      await venue.append(reviewed({ bookingId }));
    }),
  );
  await delivered(webhooks, webhookId, 24);
  for (const bookingId of bookings) {
    const own = receiver.received
      .map(({ body }) => JSON.parse(body))
      .filter(({ data }) => data.bookingId === bookingId);
    const kinds = own.map(({ event }) => event).filter((event) => event !== 'ReviewPosted');
    expect(kinds).toEqual(['BookingRequested', 'BookingApproved']);
    expect(own).toHaveLength(3);
  }
});

test('recovering a delivery in flight does not send it twice', async () => {
  const { webhooks, webhookId, finish } = await deliveryInFlight();
  await webhooks.recover(webhookId, timestamp(new Date(venue.clock() - 60_000).toISOString()));
  await pause(30);
  finish();
  await delivered(webhooks, webhookId, 1);
  await pause(100);
  expect(arrived()).toHaveLength(1);
});

/** Events of several bookings, each in its own stream. */
async function happen(bookings: readonly number[]): Promise<void> {
  await Promise.all(
    bookings.map((bookingId) =>
      venue.appendTo(`spaceDay-7-2027-01-${bookingId}`, [
        requested({ bookingId }),
        approved({ bookingId }),
        cancelled({ bookingId, cancelledBy: 'Brand' }),
      ]),
    ),
  );
}

/** Checks that every delivery arrived, in log order per booking, with one id per event. */
function expectAllInOrder(bookings: readonly number[], webhookId: string): void {
  const bodies = arrived().map(({ headers, body }) => ({ id: headers['webhook-id'], ...JSON.parse(body) }));
  for (const bookingId of bookings) {
    const own = bodies.filter(({ data }) => data.bookingId === bookingId);
    expect([...new Set(own.map(({ event }) => event))]).toEqual([
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
    ]);
    expect(new Set(own.map(({ id }) => id)).size).toBe(3);
    for (const { id } of own) expect(id).toMatch(`:${webhookId}`);
  }
}

/** A reproducible generator of numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

test.each([1, 2, 3, 4, 5, 6])('nothing is lost or out of order when calls fail or are late (%i)', async (seed) => {
  const random = randomFrom(seed);
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  let faulty = false;
  const disturb = async (_: string, collection: string) => {
    if (!faulty || !collection.startsWith('webhook')) return;
    if (random() < 0.3) await pause(random() * 8);
    if (random() < 0.04) throw new Unavailable('The store does not answer');
  };
  const documents = watched(venue.documents, { before: disturb, after: disturb });
  const webhooks = await venue.deliver({
    documents,
    tuning: { readModelWaitMs: 200, failureDelaysMs: [10, 10, 10, 10, 10, 10] },
  });
  await makeKnown(webhooks, webhookId);
  const inFlight = new Set<number>();
  const overlaps: number[] = [];
  const answer: Answer = ({ body }, response) => {
    const { bookingId } = JSON.parse(body).data;
    if (inFlight.has(bookingId)) overlaps.push(bookingId);
    inFlight.add(bookingId);
    const late = random() < 0.1 ? 150 : random() * 10;
    setTimeout(() => {
      inFlight.delete(bookingId);
      response.end();
    }, late);
  };
  receiver.answer = answer;
  const bookings = Array.from({ length: 15 }, (_, i) => i + 10);
  faulty = true;
  await happen(bookings);
  await pause(800);
  faulty = false;
  await delivered(webhooks, webhookId, 3 * bookings.length);
  expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]);
  expectAllInOrder(bookings, webhookId);
  expect(overlaps).toEqual([]);
});

test.each(['insert', 'after insert', 'update', 'after update'])(
  'the active process is killed at %s: the one that stands by takes over and loses nothing',
  async (point) => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const process = fork(new URL('deliver-process.ts', import.meta.url), [venue.folder, '0', point]);
    onTestFinished(() => void process.kill('SIGKILL'));
    const exited = once(process, 'exit');
    await eventually(async () => expect(await readHolder(venue.documents, 'roles', 'webhooks')).toBeDefined());
    const second = await venue.deliver();
    const byStandby: string[] = [];
    second.onDelivery(({ deliveryId }) => byStandby.push(deliveryId));
    const bookings: number[] = [];
    while (process.signalCode === null && process.exitCode === null) {
      bookings.push(10 + bookings.length);
      await happen(bookings.slice(-1));
      if (process.signalCode === null) expect(byStandby).toEqual([]);
      await pause(50);
      expect(bookings.length).toBeLessThan(400);
    }
    const [, signal] = await exited;
    expect(signal).toBe('SIGKILL');
    await delivered(second, webhookId, 3 * bookings.length);
    expectAllInOrder(bookings, webhookId);
  },
);
