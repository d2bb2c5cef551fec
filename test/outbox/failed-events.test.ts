import { expect, test } from 'vitest';
import { UnknownEvent } from '../../src/domain/known-event.ts';
import type { StoredEvent } from '../../src/event-store/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { newDocumentsDisk, openMemoryDocuments } from '../simulation/memory-documents.ts';

const NOON = Date.parse('2026-12-01T12:00:00Z');
const at = (ms: number): string => new Date(NOON + ms).toISOString();
const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
/** The pauses of docs/decisions/outbox.md, all of them written out. */
const PAUSES = [
  ...[SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR],
];

const event = (revision: number): StoredEvent => ({
  id: `event-${revision}`,
  type: 'BookingRequested',
  stream: 'spaceDay-7-2026-12-24',
  revision,
  position: `00${revision}`,
  data: {},
  metadata: {},
});
const broken = new Error('a broken template');

async function open({ documents = openMemoryDocuments(newDocumentsDisk()), role = 'webhooks' as const } = {}) {
  const time = { now: NOON };
  const clock = () => time.now;
  const failedEvents = await openFailedEvents({ documents, clock, role });
  const due = async () => (await failedEvents.due(100)).map(({ key }) => key);
  /** The event as it is stored, due or not. */
  async function stored(revision: number) {
    const [found] = await failedEvents.due(100);
    if (found?.key !== event(revision).id) throw new Error(`${event(revision).id} is not the first that is due`);
    return found;
  }
  /** Fails again and again, at the moments when it is due, until it is parked. */
  async function park(revision: number): Promise<void> {
    await failedEvents.failed(event(revision), broken);
    for (const pause of PAUSES) {
      time.now += pause;
      await failedEvents.failedAgain(await stored(revision), broken);
    }
  }
  return { time, documents, failedEvents, due, stored, park };
}

test('an event that fails is stored with what failed, and when', async () => {
  const { failedEvents } = await open();
  await failedEvents.failed(event(3), broken);
  const { data: _, metadata: __, id: eventId, ...rest } = event(3);
  expect(await failedEvents.list()).toEqual([
    {
      ...rest,
      eventId,
      state: 'Retrying',
      failures: 1,
      reason: 'a broken template',
      failingSince: at(0),
      due: at(SECOND),
      delayMs: SECOND,
    },
  ]);
});

test('it is due after each pause of the schedule, and parked after the last', async () => {
  const { failedEvents, time, due, stored } = await open();
  await failedEvents.failed(event(1), broken);
  for (const [index, pause] of PAUSES.entries()) {
    time.now += pause - 1;
    expect([index, await due()]).toEqual([index, []]);
    time.now += 1;
    expect([index, await due()]).toEqual([index, ['event-1']]);
    const parked = index === PAUSES.length - 1;
    expect(await failedEvents.failedAgain(await stored(1), `failure ${index + 2}`)).toMatchObject({
      state: parked ? 'Parked' : 'Retrying',
      failures: index + 2,
      reason: `failure ${index + 2}`,
      failingSince: at(0),
    });
  }
  expect(await failedEvents.list()).toMatchObject([{ due: new Date(time.now).toISOString(), delayMs: 0 }]);
  time.now += 100 * HOUR;
  expect(await due()).toEqual([]);
});

test.each([new Unavailable('the log is away'), new UnknownEvent('of a newer release')])(
  'waiting for what is %s is no failure',
  async (error) => {
    const { failedEvents, time, due, stored } = await open();
    await failedEvents.failed(event(1), error);
    const waiting = { state: 'Retrying', failures: 0, reason: error.message };
    expect(await failedEvents.list()).toMatchObject([{ ...waiting, due: at(5 * SECOND), delayMs: 5 * SECOND }]);
    time.now += 5 * SECOND;
    expect(await due()).toEqual(['event-1']);
    expect(await failedEvents.failedAgain(await stored(1), error)).toMatchObject({ ...waiting, due: at(10 * SECOND) });
    time.now += 5 * SECOND;
    expect(await failedEvents.failedAgain(await stored(1), broken)).toMatchObject({
      failures: 1,
      due: at(11 * SECOND),
    });
  },
);

test('a second record of an event changes nothing, and those of the other role are others', async () => {
  const { failedEvents, documents } = await open();
  await failedEvents.failed(event(1), broken);
  await failedEvents.failed(event(1), new Error('another'));
  expect(await failedEvents.list()).toMatchObject([{ reason: 'a broken template' }]);
  const ofMail = await openFailedEvents({ documents, clock: () => NOON, role: 'mail' });
  expect(await ofMail.list()).toEqual([]);
});

test('of two that try an event, the later one changes and removes nothing', async () => {
  const { failedEvents, time, stored } = await open();
  await failedEvents.failed(event(1), broken);
  time.now += SECOND;
  const before = await stored(1);
  await failedEvents.failedAgain(before, broken);
  expect(await failedEvents.failedAgain(before, new Error('late'))).toBeUndefined();
  await failedEvents.handled(before);
  expect(await failedEvents.list()).toMatchObject([{ failures: 2, reason: 'a broken template' }]);

  time.now += 5 * SECOND;
  const now = await stored(1);
  await failedEvents.handled(now);
  expect(await failedEvents.list()).toEqual([]);
  expect(await failedEvents.failedAgain(now, broken)).toBeUndefined();
});

test('the event that has been due for longest comes first, and no more than are wanted', async () => {
  const { failedEvents, time, due } = await open();
  for (const revision of [2, 1, 3]) {
    await failedEvents.failed(event(revision), broken);
    time.now += 10;
  }
  time.now += SECOND;
  expect(await due()).toEqual(['event-2', 'event-1', 'event-3']);
  expect((await failedEvents.due(2)).map(({ key }) => key)).toEqual(['event-2', 'event-1']);
});

test('an event that a wrong clock has put off is due', async () => {
  const { failedEvents, time, due } = await open();
  time.now += HOUR;
  await failedEvents.failed(event(1), broken);
  time.now = NOON;
  expect(await due()).toEqual(['event-1']);
});

test('parked events are counted, and listed first', async () => {
  const { failedEvents, park } = await open();
  await park(1);
  await failedEvents.failed(event(2), broken);
  await failedEvents.failed(event(3), broken);
  expect(await failedEvents.count()).toEqual({ parked: 1, retrying: 2 });
  expect((await failedEvents.list()).map(({ eventId }) => eventId)).toEqual(['event-1', 'event-2', 'event-3']);
});

test('a replay makes parked events due, one or all, as if they had never failed', async () => {
  const { failedEvents, time, due, park, stored } = await open();
  for (const revision of [1, 2, 3]) await park(revision);
  expect(await failedEvents.replay('event-9')).toBe(0);
  expect(await due()).toEqual([]);
  time.now += HOUR;
  expect(await failedEvents.replay('event-2')).toBe(1);
  expect((await stored(2)).document).toMatchObject({ due: new Date(time.now).toISOString(), delayMs: 0 });
  expect(await due()).toEqual(['event-2']);
  expect(await failedEvents.failedAgain(await stored(2), broken)).toMatchObject({
    failures: 1,
    due: new Date(time.now + SECOND).toISOString(),
  });
  await failedEvents.failed(event(4), broken);
  expect(await failedEvents.replay('event-4')).toBe(0);
  expect(await failedEvents.replay()).toBe(2);
  expect((await due()).toSorted()).toEqual(['event-1', 'event-3']);
  expect(await failedEvents.count()).toEqual({ parked: 0, retrying: 4 });
});
