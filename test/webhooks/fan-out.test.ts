import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import type { Account } from '../../src/domain/account.ts';
import type { DomainEvent, Recorded } from '../../src/domain/events.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { keysOf } from '../../src/domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../src/domain/webhook.ts';
import { logEnd } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { addMarks, type Beginning, prepareMarks, readMarks } from '../../src/outbox/marks.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { eventually } from '../eventually.ts';
import { approved, cancelled, moved, requested, reviewed } from './deliverable-events.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { BRAND, COMMUNITY, openVenue, type Venue } from './venue.ts';

const OTHER_COMMUNITY: Account = { kind: 'Community', id: communityId(4) };
/** The same number as the community: accounts of different types must not be confused. */
const OTHER_BRAND: Account = { kind: 'Brand', id: brandId(3) };

let venue: Venue;
let receiver: Receiver;
beforeEach(async () => {
  venue = await openVenue();
  receiver = await startReceiver();
});
/** Gates that hold back events. */
const gates: PromiseWithResolvers<void>[] = [];
afterEach(async () => {
  for (const gate of gates.splice(0)) gate.resolve();
  await venue.close();
  await receiver.close();
});

const delivered = (): string[] =>
  receiver.received.map(({ path, body }) => `${path?.slice(1)} ${JSON.parse(body).event}`).sort();
const urlOf = (name: string) => new URL(name, receiver.url).href;

test('each registration receives the events that its account may see, of the types it chose', async () => {
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
    events: changedStore(events, {
      consume: (group, options, handler) =>
        events.consume(group, options, async (event) => {
          await Promise.all([handler(event), handler(event)]);
          await handler(event);
          handled += 1;
        }),
    }),
  });
  await venue.append(approved());
  await venue.append(requested());
  await eventually(() => expect(handled).toBe(2));
  await receiver.until(2);
  await pause(100);
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2);
  expect(receiver.received).toHaveLength(2);
});

test('a registration made before an event receives it, even if the read models lag', async () => {
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

test('a registration made after an event does not receive it, even if it is read first', async () => {
  await venue.register(COMMUNITY, urlOf('before'));
  await venue.append(approved());
  // No process has fanned the event out yet.
  await venue.register(COMMUNITY, urlOf('after'));
  await venue.deliver();
  await receiver.until(1);
  await venue.append(requested());
  await receiver.until(3);
  expect(delivered()).toEqual(['after BookingRequested', 'before BookingApproved', 'before BookingRequested']);
});

test('a removed or disabled registration and one with a revoked key receive no deliveries', async () => {
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

const ids = (): unknown[] => receiver.received.map(({ headers }) => headers['webhook-id']);
/** For tests that would otherwise wait for minutes or hours. */
const IMPATIENT = { readModelWaitMs: 20, failureDelaysMs: [10, 10] };

describe('an event that cannot be handled yet waits, without counting as a retry', () => {
  test('while the read models lag', async () => {
    const { webhookId } = await venue.register(COMMUNITY, receiver.url);
    const webhooks = await venue.deliver({ tuning: IMPATIENT });
    venue.holdProjector();
    const eventIds = await Promise.all([venue.append(approved()), venue.append(requested())]);
    // Far more waits than the failures after which an event is parked.
    await pause(1_500);
    expect(await webhooks.listFailedEvents()).toEqual([]);
    venue.releaseProjector();
    await receiver.until(2);
    await pause(300);
    expect(ids().toSorted()).toEqual(eventIds.map((id) => `${id}:${webhookId}`).toSorted());
    expect(await webhooks.listFailedEvents()).toEqual([]);
  });

  test('in the active process, which then gives its role to one that can continue', async () => {
    await venue.register(COMMUNITY, receiver.url);
    const other = await openVenue({ folder: venue.folder });
    try {
      let isBehind = false;
      // Like a process of a release whose projector has stopped.
      const waitFor: typeof other.readModels.waitFor = (position, options) =>
        isBehind ? pause(options?.timeoutMs, false) : other.readModels.waitFor(position, options);
      const active = await other.deliver({ tuning: IMPATIENT, readModels: { ...other.readModels, waitFor } });
      await venue.append(requested({ bookingId: 100 }));
      await receiver.until(1);
      await venue.deliver();
      isBehind = true;
      await Promise.all(Array.from({ length: 100 }, (_, i) => venue.append(requested({ bookingId: i }))));
      await receiver.until(101);
      expect(new Set(ids()).size).toBe(101);
      expect(await active.listFailedEvents()).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test('while the document store is unavailable', async () => {
    await venue.register(COMMUNITY, receiver.url);
    let isStoreDown = false;
    const webhooks = await venue.deliver({
      tuning: IMPATIENT,
      documents: withOutages(venue.documents, () => isStoreDown),
    });
    isStoreDown = true;
    await venue.append(approved());
    await pause(1_500);
    isStoreDown = false;
    await receiver.until(1);
    expect(await webhooks.listFailedEvents()).toEqual([]);
  });

  test('without delaying the others when it alone waits', async () => {
    const stuck = await venue.register(COMMUNITY, urlOf('stuck'));
    await venue.register(OTHER_COMMUNITY, urlOf('other'));
    let isStoreDown = true;
    const webhooks = await venue.deliver({
      tuning: IMPATIENT,
      credentials: {
        ...venue.credentials,
        isEnded: async (id) => {
          if (isStoreDown && id === stuck.webhookId) throw new Unavailable('isStoreDown');
          return venue.credentials.isEnded(id);
        },
      },
    });
    // More than a process handles at once.
    await Promise.all(Array.from({ length: 200 }, (_, i) => venue.append(requested({ bookingId: i }))));
    await Promise.all(Array.from({ length: 50 }, (_, i) => venue.append(requested({ bookingId: i, communityId: 4 }))));
    await receiver.until(50);
    expect(delivered().every((line) => line.startsWith('other '))).toBe(true);
    for (const { state, failures } of await webhooks.listFailedEvents())
      expect([state, failures]).toEqual(['Retrying', 0]);
    isStoreDown = false;
    await receiver.until(250);
    expect(new Set(ids()).size).toBe(250);
    await eventually(async () => expect(await webhooks.listFailedEvents()).toEqual([]));
  });

  test('when a newer release wrote it', async () => {
    await venue.register(COMMUNITY, receiver.url);
    // This release cannot fold it either; a read model that does not need it continues.
    const readModels = { ...venue.readModels, waitFor: async () => true };
    const webhooks = await venue.deliver({ tuning: IMPATIENT, readModels });
    const event = approved();
    const newer = await venue.append({ ...event, metadata: { ...event.metadata, schema: 99 } });
    await venue.append(requested());
    await receiver.until(1);
    expect(await webhooks.listFailedEvents()).toMatchObject([
      { eventId: newer, state: 'Retrying', failures: 0, reason: expect.stringContaining('schema version 99') },
    ]);
  });
});

describe('an event that fails', () => {
  /** Deliveries in a process that cannot tell whether an app is connected. */
  const deliverWith = (isBroken: () => boolean) =>
    venue.deliver({
      tuning: IMPATIENT,
      isConnected: async () => {
        if (isBroken()) throw new Error('Broken');
        return true;
      },
    });

  test('is parked with the reason after its last try, and the others continue', async () => {
    await venue.register(COMMUNITY, urlOf('community'));
    const webhookId = await venue.registerApp(OTHER_COMMUNITY, urlOf('other'));
    let isBroken = true;
    const webhooks = await deliverWith(() => isBroken);
    const failing = await venue.append(requested({ communityId: 4 }));
    await venue.append(requested());
    await receiver.until(1);
    await eventually(async () =>
      expect(await webhooks.listFailedEvents()).toMatchObject([
        {
          eventId: failing,
          type: 'BookingRequested',
          state: 'Parked',
          failures: 3,
          reason: expect.stringMatching(/./),
        },
      ]),
    );
    expect(await webhooks.countFailedEvents()).toEqual({ parked: 1, retrying: 0 });
    expect(delivered()).toEqual(['community BookingRequested']);

    isBroken = false;
    expect(await webhooks.replayParked('unknown')).toBe(0);
    expect(await webhooks.replayParked(failing)).toBe(1);
    await receiver.until(2);
    expect(ids()).toContain(`${failing}:${webhookId}`);
    await eventually(async () => expect(await webhooks.listFailedEvents()).toEqual([]));
  });

  test('is delivered once it no longer fails', async () => {
    await venue.registerApp(OTHER_COMMUNITY, urlOf('other'));
    let tries = 0;
    const webhooks = await deliverWith(() => ++tries < 2);
    await venue.append(requested({ communityId: 4 }));
    await receiver.until(1);
    await eventually(async () => expect(await webhooks.listFailedEvents()).toEqual([]));
    expect(receiver.received).toHaveLength(1);
  });
});

test('a clock that is set back does not extend the wait of a failed event', async () => {
  await venue.register(COMMUNITY, receiver.url);
  const eventId = await venue.append(approved());
  const [stored] = await Array.fromAsync(venue.events.readAll({ types: ['BookingApproved'] }));
  if (stored === undefined) throw new Error('Not stored');
  const { documents, clock } = venue;
  const anHourAhead = await openFailedEvents({ documents, clock: () => clock() + 3_600_000, role: 'webhooks' });
  await anHourAhead.failed(stored, new Error('Broken'));
  await addMarks(venue.documents, 'webhooks', { BookingApproved: stored.position });
  const webhooks = await venue.deliver();
  const [first] = await receiver.until(1);
  expect(first?.headers['webhook-id']).toMatch(eventId);
  await eventually(async () => expect(await webhooks.listFailedEvents()).toEqual([]));
});

describe('marks', () => {
  /** As a process of a release does that knows one more kind, and does not deliver itself. */
  const prepareNext = (beginning: Beginning) =>
    prepareMarks({
      events: venue.events,
      documents: venue.documents,
      role: 'webhooks',
      kinds: [...keysOf(WEBHOOK_EVENTS), 'BookingCompleted'],
      beginning,
    });

  test('of a new kind stay where they begin while only an older release delivers', async () => {
    await venue.deliver();
    await venue.append(requested());
    await prepareNext('start');
    const begins = (await readMarks(venue.documents, 'webhooks')).BookingCompleted ?? expect.fail();
    const { type: _, ...completed } = approved();
    const eventId = await venue.append({ type: 'BookingCompleted', ...completed } as Recorded<DomainEvent>);
    await venue.append(requested());
    await venue.fannedOut('BookingRequested');
    expect((await readMarks(venue.documents, 'webhooks')).BookingCompleted).toBe(begins);
    const left = venue.events.readAll({ after: begins, types: ['BookingCompleted'] });
    expect((await Array.fromAsync(left)).map(({ id }) => id)).toEqual([eventId]);
  });

  test('of a new kind begin where the one stands that is furthest behind', async () => {
    await venue.append(requested());
    const behind = await logEnd(venue.events);
    await venue.append(requested());
    const end = await logEnd(venue.events);
    await addMarks(venue.documents, 'webhooks', { BookingRequested: behind, BookingApproved: end });
    await prepareNext('start');
    expect(await readMarks(venue.documents, 'webhooks')).toEqual({
      BookingRequested: behind,
      BookingApproved: end,
      BookingCancelled: behind,
      ReviewPosted: behind,
      BookingMoved: behind,
      BookingCompleted: behind,
    });
  });
});

describe('deliveries of earlier events of the same booking', () => {
  const DAY = 'spaceDay-7-2026-05-02';
  /** Deliveries in a process that handles requests only after `release`. */
  const deliverRequestsLast = async () => {
    const { events } = venue;
    const gate = Promise.withResolvers<void>();
    gates.push(gate);
    const webhooks = await venue.deliver({
      events: changedStore(events, {
        consume: (group, options, handler) =>
          events.consume(group, options, async (event) => {
            if (event.type === 'BookingRequested') await gate.promise;
            await handler(event);
          }),
        async *subscribe(options) {
          for await (const batch of events.subscribe(options)) {
            if (batch.events.some(({ type }) => type === 'BookingRequested')) await gate.promise;
            yield batch;
          }
        },
      }),
    });
    return { webhooks, release: gate.resolve };
  };

  test('are created first', async () => {
    const { webhookId } = await venue.register(COMMUNITY, urlOf('all'));
    await venue.register(COMMUNITY, urlOf('approvals'), WEBHOOK_EVENTS.BookingApproved);
    const { webhooks, release } = await deliverRequestsLast();
    const [request, , approval] = await venue.appendTo(DAY, [requested(), requested({ bookingId: 42 }), approved()]);
    await receiver.until(3);
    const listed = await webhooks.listDeliveries({ webhookId });
    expect(listed.map(({ eventId }) => eventId).toSorted()).toEqual([request, approval].toSorted());
    expect(delivered()).toEqual(['all BookingApproved', 'all BookingRequested', 'approvals BookingApproved']);
    release();
    await receiver.until(4);
    await pause(200);
    expect(new Set(ids()).size).toBe(4);
    expect(receiver.received).toHaveLength(4);
  });

  test('are created first, also those of the day that a booking has left', async () => {
    await venue.register(COMMUNITY, urlOf('all'), 31);
    const { release } = await deliverRequestsLast();
    await venue.appendTo(DAY, [requested()]);
    await venue.appendTo('spaceDay-8-2026-05-04', [moved()]);
    await receiver.until(2);
    const events = receiver.received.map(({ body }) => JSON.parse(body).event);
    expect(events).toEqual(['BookingRequested', 'BookingMoved']);
    release();
  });

  test('are not created for events from long ago, or from while the registration was disabled', async () => {
    const { webhookId } = await venue.register(COMMUNITY, urlOf('all'));
    const { webhooks, release } = await deliverRequestsLast();
    await venue.disable(webhookId);
    await venue.appendTo(DAY, [requested()]);
    await venue.enable(webhookId);
    await venue.events.append(DAY, [{ type: 'BookingApproved', data: approved().data, metadata: nowMetadata() }], {
      expectedRevision: 0,
    });
    await receiver.until(1);
    expect(await webhooks.listDeliveries({ webhookId })).toMatchObject([{ event: 'BookingApproved' }]);

    await venue.appendTo('spaceDay-7-2026-05-03', [requested({ bookingId: 2 })]);
    // Its delivery would have expired by now.
    venue.advance(30 * 24 * 3_600_000);
    const cancellation = { type: 'BookingCancelled', data: cancelled({ bookingId: 2, cancelledBy: 'Brand' }).data };
    await venue.events.append('spaceDay-7-2026-05-03', [{ ...cancellation, metadata: nowMetadata() }], {
      expectedRevision: 0,
    });
    await receiver.until(2);
    expect(delivered()).toEqual(['all BookingApproved', 'all BookingCancelled']);
    release();
  });

  test('are created before the delivery of its review', async () => {
    await venue.register(BRAND, urlOf('all'));
    const { release } = await deliverRequestsLast();
    await venue.appendTo(DAY, [requested(), approved()]);
    await venue.append(reviewed());
    await receiver.until(3);
    expect(delivered()).toEqual(['all BookingApproved', 'all BookingRequested', 'all ReviewPosted']);
    release();
    await pause(200);
    expect(receiver.received).toHaveLength(3);
  });

  const nowMetadata = () => ({ ...approved().metadata, at: new Date(venue.clock()).toISOString() });
});

/** Every call fails during an outage. */
function withOutages(documents: OperatedDocumentStore, isDown: () => boolean): OperatedDocumentStore {
  const check = () => {
    if (isDown()) throw new Error('The document store is down');
  };
  return {
    async open(collection) {
      const opened = await documents.open(collection);
      return new Proxy(opened, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          return (...args: readonly unknown[]) => {
            check();
            return Reflect.apply(member, target, args);
          };
        },
      });
    },
    openWithoutIndexes: (collection) => documents.openWithoutIndexes(collection),
    makeIndexes: (collection) => documents.makeIndexes(collection),
    project: (...args) => documents.project(...args),
    cacheGeneration: (...args) => documents.cacheGeneration(...args),
    checkpoints: (names) => documents.checkpoints(names),
    drop: (name) => documents.drop(name),
    names: () => documents.names(),
    collections: () => documents.collections(),
    room: () => documents.room(),
    now: () => documents.now(),
    purge: () => documents.purge(),
    async ping() {
      check();
    },
    close: () => documents.close(),
  };
}
