import { expect, test } from 'vitest';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { startRetries } from '../../src/outbox/retries.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { eventually } from '../eventually.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';
import { newEventsDisk, openMemoryEvents } from '../simulation/memory-events.ts';
import type { Watch } from '../webhooks/watched-documents.ts';

const POLL_MS = 5;
/** No second poll. */
const HOUR_MS = 3_600_000;
const STREAM = 'spaceDay-7-2026-12-24';

/** A log of some events, all of which have failed and are due, and one after another is tried. */
async function open(count: number, watch: Watch = {}) {
  const time = { now: Date.parse('2026-12-01T12:00:00Z') };
  const documents = openMemoryDocuments(newDocumentsDisk(), { watch });
  const events = openMemoryEvents(newEventsDisk());
  const some = Array.from({ length: count }, (_, n) => ({ type: `Event${n}`, data: {}, metadata: {} }));
  await events.append(STREAM, some, { expectedRevision: 'none' });
  const failedEvents = await openFailedEvents({ documents, clock: () => time.now, role: 'webhooks', delaysMs: [1, 1] });
  for (const event of await Array.fromAsync(events.readAll())) {
    await failedEvents.failed(event, new Error('first'));
    time.now += 2;
  }
  const tried: string[] = [];
  const lines: string[] = [];
  const note = (_: unknown, text?: string) => void lines.push(text ?? '');
  const start = (fanOut: (event: StoredEvent) => Promise<void>, pollIntervalMs = POLL_MS) =>
    startRetries({
      events,
      failedEvents,
      logger: { warn: note, error: note },
      pollIntervalMs,
      async fanOut(event) {
        tried.push(event.type);
        await fanOut(event);
      },
    });
  return { time, events, failedEvents, tried, lines, start };
}

test('what is due is tried at once, one after another, and then no longer stored', async () => {
  const { failedEvents, tried, lines, start } = await open(3);
  let running = 0;
  const retries = start(async () => {
    expect(running).toBe(0);
    running += 1;
    await Promise.resolve();
    running -= 1;
  });
  await eventually(async () => expect(await failedEvents.list()).toEqual([]));
  expect(tried).toEqual(['Event0', 'Event1', 'Event2']);
  await retries.close();
  expect(lines).toEqual([]);
});

test('what fails again is stored so, and the log says whether it is parked', async () => {
  const { time, failedEvents, tried, lines, start } = await open(1);
  const retries = start(async () => {
    throw new Error('second');
  });
  await eventually(async () => expect(await failedEvents.list()).toMatchObject([{ failures: 2, reason: 'second' }]));
  await eventually(() => expect(lines).toEqual(['An event could not be fanned out; retrying']));
  time.now += 1;
  await eventually(async () => expect(await failedEvents.list()).toMatchObject([{ failures: 3, state: 'Parked' }]));
  await eventually(() => expect(lines[1]).toBe('An event could not be fanned out; parked; see `venue parked list`'));
  time.now += 1_000;
  await retries.close();
  expect(tried).toHaveLength(2);
});

test('a poll tries no more after eight that have to wait, and 256 in all', async () => {
  const waiting = await open(20);
  const ofWaiting = waiting.start(async () => {
    throw new Unavailable('the receivers are away');
  }, HOUR_MS);
  const many = await open(257);
  const ofMany = many.start(async () => {}, HOUR_MS);
  await eventually(async () => expect(await many.failedEvents.list()).toHaveLength(1));
  await Promise.all([ofWaiting.close(), ofMany.close()]);
  expect([waiting.tried.length, many.tried.length]).toEqual([8, 256]);
});

test('one that need not wait begins the count of those that do again', async () => {
  const { tried, lines, failedEvents, start } = await open(20);
  const retries = start(async ({ type }) => {
    if (type === 'Event4') throw new Error('fails');
    throw new Unavailable('the receivers are away');
  }, HOUR_MS);
  const isAfterwards = ({ reason }: { readonly reason: string }) => reason !== 'first';
  await eventually(async () => expect((await failedEvents.list()).filter(isAfterwards)).toHaveLength(13));
  await retries.close();
  expect(tried).toEqual(Array.from({ length: 13 }, (_, n) => `Event${n}`));
  expect(lines).toEqual(['An event could not be fanned out; retrying']);
});

test('it tries again after each interval, also when the records could not be read', async () => {
  let isAway = true;
  const before = (method: string) => {
    if (isAway && method === 'find') throw new Unavailable('the records are away');
  };
  const { tried, lines, start } = await open(1, { before });
  const retries = start(async () => {});
  await eventually(() => expect(lines).toContain('Failed events could not be tried again; retrying'));
  expect(tried).toEqual([]);
  isAway = false;
  await eventually(() => expect(tried).toEqual(['Event0']));
  await retries.close();
});

test('an event that the log no longer has at its place is no longer tried', async () => {
  const { time, failedEvents, events, tried, start } = await open(1);
  const [first] = await Array.fromAsync(events.readAll());
  if (first === undefined) throw new Error('No event');
  await failedEvents.failed({ ...first, id: 'of another log' }, new Error('first'));
  time.now += 2;
  const retries = start(async () => {});
  await eventually(async () => expect(await failedEvents.list()).toEqual([]));
  await retries.close();
  expect(tried).toEqual(['Event0']);
});

test('once it is closed, it finishes what it tries, and begins nothing', async () => {
  const { failedEvents, tried, start } = await open(3);
  const blocked = Promise.withResolvers<void>();
  const retries = start(() => blocked.promise);
  await eventually(() => expect(tried).toHaveLength(1));
  let isClosed = false;
  const closed = retries.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 2 * POLL_MS));
  expect(isClosed).toBe(false);
  blocked.resolve();
  await closed;
  expect(tried).toHaveLength(1);
  expect(await failedEvents.list()).toHaveLength(2);
});

test('while the log is away, a retry waits', async () => {
  const { failedEvents, events, tried, start } = await open(1);
  const [event] = await failedEvents.list();
  events.readStream = () => {
    throw new Error('connection refused');
  };
  const retries = start(async () => {}, HOUR_MS);
  const reason = `The event log cannot be read: ${event?.stream}`;
  await eventually(async () => expect(await failedEvents.list()).toMatchObject([{ reason, failures: 1 }]));
  await retries.close();
  expect(tried).toEqual([]);
});
