import { setTimeout as pause } from 'node:timers/promises';
import {
  eventTypeFilter,
  PersistentSubscriptionDoesNotExistError,
  persistentSubscriptionToAllSettingsFromDefaults,
  START,
} from '@eventstore/db-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LOG_START } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/webhooks/failed-events.ts';
import { setFanOutPositions } from '../../src/webhooks/fan-out-positions.ts';
import { createOwnLog, type OwnLog } from '../event-store/eventstoredb/own-log.ts';
import { eventually } from '../eventually.ts';
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

/** The group of earlier releases. */
const FORMER = 'webhook-deliveries';

/** How many events the server has parked for a group; none if there is no such group. */
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

test('events wait for the read models without being counted', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const webhooks = await venue.deliver({ tuning: { readModelWaitMs: 20 } });
  venue.holdProjector();
  const happened = await Promise.all([
    ...Array.from({ length: 40 }, (_, i) => venue.append(requested({ bookingId: i }))),
    venue.append(approved()),
  ]);
  // The server counts every time that the process leaves.
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

/** A process of an earlier release that parks an event, holds another and acknowledges the others. It then ends. */
async function earlierRelease({ parks, holds }: { readonly parks: string; readonly holds?: string }): Promise<void> {
  const client = log.client();
  await client.createPersistentSubscriptionToAll(
    log.onServer(FORMER),
    persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START, maxRetryCount: 110 }),
    { filter: eventTypeFilter({ regex: '^([^$]|\\$venue-parked-replay$)' }) },
  );
  const former = client.subscribeToPersistentSubscriptionToAll(log.onServer(FORMER), { bufferSize: 64 });
  former.on('error', () => {});
  former.on('data', (resolved) => {
    const id = resolved.event?.id;
    if (id === parks) void former.nack('park', 'The read models have not reached it', resolved);
    else if (id !== holds) void former.ack(resolved);
  });
  await eventually(async () => expect(await parkedBy(FORMER)).toBe(1));
  await eventually(async () => expect((await venue.events.groupPosition(FORMER)) ?? '').not.toBe(''));
  await former.unsubscribe();
  await client.dispose();
}

test('what the group of earlier releases holds is delivered, and what it had parked is kept', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const [done, parked, waiting] = [
    await venue.append(requested({ bookingId: 1 })),
    await venue.append(requested({ bookingId: 2 })),
    await venue.append(requested({ bookingId: 3 })),
  ];
  await earlierRelease({ parks: parked, holds: waiting });

  const webhooks = await venue.deliver();
  await receiver.until(1);
  expect(await webhooks.listFailedEvents()).toMatchObject([
    { eventId: parked, state: 'Parked', reason: 'The read models have not reached it' },
  ]);
  expect(await webhooks.replayParked()).toBe(1);
  await eventually(() => expect(eventIds()).toEqual(expect.arrayContaining([parked, waiting].toSorted())));
  // What the former group had handled is not, or only as the event at its position, delivered again.
  expect(eventIds().filter((id) => id !== done)).toEqual([parked, waiting].toSorted());
});

test('what an earlier release had parked outlasts that its group is moved', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const parked = await venue.append(requested());
  await earlierRelease({ parks: parked });
  const { events, documents, clock } = venue;
  await setFanOutPositions({ events, documents, clock }, { [FORMER]: LOG_START });
  expect(await parkedBy(FORMER)).toBe(0);
  const { list } = await openFailedEvents({ documents, clock });
  expect(await list()).toMatchObject([{ eventId: parked, state: 'Parked' }]);
});
