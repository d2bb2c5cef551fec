import { expect, test } from 'vitest';
import type { WebhookDocument } from '../../projections/webhooks.ts';
import { webhooks as registrations } from '../../projections/webhooks.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { Attempt, BookingReference, RequestHeaders, Webhooks } from '../../src/webhooks/webhooks.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested, reviewed } from './deliverable-events.ts';
import { answering } from './receiver.ts';
import { BRAND, COMMUNITY } from './venue.ts';
import { openVenueWithReceiver, receiver, venue } from './venue-with-receiver.ts';

const HOUR_MS = 3_600_000;

openVenueWithReceiver();

const BOOKING: BookingReference = { bookingId: 41, spaceId: 7, date: '2026-05-02' };
const DAY = 'spaceDay-7-2026-05-02';

async function registered(webhookId: string): Promise<WebhookDocument> {
  return eventually(async () => {
    const found = await venue.readModels.collection(registrations).get(webhookId);
    if (found === undefined) throw new Error('The read model does not show it yet');
    return found;
  });
}

/** The result of each event of the booking for these registrations: its type, and the state of the delivery. */
const outcomes = async (webhooks: Webhooks, ...list: readonly WebhookDocument[]) =>
  (await webhooks.deliveriesOfBooking(list, BOOKING)).map(({ event, webhook, delivery }) => [
    event.type,
    webhook.url.slice(-1),
    delivery?.state,
  ]);

test('shows every event of a booking, with and without a delivery', async () => {
  const mine = await registered((await venue.register(COMMUNITY, `${receiver.url}&a`)).webhookId);
  const approvals = await registered((await venue.register(BRAND, `${receiver.url}&b`, 2)).webhookId);
  const strangers = { kind: 'Brand', id: 77 } as typeof BRAND;
  const other = await registered((await venue.register(strangers, `${receiver.url}&c`)).webhookId);
  const webhooks = await venue.deliver();
  await venue.appendTo(DAY, [requested(), requested({ bookingId: 42 })]);
  await eventually(async () =>
    expect(await outcomes(webhooks, mine)).toEqual([['BookingRequested', 'a', 'Delivered']]),
  );
  await venue.disable(mine.webhookId);
  await venue.appendTo(DAY, [approved()], 1);
  await venue.appendTo('review-41', [reviewed()]);
  await eventually(async () =>
    expect(await outcomes(webhooks, mine, approvals, other)).toEqual([
      ['ReviewPosted', 'a', undefined],
      ['BookingApproved', 'a', undefined],
      ['BookingApproved', 'b', 'Delivered'],
      ['BookingRequested', 'a', 'Delivered'],
    ]),
  );
});

test('events missed while a webhook was disabled are sent once, on request', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url);
  await registered(webhookId);
  const webhooks = await venue.deliver();
  await venue.disable(webhookId);
  const [eventId = ''] = await venue.appendTo(DAY, [requested({ message: 'For forty guests' })]);
  const refused = await webhooks.sendEvent(webhookId, BOOKING, eventId);
  expect(isRefusal(refused) && refused.details).toBe('The registration is disabled.');
  await venue.enable(webhookId);
  await eventually(async () => accepted(await webhooks.sendEvent(webhookId, BOOKING, eventId)));
  const [request] = await receiver.until(1);
  expect(JSON.parse(request?.body ?? '')).toMatchObject({
    event: 'BookingRequested',
    data: { bookingId: 41, message: 'For forty guests' },
  });
  expect(request?.headers['webhook-id']).toBe(`${eventId}:${webhookId}`);
  await eventually(async () =>
    expect(await webhooks.getDelivery(`${eventId}:${webhookId}`)).toMatchObject({ state: 'Delivered' }),
  );
  expect(receiver.received).toHaveLength(1);
  accepted(await webhooks.sendEvent(webhookId, BOOKING, eventId));
  const [, again] = await receiver.until(2);
  expect(again?.headers['webhook-id']).toBe(request?.headers['webhook-id']);
});

test('refuses to send an event outside the webhook’s types, or of another booking', async () => {
  const { webhookId } = await venue.register(COMMUNITY, receiver.url, 1);
  await registered(webhookId);
  const webhooks = await venue.deliver();
  const [, other = '', cancellation = ''] = await venue.appendTo(DAY, [
    requested(),
    requested({ bookingId: 42 }),
    cancelled({ cancelledBy: 'Brand' }),
  ]);
  await receiver.until(2);
  for (const eventId of [other, cancellation, 'nothing'])
    expect(await webhooks.sendEvent(webhookId, BOOKING, eventId)).toMatchObject({ refused: 'ResourceNotFound' });
  expect(receiver.received).toHaveLength(2);
});

/** The headers of the last attempt of the only delivery of a registration. */
async function lastHeaders(
  webhooks: Webhooks,
  webhookId: string,
): Promise<{ attempt: Attempt; headers: RequestHeaders }> {
  const [delivery] = await webhooks.listDeliveries({ webhookId });
  const attempt = delivery?.attempts.at(-1);
  if (delivery === undefined || attempt === undefined) throw new Error('There was no attempt');
  const [headers] = await webhooks.requestHeaders(delivery.deliveryId, [attempt]);
  if (headers === undefined) throw new Error('No answer');
  return { attempt, headers };
}

test('shows the headers of an attempt as the receiver got them, for every outcome', async () => {
  receiver.answer = answering(500, {}, 'no');
  const { webhookId } = await venue.register(BRAND, receiver.url);
  await registered(webhookId);
  const webhooks = await venue.deliver();
  await venue.append(requested({ message: 'Ünïcode ☕' }));
  const [got] = await receiver.until(1);
  const { headers } = await eventually(() => lastHeaders(webhooks, webhookId));
  expect('sent' in headers && Object.fromEntries(headers.sent)).toEqual(got?.headers);
  expect('sent' in headers && headers.lacking).toBeUndefined();

  await venue.rotate(webhookId);
  await eventually(async () => expect((await registered(webhookId)).previousSecrets).toHaveLength(1));
  const { headers: afterRotation } = await lastHeaders(webhooks, webhookId);
  expect(afterRotation).toEqual(headers);

  const [delivery] = await webhooks.listDeliveries({ webhookId });
  accepted(await webhooks.resend(delivery?.deliveryId ?? ''));
  const again = (await receiver.until(2)).at(-1);
  expect(again?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(2);
  await eventually(async () => {
    const { headers: signedTwice } = await lastHeaders(webhooks, webhookId);
    expect('sent' in signedTwice && Object.fromEntries(signedTwice.sent)).toEqual(again?.headers);
  });
});

test('invents no signature for a deleted secret, and stores nothing that could be replayed', async () => {
  const { webhookId, signingSecret } = await venue.register(BRAND, receiver.url);
  await registered(webhookId);
  const webhooks = await venue.deliver();
  await venue.append(requested());
  const [got] = await receiver.until(1);
  const { attempt } = await eventually(() => lastHeaders(webhooks, webhookId));
  const stored = JSON.stringify(attempt);
  expect(stored).not.toContain(String(got?.headers['x-service-signature']));
  expect(stored).not.toContain(signingSecret.slice(6));
  for (let day = 1; day <= 3; day++) {
    await venue.rotate(webhookId);
    venue.advance(24 * HOUR_MS + 1_000);
  }
  const { sent, lacking } = await eventually(async () => {
    const { headers } = await lastHeaders(webhooks, webhookId);
    if (!('sent' in headers) || headers.lacking === undefined) throw new Error('The rotations are not shown yet');
    return headers;
  });
  const shown = Object.fromEntries(sent);
  expect(shown['x-service-signature']).toBeUndefined();
  expect(shown['webhook-signature']).toBeUndefined();
  expect(shown['webhook-timestamp']).toBe(got?.headers['webhook-timestamp']);
  expect(lacking).toContain('replaced since');
});

test('shows no headers for an attempt that failed before its request', async () => {
  const { port } = receiver;
  const { webhookId } = await venue.register(BRAND, `http://127.0.0.1:${port}/`);
  await registered(webhookId);
  await receiver.close();
  const webhooks = await venue.deliver();
  await venue.append(requested());
  const { headers } = await eventually(() => lastHeaders(webhooks, webhookId));
  expect(headers).toEqual({ unknown: 'Nothing was sent.' });
});
