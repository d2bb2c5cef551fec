import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DeliveryState } from '../../src/contract/delivery.ts';
import { GIVE_UP_AFTER_MS } from '../../src/webhooks/schedule.ts';
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
    const { breaker } = await webhooks.receiver(webhookId);
    if (breaker?.state !== 'open') throw new Error('It is not open');
    return breaker;
  });

test('a failing receiver gets few requests from its backlog, and waiting deliveries use up no attempt', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver);
  const breaker = await isOpen(webhooks, webhookId);
  await eventually(async () => expect(await count('Pending')).toBe(BACKLOG));
  expect(receiver.received.length).toBeLessThanOrEqual(8);

  const sent = receiver.received.length;
  for (let probes = 1; probes <= 3; probes++) {
    const { probeAt } = (await webhooks.receiver(webhookId)).breaker ?? breaker;
    venue.advance(Math.max(0, Date.parse(probeAt) - venue.clock()));
    await receiver.until(sent + probes);
    await eventually(async () => {
      const now = (await webhooks.receiver(webhookId)).breaker;
      expect(now?.since).toBe(breaker.since);
      expect(now?.probeAt).not.toBe(probeAt);
    });
  }
  expect(receiver.received).toHaveLength(sent + 3);
  // Each pause is about twice as long as the previous one.
  expect((await webhooks.receiver(webhookId)).breaker?.pauseMs).toBeGreaterThan(3 * breaker.pauseMs);
  await eventually(async () => {
    const deliveries = await webhooks.listDeliveries({ webhookId, limit: 1_000 });
    expect(deliveries.reduce((sum, { tries }) => sum + tries, 0)).toBe(sent + 3);
  });
});

test('a successful probe is followed by a slow start, and then everything arrives', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver);
  await isOpen(webhooks, webhookId);
  receiver.answer = answering(200);
  venue.advance(MINUTE_MS);
  const before = receiver.received.length;
  await eventually(async () => expect((await webhooks.receiver(webhookId)).breaker?.state).toBe('recovering'));
  // At 5/s, doubling every second, the first half second allows a few. Without a slow start all of them would arrive.
  await receiver.until(before + 2);
  expect(receiver.received.length - before).toBeLessThan(BACKLOG / 4);
  await eventually(async () => expect(await count('Delivered')).toBe(BACKLOG));
});

test('the breaker outlives the process and all processes share it', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks } = await withBacklog(receiver, 20);
  const breaker = await isOpen(webhooks, webhookId);
  await webhooks.stop();
  const sent = receiver.received.length;
  const others = await Promise.all([venue.deliver(), venue.deliver()]);
  for (const other of others) expect((await other.receiver(webhookId)).breaker).toEqual(breaker);
  await venue.append(requested({ bookingId: 1_000 }));
  await eventually(async () => expect(await others[0]?.listDeliveries({ webhookId, limit: 100 })).toHaveLength(21));
  expect(receiver.received).toHaveLength(sent);
  receiver.answer = answering(200);
  venue.advance(MINUTE_MS);
  await eventually(async () =>
    expect(await others[0]?.listDeliveries({ webhookId, state: 'Pending' })).toHaveLength(0),
  );
});

test('other processes take over the breaker of a killed process', async () => {
  const receiver = await receive(answering(500));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const process = fork(new URL('deliver-process.ts', import.meta.url), [venue.folder]);
  const exited = once(process, 'exit');
  for (let i = 0; i < 50; i++) await venue.append(requested({ bookingId: i }));
  const { receiver: stateOf } = await venue.deliver();
  await eventually(async () => expect((await stateOf(webhookId)).breaker?.state).toBe('open'));
  process.kill('SIGKILL');
  await exited;
  const after = await venue.deliver();
  await eventually(async () => expect(await after.listDeliveries({ webhookId })).toHaveLength(50));
  // Five failures open it, up to three requests were in flight, and a few seconds on a loaded machine allow two probes.
  expect(receiver.received.length).toBeLessThanOrEqual(10);
});

test('a breaker whose next probe is an hour ahead of the clock is not trusted', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver, 10);
  await isOpen(webhooks, webhookId);
  await webhooks.stop();
  receiver.answer = answering(200);
  venue.moveClock(-HOUR_MS);
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
  expect((await webhooks.receiver(webhookId)).breaker).toEqual(breaker);

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

test('a delivery fails for good when its schedule has ended, even while it waits for a probe', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, webhooks, count } = await withBacklog(receiver, 60);
  await isOpen(webhooks, webhookId);
  const tried = (await webhooks.listDeliveries({ webhookId, limit: 100 })).filter(({ tries }) => tries > 0);
  const until = venue.clock() + GIVE_UP_AFTER_MS + 2 * HOUR_MS;
  let sent = receiver.received.length;
  while (venue.clock() < until) {
    const { breaker } = await webhooks.receiver(webhookId);
    venue.advance(Math.max(1_000, Date.parse(breaker?.probeAt ?? '') - venue.clock(), 30 * MINUTE_MS));
    sent += 1;
    await receiver.until(sent);
    sent = receiver.received.length;
    await eventually(async () =>
      expect((await webhooks.receiver(webhookId)).breaker?.probeAt).not.toBe(breaker?.probeAt),
    );
  }
  for (const { deliveryId } of tried)
    await eventually(async () => expect(await webhooks.getDelivery(deliveryId)).toMatchObject({ state: 'Failed' }));
  expect(await count('Pending')).toBeGreaterThan(0);
});

test('a known prompt receiver is served at once while others hang, also after a restart', async () => {
  const hanging = await receive(() => {});
  const prompt = await receive();
  const tuning = { inFlight: { prompt: 2, unknown: 2, slow: 4, hanging: 4, slowAfterMs: 500 } };
  const before = await venue.deliver({ tuning });
  await venue.register(BRAND, prompt.url);
  await venue.append(requested({ bookingId: 1, communityId: 77 }));
  await prompt.until(1);
  await before.stop();

  for (let i = 0; i < 40; i++) {
    // An account can register 30 a minute.
    if (i === 20) venue.advance(60_000);
    await venue.register(COMMUNITY, `${hanging.url}&n=${i}`);
  }
  await venue.append(requested({ bookingId: 2, brandId: 77 }));
  // Longer than this test takes, so no hanging receiver releases its permit.
  await venue.deliver({ tuning, sending: { deadlineMs: 60_000 } });
  await hanging.until(6);
  for (let i = 0; i < 20; i++) {
    await venue.append(requested({ bookingId: 10 + i, communityId: 77 }));
    await prompt.until(2 + i);
  }
  await hanging.close();
});
