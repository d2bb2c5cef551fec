import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import { webhookId as webhookIdOf } from '../../src/domain/ids.ts';
import { logEnd } from '../../src/event-store/event-store.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { openDeliveries } from '../../src/webhooks/deliveries.ts';
import { fanOutGroup } from '../../src/webhooks/fan-out-groups.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested, reviewed } from './deliverable-events.ts';
import { type Answer, answering } from './receiver.ts';
import { COMMUNITY, openVenue } from './venue.ts';
import { openVenueWithReceiver, receiver, venue } from './venue-with-receiver.ts';
import { watched } from './watched-documents.ts';

openVenueWithReceiver();

const DELIVERIES = 'webhookDeliveries';

/** Deliveries, and the writes to them. */
async function deliverCounting() {
  const writes: string[] = [];
  const documents = watched(venue.documents, {
    before(method, collection) {
      if (collection === DELIVERIES && ['insert', 'replace', 'delete'].includes(method)) writes.push(method);
    },
  });
  return { webhooks: await venue.deliver({ documents }), writes };
}

/** Makes a receiver known as prompt by test deliveries. On a machine that is busy it seems slow at first. */
async function makeKnown(webhooks: Webhooks, webhookId: string): Promise<void> {
  for (;;) {
    const { deliveryId } = accepted(await webhooks.sendTest(webhookId));
    await eventually(async () => expect((await webhooks.getDelivery(deliveryId))?.state).toBe('Delivered'));
    const { pace, lapsed } = await webhooks.receiver(webhookId);
    if (pace === 'prompt' && lapsed === undefined) return;
  }
}

/** What arrived, other than tests. */
const arrived = () => receiver.received.filter(({ body }) => JSON.parse(body).event !== 'Test');
const untilArrived = (count: number) => eventually(() => expect(arrived().length).toBeGreaterThanOrEqual(count));
const delivered = (webhooks: Webhooks, webhookId: string, count: number) =>
  eventually(async () => {
    const found = await webhooks.listDeliveries({ webhookId, state: 'Delivered', limit: 1_000 });
    expect(found.filter(({ event }) => event !== 'Test')).toHaveLength(count);
  });
const idsOf = () => arrived().map(({ headers }) => headers['webhook-id']);
const happened = (group: string) => venue.events.groupPosition(fanOutGroup(group));

describe('a delivery to a prompt receiver', () => {
  test('is one write, one after another and many at once', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const { webhooks, writes } = await deliverCounting();
    await makeKnown(webhooks, webhookId);
    const perDelivery: number[] = [];
    // One that waits for 100 ms, on a machine that is busy, is written twice.
    for (let i = 1; perDelivery.filter((count) => count === 1).length < 5; i++) {
      writes.length = 0;
      await venue.append(requested({ bookingId: i }));
      await delivered(webhooks, webhookId, i);
      perDelivery.push(writes.length);
      expect(perDelivery.length).toBeLessThan(50);
    }
    writes.length = 0;
    await Promise.all(Array.from({ length: 100 }, (_, i) => venue.append(requested({ bookingId: 100 + i }))));
    await delivered(webhooks, webhookId, perDelivery.length + 100);
    expect(writes.filter((method) => method === 'insert')).toHaveLength(100);
    expect(arrived()).toHaveLength(perDelivery.length + 100);
  });

  test('is one write while others that are stored wait for their turn', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const { webhooks, writes } = await deliverCounting();
    await makeKnown(webhooks, webhookId);
    const deliveries = await openDeliveries(venue);
    const writesOf = async (round: number): Promise<readonly string[]> => {
      // Two are sent at first, and the others wait until the new one is there.
      const isThere = Promise.withResolvers<void>();
      receiver.answer = (_, response) => void isThere.promise.then(() => response.end());
      const from = arrived().length;
      const bookings = Array.from({ length: 8 }, (_, i) => 100 * round + i);
      await Promise.all(
        bookings.map((bookingId) => {
          const event = requested({ bookingId });
          return deliveries.add({
            webhookId: webhookIdOf(webhookId),
            account: 'Community:3',
            eventId: event.id,
            ...noticeOf(event),
          });
        }),
      );
      await untilArrived(from + 2);
      writes.length = 0;
      await venue.append(requested({ bookingId: 100 * round + 99 }));
      await pause(20);
      isThere.resolve();
      await delivered(webhooks, webhookId, 9 * round);
      return writes.toSorted();
    };
    // One that waits for 100 ms, on a machine that is busy, is written twice.
    for (let round = 1, written: readonly string[] = []; written.length !== 9; round++) {
      expect(round).toBeLessThan(20);
      written = await writesOf(round);
      expect(written.filter((method) => method === 'insert')).toHaveLength(1);
    }
  });

  test('is one write also of what happened while nobody delivered, and waits for the read models', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const first = await venue.deliver();
    await makeKnown(first, webhookId);
    await first.stop();
    await Promise.all(Array.from({ length: 30 }, (_, i) => venue.append(requested({ bookingId: i }))));
    expect(await venue.readModels.waitFor(await logEnd(venue.events))).toBe(true);
    venue.holdProjector();
    await venue.append(requested({ bookingId: 30 }));
    const { webhooks, writes } = await deliverCounting();
    await pause(100);
    expect(writes).toEqual([]);
    venue.releaseProjector();
    await delivered(webhooks, webhookId, 31);
    expect(writes.filter((method) => method === 'insert')).toHaveLength(31);
  });

  test('that fails at once is one write too, with its attempt and its next try', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const { webhooks, writes } = await deliverCounting();
    await makeKnown(webhooks, webhookId);
    writes.length = 0;
    receiver.answer = answering(500, {}, 'broken');
    await venue.append(requested());
    const [failed] = await eventually(async () => {
      const found = await webhooks.listDeliveries({ webhookId, state: 'Pending' });
      expect(found).toHaveLength(1);
      return found;
    });
    expect(failed).toMatchObject({ tries: 1, attempts: [{ status: 500, answer: 'broken' }] });
    expect(Date.parse(failed?.due ?? '')).toBeGreaterThan(venue.clock());
    expect(writes).toEqual(['insert']);
  });

  test('that gets no answer within 100 ms is stored, its event is done, and its result is recorded', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const { webhooks, writes } = await deliverCounting();
    await makeKnown(webhooks, webhookId);
    writes.length = 0;
    let finish = () => {};
    receiver.answer = (_, response) => {
      finish = () => response.end();
    };
    const before = await happened('BookingRequested');
    await venue.append(requested());
    await untilArrived(1);
    await eventually(async () => {
      expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toMatchObject([
        { tries: 0, attempts: [] },
      ]);
      expect((await happened('BookingRequested')) ?? '').not.toBe(before);
    });
    expect(writes).toEqual(['insert']);
    finish();
    await delivered(webhooks, webhookId, 1);
    expect(writes).toEqual(['insert', 'replace']);
    expect(arrived()).toHaveLength(1);
  });

  test('is not held up by events of the same booking, which wait for its answer', async () => {
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

  test('that is recovered while it is in flight is not sent twice', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const webhooks = await venue.deliver();
    await makeKnown(webhooks, webhookId);
    let finish = () => {};
    receiver.answer = (_, response) => {
      finish = () => response.end();
    };
    await venue.append(requested());
    await untilArrived(1);
    await webhooks.recover(webhookId, new Date(venue.clock() - 60_000).toISOString() as never);
    await pause(30);
    finish();
    await delivered(webhooks, webhookId, 1);
    await pause(100);
    expect(arrived()).toHaveLength(1);
  });

  test('ends with the process that stops, within its bound', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const leaving = await venue.deliver();
    await makeKnown(leaving, webhookId);
    receiver.answer = (_, response) => void setTimeout(() => response.end(), 300);
    await venue.append(requested());
    await untilArrived(1);
    await leaving.stop();
    const staying = await venue.deliver();
    await delivered(staying, webhookId, 1);
    expect(arrived()).toHaveLength(1);
  });
});

describe('is stored before it is sent', () => {
  /** Whether each request was in the store when it arrived. */
  async function storedOnArrival(webhooks: Webhooks, act: () => Promise<unknown>): Promise<boolean[]> {
    const looks: Promise<boolean>[] = [];
    receiver.answer = ({ headers }, response) => {
      const looked = webhooks.getDelivery(String(headers['webhook-id'])).then((found) => found !== undefined);
      looks.push(looked);
      void looked.then(() => response.end());
    };
    const before = receiver.received.length;
    await act();
    await receiver.until(before + 1);
    return Promise.all(looks);
  }

  test('what goes to a receiver of which nothing is known, but not to the same one later', async () => {
    await venue.register(COMMUNITY, receiver.url);
    const webhooks = await venue.deliver();
    expect(await storedOnArrival(webhooks, () => venue.append(requested()))).toEqual([true]);
    await eventually(async () => {
      const [delivery] = await webhooks.listDeliveries({ webhookId: (await one(webhooks)) ?? '' });
      expect(delivery?.state).toBe('Delivered');
    });
    expect(await storedOnArrival(webhooks, () => venue.append(requested({ bookingId: 2 })))).toEqual([false]);
  });
  const one = async (_: Webhooks) => String(idsOf()[0]).split(':')[1];

  test('what goes to a receiver whose last attempt failed', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const webhooks = await venue.deliver();
    await makeKnown(webhooks, webhookId);
    receiver.answer = answering(500);
    await venue.append(requested());
    await eventually(async () => expect(await webhooks.receiver(webhookId)).toMatchObject({ failures: 1 }));
    expect(await storedOnArrival(webhooks, () => venue.append(requested({ bookingId: 2 })))).toEqual([true]);
  });

  test('what comes to a process that does not hold the lease', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const webhooks = await venue.deliver();
    await makeKnown(webhooks, webhookId);
    let finish = () => {};
    receiver.answer = (_, response) => {
      finish = () => response.end();
    };
    await venue.append(requested());
    await untilArrived(1);
    const other = await openVenue({ folder: venue.folder });
    try {
      const writes: string[] = [];
      const before = (method: string, collection: string) => {
        if (collection === DELIVERIES && method === 'insert') writes.push(method);
      };
      await other.deliver({ documents: watched(other.documents, { before }) });
      // Either process may get them, the first one all of them until it has heard of the other.
      let appended = 1;
      await eventually(async () => {
        appended += 1;
        await other.append(requested({ bookingId: appended }));
        expect(writes.length).toBeGreaterThan(0);
      });
      expect(arrived().length).toBeLessThanOrEqual(4);
      receiver.answer = answering(200);
      finish();
      await eventually(async () =>
        expect(new Set(idsOf().filter((id) => String(id).includes(webhookId))).size).toBe(appended),
      );
    } finally {
      await other.close();
    }
  });
});

/** Events of several bookings, each in a stream of its own. */
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

/** Every delivery arrived, each booking's in the order of the log, with one id for each event. */
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

/** A generator of numbers in [0, 1) that gives the same ones each time. */
function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e3779b9) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

test.each([1, 2, 3, 4, 5, 6])('nothing is lost or out of order, whatever call fails or is late (%i)', async (seed) => {
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

test.each(['getMany', 'after getMany', 'insert', 'after insert', 'replace', 'after replace'])(
  'a process that is killed at %s loses nothing',
  async (point) => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const first = await venue.deliver();
    await makeKnown(first, webhookId);
    await first.stop();
    // Now and then an answer is late, so that its delivery is written twice.
    let count = 0;
    receiver.answer = (_, response) => void setTimeout(() => response.end(), ++count % 3 === 0 ? 200 : 0);
    const process = fork(new URL('deliver-process.ts', import.meta.url), [venue.folder, '0', point]);
    onTestFinished(() => void process.kill('SIGKILL'));
    const exited = once(process, 'exit');
    const bookings: number[] = [];
    while (process.signalCode === null && process.exitCode === null) {
      bookings.push(10 + bookings.length);
      await happen(bookings.slice(-1));
      await pause(50);
      expect(bookings.length).toBeLessThan(400);
    }
    const [, signal] = await exited;
    expect(signal).toBe('SIGKILL');
    const second = await venue.deliver();
    await delivered(second, webhookId, 3 * bookings.length);
    expectAllInOrder(bookings, webhookId);
  },
);
