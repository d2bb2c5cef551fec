import { expect, test } from 'vitest';
import { OPERATOR } from '../../src/domain/account.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, requested } from './deliverable-events.ts';
import { openVenueWithReceiver, receiver, venue } from './venue-with-receiver.ts';

openVenueWithReceiver();

const DAY_MS = 24 * 3_600_000;
const context = { actor: OPERATOR, correlationId: 'test' };
const kinds = () => receiver.received.map(({ body }) => JSON.parse(body).event);

test('deliveries of a suspended brand wait for as long as it is suspended, and then arrive in order', async () => {
  const { catalogue } = venue.commands;
  const { brandId } = accepted(await catalogue.addBrand({ name: 'Acme' }, context));
  const [ofBrand, ofCommunity] = [
    await venue.register({ kind: 'Brand', id: brandId }, receiver.url),
    await venue.register({ kind: 'Community', id: requested().data.communityId }, `${receiver.url}&of=community`),
  ];
  const webhooks = await venue.deliver();
  await venue.append(requested({ brandId }));
  await receiver.until(2);

  accepted(await catalogue.suspendBrand({ brandId }, context));
  await venue.append(approved({ brandId }));
  await venue.append(cancelled({ brandId, cancelledBy: 'Community' }));
  // Those of the community are sent as ever.
  await receiver.until(4);
  const waiting = async () =>
    (await webhooks.listDeliveries({ webhookId: ofBrand.webhookId })).filter(({ state }) => state === 'Pending');
  await eventually(async () => expect(await waiting()).toHaveLength(2));
  expect(await webhooks.resend((await waiting())[0]?.deliveryId ?? '')).toMatchObject({
    refused: 'ValidationError',
    details: expect.stringContaining('suspended'),
  });

  // Longer than anything pending is kept.
  for (let day = 0; day < 70; day += 10) {
    venue.advance(10 * DAY_MS);
    const now = venue.clock();
    await eventually(async () => {
      const expiries = (await waiting()).map(({ expiresAt }) => Date.parse(expiresAt));
      expect(expiries).toHaveLength(2);
      for (const expiry of expiries) expect(expiry - now).toBeGreaterThan(58 * DAY_MS);
    });
  }
  expect((await waiting()).map(({ tries, attempts }) => [tries, attempts])).toEqual([
    [0, []],
    [0, []],
  ]);
  expect(receiver.received).toHaveLength(4);

  accepted(await catalogue.reinstateBrand({ brandId }, context));
  await receiver.until(6);
  expect(kinds().slice(4)).toEqual(['BookingApproved', 'BookingCancelled']);
  await eventually(async () => expect(await waiting()).toEqual([]));
  expect(await webhooks.listDeliveries({ webhookId: ofCommunity.webhookId, state: 'Delivered' })).toHaveLength(3);
});
