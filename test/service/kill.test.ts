import { expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir, venue } from './service-process.ts';

test('kill -9 under load loses no acknowledged booking, and the read models catch up with the log', async () => {
  const dataDir = temporaryDataDir();
  const service = await startServiceProcess(dataDir);
  const { brands, communities } = service.demo();
  const key = brands[0]?.apiKey ?? '';
  const spaceId = communities[0]?.spaces[0]?.id;

  const acknowledged = new Set<number>();
  let next = 0;
  let killed: Promise<unknown> | undefined;
  const clients = Array.from({ length: 16 }, async () => {
    while (killed === undefined) {
      next += 1;
      const wanted = { spaceId, startTime: inDays(30 + next), startHour: 12 };
      const response = await call(service, key, '/bookings', wanted).catch(() => undefined);
      // A response that arrives after the kill was sent before it.
      if (response?.status === 201) acknowledged.add(response.body.id);
      if (acknowledged.size >= 150) killed ??= service.end('SIGKILL');
    }
  });
  await Promise.all(clients);
  await killed;

  const again = await startServiceProcess(dataDir);
  const listed = await call(again, key, '/bookings');
  const ids = new Set(listed.body.map(({ id }: { id: number }) => id));
  expect([...acknowledged].filter((id) => !ids.has(id))).toEqual([]);
  expect(acknowledged.size).toBeGreaterThanOrEqual(150);

  const ready = await fetch(`${again.url}/readyz`);
  expect(await ready.json()).toMatchObject({ status: 'ready', eventsBehind: 0 });
  const verified = await venue(dataDir, 'verify', '--json');
  expect(JSON.parse(verified.stdout)).toMatchObject({ differences: [], notVerified: [] });
  expect(verified.code).toBe(0);
});
