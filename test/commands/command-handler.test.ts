import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { spaceDay } from '../../src/commands/aggregates.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { createSequence } from '../../src/commands/sequence.ts';
import { SYSTEM } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId } from '../../src/domain/ids.ts';
import { requestBooking } from '../../src/domain/request-booking.ts';
import { cancelBooking } from '../../src/domain/space-day.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { acme, context, requestCommand } from '../domain/bookings.fixture.ts';

let folder: string;
let events: EventStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-'));
  events = await openSqliteEventStore({ path: join(folder, 'events.db') });
});
afterEach(async () => {
  await events.close();
  await rm(folder, { recursive: true, force: true });
});

const commandContext = { actor: SYSTEM, correlationId: 'c-1' };
const waited: string[] = [];
const newHandler = () =>
  createCommandHandler({
    events,
    clock: () => context.now,
    waitFor: async (position) => {
      waited.push(position);
    },
  });
const request = (handler: ReturnType<typeof newHandler>, id: number, startHour = 10) =>
  handler.execute('day', spaceDay, commandContext, (day) =>
    requestBooking(day, requestCommand({ bookingId: bookingId(id), startHour }), context),
  );
const cancel = (handler: ReturnType<typeof newHandler>, id: number) =>
  handler.execute('day', spaceDay, commandContext, (day) =>
    cancelBooking(day, { bookingId: bookingId(id), by: { kind: 'Brand', id: acme.brandId } }, context),
  );

test('appends the decision with its metadata and waits for the read models', async () => {
  const outcome = await request(newHandler(), 1);
  if (isRefusal(outcome)) throw new Error(outcome.details);
  expect(outcome.events).toHaveLength(1);
  expect(waited.at(-1)).toBe(outcome.position);
  const [stored] = await Array.fromAsync(events.readStream('day'));
  expect(stored?.metadata).toStrictEqual({
    at: new Date(context.now).toISOString(),
    actor: SYSTEM,
    correlationId: 'c-1',
    schema: 1,
  });
});

test('records the event that caused a command, if there is one', async () => {
  const handler = newHandler();
  await request(handler, 1);
  const [first] = await Array.fromAsync(events.readStream('day'));
  await handler.execute('other-day', spaceDay, { ...commandContext, causationId: first?.id ?? '' }, (day) =>
    requestBooking(day, requestCommand({ bookingId: bookingId(2) }), context),
  );
  const [second] = await Array.fromAsync(events.readStream('other-day'));
  expect(second?.metadata).toMatchObject({ correlationId: 'c-1', causationId: first?.id });
});

describe('two processes on one log', () => {
  test('one with a stale cached state decides again on the current one', async () => {
    const [here, there] = [newHandler(), newHandler()];
    await request(here, 1, 10);
    await request(there, 2, 14);
    expect(await request(here, 3, 14)).toMatchObject({ refused: 'SlotUnavailable' });
    expect(await Array.fromAsync(events.readStream('day'))).toHaveLength(2);
  });

  test('one that has cached a taken slot does not refuse it after another has freed it', async () => {
    const [here, there] = [newHandler(), newHandler()];
    await request(here, 1);
    await cancel(there, 1);
    expect(await request(here, 2)).toMatchObject({ events: [{ data: { bookingId: 2 } }] });
  });

  test('exactly one of fifty requests for one slot succeeds', async () => {
    const handlers = [newHandler(), newHandler(), newHandler()];
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => request(handlers[index % 3] ?? newHandler(), index + 1)),
    );
    expect(outcomes.filter((outcome) => !isRefusal(outcome))).toHaveLength(1);
    expect(outcomes.filter((outcome) => isRefusal(outcome) && outcome.refused === 'SlotUnavailable')).toHaveLength(49);
  });

  test('concurrent requests for different hours all succeed', async () => {
    const handlers = [newHandler(), newHandler(), newHandler()];
    const hours = [9, 13, 17, 21];
    const outcomes = await Promise.all(
      hours.map((hour, index) => request(handlers[index % 3] ?? newHandler(), index + 1, hour)),
    );
    expect(outcomes.every((outcome) => !isRefusal(outcome))).toBe(true);
  });
});

test('a state that a caller holds does not change with the commands after it', async () => {
  const handler = newHandler();
  await request(handler, 1);
  const before = await handler.load('day', spaceDay);
  await cancel(handler, 1);
  await request(handler, 2);

  expect([...before.held.keys()]).toEqual([1]);
  expect(before.cancelled.size).toBe(0);
  const now = await handler.load('day', spaceDay);
  expect([...now.held.keys()]).toEqual([2]);
  expect(now.cancelled.get(bookingId(1))?.status).toBe('Cancelled');
});

test('a stream that is not cached is read before the append, so that no append fails', async () => {
  await request(newHandler(), 1, 10);
  const appends = vi.spyOn(events, 'append');
  expect(await request(newHandler(), 2, 14)).toMatchObject({ events: [{ data: { bookingId: 2 } }] });
  expect(appends).toHaveBeenCalledTimes(1);
});

test('events that could not be appended are not cached', async () => {
  const handler = newHandler();
  const { append } = events;
  events.append = async () => {
    throw new Error('disk full');
  };
  await expect(request(handler, 1)).rejects.toThrow('disk full');
  events.append = append;
  expect(await request(handler, 2)).toMatchObject({ events: [{ data: { bookingId: 2 } }] });
});

test('an event of a newer schema is refused', async () => {
  const metadata = { at: 'x', actor: SYSTEM, correlationId: 'c', causationId: 'c', schema: 99 };
  await events.append('day', [{ type: 'BookingRequested', data: {}, metadata }], { expectedRevision: 'none' });
  await expect(request(newHandler(), 1)).rejects.toThrow(/schema version 99/);
});

test('a stream with an event of an unknown kind is not decided on, also not from the cache', async () => {
  const handler = newHandler();
  expect(await request(handler, 1)).toMatchObject({ events: [{ data: { bookingId: 1 } }] });
  const metadata = { at: 'x', actor: SYSTEM, correlationId: 'c', schema: 1 };
  await events.append('day', [{ type: 'SpaceRebuiltForTheDay', data: {}, metadata }], { expectedRevision: 0 });
  for (const each of [handler, newHandler()])
    await expect(request(each, 2)).rejects.toMatchObject({
      message: expect.stringContaining('SpaceRebuiltForTheDay'),
      publicMessage: expect.stringMatching(/newer release/),
    });
  expect(await Array.fromAsync(events.readStream('day'))).toHaveLength(2);
});

describe('a sequence', () => {
  test('returns increasing ids from blocks, unique across processes', async () => {
    const sequences = [createSequence(newHandler(), 'bookings', 10), createSequence(newHandler(), 'bookings', 10)];
    const drawn = await Promise.all(
      sequences.map((sequence) => Promise.all(Array.from({ length: 25 }, () => sequence.next()))),
    );
    for (const ids of drawn) expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const all = drawn.flat();
    expect(new Set(all).size).toBe(50);
    expect(Math.max(...all)).toBeLessThanOrEqual(60);
  });

  test('starts at 1 and continues after a restart', async () => {
    expect(await createSequence(newHandler(), 'spaces', 1).next()).toBe(1);
    expect(await createSequence(newHandler(), 'spaces', 1).next()).toBe(2);
  });
});
