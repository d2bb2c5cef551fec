import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Demo } from '../../src/demo/demo-file.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { startNode } from './node-process.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

/** The named steps of the source at which a thread or the process ends, once (src/runtime/fault-point.ts). */
const WHILE_BOOKING = [
  'log: committed, not told',
  'log: webhookDeliveries stored, not answered',
  'worker: folded, not stored',
  'worker: stored, not told',
  'worker: deliveries stored, not acknowledged',
  'worker: sent, outcome not stored',
];
const WHILE_REBUILDING = ['worker: built, not swapped', 'worker: swapped, not told'];
const VICTIMS = ['thread', 'process'];
const BOOKINGS = 3;
const settings = { WEBHOOKS_ALLOW_PRIVATE: 'true', LOG_LEVEL: 'fatal' };

let receiver: Receiver;
/** A store with demo data and a webhook for what is requested. */
let template: string;
let demo: Demo;

beforeAll(async () => {
  receiver = await startReceiver();
  template = mkdtempSync(join(tmpdir(), 'venue-faults-'));
  const service = await startNode('src/main.js', '/readyz', { ...settings, DATA_DIR: template });
  demo = JSON.parse(readFileSync(join(template, 'demo.json'), 'utf8'));
  const sent = await send(service.url, '/webhooks', { url: `${receiver.url}/hook`, events: 1 });
  expect(sent.status).toBe(201);
  await service.end('SIGTERM');
}, 60_000);
afterAll(async () => {
  await receiver.close();
  rmSync(template, { recursive: true, force: true });
});

async function send(url: string, path: string, body?: object, idempotencyKey?: string) {
  const response = await fetch(`${url}/api/v1${path}`, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      authorization: `Bearer ${demo.brands[0]?.apiKey}`,
      ...(body && { 'content-type': 'application/json' }),
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

/** A service on a copy of the store that meets the fault. */
async function startFaulty(point: string, victim: string) {
  const folder = temporaryDataDir();
  const dataDir = join(folder, 'store');
  const marker = join(folder, 'happened');
  cpSync(template, dataDir, { recursive: true });
  const service = await startServiceProcess(dataDir, { ...settings, FAULT_POINT: `${point}|${victim}|${marker}` });
  return {
    dataDir,
    url: service.url,
    /** Resolves once it has happened, with the service as it is afterwards: another process if it was killed. */
    async afterwards(): Promise<{ readonly url: string }> {
      await eventually(() => expect(existsSync(marker)).toBe(true));
      if (victim === 'thread') return service;
      await service.ended;
      return startServiceProcess(dataDir, settings);
    },
  };
}

const bookingOf = (n: number) => ({
  spaceId: demo.communities[0]?.spaces[0]?.id,
  startTime: inDays(300 + n),
  startHour: 12,
});

/** Reads once there is an answer: a process that was killed gives none. */
const read = (url: () => string, path: string) => eventually(() => send(url(), path));

/** The bookings that the receiver was told of since a moment, by the ids of their deliveries. */
function toldSince(from: number): Map<string, number[]> {
  const told = new Map<string, number[]>();
  for (const { headers, body } of receiver.received.slice(from)) {
    const id = String(headers['webhook-id']);
    told.set(id, [...(told.get(id) ?? []), JSON.parse(body).data.bookingId]);
  }
  return told;
}

/** Books, again where there was no answer, and checks that everything that was answered is shown at once. */
async function bookAll(url: () => string): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < BOOKINGS; n += 1) {
    const wanted = bookingOf(n);
    const booked = await eventually(async () => {
      const answer = await send(url(), '/bookings', wanted, `key-${n}`);
      expect(answer.status).toBe(201);
      return answer.body;
    });
    const { body: listed } = await read(url, '/bookings');
    expect(listed.map(({ id }: { id: number }) => id)).toContain(booked.id);
    const { body: day } = await read(url, `/spaces/${wanted.spaceId}/availability?date=${wanted.startTime}`);
    expect(day.timeSlots).toContainEqual(expect.objectContaining({ hour: wanted.startHour, isAvailable: false }));
    ids.push(booked.id);
  }
  return ids;
}

const cases = (points: readonly string[]) => points.flatMap((point) => VICTIMS.map((victim) => ({ point, victim })));

test.each(cases(WHILE_BOOKING))(
  '$point: the $victim ends, and nothing is lost, doubled or stale',
  async ({ point, victim }) => {
    const from = receiver.received.length;
    const faulty = await startFaulty(point, victim);
    let { url } = faulty;
    const [ids] = await Promise.all([
      bookAll(() => url),
      faulty.afterwards().then((service) => {
        url = service.url;
      }),
    ]);
    expect(new Set(ids).size).toBe(BOOKINGS);
    const { body: listed } = await send(url, '/bookings');
    const days: readonly string[] = Array.from({ length: BOOKINGS }, (_, n) => bookingOf(n).startTime);
    const ours = listed.filter(({ date }: { date: string }) => days.includes(date));
    expect(ours.map(({ id }: { id: number }) => id).sort()).toEqual([...ids].sort());

    await eventually(() => expect(new Set([...toldSince(from).values()].flat())).toEqual(new Set(ids)));
    const told = toldSince(from);
    expect([...told.values()].map(([id]) => id).sort()).toEqual([...ids].sort());
    // A delivery whose outcome was not stored is sent again, under the same id.
    const repeated = [...told.values()].filter((each) => each.length > 1);
    expect(repeated.length).toBeLessThanOrEqual(
      point === 'worker: sent, outcome not stored' || victim === 'process' ? 1 : 0,
    );
    expect(JSON.parse((await venue(faulty.dataDir, 'verify', '--json')).stdout)).toMatchObject({ differences: [] });
  },
  60_000,
);

test.each(cases(WHILE_REBUILDING))(
  '$point: the $victim ends, and the rebuilt read model is whole',
  async ({ point, victim }) => {
    const faulty = await startFaulty(point, victim);
    const rebuilding = venue(faulty.dataDir, 'rebuild', 'bookings');
    const { url } = await faulty.afterwards();
    expect((await rebuilding).code).toBe(0);
    const ids = await bookAll(() => url);
    const { body: listed } = await send(url, '/bookings');
    expect(listed.map(({ id }: { id: number }) => id)).toEqual(expect.arrayContaining(ids));
    expect(JSON.parse((await venue(faulty.dataDir, 'verify', '--json')).stdout)).toMatchObject({ differences: [] });
  },
  60_000,
);
