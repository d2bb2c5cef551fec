import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { runService } from '../running-service.fixture.ts';

/** The promise is 3 s after the cluster itself accepts writes. A loaded machine needs longer. */
const AGAIN_WITHIN_MS = 3_000 + 2_000;
/** How long this cluster takes to elect another leader. */
const ELECTION_MS = 3_000;

test('when the leader of three nodes hangs, bookings resume within 3 s of the election, and none is lost or doubled', async () => {
  const cluster = await EventStoreDbServer.start({ nodes: 3 });
  const SECRET_KEY = randomBytes(32).toString('base64');
  const service = await runService({ EVENTSTORE_URL: cluster.url, SECRET_KEY });
  onTestFinished(async () => {
    await service.stop();
    await cluster.stop();
  });
  const spaceId = await service.space(await service.community());
  const { key } = await service.brand();
  const book = (startTime: string) =>
    service.post('/bookings', {
      key,
      body: { spaceId, startTime, startHour: 10 },
      headers: { 'idempotency-key': startTime },
    });
  expect((await book('2026-12-10')).statusCode).toBe(201);

  cluster.leader.hang();
  const days = Array.from({ length: 8 }, (_, day) => `2026-12-1${1 + day}`);
  const waiting = Promise.all(days.map(book));
  await sleep(ELECTION_MS);
  cluster.elect(cluster.nodes.find((node) => node !== cluster.leader) ?? expect.fail());
  const began = performance.now();
  const [after, ...before] = [await book('2026-12-20'), ...(await waiting)];
  const tookMs = performance.now() - began;
  expect([after, ...before].map(({ statusCode }) => statusCode)).toEqual(Array(9).fill(201));
  expect(tookMs).toBeLessThan(AGAIN_WITHIN_MS);
  expect((await service.get('/bookings', { key })).json()).toHaveLength(10);
});
