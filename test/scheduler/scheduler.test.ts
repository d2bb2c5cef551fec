import { afterAll, beforeAll, expect, test } from 'vitest';
import { createScheduler } from '../../src/scheduler/scheduler.ts';
import { type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.stop());

test('a booking that cannot be changed does not hold up the others, and is reported', async () => {
  const { core } = service;
  const [community, brand] = [await service.community(), await service.brand()];
  const space = await service.space(community);
  const ids: number[] = [];
  for (const startTime of ['2027-01-10', '2027-01-11', '2027-01-12']) {
    const body = { spaceId: space, startTime, startHour: 10 };
    ids.push((await service.post('/bookings', { key: brand.key, body })).json().id);
  }
  const [stuck] = ids;
  const { bookings } = core.commands;
  const scheduler = createScheduler({
    bookings: {
      ...bookings,
      expire: (id, context) =>
        id === stuck ? Promise.reject(new Error('This one cannot be read')) : bookings.expire(id, context),
    },
    readModels: core.projector.readModels,
    clock: () => service.time.now,
    logger: core.logger,
  });
  service.time.now = Date.parse('2027-01-09T00:00:00Z');
  await expect(scheduler.runOnce()).rejects.toMatchObject({ errors: [new Error('This one cannot be read')] });
  const states = await Promise.all(ids.map(async (id) => (await core.queries.bookings.get(brand.account, id))?.status));
  expect(states).toEqual(['Pending', 'Cancelled', 'Cancelled']);
});
