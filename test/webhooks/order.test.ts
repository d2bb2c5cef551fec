import { afterEach, beforeEach, expect, test } from 'vitest';
import type { DeliverableEvent } from '../../src/contract/webhook-payload.ts';
import { noticeOf } from '../../src/contract/webhook-payload.ts';
import type { DomainEvent, Recorded } from '../../src/domain/events.ts';
import { timestamp, webhookId as webhookIdOf } from '../../src/domain/ids.ts';
import { DeliveryQueue } from '../../src/webhooks/queue.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested, reviewed } from './deliverable-events.ts';
import { answering, type Receiver, startReceiver } from './receiver.ts';
import { COMMUNITY, openVenue, type Venue } from './venue.ts';

let venue: Venue;
let receiver: Receiver;
let queue: DeliveryQueue;
beforeEach(async () => {
  venue = await openVenue();
  receiver = await startReceiver();
  queue = await DeliveryQueue.open(venue);
});
afterEach(async () => {
  await venue.close();
  await receiver.close();
});

/** Stores a delivery as the fan-out does. */
async function add(webhookId: string, event: Recorded<DeliverableEvent & DomainEvent>, position: string) {
  const added = await queue.add({
    webhookId: webhookIdOf(webhookId),
    account: 'Community:3',
    eventId: event.id,
    ...noticeOf(event),
    position,
  });
  if (added === undefined) throw new Error('It is there already');
  return added.document;
}

const kinds = () => receiver.received.map(({ body }) => JSON.parse(body).event);

test('deliveries of one booking arrive one at a time in log order, regardless of when they were stored', async () => {
  let inFlight = 0;
  const together = new Map<number, number>();
  let most = 0;
  receiver.answer = ({ body }, response) => {
    const { bookingId } = JSON.parse(body).data;
    inFlight += 1;
    most = Math.max(most, inFlight);
    together.set(bookingId, (together.get(bookingId) ?? 0) + 1);
    expect(together.get(bookingId)).toBe(1);
    setTimeout(() => {
      inFlight -= 1;
      together.set(bookingId, 0);
      response.end();
    }, 3);
  };
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const bookings = Array.from({ length: 40 }, (_, i) => i);
  // The last event of every booking is stored first.
  for (const bookingId of bookings) await add(webhookId, reviewed({ bookingId }), `${bookingId}-4`);
  for (const bookingId of bookings)
    await add(webhookId, cancelled({ bookingId, cancelledBy: 'Brand' }), `${bookingId}-3`);
  for (const bookingId of bookings) await add(webhookId, approved({ bookingId }), `${bookingId}-2`);
  for (const bookingId of bookings) await add(webhookId, requested({ bookingId }), `${bookingId}-1`);
  await venue.deliver();
  await receiver.until(160);
  for (const bookingId of bookings) {
    const own = receiver.received.filter(({ body }) => JSON.parse(body).data.bookingId === bookingId);
    expect(own.map(({ body }) => JSON.parse(body).event)).toEqual([
      'BookingRequested',
      'BookingApproved',
      'BookingCancelled',
      'ReviewPosted',
    ]);
  }
  // Different bookings are still delivered concurrently.
  expect(most).toBeGreaterThan(1);
});

test('a failed attempt lets the later ones pass', async () => {
  receiver.answer = ({ body }, response) => {
    response.writeHead(JSON.parse(body).event === 'BookingRequested' ? 500 : 200).end();
  };
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await add(webhookId, approved(), '2');
  await add(webhookId, requested(), '1');
  await venue.deliver();
  await receiver.until(2);
  expect(kinds()).toEqual(['BookingRequested', 'BookingApproved']);
});

test('deliveries that waited for retries are also sent in log order', async () => {
  receiver.answer = answering(500);
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const first = await add(webhookId, requested(), '1');
  const second = await add(webhookId, approved(), '2');
  const webhooks = await venue.deliver();
  await receiver.until(2);
  await eventually(async () => {
    for (const { deliveryId } of [first, second])
      expect(await webhooks.getDelivery(deliveryId)).toMatchObject({ tries: 1 });
  });
  await webhooks.stop();
  receiver.answer = answering(200);
  venue.advance(60_000);
  await venue.deliver();
  await receiver.until(4);
  expect(kinds().slice(2)).toEqual(['BookingRequested', 'BookingApproved']);
});

test('recovery while the deliverer runs keeps log order, even when the fan-out lags', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver();
  await venue.disable(webhookId);
  const bookings = Array.from({ length: 400 }, (_, i) => i);
  const streamOf = (bookingId: number) => `day-of-${bookingId}`;
  await Promise.all(bookings.map((bookingId) => venue.appendTo(streamOf(bookingId), [requested({ bookingId })])));
  await venue.fannedOut('BookingRequested');
  // It saw the registration disabled when the bookings were requested, and enabled when they were approved.
  await webhooks.stop();
  await Promise.all(bookings.map((bookingId) => venue.appendTo(streamOf(bookingId), [approved({ bookingId })], 0)));
  await venue.enable(webhookId);
  const lagging = await venue.deliver();
  await receiver.until(20);
  await lagging.recover(webhookId, timestamp('2000-01-01T00:00:00.000Z'));
  await receiver.until(800);
  const seen = new Set<number>();
  for (const { body } of receiver.received) {
    const { event, data } = JSON.parse(body);
    if (event === 'BookingRequested') seen.add(data.bookingId);
    else expect(seen).toContain(data.bookingId);
  }
});
