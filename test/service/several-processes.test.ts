import { expect, test } from 'vitest';
import { inDays } from '../in-days.ts';
import { call } from './client.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

test('fifty concurrent requests for one slot through three processes make one booking and forty-nine refusals', async () => {
  const dataDir = temporaryDataDir();
  // All start at once on an empty store: one creates the demo data, the others wait for it.
  const services = await Promise.all([1, 2, 3].map(() => startServiceProcess(dataDir)));
  const [first] = services;
  if (first === undefined) throw new Error('No process');
  const { brands, communities } = first.demo();
  expect([communities.map(({ id }) => id), brands.map(({ id }) => id)]).toEqual([
    [1, 2],
    [1, 2],
  ]);
  const spaceId = communities[0]?.spaces[0]?.id;
  const wanted = { spaceId, startTime: inDays(50), startHour: 14 };

  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, i) => {
      const service = services[i % services.length] ?? first;
      return call(service, brands[i % brands.length]?.apiKey ?? '', '/bookings', wanted);
    }),
  );
  const made = responses.filter(({ status }) => status === 201);
  const refused = responses.filter(({ status, body }) => status === 422 && body.error === 'SlotUnavailable');
  expect([made.length, refused.length]).toEqual([1, 49]);

  // Every process returns the same booking.
  const key = communities[0]?.apiKey ?? '';
  for (const service of services) {
    const { body } = await call(service, key, `/bookings?startDate=${inDays(50)}&endDate=${inDays(50)}`);
    expect(body).toEqual([made[0]?.body]);
  }
});
