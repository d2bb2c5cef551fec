import { setTimeout as pause } from 'node:timers/promises';
import { PersistentSubscriptionDoesNotExistError } from '@eventstore/db-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOwnLog, type OwnLog } from '../event-store/eventstoredb/own-log.ts';
import { approved, requested } from './deliverable-events.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { COMMUNITY, openVenue, type Venue } from './venue.ts';

let log: OwnLog;
let venue: Venue;
let receiver: Receiver;
beforeEach(async () => {
  log = await createOwnLog();
  venue = await openVenue({ log: await log.open() });
  receiver = await startReceiver();
});
afterEach(async () => {
  await venue.close();
  await receiver.close();
  await log.stop();
});

/** The number of events that the server has parked for a group; none if the group does not exist. */
async function parkedBy(group: string): Promise<number> {
  const client = log.client();
  try {
    const { stats } = await client.getPersistentSubscriptionToAllInfo(log.onServer(group));
    return Number(stats.parkedMessageCount);
  } catch (error) {
    if (error instanceof PersistentSubscriptionDoesNotExistError) return 0;
    throw error;
  } finally {
    await client.dispose();
  }
}

const eventIds = () => receiver.received.map(({ headers }) => String(headers['webhook-id']).split(':')[0]).toSorted();

test('events wait for the read models without counting as retries', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver({ tuning: { readModelWaitMs: 20 } });
  venue.holdProjector();
  const happened = await Promise.all([
    ...Array.from({ length: 40 }, (_, i) => venue.append(requested({ bookingId: i }))),
    venue.append(approved()),
  ]);
  // The server counts a retry every time the process leaves.
  await pause(2_000);
  expect(receiver.received).toEqual([]);
  venue.releaseProjector();
  await receiver.until(41);
  await pause(300);
  expect(eventIds()).toEqual(happened.toSorted());
  expect(await webhooks.listFailedEvents()).toEqual([]);
  for (const kind of ['BookingRequested', 'BookingApproved'])
    expect(await parkedBy(`webhook-deliveries-${kind}`)).toBe(0);
});
