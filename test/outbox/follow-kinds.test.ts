import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { EventStore, StoredEvent } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { type FollowKindsDeps, followKinds } from '../../src/outbox/follow-kinds.ts';
import { addMarks, readMarks } from '../../src/outbox/marks.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { changedStore } from '../event-store/changed-store.ts';
import { eventually } from '../eventually.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';
import { newEventsDisk, openMemoryEvents } from '../simulation/memory-events.ts';
import { approved, requested } from '../webhooks/deliverable-events.ts';
import type { Watch } from '../webhooks/watched-documents.ts';

const KINDS = ['BookingRequested', 'BookingApproved'];
const GROUPS = KINDS.map((kind) => ({ kind, group: `group of ${kind}` }));
const READS = [{ name: 'webhooks' }];
const READ_MODEL_WAIT_MS = 20;
/** Longer than a test takes. */
const HOUR_MS = 3_600_000;

type Given = {
  readonly watch?: Watch;
  /** The pauses between tries of an event that fails. Default: none in this test. */
  readonly delaysMs?: readonly number[];
  /** What a group hands out of the events that are new. */
  readonly handOut?: (events: readonly StoredEvent[]) => readonly StoredEvent[];
};

/** A log, and what a test lets happen. */
function open({ watch = {}, delaysMs = [HOUR_MS], handOut }: Given = {}) {
  const documents = openMemoryDocuments(newDocumentsDisk(), { watch });
  const events = openMemoryEvents(newEventsDisk(), { ...(handOut && { handOut }) });
  const handled: string[] = [];
  const lines: string[] = [];
  const note = (_: unknown, text?: string) => void lines.push(text ?? '');
  const world = {
    /** Whether the read models lag. */
    isBehind: false,
    pings: 0,
    handle: async (_: string): Promise<void> => {},
    ping: async (): Promise<void> => {},
  };
  const waits: unknown[] = [];
  let booked = 0;

  /** Appends events, each to a stream of its own: `r`equests, `a`pprovals, and `o`thers, which nothing follows. */
  async function append(kinds: string): Promise<string> {
    let position = '';
    for (const kind of kinds) {
      booked += 1;
      const { type, data, metadata } = kind === 'a' ? approved() : requested();
      const event = { type: kind === 'o' ? 'SpaceRenamed' : type, data: { ...data }, metadata: { ...metadata } };
      const json = JSON.parse(JSON.stringify(event));
      ({ position } = await events.append(`booking-${booked}`, [json], { expectedRevision: 'none' }));
    }
    return position;
  }

  async function follow({ tuning, ...deps }: Partial<FollowKindsDeps> = {}) {
    const failedEvents = await openFailedEvents({ documents, clock: Date.now, role: 'webhooks', delaysMs });
    const followed = await followKinds({
      events,
      documents,
      failedEvents,
      readModels: {
        async waitFor(position, options) {
          waits.push({ position, ...options });
          return !world.isBehind;
        },
      },
      logger: { warn: note, error: note },
      role: 'webhooks',
      kinds: KINDS,
      groups: [],
      reads: READS,
      async handle({ stream }) {
        handled.push(stream);
        await world.handle(stream);
      },
      async ping() {
        world.pings += 1;
        await world.ping();
      },
      tuning: { readModelWaitMs: READ_MODEL_WAIT_MS, markEveryMs: 5, pollIntervalMs: 5, ...tuning },
      ...deps,
    });
    return { ...followed, failedEvents };
  }

  const marks = () => readMarks(documents, 'webhooks');
  return { documents, events, handled, lines, waits, world, append, follow, marks };
}

test('every event of the kinds is handled once, and the marks follow', async () => {
  const { handled, waits, append, follow, marks } = open();
  const first = await append('rao');
  const { close } = await follow();
  await eventually(async () => expect(await marks()).toEqual({ BookingRequested: first, BookingApproved: first }));
  const last = await append('ora');
  await eventually(async () => expect(await marks()).toEqual({ BookingRequested: last, BookingApproved: last }));
  expect(handled).toEqual(['booking-1', 'booking-2', 'booking-5', 'booking-6']);
  expect(waits[0]).toMatchObject({ projections: READS, timeoutMs: READ_MODEL_WAIT_MS });
  await close();
});

test('it begins behind the mark of each kind', async () => {
  const { documents, handled, append, follow } = open();
  const first = await append('r');
  const third = await append('ar');
  await append('ar');
  await addMarks(documents, 'webhooks', { BookingRequested: third, BookingApproved: first });
  const { close } = await follow();
  await eventually(() => expect(handled).toHaveLength(3));
  await close();
  expect(handled).toEqual(['booking-2', 'booking-4', 'booking-5']);
});

test('what groups hand out as well is handled once', async () => {
  const { handled, append, follow, marks } = open();
  await append('ra');
  const { close } = await follow({ groups: GROUPS });
  const last = await append('rara');
  await eventually(async () => expect(await marks()).toEqual({ BookingRequested: last, BookingApproved: last }));
  await close();
  expect(handled.toSorted()).toEqual(['booking-1', 'booking-2', 'booking-3', 'booking-4', 'booking-5', 'booking-6']);
});

test('what a group hands out again is not handled again', async () => {
  const handedOut: StoredEvent[] = [];
  const handOut = (events: readonly StoredEvent[]) => {
    if (events.length === 0) return events;
    handedOut.push(...events);
    return handedOut.slice();
  };
  const { handled, append, follow, marks } = open({ handOut });
  const { close } = await follow({ groups: GROUPS });
  for (const kind of 'rar') {
    const last = await append(kind);
    await eventually(async () => expect(await marks()).toEqual({ BookingRequested: last, BookingApproved: last }));
  }
  await close();
  expect(handled).toEqual(['booking-1', 'booking-2', 'booking-3']);
});

test('what a group hands out is handled while the log is still behind', async () => {
  const { events, handled, append, follow } = open();
  const isClosing = Promise.withResolvers<void>();
  const subscribe: EventStore['subscribe'] = async function* (options) {
    await isClosing.promise;
    yield* events.subscribe(options);
  };
  const { close } = await follow({ events: changedStore(events, { subscribe }), groups: GROUPS });
  await append('raro');
  await eventually(() => expect(handled).toEqual(['booking-1', 'booking-2', 'booking-3']));
  const closed = close();
  isClosing.resolve();
  await closed;
});

test('an event waits for the read models, which is no failure, and another process should try after three waits', async () => {
  const { world, handled, lines, waits, append, follow, marks } = open();
  world.isBehind = true;
  await append('r');
  const { isStuck, failedEvents, close } = await follow({ tuning: { readModelWaitMs: 150 } });
  await eventually(() => expect(waits.length).toBeGreaterThan(1));
  expect(isStuck()).toBe(false);
  await eventually(() => expect(isStuck()).toBe(true));
  await eventually(() => expect(waits.length).toBeGreaterThan(2));
  expect(await failedEvents.list()).toEqual([]);
  expect(handled).toEqual([]);
  expect(await marks()).toEqual({});
  world.isBehind = false;
  await eventually(() => expect(handled).toEqual(['booking-1']));
  expect(isStuck()).toBe(false);
  expect(await failedEvents.list()).toEqual([]);
  expect(lines).toEqual([]);
  await close();
});

test('an event that fails is stored as failed, and those behind it go on', async () => {
  const { world, handled, lines, append, follow, marks } = open();
  world.handle = async (stream) => {
    if (stream === 'booking-1') throw new Error('a broken template');
  };
  const last = await append('rr');
  const { failedEvents, close } = await follow();
  await eventually(async () => expect(await marks()).toMatchObject({ BookingRequested: last }));
  expect(handled).toEqual(['booking-1', 'booking-2']);
  expect(await failedEvents.list()).toMatchObject([{ stream: 'booking-1', failures: 1, reason: 'a broken template' }]);
  expect(lines).toEqual(['An event could not be fanned out; retrying']);
  await close();
});

test('one that failed is tried again when it is due', async () => {
  const { world, handled, append, follow, marks } = open({ delaysMs: [5] });
  world.handle = async () => {
    if (handled.length === 1) throw new Error('a broken template');
  };
  const last = await append('r');
  const { failedEvents, close } = await follow();
  await eventually(() => expect(handled).toEqual(['booking-1', 'booking-1']));
  await eventually(async () => expect(await failedEvents.list()).toEqual([]));
  await eventually(async () => expect(await marks()).toMatchObject({ BookingRequested: last }));
  await close();
});

test('while a dependency is away, nothing is stored as failed, and the log has one line', async () => {
  const { world, handled, lines, append, follow, marks } = open();
  const away = async () => {
    await delay(20);
    throw new Unavailable('the records are away');
  };
  world.handle = away;
  world.ping = away;
  const last = await append('ra');
  const { failedEvents, close } = await follow();
  await eventually(() => expect(handled.length).toBeGreaterThan(7));
  expect(await failedEvents.list()).toEqual([]);
  expect(await marks()).toEqual({});
  expect(lines).toEqual(['The log could not be followed from the mark; retrying']);
  // The first time none is asked, and then both wait for the same answer: two, in three more tries of two events.
  expect(world.pings).toBeLessThan(4);
  world.handle = async () => {};
  await eventually(async () => expect(await marks()).toEqual({ BookingRequested: last, BookingApproved: last }));
  await close();
});

test('an event that still waits when everything answers waits by itself, and those behind it go on', async () => {
  const { world, handled, append, follow, marks } = open();
  world.handle = async (stream) => {
    if (stream === 'booking-1') throw new Unavailable('its space is not there yet');
  };
  world.ping = async () => {
    if (world.pings < 2) throw new Unavailable('the records are away');
  };
  const last = await append('rr');
  const { failedEvents, close } = await follow();
  await eventually(async () => expect(await failedEvents.list()).toHaveLength(1));
  expect(await failedEvents.list()).toMatchObject([{ stream: 'booking-1', state: 'Retrying', failures: 0 }]);
  await eventually(async () => expect(await marks()).toMatchObject({ BookingRequested: last }));
  // At first it is not told from an outage, and then there is one.
  expect(handled.filter((stream) => stream === 'booking-1')).toHaveLength(3);
  await close();
});

test('an event of a newer release waits by itself', async () => {
  const { events, handled, lines, append, follow, marks } = open();
  const { data, metadata } = JSON.parse(JSON.stringify(requested()));
  await events.append('newer', [{ type: 'BookingRequested', data, metadata: { ...metadata, schema: 99 } }], {
    expectedRevision: 'none',
  });
  const last = await append('r');
  const { failedEvents, close } = await follow();
  await eventually(async () => expect(await marks()).toMatchObject({ BookingRequested: last }));
  expect(handled).toEqual(['booking-1']);
  expect(await failedEvents.list()).toMatchObject([{ stream: 'newer', failures: 0 }]);
  expect(lines).toEqual([]);
  await close();
});

test('an event whose failure cannot be stored is handled again', async () => {
  let isAway = true;
  const before = (method: string) => {
    if (isAway && method === 'insert') throw new Unavailable('the records are away');
  };
  const { world, handled, append, follow, marks } = open({ watch: { before } });
  world.handle = async () => {
    throw new Error('a broken template');
  };
  const last = await append('r');
  const { failedEvents, close } = await follow({ groups: GROUPS });
  await eventually(() => expect(handled.length).toBeGreaterThan(1));
  expect(await marks()).toEqual({});
  isAway = false;
  await eventually(async () => expect(await failedEvents.list()).toHaveLength(1));
  await eventually(async () => expect(await marks()).toMatchObject({ BookingRequested: last }));
  await close();
});

test('a mark is stored only when it moves, and a failure to do so is one line until it succeeds', async () => {
  let isAway = true;
  let updates = 0;
  let calls = 0;
  const before = (method: string, collection: string) => {
    if (collection === 'outboxMarks') calls += 1;
    if (method !== 'insert' && method !== 'replace') return;
    updates += 1;
    if (isAway) throw new Unavailable('the records are away');
  };
  const { lines, append, follow, marks } = open({ watch: { before } });
  await append('r');
  const { close } = await follow();
  await eventually(() => expect(updates).toBeGreaterThan(3));
  expect(lines).toEqual(['The marks could not be stored; retrying']);
  isAway = false;
  await eventually(async () => expect(await marks()).not.toEqual({}));
  const after = calls;
  await delay(30);
  expect(calls).toBe(after);
  isAway = true;
  await append('r');
  await eventually(() => expect(lines).toHaveLength(2));
  isAway = false;
  await close();
});

test('a mark stays within the log, where the log reports positions beyond it', async () => {
  const { events, append, follow, marks } = open();
  const last = await append('r');
  const subscribe: EventStore['subscribe'] = async function* (options) {
    for await (const batch of events.subscribe(options)) yield { ...batch, position: '9' };
  };
  const { close } = await follow({ events: changedStore(events, { subscribe }) });
  await eventually(async () => expect(await marks()).toEqual({ BookingRequested: last, BookingApproved: last }));
  await close();
});

test('a stop waits for what is being handled, stores the marks, and begins nothing', async () => {
  const { world, handled, append, follow, marks } = open();
  const blocked = Promise.withResolvers<void>();
  world.handle = () => blocked.promise;
  const first = await append('r');
  const { close } = await follow({ groups: GROUPS, tuning: { markEveryMs: HOUR_MS } });
  await eventually(() => expect(handled).toHaveLength(1));
  let isClosed = false;
  const closed = close().then(() => {
    isClosed = true;
  });
  await delay(20);
  expect(isClosed).toBe(false);
  blocked.resolve();
  await closed;
  expect(await marks()).toEqual({ BookingRequested: first, BookingApproved: first });
  await append('ra');
  await delay(20);
  expect(handled).toEqual(['booking-1']);
});

test('a stop while an event cannot be handled leaves its mark before it', async () => {
  const { world, handled, append, follow, marks } = open();
  world.handle = async () => {
    throw new Unavailable('the records are away');
  };
  await append('r');
  const { close } = await follow();
  await eventually(() => expect(handled).toHaveLength(1));
  await close();
  expect(await marks()).toEqual({});
});
