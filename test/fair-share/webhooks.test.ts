import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { OPERATOR } from '../../src/domain/account.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { approved } from '../webhooks/deliverable-events.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from '../webhooks/venue.ts';

let venue: Venue;
let receiver: Receiver;
/** The requests that the dead receivers have not answered. */
const held: ServerResponse[] = [];
const isDead = ({ path = '' }: { readonly path: string | undefined }) => path.startsWith('/dead');

beforeEach(async () => {
  venue = await openVenue();
  receiver = await startReceiver((received, response) => {
    if (isDead(received)) held.push(response);
    else response.end();
  });
});
afterEach(async () => {
  await receiver.close();
  await venue.close();
});

const registered = 100;

/** Registers as many dead receivers as the account may have, 20 for each of its apps. */
async function registerDead(): Promise<void> {
  const context = { actor: OPERATOR, correlationId: 'test' };
  for (let i = 0; i < registered; i++) {
    // At most 30 a minute.
    if (i % 30 === 0) venue.advance(60_000);
    const owner = { account: COMMUNITY, credential: `client:${Math.floor(i / 20)}` as const };
    const url = `http://127.0.0.1:${receiver.port}/dead/${i}`;
    accepted(await venue.commands.webhooks.register({ owner, url, events: 15 }, context));
  }
}

test('any number of dead receivers of one account do not delay another account’s delivery', async () => {
  await registerDead();
  const other = await venue.register(BRAND, receiver.url);
  const inFlight = { perEndpoint: 4, perAccount: 2, all: 4 };
  const webhooks = await venue.deliver({ sending: { deadlineMs: 60_000 }, tuning: { inFlight } });

  await venue.append(approved({ bookingId: 1, brandId: brandId(77) }));
  await receiver.until(2);
  await venue.append(approved({ bookingId: 2, communityId: communityId(77) }));
  await eventually(async () => expect(await webhooks.listDeliveries({ webhookId: other.webhookId })).toHaveLength(1));
  // Each answer of a dead receiver makes room for one attempt.
  while (receiver.received.every(isDead)) {
    const { length } = receiver.received;
    held.shift()?.writeHead(500).end();
    await receiver.until(length + 1);
  }
  expect(receiver.received.filter(isDead).length).toBeLessThan(registered / 10);
});
