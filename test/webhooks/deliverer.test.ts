import { fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { webhooks as registrations } from '../../projections/webhooks.ts';
import type { DeliveryState } from '../../src/contract/delivery.ts';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import { DELIVERER } from '../../src/domain/account.ts';
import { webhookId as webhookIdOf } from '../../src/domain/ids.ts';
import { PLANNED_DELAYS_MS } from '../../src/outbox/schedule.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { CLOSED } from '../../src/webhooks/breaker.ts';
import { openBreakers } from '../../src/webhooks/breakers.ts';
import { type DeliveryDocument, DUE_NOW } from '../../src/webhooks/delivery.ts';
import { openDeliverySearch } from '../../src/webhooks/inspect/search.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import type { Webhooks } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved, requested } from './deliverable-events.ts';
import { type Answer, answering, certificate, type Receiver, startReceiver } from './receiver.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from './venue.ts';
import { watched } from './watched-documents.ts';

const HOUR_MS = 3_600_000;

let venue: Venue;
const receivers: Receiver[] = [];
beforeEach(async () => {
  venue = await openVenue();
});
afterEach(async () => {
  await venue.close();
  for (const receiver of receivers.splice(0)) await receiver.close();
});

async function receive(answer?: Answer, options?: { readonly tls?: boolean }): Promise<Receiver> {
  const receiver = await startReceiver(answer, options);
  receivers.push(receiver);
  return receiver;
}

/** Waits until the only delivery of a registration is in this state. */
const until = (webhooks: Webhooks, webhookId: string, state: DeliveryState): Promise<DeliveryDocument> =>
  eventually(async () => {
    const [delivery] = await webhooks.listDeliveries({ webhookId });
    if (delivery?.state !== state) throw new Error(`It is ${delivery?.state}`);
    return delivery;
  });

/** Waits until the only delivery of a registration has had this many attempts. */
const attempted = (webhooks: Webhooks, webhookId: string, count: number): Promise<DeliveryDocument> =>
  eventually(async () => {
    const [delivery] = await webhooks.listDeliveries({ webhookId });
    if (delivery?.attempts.length !== count) throw new Error(`${delivery?.attempts.length} attempts`);
    return delivery;
  });

const plainSignature = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex');

test('an event arrives signed, over TLS, and the delivery records the result', async () => {
  const receiver = await receive(answering(200, {}, 'thanks'), { tls: true });
  const { webhookId, signingSecret } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver({ sending: { tls: { ca: certificate } } });
  const eventId = await venue.append(approved());

  const delivery = await until(webhooks, webhookId, 'Delivered');
  const [request] = receiver.received;
  if (request === undefined) throw new Error('nothing came');
  expect(request.headers['content-type']).toBe('application/json');
  expect(request.headers['x-service-signature']).toBe(plainSignature(signingSecret, request.body));
  expect(new Webhook(signingSecret).verify(request.body, headersOf(request.headers))).toEqual({
    event: 'BookingApproved',
    timestamp: delivery.eventAt,
    data: expect.objectContaining({ bookingId: 41, totalPrice: 172.55, status: 'Approved' }),
  });
  expect(delivery).toMatchObject({
    deliveryId: `${eventId}:${webhookId}`,
    event: 'BookingApproved',
    body: request.body,
    tries: 1,
    attempts: [{ url: receiver.url, address: '127.0.0.1', status: 200, answer: 'thanks' }],
  });
});

const headersOf = (headers: object): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

test('a delivery gets ten tries on the schedule with the same id and body, then is Failed and kept for 30 days', async () => {
  const receiver = await receive(answering(500, {}, 'broken'));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.append(approved());
  for (let tries = 1; tries < 10; tries++) {
    const delivery = await attempted(webhooks, webhookId, tries);
    expect(delivery.state).toBe('Pending');
    venue.advance(Math.max(0, Date.parse(delivery.due) - venue.clock()));
  }
  const failed = await until(webhooks, webhookId, 'Failed');

  const at = failed.attempts.map((attempt) => Date.parse(attempt.at));
  for (const [i, planned] of PLANNED_DELAYS_MS.entries()) {
    if (i === 0) continue;
    const waited = (at[i] ?? 0) - (at[i - 1] ?? 0);
    expect(waited).toBeGreaterThanOrEqual(0.75 * planned);
    expect(waited).toBeLessThan(1.2 * planned + 5_000);
  }
  expect(failed).toMatchObject({ tries: 10, reason: 'The last attempt failed: status 500' });
  expect(failed.attempts).toHaveLength(10);
  expect(failed.attempts[0]).toMatchObject({ status: 500, answer: 'broken' });
  expect(Date.parse(failed.expiresAt) - Date.parse(failed.due)).toBe(30 * 24 * HOUR_MS);
  expect(new Set(receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
  // The service’s clock has moved by days; the clocks of receivers, which check the timestamp, have not.
  for (const { headers } of receiver.received)
    expect(Math.abs(Number(headers['webhook-timestamp']) - Date.now() / 1_000)).toBeLessThan(60);
});

test('Retry-After delays the next try', async () => {
  const receiver = await receive(answering(429, { 'retry-after': '9' }));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.append(approved());
  const { due, attempts } = await attempted(webhooks, webhookId, 1);
  const waits = Date.parse(due) - Date.parse(attempts[0]?.at ?? '');
  expect(waits).toBeGreaterThanOrEqual(9_000);
  expect(waits).toBeLessThanOrEqual(10_000);
});

test('attempts distinguish receivers that hang, refuse and redirect', async () => {
  const hanging = await receive(() => {});
  const redirecting = await receive(answering(302, { location: 'http://127.0.0.1:1/' }));
  const gone = await startReceiver();
  await gone.close();
  const webhooks = await venue.deliver({ sending: { deadlineMs: 1_000 } });
  const outcomes: unknown[] = [];
  for (const { url } of [hanging, redirecting, gone]) {
    const { webhookId } = await venue.register(COMMUNITY, url);
    accepted(await webhooks.sendTest(webhookId));
    const { attempts, reason } = await until(webhooks, webhookId, 'Failed');
    outcomes.push([attempts[0]?.error?.type ?? attempts[0]?.status, reason]);
  }
  expect(outcomes).toEqual([
    ['Timeout', 'The last attempt failed: Timeout'],
    [302, 'The last attempt failed: status 302'],
    ['Refused', 'The last attempt failed: Refused'],
  ]);
});

test('delivery to a non-public address is refused', async () => {
  const receiver = await receive(undefined, { tls: true });
  const { webhookId } = await venue.register(COMMUNITY, `https://rebind.example:${receiver.port}/`);
  const webhooks = await venue.deliver({
    config: { secretKey: Buffer.alloc(32, 7), webhooksAllowPrivate: false },
    sending: { tls: { ca: certificate }, resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
  });
  await venue.append(approved());
  const delivery = await attempted(webhooks, webhookId, 1);
  expect(delivery.attempts).toMatchObject([{ error: { type: 'Forbidden' } }]);
  expect(JSON.stringify(delivery.attempts)).not.toContain('127.0.0.1');
  expect(receiver.connections()).toBe(0);
});

test('410 disables the registration immediately and cancels its other pending deliveries', async () => {
  const { promise: allThere, resolve: answer } = Promise.withResolvers<void>();
  const receiver = await receive(async (_, response) => {
    await allThere;
    response.writeHead(410).end();
  });
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  for (let i = 0; i < 20; i++) await venue.append(requested({ bookingId: i }));
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId })).toHaveLength(20));
  answer();
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]));
  const deliveries = await webhooks.listDeliveries({ webhookId });
  expect(deliveries.filter(({ state }) => state === 'Failed').length).toBeLessThanOrEqual(4);
  expect(deliveries.find(({ state }) => state === 'Failed')?.reason).toBe('The receiver answered 410 Gone');
  expect(deliveries.find(({ state }) => state === 'Cancelled')?.reason).toBe('The registration is disabled');
  expect(receiver.received.length).toBeLessThanOrEqual(4);

  const disabling = await eventually(async () => {
    const [event] = await Array.fromAsync(venue.events.readAll({ types: ['WebhookDisabled'] }));
    if (event === undefined) throw new Error('Nothing was disabled yet');
    return event;
  });
  const failed = deliveries.filter(({ state }) => state === 'Failed').map(({ eventId }) => eventId);
  expect(failed).toContain(disabling.metadata.causationId);
  expect(disabling.metadata).toMatchObject({ actor: DELIVERER, correlationId: `delivery-${webhookId}` });
});

test('410 to a test delivery also disables the registration, without a causing event', async () => {
  const receiver = await receive(answering(410));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  accepted(await webhooks.sendTest(webhookId));
  await eventually(async () => {
    const [event] = await Array.fromAsync(venue.events.readAll({ types: ['WebhookDisabled'] }));
    expect(Object.keys(event?.metadata ?? {})).toEqual(['at', 'actor', 'correlationId', 'schema']);
  });
});

/**
 * Advances the clock to the next attempt of a registration, and waits until it is recorded. Adds an event when none is pending. The
 * clock stands once the receiver has got the attempt: its record names the moment of another.
 */
async function tryAgain(webhooks: Webhooks, webhookId: string, receiver: Receiver): Promise<void> {
  const tries = async () =>
    (await webhooks.listDeliveries({ webhookId, limit: 1_000 })).reduce(
      (sum, { attempts }) => sum + attempts.length,
      0,
    );
  const before = await tries();
  const received = receiver.received.length;
  if ((await webhooks.listDeliveries({ webhookId, state: 'Pending' })).length === 0)
    await venue.append(approved({ bookingId: before }));
  await eventually(async () => {
    if (!(await isEnabled(webhookId)) || (await tries()) > before) return;
    const [next] = await webhooks.listDeliveries({ webhookId, state: 'Pending' });
    const { open } = await webhooks.breaker(webhookId);
    const moments = [next?.due, open?.probeAt].map((at) => (at === undefined ? 0 : Date.parse(at)));
    if (receiver.received.length === received) venue.advance(Math.max(0, ...moments.map((at) => at - venue.clock())));
    throw new Error('Nothing was tried yet');
  });
}

/** Makes the breaker of a failing endpoint look as after so many failed probes. */
async function afterProbes(webhookId: string, failedProbes: number): Promise<void> {
  const breakers = await (await openBreakers(venue)).load();
  const open = { since: DUE_NOW, probeAt: DUE_NOW, pauseMs: 600_000, failedProbes };
  await breakers.change(webhookId, ({ failures }) => ({ failures: failures + failedProbes, open }));
}

const isEnabled = async (webhookId: string) =>
  (await venue.readModels.collection(registrations).get(webhookId))?.status === 'enabled';

test('720 failed probes in a row disable a registration; a success restarts the count', async () => {
  const receiver = await receive(answering(503));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await afterProbes(webhookId, 718);
  const webhooks = await venue.deliver();
  await tryAgain(webhooks, webhookId, receiver);
  expect(await isEnabled(webhookId)).toBe(true);
  receiver.answer = answering(200);
  accepted(await webhooks.sendTest(webhookId));
  await eventually(async () => expect(await webhooks.breaker(webhookId)).toEqual(CLOSED));
  receiver.answer = answering(503);
  await webhooks.stop();
  await afterProbes(webhookId, 719);
  // Days without a running process do not count.
  venue.advance(6 * 24 * HOUR_MS);
  const restarted = await venue.deliver();
  await tryAgain(restarted, webhookId, receiver);
  await eventually(async () =>
    expect(await venue.readModels.collection(registrations).get(webhookId)).toMatchObject({
      status: 'disabled',
      disabledReason: '720 attempts in a row failed',
    }),
  );

  // Once it is enabled again, the first failure does not disable it.
  await venue.enable(webhookId);
  await tryAgain(restarted, webhookId, receiver);
  expect(await isEnabled(webhookId)).toBe(true);
});

test('six days of downtime disable no registration, and use up no try of a delivery', async () => {
  const receiver = await receive(answering(503));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const before = await venue.deliver();
  await venue.append(approved());
  await attempted(before, webhookId, 1);
  await before.stop();
  venue.advance(6 * 24 * HOUR_MS);
  const after = await venue.deliver();
  const delivery = await attempted(after, webhookId, 2);
  expect(delivery.state).toBe('Pending');
  await venue.append(requested({ bookingId: 2 }));
  await receiver.until(3);
  expect(await isEnabled(webhookId)).toBe(true);
});

test('new deliveries and retries do not wait after the clock was set back or was ahead', async () => {
  const receiver = await receive(answering(500));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const ahead = await venue.deliver();
  await venue.append(approved({ bookingId: 1 }));
  await attempted(ahead, webhookId, 1);
  await ahead.stop();
  // Fanned out, but not delivered.
  const deliveries = await DeliveryQueue.open(venue);
  for (const bookingId of [2, 3]) {
    const event = approved({ bookingId });
    await deliveries.add({
      webhookId: webhookIdOf(webhookId),
      account: 'Community:3',
      eventId: event.id,
      ...noticeOf(event),
    });
  }
  venue.advance(-HOUR_MS);
  receiver.answer = answering(200);
  await venue.deliver();
  await receiver.until(4);
  expect(new Set(receiver.received.map(({ body }) => JSON.parse(body).data.bookingId))).toEqual(new Set([1, 2, 3]));
});

test('hanging receivers with many due deliveries do not delay others', async () => {
  const hanging = await receive(() => {});
  const prompt = await receive();
  for (let i = 0; i < 6; i++) await venue.register(COMMUNITY, `${hanging.url}&n=${i}`);
  await venue.register(BRAND, prompt.url);
  for (let i = 0; i < 30; i++) await venue.append(requested({ bookingId: i, brandId: 77 }));
  // The hanging receivers want 24 permits of eight. None of them may time out before the prompt one is served.
  let timeouts = 0;
  const tuning = { inFlight: { perEndpoint: 4, perAccount: 4, all: 12 } };
  const webhooks = await venue.deliver({ tuning, sending: { deadlineMs: 2_000 } });
  webhooks.onDelivery(({ attempts }) => {
    if (attempts.at(-1)?.error?.type === 'Timeout') timeouts += 1;
  });
  await hanging.until(4);
  await venue.append(approved({ communityId: 77 }));
  await prompt.until(1);
  expect(timeouts).toBe(0);
});

test('at most four requests to one receiver are in flight', async () => {
  let inFlight = 0;
  let most = 0;
  const receiver = await receive((_, response) => {
    inFlight += 1;
    most = Math.max(most, inFlight);
    setTimeout(() => {
      inFlight -= 1;
      response.end();
    }, 20);
  });
  await venue.register(COMMUNITY, receiver.url);
  for (let i = 0; i < 40; i++) await venue.append(requested({ bookingId: i }));
  await venue.deliver();
  await receiver.until(40);
  expect(most).toBe(4);
});

test.each([
  ['removed', (one: { webhookId: string }) => venue.remove(one.webhookId), 'The registration was removed'],
  ['disabled', (one: { webhookId: string }) => venue.disable(one.webhookId), 'The registration is disabled'],
  ['its key revoked', (one: { apiKeyId: string }) => venue.revoke(one.apiKeyId), 'The API key was revoked'],
] as const)('after a registration is %s, no more requests are sent', async (_, stop, reason) => {
  const receiver = await receive((_, response) => {
    setTimeout(() => response.end(), 20);
  });
  const one = await venue.register(COMMUNITY, receiver.url);
  for (let i = 0; i < 60; i++) await venue.append(requested({ bookingId: i }));
  const webhooks = await venue.deliver();
  await receiver.until(6);
  await stop(one);
  // The command has completed. Requests in flight at that moment may already have been sent.
  const sent = receiver.received.length;
  const { webhookId } = one;
  await eventually(async () =>
    expect(await webhooks.listDeliveries({ webhookId, state: 'Cancelled' })).toContainEqual(
      expect.objectContaining({ reason }),
    ),
  );
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]));
  expect(receiver.received.length).toBeLessThanOrEqual(sent + 4);
  expect(receiver.received.length).toBeLessThan(60);
});

test('during a rotation, receivers with the old or new secret can verify; afterwards only those with the new one', async () => {
  const strict = (secret: () => string): Answer => {
    return ({ body, headers }, response) => {
      const genuine = headers['x-service-signature'] === plainSignature(secret(), body);
      response.writeHead(genuine ? 200 : 401).end();
    };
  };
  let [oldSecret, newSecret] = ['', ''];
  const behind = await receive(strict(() => oldSecret));
  const ahead = await receive(strict(() => newSecret));
  const first = await venue.register(COMMUNITY, behind.url);
  const second = await venue.register(COMMUNITY, ahead.url);
  oldSecret = first.signingSecret;
  await venue.rotate(first.webhookId);
  newSecret = await venue.rotate(second.webhookId);
  const webhooks = await venue.deliver();

  await venue.append(approved());
  const late = await until(webhooks, first.webhookId, 'Delivered');
  expect(late.attempts).toMatchObject([{ status: 401 }, { status: 200, previousSecret: true }]);
  expect(late.tries).toBe(1);
  expect((await until(webhooks, second.webhookId, 'Delivered')).attempts).toMatchObject([{ status: 200 }]);
  const toBehind = behind.received.length;
  await venue.append(requested());
  await behind.until(toBehind + 1);
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId: first.webhookId })).toHaveLength(2));
  // By now the deliverer knows which secret each receiver has.
  expect((await until(webhooks, first.webhookId, 'Delivered')).attempts).toMatchObject([
    { status: 200, previousSecret: true },
  ]);
  for (const { headers, body } of behind.received) new Webhook(oldSecret).verify(body, headersOf(headers));
  for (const { headers, body } of ahead.received) {
    new Webhook(newSecret).verify(body, headersOf(headers));
    new Webhook(second.signingSecret).verify(body, headersOf(headers));
  }

  // The answer to the first rotation was lost, so the owner rotated again.
  await venue.rotate(first.webhookId);
  await venue.append(requested());
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId: first.webhookId })).toHaveLength(3));
  const { attempts, tries } = await until(webhooks, first.webhookId, 'Delivered');
  expect(attempts.at(-1)).toMatchObject({ status: 200, previousSecret: true });
  expect(tries).toBe(1);
  const last = behind.received.at(-1);
  expect(last?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(3);
  new Webhook(oldSecret).verify(last?.body ?? '', headersOf(last?.headers ?? {}));

  venue.advance(24 * HOUR_MS + 1_000);
  behind.answer = answering(401);
  const seen = behind.received.length;
  await venue.append(requested());
  await behind.until(seen + 1);
  await pause(100);
  expect(behind.received).toHaveLength(seen + 1);
  expect(behind.received.at(-1)?.headers['webhook-signature']).not.toContain(' ');
});

test('a delivery can be resent in any state', async () => {
  const receiver = await receive(answering(500));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.append(approved());
  const { deliveryId } = await attempted(webhooks, webhookId, 1);
  receiver.answer = answering(204);
  accepted(await webhooks.resend(deliveryId));
  const delivered = await until(webhooks, webhookId, 'Delivered');
  expect(delivered.attempts.map(({ status }) => status)).toEqual([500, 204]);
  accepted(await webhooks.resend(deliveryId));
  await receiver.until(3);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
});

test('an unknown delivery, or one of a removed registration, cannot be resent', async () => {
  const receiver = await receive();
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.append(approved());
  const { deliveryId } = await until(webhooks, webhookId, 'Delivered');
  await venue.remove(webhookId);
  expect(await webhooks.resend('nothing')).toMatchObject({ refused: 'ResourceNotFound' });
  expect(await webhooks.resend(deliveryId)).toMatchObject({ refused: 'ValidationError' });
  expect(await webhooks.sendTest(webhookId)).toMatchObject({ refused: 'ValidationError' });
});

test('recovery delivers each event since then that did not arrive, including unattempted ones, and nothing twice', async () => {
  const receiver = await receive();
  const { webhookId } = await venue.register(COMMUNITY, receiver.url, 1 + 2);
  const webhooks = await venue.deliver();
  const kindsSince = (from: number) => receiver.received.slice(from).map(({ body }) => JSON.parse(body).data.bookingId);

  await venue.append(approved({ bookingId: 1 }));
  await receiver.until(1);
  await venue.disable(webhookId);
  await venue.append(requested({ bookingId: 2 }));
  venue.advance(2 * HOUR_MS);
  const since = new Date(venue.clock()).toISOString();
  await venue.append(requested({ bookingId: 3 }));
  await venue.append(requested({ bookingId: 4, communityId: 77 }));
  await venue.fannedOut('BookingRequested');
  await venue.enable(webhookId);
  await venue.append(approved({ bookingId: 5 }));
  await receiver.until(2);
  expect(kindsSince(1)).toEqual([5]);
  await eventually(async () =>
    expect(await webhooks.listDeliveries({ webhookId, state: 'Delivered' })).toHaveLength(2),
  );

  const iso = (text: string) => text as DeliveryDocument['createdAt'];
  expect(await webhooks.recover(webhookId, iso(since))).toEqual({ due: 1 });
  await receiver.until(3);
  expect(kindsSince(2)).toEqual([3]);
  expect(await webhooks.recover(webhookId, iso('2000-01-01T00:00:00.000Z'))).toMatchObject({ due: 1 });
  await receiver.until(4);
  expect(kindsSince(3)).toEqual([2]);
  expect(await webhooks.recover(webhookId, iso('2000-01-01T00:00:00.000Z'))).toMatchObject({ due: 0 });
});

test('recovery resends failed and cancelled deliveries', async () => {
  const receiver = await receive(answering(410));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  const since = new Date(venue.clock()).toISOString() as DeliveryDocument['createdAt'];
  for (let i = 0; i < 12; i++) await venue.append(requested({ bookingId: i }));
  await venue.fannedOut('BookingRequested');
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId, state: 'Pending' })).toEqual([]));
  expect(await webhooks.recover(webhookId, since)).toMatchObject({ refused: 'ValidationError' });
  receiver.answer = answering(200);
  await venue.enable(webhookId);
  expect(await webhooks.recover(webhookId, since)).toEqual({ due: 12 });
  await eventually(async () =>
    expect(await webhooks.listDeliveries({ webhookId, state: 'Delivered' })).toHaveLength(12),
  );
});

test('a test delivery is sent once and marked as a test', async () => {
  const receiver = await receive(answering(500));
  const { webhookId, signingSecret } = await venue.register(COMMUNITY, receiver.url, 8);
  const webhooks = await venue.deliver();
  const seen: string[] = [];
  const stopListening = webhooks.onDelivery(({ state }) => seen.push(state));
  accepted(await webhooks.sendTest(webhookId));
  const delivery = await until(webhooks, webhookId, 'Failed');
  stopListening();
  expect(seen).toEqual(['Pending', 'Failed']);
  expect(delivery).toMatchObject({ event: 'Test', tries: 1 });
  const [request] = receiver.received;
  expect(JSON.parse(request?.body ?? '')).toEqual({ event: 'Test', timestamp: delivery.eventAt, data: { webhookId } });
  expect(request?.headers['x-service-signature']).toBe(plainSignature(signingSecret, request?.body ?? ''));
});

test('deliveries are listed newest first, by state', async () => {
  const receiver = await receive();
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await venue.register(BRAND, receiver.url);
  const webhooks = await venue.deliver();
  for (let i = 0; i < 5; i++) {
    receiver.answer = answering(i === 2 ? 410 : 200);
    await venue.enable(webhookId);
    await venue.append(requested({ bookingId: i, brandId: 77 }));
    await eventually(async () => {
      const [newest] = await webhooks.listDeliveries({ webhookId, limit: 1 });
      expect(JSON.parse(newest?.body ?? '{}').data?.bookingId).toBe(i);
      expect(newest?.state).toBe(i === 2 ? 'Failed' : 'Delivered');
      expect((await venue.readModels.collection(registrations).get(webhookId))?.status).toBe(
        i === 2 ? 'disabled' : 'enabled',
      );
    });
    venue.advance(1_000);
  }
  const bookings = (deliveries: readonly DeliveryDocument[]) =>
    deliveries.map(({ body }) => JSON.parse(body).data.bookingId);
  const firstPage = await webhooks.listDeliveries({ webhookId, limit: 2 });
  expect(bookings(firstPage)).toEqual([4, 3]);
  expect(bookings(await webhooks.listDeliveries({ webhookId, state: 'Failed' }))).toEqual([2]);
  expect(bookings(await webhooks.listDeliveries({ webhookId, state: 'Delivered', limit: 3 }))).toEqual([4, 3, 1]);
  expect(await webhooks.listDeliveries({ webhookId, state: 'Cancelled' })).toEqual([]);
  expect(await webhooks.getDelivery(firstPage[0]?.deliveryId ?? '')).toEqual(firstPage[0]);
});

test('each of a thousand deliveries to many receivers is sent once', async () => {
  const receiver = await receive();
  for (let i = 0; i < 5; i++) await venue.register(COMMUNITY, `${receiver.url}&n=${i}`);
  await venue.deliver();
  await Promise.all(Array.from({ length: 200 }, (_, i) => venue.append(requested({ bookingId: i }))));
  await receiver.until(1_000);
  await pause(200);
  expect(receiver.received).toHaveLength(1_000);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1_000);
});

test('when the active process is killed during a delivery, the one that stands by resends it with the same id', async () => {
  const receiver = await receive(() => {});
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const process = fork(new URL('deliver-process.ts', import.meta.url), [venue.folder]);
  const exited = once(process, 'exit');
  await venue.append(approved());
  await receiver.until(1);
  receiver.answer = answering(200);
  const webhooks = await venue.deliver();
  process.kill('SIGKILL');
  await exited;
  await until(webhooks, webhookId, 'Delivered');
  expect(receiver.received).toHaveLength(2);
  expect(new Set(receiver.received.map(({ headers, body }) => `${headers['webhook-id']} ${body}`)).size).toBe(1);
});

test('after a process with a clock an hour ahead is killed, its deliveries arrive at once', async () => {
  const receiver = await receive(answering(500));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const process = fork(new URL('deliver-process.ts', import.meta.url), [venue.folder, String(HOUR_MS)]);
  const exited = once(process, 'exit');
  // More than its breaker lets through, so that some wait for their first attempt, and some for their next.
  for (let i = 0; i < 12; i++) await venue.append(requested({ bookingId: i }));
  const deliveries = await openDeliverySearch(venue);
  await eventually(async () => {
    const all = await deliveries.list({ webhookId });
    expect(all).toHaveLength(12);
    expect(all.filter(({ tries }) => tries > 0).length).toBeGreaterThanOrEqual(5);
  });
  process.kill('SIGKILL');
  await exited;
  receiver.answer = answering(200);
  const webhooks = await venue.deliver();
  await eventually(async () =>
    expect(await webhooks.listDeliveries({ webhookId, state: 'Delivered' })).toHaveLength(12),
  );
});

test('processes whose clocks are an hour apart do not deliver at the same time', async () => {
  let finish: () => void = () => {};
  const receiver = await receive((_, response) => {
    finish = () => response.end();
  });
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.append(approved());
  await receiver.until(1);
  for (const shift of [HOUR_MS, -HOUR_MS]) {
    let looks = 0;
    const look = (method: string, collection: string) => {
      if (method === 'get' && collection === 'roles') looks += 1;
    };
    const documents = watched(venue.documents, { before: look });
    await venue.deliver({ clock: () => venue.clock() + shift, documents });
    await eventually(() => expect(looks).toBeGreaterThan(2));
  }
  expect(receiver.received).toHaveLength(1);
  finish();
  await until(webhooks, webhookId, 'Delivered');
  expect(receiver.received).toHaveLength(1);
});

test('a lagging read model does not make a registration count as removed', async () => {
  const receiver = await receive();
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const before = await venue.deliver();
  receiver.answer = answering(500);
  await venue.append(approved());
  await attempted(before, webhookId, 1);
  await before.stop();
  venue.advance(HOUR_MS);
  receiver.answer = answering(200);

  // The read models after a power failure: the latest registrations are missing.
  let there = false;
  const { readModels } = venue;
  const forgetful: ReadModels = {
    ...readModels,
    collection(projection) {
      const real = readModels.collection(projection);
      return { ...real, get: async (key) => (there ? real.get(key) : undefined) };
    },
    waitFor: async (position) => {
      await pause(5);
      return there && (await readModels.waitFor(position));
    },
  };
  const after = await venue.deliver({ readModels: forgetful });
  await pause(150);
  expect((await after.listDeliveries({ webhookId })).map(({ state }) => state)).toEqual(['Pending']);
  there = true;
  await until(after, webhookId, 'Delivered');
});

test('a registration that is removed while a delivery is due logs no error, before its record is written too', async () => {
  const receiver = await receive(answering(500));
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const lines: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) });
  // As between the event and its record, or in another process, whose checks are up to a second old.
  const webhooks = await venue.deliver({
    logger,
    credentials: { isEnded: async () => false, isSuspended: async () => false },
  });
  await venue.append(approved());
  await attempted(webhooks, webhookId, 1);
  await venue.remove(webhookId);
  venue.advance(HOUR_MS);
  await until(webhooks, webhookId, 'Cancelled');
  expect(lines).toEqual([]);
});

test('while the registrations are unreadable, deliveries wait without using up attempts, which is reported once', async () => {
  const receiver = await receive();
  const registered = await Promise.all([1, 2, 3].map((n) => venue.register(COMMUNITY, `${receiver.url}&n=${n}`)));
  const before = await venue.deliver({ config: { secretKey: Buffer.alloc(32, 7), webhooksAllowPrivate: false } });
  await venue.append(approved());
  for (const { webhookId } of registered) await attempted(before, webhookId, 1);
  await before.stop();
  venue.advance(HOUR_MS);

  let isDown = true;
  let looks = 0;
  const { readModels } = venue;
  const reported: string[] = [];
  const error = (_: unknown, message?: string) => reported.push(message ?? '');
  const after = await venue.deliver({
    logger: { info: () => {}, warn: () => {}, error },
    readModels: {
      ...readModels,
      collection(projection) {
        const real = readModels.collection(projection);
        const get: typeof real.get = async (key) => {
          looks += 1;
          if (isDown) throw new Unavailable('The read model is being built');
          return real.get(key);
        };
        return { ...real, get };
      },
      waitFor: (...args) => readModels.waitFor(...args),
    },
  });
  await eventually(() => expect(looks).toBeGreaterThan(20));
  isDown = false;
  for (const { webhookId } of registered) expect((await until(after, webhookId, 'Delivered')).tries).toBe(2);
  expect(reported).toHaveLength(1);
});

test('stopping finishes deliveries in flight and hands the role over, without a second request', async () => {
  let finish: () => void = () => {};
  const receiver = await receive((_, response) => {
    finish = () => response.end();
  });
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const leaving = await venue.deliver();
  await venue.append(approved());
  await receiver.until(1);
  const staying = await venue.deliver();
  const stopped = leaving.stop();
  await venue.append(requested({ bookingId: 2 }));
  receiver.answer = answering(200);
  finish();
  await stopped;
  await receiver.until(2);
  await eventually(async () => expect(await staying.listDeliveries({ webhookId, state: 'Delivered' })).toHaveLength(2));
  expect(receiver.received).toHaveLength(2);
});

test('a disconnected app receives neither its due deliveries nor later events', async () => {
  const receiver = await receive(answering(500));
  const webhookId = await venue.registerApp(BRAND, receiver.url);
  let connected = true;
  const webhooks = await venue.deliver({ isConnected: async (clientId) => connected && clientId === 'app' });
  await venue.append(requested());
  await attempted(webhooks, webhookId, 1);
  connected = false;
  venue.advance(HOUR_MS);
  await eventually(async () =>
    expect(await webhooks.listDeliveries({ webhookId })).toMatchObject([
      { state: 'Cancelled', reason: 'The app was disconnected' },
    ]),
  );
  await venue.append(approved());
  const other = await venue.register(BRAND, receiver.url);
  const before = receiver.received.length;
  await venue.append(requested({ bookingId: 2 }));
  await receiver.until(before + 1);
  expect(await webhooks.listDeliveries({ webhookId })).toHaveLength(1);
  expect(await webhooks.listDeliveries({ webhookId: other.webhookId })).toHaveLength(1);
  expect(receiver.received).toHaveLength(before + 1);
});
