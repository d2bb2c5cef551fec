import { beforeEach, expect, test, vi } from 'vitest';
import { createClockWatch } from '../../src/scheduler/clock-watch.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse('2026-12-01T12:00:00Z');

const logger = { error: vi.fn(), warn: vi.fn() };
let wall: number;
/** How far the last event is ahead; undefined in an empty log. */
let lastEvent: number | undefined;
let mongo: number | undefined;
let leads: (number | undefined)[];
let isDown: boolean;

beforeEach(() => {
  vi.clearAllMocks();
  wall = START;
  [lastEvent, mongo, leads, isDown] = [undefined, undefined, [], false];
});

const watch = (clockShift = 0) =>
  createClockWatch({
    events: {
      async lastEvent() {
        if (isDown) throw new Error('The log is down');
        if (lastEvent === undefined) return undefined;
        const metadata = { at: new Date(lastEvent).toISOString() };
        return { id: '', type: 'Made', stream: 'thing', revision: 0, position: '1', data: {}, metadata };
      },
    },
    documents: { now: async () => mongo },
    heartbeats: { clockLeads: () => leads },
    clock: () => wall + clockShift,
    logger,
    wall: () => wall,
  });

test('a clock behind the last event is not trusted until it is set or a new event comes, and each change is logged once', async () => {
  const clock = watch();
  expect(await clock.check()).toBeUndefined();
  lastEvent = START - 1_000 * DAY_MS;
  expect(await clock.check()).toBeUndefined();
  lastEvent = START + 29 * SECOND_MS;
  expect(await clock.check()).toBeUndefined();
  lastEvent = START + 20 * DAY_MS;
  expect(await clock.check()).toBe('The clock of this machine is 20 days behind the last event in the log');
  await clock.check();
  expect(clock.problem()).toContain('20 days behind');
  expect(logger.error).toHaveBeenCalledTimes(1);
  wall += 20 * DAY_MS;
  expect(await clock.check()).toBeUndefined();
  wall -= HOUR_MS;
  expect(await clock.check()).toContain('1 hour behind');
  lastEvent = wall;
  expect(await clock.check()).toBeUndefined();
  expect(logger.warn).toHaveBeenCalledTimes(2);
});

test('CLOCK_SHIFT moves what is compared with the last event, and nothing else', async () => {
  const clock = watch(3 * DAY_MS);
  [lastEvent, mongo, leads] = [START + 3 * DAY_MS, START, [0]];
  expect(await clock.check()).toBeUndefined();
  lastEvent += DAY_MS;
  expect(await clock.check()).toContain('1 day behind the last event');
});

test.each([
  [20 * DAY_MS, '20 days ahead of that of'],
  [-45 * SECOND_MS, '45 seconds behind that of'],
  [31 * SECOND_MS, '31 seconds ahead of that of'],
  [-29 * SECOND_MS, undefined],
  [29 * SECOND_MS, undefined],
])('a clock %i ms ahead of MongoDB or another process', async (lead, problem) => {
  const clock = watch();
  mongo = wall - lead;
  expect(await clock.check()).toBe(problem && `The clock of this machine is ${problem} MongoDB`);
  [mongo, leads] = [wall, [0, lead]];
  expect(await clock.check()).toBe(problem && `The clock of this machine is ${problem} another process`);
});

test('what cannot be compared keeps the scheduler at rest, but is not called a wrong clock', async () => {
  const clock = watch();
  isDown = true;
  expect(await clock.check()).toContain('could not be compared yet');
  isDown = false;
  leads = [undefined];
  expect(await clock.check()).toContain('could not be compared yet');
  expect(clock.problem()).toBeUndefined();
  leads = [DAY_MS];
  expect(await clock.check()).toContain('1 day ahead');
  isDown = true;
  expect(await clock.check()).toContain('1 day ahead');
  expect(logger.error).toHaveBeenCalledTimes(1);
});

test('a process that has just started waits until another process has beaten before it compares the clocks', async () => {
  leads = [undefined];
  const compared = watch().checkAll();
  setTimeout(() => {
    leads = [DAY_MS];
  }, 50);
  expect(await compared).toBe('The clock of this machine is 1 day ahead of that of another process');
});
