import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startDemo } from './console/console.fixture.ts';
import { MONGODB, ownDatabase } from './document-store/engines.ts';
import { EventStoreDbServer } from './event-store/eventstoredb/server.ts';
import { eventually } from './eventually.ts';
import { inDays } from './in-days.ts';
import { lacks } from './lacks.ts';
import { startProxyTo } from './proxy.ts';
import { startReceiver } from './webhooks/receiver.ts';

const CUT_EVERY_MS = 200;
const FOR_MS = 10_000;
const CLIENTS = 4;

type Booking = { readonly id: number };

test.skipIf(lacks(MONGODB))(
  'cutting the MongoDB connections every 200 ms under load empties no list and loses no delivery',
  { timeout: 120_000 },
  async () => {
    const log = await EventStoreDbServer.start();
    const proxy = await startProxyTo(ownDatabase());
    const running = await startDemo({
      EVENTSTORE_URL: log.url,
      MONGODB_URL: proxy.url,
      SECRET_KEY: randomBytes(32).toString('base64'),
      DEMO: 'true',
      LOG_LEVEL: 'silent',
    });
    const receiver = await startReceiver();
    const { url, demo } = running;
    const authorization = `Bearer ${demo.brands[0].apiKey}`;
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`${url}/api/v1${path}`, { ...init, headers: { authorization, ...init.headers } });
    const post = (path: string, body: object, key = '') =>
      call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key !== '' && { 'idempotency-key': key }) },
        body: JSON.stringify(body),
      });
    const list = async (): Promise<readonly Booking[]> => JSON.parse(await (await call('/bookings')).text());

    try {
      expect((await post('/webhooks', { url: receiver.url, events: 1 })).status).toBe(201);
      const before = await list();
      expect(before.length).toBeGreaterThan(0);
      const until = performance.now() + FOR_MS;
      const cutting = setInterval(() => proxy.cut(), CUT_EVERY_MS);
      const booked = new Map<string, number>();
      const seen = { lists: 0, refused: 0 };

      async function keepBooking(client: number): Promise<void> {
        for (let n = 0; performance.now() < until; n += 1) {
          const key = `${client}-${n}`;
          const body = {
            spaceId: demo.communities[0].spaces[0].id,
            // Each client has its own days, for any number of bookings.
            startTime: inDays(40 + n * CLIENTS + client),
            startHour: 12,
          };
          // Requests refused because of the cuts are repeated until they succeed.
          for (;;) {
            const answer = await post('/bookings', body, key);
            const { id, error } = JSON.parse(await answer.text());
            if (answer.status === 201) {
              booked.set(key, id);
              break;
            }
            expect([answer.status, error]).toEqual([500, 'InternalError']);
            seen.refused += 1;
          }
        }
      }
      async function keepListing(): Promise<void> {
        while (performance.now() < until) {
          const answer = await call('/bookings').catch(() => undefined);
          if (answer?.status === 500) expect(await answer.json()).toMatchObject({ error: 'InternalError' });
          if (answer?.status !== 200) continue;
          const listed = new Set(JSON.parse(await answer.text()).map(({ id }: Booking) => id));
          expect(before.filter(({ id }) => !listed.has(id))).toEqual([]);
          seen.lists += 1;
          await delay(5);
        }
      }
      await Promise.all([...Array.from({ length: CLIENTS }, (_, client) => keepBooking(client)), keepListing()]);
      clearInterval(cutting);
      expect(booked.size).toBeGreaterThan(CLIENTS);
      expect(seen.lists).toBeGreaterThan(0);

      const ids = [...booked.values()].sort((a, b) => a - b);
      // Nothing is doubled, although requests were repeated.
      expect(new Set(ids).size).toBe(ids.length);
      await eventually(async () => {
        const listed = (await list()).map(({ id }) => id).filter((id) => !before.some((other) => other.id === id));
        expect(listed.sort((a, b) => a - b)).toEqual(ids);
      });
      await eventually(() => {
        const delivered = new Set(receiver.received.map(({ body }) => JSON.parse(body).data.bookingId));
        expect(ids.filter((id) => !delivered.has(id))).toEqual([]);
      });
    } finally {
      await running.stop();
      await receiver.close();
      proxy.close();
      await log.stop();
    }
  },
);
