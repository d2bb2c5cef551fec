import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { spaceDay } from '../../src/commands/aggregates.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { createSequence } from '../../src/commands/sequence.ts';
import { SYSTEM } from '../../src/domain/account.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId } from '../../src/domain/ids.ts';
import { cancelBooking, requestBooking } from '../../src/domain/space-day.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { acme, context, wish } from '../domain/bookings.fixture.ts';

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
const commandLog = () =>
  createCommandHandler({
    events,
    clock: () => context.now,
    waitFor: async (position) => {
      waited.push(position);
    },
  });
const request = (log: ReturnType<typeof commandLog>, id: number, startHour = 10) =>
  log.execute('day', spaceDay, commandContext, (day) =>
    requestBooking(day, wish({ bookingId: bookingId(id), startHour }), context),
  );
const cancel = (log: ReturnType<typeof commandLog>, id: number) =>
  log.execute('day', spaceDay, commandContext, (day) =>
    cancelBooking(day, { bookingId: bookingId(id), by: { kind: 'Brand', id: acme.brandId } }, context),
  );

test('appends what was decided with its metadata, and waits for the read models', async () => {
  const outcome = await request(commandLog(), 1);
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

test('names the event that a command follows from, where one does', async () => {
  const log = commandLog();
  await request(log, 1);
  const [first] = await Array.fromAsync(events.readStream('day'));
  await log.execute('other-day', spaceDay, { ...commandContext, causationId: first?.id ?? '' }, (day) =>
    requestBooking(day, wish({ bookingId: bookingId(2) }), context),
  );
  const [second] = await Array.fromAsync(events.readStream('other-day'));
  expect(second?.metadata).toMatchObject({ correlationId: 'c-1', causationId: first?.id });
});

test('reads events of releases that repeated the correlation id as the cause', async () => {
  await request(commandLog(), 1);
  const [stored] = await Array.fromAsync(events.readStream('day'));
  if (stored === undefined) throw new Error('Nothing was stored');
  const { type, data, metadata } = stored;
  const old = { type, data, metadata: { ...metadata, causationId: 'c-1' } };
  await events.append('old-day', [old], { expectedRevision: 'none' });
  const state = await commandLog().load('old-day', spaceDay);
  expect(state).toEqual(await commandLog().load('day', spaceDay));
});

describe('two processes on one log', () => {
  test('one that remembers an old state decides again on the new one', async () => {
    const [here, there] = [commandLog(), commandLog()];
    await request(here, 1, 10);
    await request(there, 2, 14);
    expect(await request(here, 3, 14)).toMatchObject({ refused: 'SlotUnavailable' });
    expect(await Array.fromAsync(events.readStream('day'))).toHaveLength(2);
  });

  test('one that remembers a taken slot does not refuse it after another freed it', async () => {
    const [here, there] = [commandLog(), commandLog()];
    await request(here, 1);
    await cancel(there, 1);
    expect(await request(here, 2)).toMatchObject({ events: [{ data: { bookingId: 2 } }] });
  });

  test('of fifty that want one slot, one gets it', async () => {
    const logs = [commandLog(), commandLog(), commandLog()];
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => request(logs[index % 3] ?? commandLog(), index + 1)),
    );
    expect(outcomes.filter((outcome) => !isRefusal(outcome))).toHaveLength(1);
    expect(outcomes.filter((outcome) => isRefusal(outcome) && outcome.refused === 'SlotUnavailable')).toHaveLength(49);
  });

  test('many that want different hours all get them', async () => {
    const logs = [commandLog(), commandLog(), commandLog()];
    const hours = [9, 13, 17, 21];
    const outcomes = await Promise.all(
      hours.map((hour, index) => request(logs[index % 3] ?? commandLog(), index + 1, hour)),
    );
    expect(outcomes.every((outcome) => !isRefusal(outcome))).toBe(true);
  });
});

test('what the store could not append is not remembered', async () => {
  const log = commandLog();
  const { append } = events;
  events.append = async () => {
    throw new Error('disk full');
  };
  await expect(request(log, 1)).rejects.toThrow('disk full');
  events.append = append;
  expect(await request(log, 2)).toMatchObject({ events: [{ data: { bookingId: 2 } }] });
});

test('an event of a newer schema is refused, not guessed at', async () => {
  const metadata = { at: 'x', actor: SYSTEM, correlationId: 'c', causationId: 'c', schema: 99 };
  await events.append('day', [{ type: 'BookingRequested', data: {}, metadata }], { expectedRevision: 'none' });
  await expect(request(commandLog(), 1)).rejects.toThrow(/schema version 99/);
});

describe('a sequence', () => {
  test('hands out increasing ids, unique over processes, from blocks', async () => {
    const sequences = [createSequence(commandLog(), 'bookings', 10), createSequence(commandLog(), 'bookings', 10)];
    const drawn = await Promise.all(
      sequences.map((sequence) => Promise.all(Array.from({ length: 25 }, () => sequence.next()))),
    );
    for (const ids of drawn) expect(ids).toEqual([...ids].sort((a, b) => a - b));
    const all = drawn.flat();
    expect(new Set(all).size).toBe(50);
    expect(Math.max(...all)).toBeLessThanOrEqual(60);
  });

  test('starts at 1 and goes on after a restart', async () => {
    expect(await createSequence(commandLog(), 'spaces', 1).next()).toBe(1);
    expect(await createSequence(commandLog(), 'spaces', 1).next()).toBe(2);
  });
});
