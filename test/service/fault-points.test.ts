import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Demo } from '../../src/demo/demo-file.ts';
import { atEnd } from '../at-end.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { type NodeProcess, startNode } from './node-process.ts';
import { temporaryDataDir, venue } from './service-process.ts';

/** The named steps in the source at which the writer or the process ends, once (src/runtime/fault-point.ts). */
const WHILE_WRITING = ['writer: committed, not answered', 'writer: webhookDeliveries stored, not answered'];
const WHILE_BOOKING = [
  'decided, not appended',
  ...WHILE_WRITING,
  'folded, not stored',
  'read models stored, not answered',
  'deliveries stored, not acknowledged',
  'sent, outcome not stored',
];
const WHILE_REBUILDING = ['read model built, not swapped', 'read model swapped, not announced'];
const BOOKINGS = 3;
/** An answer waits this long for the read models (`WAIT_MS` of src/read-models/current-generation.ts), then comes without them. */
const ANSWER_WAITS_MS = 2_000;

let receiver: Receiver;
/** Holds demo data, a webhook for requests, and the bookings of earlier tests. */
let dataDir: string;
/** The next fault of the service. */
let fault: string;
/** Shared by all tests, so that none waits for a start: a test that kills the process leaves a new one behind. */
let service: NodeProcess;
let demo: Demo;
const start = () =>
  startNode('src/main.js', '/readyz', {
    WEBHOOKS_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'fatal',
    DATA_DIR: dataDir,
    FAULT_POINT: fault,
  });

const whenFinished = atEnd();
beforeAll(async () => {
  receiver = await startReceiver();
  dataDir = temporaryDataDir(whenFinished);
  fault = join(temporaryDataDir(whenFinished), 'fault');
  service = await start();
  demo = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));
  const sent = await send('/webhooks', { url: `${receiver.url}/hook`, events: 1 });
  expect(sent.status).toBe(201);
}, 60_000);
afterAll(async () => {
  await service.end('SIGKILL');
  await receiver.close();
});

async function send(path: string, body?: object, idempotencyKey?: string) {
  const response = await fetch(`${service.url}/api/v1${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${demo.brands[0]?.apiKey}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** Triggers a fault in the service. Resolves once it has happened, and a killed process has been replaced. */
async function meet(point: string, victim: string): Promise<void> {
  rmSync(`${fault}.met`, { force: true });
  writeFileSync(fault, `${point}|${victim}`);
  await eventually(() => expect(existsSync(`${fault}.met`)).toBe(true));
  if (victim === 'thread') return;
  await service.ended;
  service = await start();
}

let booked = 0;
/** The bookings of all tests so far. */
const answered: number[] = [];
/** Dates and hours that no earlier test has booked. */
const nextBookings = () =>
  Array.from({ length: BOOKINGS }, () => {
    booked += 1;
    return { spaceId: demo.communities[0]?.spaces[0]?.id, startTime: inDays(100 + booked), startHour: 12 };
  });

/** Repeats a read until there is an answer: a killed process gives none. */
const read = (path: string) => eventually(() => send(path));

/** The bookings that the receiver got in this test only, by the ids of their deliveries. */
function toldExcept(before: ReadonlySet<number>): Map<string, number[]> {
  const told = new Map<string, number[]>();
  for (const { headers, body } of receiver.received) {
    const id = String(headers['webhook-id']);
    const { bookingId } = JSON.parse(body).data;
    if (!before.has(bookingId)) told.set(id, [...(told.get(id) ?? []), bookingId]);
  }
  return told;
}

/** Books, repeats unanswered requests, and checks that every answered booking is shown at once. */
async function bookAll(all: ReturnType<typeof nextBookings>): Promise<number[]> {
  const ids: number[] = [];
  for (const wanted of all) {
    const { booked, isProjected } = await eventually(async () => {
      const began = performance.now();
      const answer = await send('/bookings', wanted, `key-${wanted.startTime}`);
      expect(answer.status).toBe(201);
      return { booked: answer.body, isProjected: performance.now() - began < ANSWER_WAITS_MS };
    });
    const isShown = async () => {
      const { body: listed } = await read('/bookings');
      expect(listed.map(({ id }: { id: number }) => id)).toContain(booked.id);
      const { body: day } = await read(`/spaces/${wanted.spaceId}/availability?date=${wanted.startTime}`);
      expect(day.timeSlots).toContainEqual(expect.objectContaining({ hour: wanted.startHour, isAvailable: false }));
    };
    await (isProjected ? isShown() : eventually(isShown));
    ids.push(booked.id);
    answered.push(booked.id);
  }
  return ids;
}

test.each([
  ...WHILE_WRITING.map((point) => ({ point, victim: 'thread' })),
  ...WHILE_BOOKING.map((point) => ({ point, victim: 'process' })),
])(
  '$point: the $victim ends, and no data is lost, doubled or stale',
  async ({ point, victim }) => {
    const before = new Set(answered);
    const all = nextBookings();
    const [ids] = await Promise.all([bookAll(all), meet(point, victim)]);
    expect(new Set(ids).size).toBe(BOOKINGS);
    const { body: listed } = await send('/bookings');
    const days = all.map(({ startTime }) => startTime);
    const ours = listed.filter(({ date }: { date: string }) => days.includes(date as (typeof days)[number]));
    expect(ours.map(({ id }: { id: number }) => id).sort()).toEqual([...ids].sort());

    await eventually(() => expect(new Set([...toldExcept(before).values()].flat())).toEqual(new Set(ids)));
    const told = toldExcept(before);
    expect([...told.values()].map(([id]) => id).sort()).toEqual([...ids].sort());
    // A delivery whose outcome was not stored is sent again, under the same id.
    const repeated = [...told.values()].filter((each) => each.length > 1);
    expect(repeated.length).toBeLessThanOrEqual(victim === 'process' ? 1 : 0);
    expect(JSON.parse((await venue(dataDir, 'verify', '--json')).stdout)).toMatchObject({ differences: [] });
  },
  60_000,
);

test.each(WHILE_REBUILDING)(
  '%s: the process ends, and the rebuilt read models are complete',
  async (point) => {
    const meeting = meet(point, 'process');
    const rebuilding = venue(dataDir, 'rebuild');
    await meeting;
    expect((await rebuilding).code).toBe(0);
    const ids = await bookAll(nextBookings());
    const { body: listed } = await send('/bookings');
    expect(listed.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining(ids));
    expect(JSON.parse((await venue(dataDir, 'verify', '--json')).stdout)).toMatchObject({ differences: [] });
  },
  60_000,
);
