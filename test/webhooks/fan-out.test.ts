import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Account } from '../../src/domain/account.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested, reviewed } from './deliverable-events.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from './venue.ts';

const OTHER_COMMUNITY: Account = { kind: 'Community', id: communityId(4) };
/** The same number as the community: accounts of different kinds must not be confused. */
const OTHER_BRAND: Account = { kind: 'Brand', id: brandId(3) };

let venue: Venue;
let receiver: Receiver;
beforeEach(async () => {
  venue = await openVenue();
  receiver = await startReceiver();
});
afterEach(async () => {
  await venue.close();
  await receiver.close();
});

const delivered = (): string[] =>
  receiver.received.map(({ path, body }) => `${path?.slice(1)} ${JSON.parse(body).event}`).sort();
const urlOf = (name: string) => new URL(name, receiver.url).href;

test('each registration gets what its account may see, of the kinds it chose', async () => {
  await venue.register(COMMUNITY, urlOf('community'));
  await venue.register(BRAND, urlOf('brand'));
  await venue.register(BRAND, urlOf('brand-reviews'), 8);
  await venue.register(COMMUNITY, urlOf('community-decisions'), 6);
  await venue.register(OTHER_COMMUNITY, urlOf('other-community'));
  await venue.register(OTHER_BRAND, urlOf('other-brand'));
  await venue.deliver();

  await venue.append(requested());
  await venue.append(approved());
  await venue.append(cancelled({ cancelledBy: 'Brand' }));
  await venue.append(reviewed());
  await venue.append(requested({ brandId: 77, communityId: 4 }));
  await receiver.until(12);

  expect(delivered()).toEqual(
    [
      ...['BookingRequested', 'BookingApproved', 'BookingCancelled', 'ReviewPosted'].map((kind) => `community ${kind}`),
      ...['BookingRequested', 'BookingApproved', 'BookingCancelled', 'ReviewPosted'].map((kind) => `brand ${kind}`),
      'brand-reviews ReviewPosted',
      'community-decisions BookingApproved',
      'community-decisions BookingCancelled',
      'other-community BookingRequested',
    ].sort(),
  );
});

test('an event that is redelivered, sequentially or concurrently, adds nothing', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const { events } = venue;
  let handled = 0;
  await venue.deliver({
    events: {
      ...events,
      readAll: events.readAll.bind(events),
      consume: (group, options, handler) =>
        events.consume(group, options, async (event) => {
          await Promise.all([handler(event), handler(event)]);
          await handler(event);
          handled += 1;
        }),
    },
  });
  await venue.append(approved());
  await venue.append(requested());
  await eventually(() => expect(handled).toBe(2));
  await receiver.until(2);
  await pause(100);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  expect(receiver.received).toHaveLength(2);
});

test('a registration made before the event gets it, even if the read models do not show it yet', async () => {
  await venue.deliver();
  venue.holdProjector();
  const registering = venue.register(COMMUNITY, receiver.url);
  await pause(50);
  venue.releaseProjector();
  const { webhookId } = await registering;
  venue.holdProjector();
  const rotating = venue.rotate(webhookId);
  const eventId = await venue.append(approved());
  await pause(150);
  expect(receiver.received).toHaveLength(0);
  venue.releaseProjector();
  await rotating;
  const [first] = await receiver.until(1);
  expect(first?.headers['webhook-id']).toBe(`${eventId}:${webhookId}`);
});

test('a registration made after the event does not get it, even if it is seen first', async () => {
  await venue.register(COMMUNITY, urlOf('before'));
  await venue.append(approved());
  // Nobody has fanned the event out yet.
  await venue.register(COMMUNITY, urlOf('after'));
  await venue.deliver();
  await receiver.until(1);
  await venue.append(requested());
  await receiver.until(3);
  expect(delivered()).toEqual(['after BookingRequested', 'before BookingApproved', 'before BookingRequested']);
});

test('a removed or disabled registration and one with a revoked key get no deliveries', async () => {
  const removed = await venue.register(COMMUNITY, urlOf('removed'));
  const disabled = await venue.register(COMMUNITY, urlOf('disabled'));
  const revoked = await venue.register(BRAND, urlOf('revoked'));
  await venue.register(BRAND, urlOf('active'));
  const webhooks = await venue.deliver();
  await venue.remove(removed.webhookId);
  await venue.disable(disabled.webhookId);
  await venue.revoke(revoked.apiKeyId);
  await venue.append(approved());
  await receiver.until(1);
  expect(delivered()).toEqual(['active BookingApproved']);
  for (const { webhookId } of [removed, disabled, revoked])
    expect(await webhooks.listDeliveries({ webhookId })).toEqual([]);
});

test('two processes share the events and deliver each once', async () => {
  await venue.register(COMMUNITY, receiver.url);
  await venue.register(BRAND, receiver.url);
  const other = await openVenue({ folder: venue.folder });
  try {
    await venue.deliver();
    await other.deliver();
    await Promise.all(Array.from({ length: 40 }, (_, i) => venue.append(requested({ bookingId: i }))));
    await receiver.until(80);
    await pause(150);
    expect(receiver.received).toHaveLength(80);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(80);
  } finally {
    await other.close();
  }
});
