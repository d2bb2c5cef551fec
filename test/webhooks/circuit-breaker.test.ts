import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DeliveryState } from '../../src/contract/delivery.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { requested } from './deliverable-events.ts';
import { type Answer, answering, type Receiver, startReceiver } from './receiver.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from './venue.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const BACKLOG = 300;

let venue: Venue;
const receivers: Receiver[] = [];
beforeEach(async () => {
  venue = await openVenue();
});
afterEach(async () => {
  await venue.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

async function receive(answer?: Answer): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  return receiver;
}

/** Registers a receiver for which many deliveries are waiting. */
async function withBacklog(receiver: Receiver, events = BACKLOG) {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await Promise.all(Array.from({ length: events }, (_, i) => venue.append(requested({ bookingId: i }))));
  const webhooks = await venue.deliver();
  const count = async (state: DeliveryState) =>
    (await webhooks.listDeliveries({ webhookId, state, limit: 1_000 })).length;
  return { webhookId, webhooks, count };
}

const isOpen = (webhooks: Webhooks, webhookId: string) =>
  eventually(async () => {
    const { open } = await webhooks.breaker(webhookId);
    if (open === undefined) throw new Error('It is not open');
    return open;
  });

test('a failing receiver gets few requests from its backlog, and waiting deliveries use up no attempt', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver);
  const breaker = await isOpen(webhooks, webhookId);
  await eventually(async () => expect(await count('Pending')).toBe(BACKLOG));
  expect(receiver.received.length).toBeLessThanOrEqual(8);

  const sent = receiver.received.length;
  for (let probes = 1; probes <= 3; probes++) {
    const { probeAt } = (await webhooks.breaker(webhookId)).open ?? breaker;
    venue.advance(Math.max(0, Date.parse(probeAt) - venue.clock()));
    await receiver.until(sent + probes);
    await eventually(async () => {
      const now = (await webhooks.breaker(webhookId)).open;
      expect(now?.since).toBe(breaker.since);
      expect(now?.probeAt).not.toBe(probeAt);
    });
  }
  expect(receiver.received).toHaveLength(sent + 3);
  // Each pause is about twice as long as the previous one.
  expect((await webhooks.breaker(webhookId)).open?.pauseMs).toBeGreaterThan(3 * breaker.pauseMs);
  await eventually(async () => {
    const deliveries = await webhooks.listDeliveries({ webhookId, limit: 1_000 });
    expect(deliveries.reduce((sum, { tries }) => sum + tries, 0)).toBe(sent + 3);
  });
});

test('after a successful probe everything arrives', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver);
  await isOpen(webhooks, webhookId);
  receiver.answer = answering(200);
  venue.advance(MINUTE_MS);
  await eventually(async () => expect(await count('Delivered')).toBe(BACKLOG));
  expect((await webhooks.breaker(webhookId)).open).toBeUndefined();
});

test('the breaker outlives the process, and the next one does not try the endpoint again', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks } = await withBacklog(receiver, 20);
  const breaker = await isOpen(webhooks, webhookId);
  await webhooks.stop();
  const sent = receiver.received.length;
  const others = await Promise.all([venue.deliver(), venue.deliver()]);
  for (const other of others) expect((await other.breaker(webhookId)).open).toEqual(breaker);
  await venue.append(requested({ bookingId: 1_000 }));
  await eventually(async () => expect(await others[0]?.listDeliveries({ webhookId, limit: 100 })).toHaveLength(21));
  expect(receiver.received).toHaveLength(sent);
  receiver.answer = answering(200);
  venue.advance(MINUTE_MS);
  await eventually(async () =>
    expect(await others[0]?.listDeliveries({ webhookId, state: 'Pending' })).toHaveLength(0),
  );
});

test('a breaker whose next probe is an hour ahead of the clock is not trusted', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver, 10);
  await isOpen(webhooks, webhookId);
  await webhooks.stop();
  receiver.answer = answering(200);
  venue.advance(-HOUR_MS);
  await venue.deliver();
  await eventually(async () => expect(await count('Delivered')).toBe(10));
});

test('a test or resend passes as a probe: a failure changes nothing, a success ends the pause', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver, 20);
  const breaker = await isOpen(webhooks, webhookId);
  const sent = receiver.received.length;
  accepted(await webhooks.sendTest(webhookId));
  await receiver.until(sent + 1);
  await eventually(async () => expect(await count('Failed')).toBe(1));
  expect((await webhooks.breaker(webhookId)).open).toEqual(breaker);

  receiver.answer = answering(200);
  const [waiting] = await webhooks.listDeliveries({ webhookId, state: 'Pending', limit: 1 });
  accepted(await webhooks.resend(waiting?.deliveryId ?? ''));
  await eventually(async () => expect(await count('Delivered')).toBe(20));
});

test('a resend from a process that does not deliver passes as well', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks } = await withBacklog(receiver, 20);
  await isOpen(webhooks, webhookId);
  const other = await openVenue({ folder: venue.folder });
  const commandLine = await other.deliver();
  await commandLine.stop();
  receiver.answer = answering(200);
  accepted(await commandLine.sendTest(webhookId));
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]));
  await other.close();
});

test('an endpoint that has succeeded is served at once while others hang from the beginning', async () => {
  const hanging = await receive(() => {});
  const prompt = await receive();
  const tuning = { inFlight: { perEndpoint: 4, perAccount: 8, all: 8 } };
  // Longer than this test takes, so no hanging endpoint releases its permit.
  await venue.deliver({ tuning, sending: { deadlineMs: 60_000 } });
  await venue.register(BRAND, prompt.url);
  await venue.append(requested({ bookingId: 1, communityId: 77 }));
  await prompt.until(1);
  for (let i = 0; i < 20; i++) await venue.register(COMMUNITY, `${hanging.url}&n=${i}`);
  await venue.append(requested({ bookingId: 2, brandId: 77 }));
  await hanging.until(4);
  for (let i = 0; i < 20; i++) {
    await venue.append(requested({ bookingId: 10 + i, communityId: 77 }));
    await prompt.until(2 + i);
  }
  expect(hanging.received).toHaveLength(4);
  await hanging.close();
});
