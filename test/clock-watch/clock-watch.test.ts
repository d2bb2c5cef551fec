import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openClockWatch } from '../../src/clock-watch/clock-watch.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let folder: string;
let events: OperatedEventStore;
let documents: OperatedDocumentStore;
/** The machine of the test. */
let machine: { wall: number; uptime: number; boot: string | undefined };
const logger = { error: vi.fn(), warn: vi.fn() };

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'venue-clock-'));
  events = await openSqliteEventStore({ path: join(folder, 'log.sqlite') });
  documents = await openSqliteDocumentStore({ folder });
  machine = { wall: Date.parse('2026-12-01T12:00:00Z'), uptime: 5 * HOUR_MS, boot: 'first' };
  vi.clearAllMocks();
});
afterEach(async () => {
  await events.close();
  await documents.close();
  await rm(folder, { recursive: true });
});

type Settings = {
  readonly clockShift?: number;
  readonly sameMachine?: boolean;
  readonly now?: () => Promise<number | undefined>;
};

/** A process of the machine, as it starts. */
const open = ({ clockShift = 0, sameMachine = false, now }: Settings = {}) =>
  openClockWatch({
    events: now === undefined ? events : { ...events, lastEvent: () => events.lastEvent(), now },
    documents,
    clockShift,
    sameMachine,
    logger,
    wall: () => machine.wall,
    steady: { now: () => machine.uptime, since: machine.boot },
  });
const pass = (milliseconds: number) => {
  machine.wall += milliseconds;
  machine.uptime += milliseconds;
};
/** Appends an event as of so many milliseconds from now. */
const happened = async (offset: number) => {
  const at = new Date(machine.wall + offset).toISOString();
  await events.append(`thing-${at}`, [{ type: 'Made', data: {}, metadata: { at } }], { expectedRevision: 'none' });
};

describe('a machine whose engines are embedded', () => {
  test.each([
    ['forward', 20 * DAY_MS, 'forward by 20 days'],
    ['back', -HOUR_MS, 'back by 1 hour'],
  ])(
    'a clock that is set %s is not trusted until it is set right, and each change is logged once',
    async (_, by, how) => {
      const watch = await open();
      expect(await watch.check()).toBeUndefined();
      pass(HOUR_MS);
      expect(await watch.check()).toBeUndefined();
      machine.wall += by;
      expect(await watch.check()).toContain(`was set ${how} while the machine was running`);
      // Requests go on, and write events by the wrong clock.
      await happened(0);
      pass(DAY_MS);
      expect(await watch.check()).toContain('was set');
      expect(watch.problem()).toContain('was set');
      expect(logger.error).toHaveBeenCalledTimes(1);
      machine.wall -= by;
      expect(await watch.check()).toBeUndefined();
      expect(logger.warn.mock.calls).toEqual([['The clock of this machine is trusted again']]);
    },
  );

  test('the service may be restarted in between, but not the machine', async () => {
    await (await open()).check();
    pass(HOUR_MS);
    machine.wall += 20 * DAY_MS;
    expect(await (await open()).check()).toContain('forward by 20 days');
    machine = { ...machine, boot: 'second', uptime: 0 };
    expect(await (await open()).check()).toBeUndefined();
  });

  test('small corrections are followed, and time passes while the machine sleeps', async () => {
    const watch = await open();
    for (let corrections = 0; corrections < 10; corrections += 1) {
      expect(await watch.check()).toBeUndefined();
      machine.wall += 20 * SECOND_MS;
    }
    pass(100 * DAY_MS);
    expect(await watch.check()).toBeUndefined();
    expect(await (await open()).check()).toBeUndefined();
  });

  test('a last event in the future makes a clock suspect, an old one does not', async () => {
    await happened(-1_000 * DAY_MS);
    expect(await (await open()).check()).toBeUndefined();
    machine = { ...machine, boot: 'second' };
    await happened(29 * SECOND_MS);
    expect(await (await open()).check()).toBeUndefined();
    machine = { ...machine, boot: 'third' };
    await happened(20 * DAY_MS);
    const watch = await open();
    expect(await watch.check()).toContain('20 days behind the last event in the log');
    pass(20 * DAY_MS);
    expect(await watch.check()).toBeUndefined();
  });

  test('an event that was written under CLOCK_SHIFT does not count against it', async () => {
    await (await open({ clockShift: 3 * DAY_MS })).check();
    await happened(3 * DAY_MS);
    machine = { ...machine, boot: 'second' };
    expect(await (await open()).check()).toBeUndefined();
    await happened(4 * DAY_MS);
    machine = { ...machine, boot: 'third' };
    expect(await (await open()).check()).toContain('1 day behind the last event');
  });

  test.each(['first', undefined])('a clock that was set on purpose can be accepted (boot id: %s)', async (boot) => {
    machine = { ...machine, boot };
    const watch = await open();
    await watch.check();
    machine.wall += DAY_MS;
    expect(await watch.check()).toContain('venue clock accept');
    expect(await (await open()).accept()).toBe(true);
    expect(await watch.check()).toBeUndefined();
    expect(await (await open()).check()).toBeUndefined();
    machine.wall += DAY_MS;
    expect(await watch.check()).toContain('forward by 1 day');
  });

  test('a clock behind the last event can be accepted too', async () => {
    await happened(DAY_MS);
    const watch = await open();
    expect(await watch.check()).toContain('venue clock accept');
    await (await open()).accept();
    expect(await watch.check()).toBeUndefined();
    machine = { ...machine, boot: 'second' };
    expect(await (await open()).check()).toBeUndefined();
  });
});

describe('a machine whose engines have a clock', () => {
  let engine: { ahead: number; asked: number; isDown: boolean };
  const now = async () => {
    engine.asked += 1;
    if (engine.isDown) throw new Error('The engine is down');
    return machine.wall - engine.ahead;
  };
  beforeEach(() => {
    engine = { ahead: 0, asked: 0, isDown: false };
  });

  test.each([
    [20 * DAY_MS, '20 days ahead of that of EventStoreDB'],
    [-45 * SECOND_MS, '45 seconds behind that of EventStoreDB'],
    [31 * SECOND_MS, '31 seconds ahead'],
    [-29 * SECOND_MS, undefined],
    [29 * SECOND_MS, undefined],
  ])('is compared with it: %i ms ahead', async (ahead, problem) => {
    engine.ahead = ahead;
    // The last event plays no part.
    await happened(ahead > 0 ? DAY_MS : -DAY_MS);
    const found = await (await open({ now })).check();
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
  });

  test('is compared again at once when its clock has been set, and otherwise rarely', async () => {
    const watch = await open({ now });
    for (let seconds = 0; seconds < 500; seconds += 1) {
      expect(await watch.check()).toBeUndefined();
      pass(SECOND_MS);
    }
    expect(engine.asked).toBe(1);
    machine.wall += DAY_MS;
    engine.ahead = DAY_MS;
    expect(await watch.check()).toContain('1 day ahead');
    machine.wall -= DAY_MS;
    engine.ahead = 0;
    expect(await watch.check()).toBeUndefined();
    // A correction that the engine agrees with.
    machine.wall += HOUR_MS;
    expect(await watch.check()).toBeUndefined();
    expect(engine.asked).toBe(4);
    // The clock of the engine moves away.
    engine.ahead = HOUR_MS;
    pass(10 * 60 * SECOND_MS);
    expect(await watch.check()).toContain('1 hour ahead');
    engine.ahead = 0;
    pass(10 * SECOND_MS);
    expect(await watch.check()).toBeUndefined();
  });

  test('an unreachable engine is no evidence against a clock, unless the clock has been set', async () => {
    engine.isDown = true;
    const watch = await open({ now });
    expect(await watch.check()).toContain('cannot be compared with that of EventStoreDB');
    engine.isDown = false;
    expect(await watch.check()).toBeUndefined();
    engine.isDown = true;
    pass(HOUR_MS);
    expect(await watch.check()).toBeUndefined();
    machine.wall += HOUR_MS;
    expect(await watch.check()).toContain('cannot be compared');
  });

  test('agreeing with an engine on the same machine does not excuse a clock that was set', async () => {
    const watch = await open({ now, sameMachine: true });
    expect(await watch.check()).toBeUndefined();
    // The clock of the engine is the same one.
    machine.wall += 20 * DAY_MS;
    expect(await watch.check()).toContain('forward by 20 days');
    expect(await (await open({ now, sameMachine: true })).check()).toContain('forward by 20 days');
    expect(await (await open({ now, sameMachine: true })).accept()).toBe(true);
    expect(await watch.check()).toBeUndefined();
    engine.ahead = DAY_MS;
    pass(HOUR_MS);
    expect(await watch.check()).toContain('1 day ahead of that of EventStoreDB');
  });

  test('a clock cannot be accepted in its place', async () => {
    expect(await (await open({ now })).accept()).toBe(false);
  });
});
