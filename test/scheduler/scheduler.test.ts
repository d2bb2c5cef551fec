import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { BookingRequested } from '../../src/domain/events.ts';
import { bookingId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { factsOf } from '../../src/domain/space-day.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createScheduler } from '../../src/scheduler/scheduler.ts';
import { underOtherRules } from '../domain/bookings.fixture.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.stop());

test('a booking that cannot be changed does not block the others, and is reported', async () => {
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
    clockProblem: async () => undefined,
    logger: core.logger,
  });
  service.time.now = Date.parse('2027-01-09T00:00:00Z');
  await expect(scheduler.runOnce()).rejects.toMatchObject({ errors: [new Error('This one cannot be read')] });
  const states = await Promise.all(ids.map(async (id) => (await core.queries.bookings.get(brand.account, id))?.status));
  expect(states).toEqual(['Pending', 'Cancelled', 'Cancelled']);
});

test('bookings fall due by the current time-zone rules, not by their stored times', async () => {
  const { core } = service;
  const [community, brand] = [await service.community('Europe/Berlin'), await service.brand()];
  const space = await service.space(community);
  const body = { spaceId: space, startTime: '2027-02-10', startHour: 10 };
  const id = (await service.post('/bookings', { key: brand.key, body })).json().id;
  const [event] = await Array.fromAsync(
    core.events.readStream(streamOf.spaceDay(spaceId(space), '2027-02-10' as PlainDate)),
  );
  if (event === undefined) throw new Error('No event');
  const made = event.data as unknown as BookingRequested['data'];

  /** Bookings of 10:00 to 14:00 (09:00Z to 13:00Z) whose stored times are off by so many hours; two of each, one of them approved. */
  const bookings = [-24, -3, 0, 3, 24].flatMap((hours, index) =>
    [false, true].map((isApproved) => ({ hours, isApproved, id: id + 1_000 + index * 2 + Number(isApproved) })),
  );
  for (const { hours, isApproved, id: bookingNumber } of bookings) {
    // The same date in another space: its day is a separate stream.
    const data = {
      ...underOtherRules({ ...made, expiresAt: made.startsAt }, hours),
      bookingId: bookingId(bookingNumber),
      spaceId: spaceId(bookingNumber),
    };
    const { metadata } = event;
    await core.events.append(
      streamOf.spaceDay(data.spaceId, data.date),
      [
        { type: 'BookingRequested', data, metadata },
        ...(isApproved
          ? [{ type: 'BookingApproved', data: { ...factsOf(data), charge: data.totalPrice }, metadata }]
          : []),
      ],
      { expectedRevision: 'none' },
    );
  }
  const states = async () =>
    Promise.all(bookings.map(async ({ id: one }) => (await core.queries.bookings.get(brand.account, one))?.status));
  const expected = (pending: string, approved: string) =>
    bookings.map(({ isApproved }) => (isApproved ? approved : pending));
  await eventually(async () => expect(await states()).toEqual(expected('Pending', 'Approved')));

  const scheduler = createScheduler({
    bookings: core.commands.bookings,
    readModels: core.projector.readModels,
    clock: () => service.time.now,
    clockProblem: async () => undefined,
    logger: core.logger,
  });
  const at = async (iso: string) => {
    service.time.now = Date.parse(iso);
    await scheduler.runOnce();
    return states();
  };
  expect(await at('2027-02-10T08:59:59Z')).toEqual(expected('Pending', 'Approved'));
  expect(await at('2027-02-10T09:00:00Z')).toEqual(expected('Cancelled', 'Approved'));
  expect(await at('2027-02-10T12:59:59Z')).toEqual(expected('Cancelled', 'Approved'));
  expect(await at('2027-02-10T13:00:00Z')).toEqual(expected('Cancelled', 'Completed'));
});

test('a booking that falls due between two rounds does not wait for the next one', async () => {
  const { core } = service;
  const [community, brand] = [await service.community(), await service.brand()];
  const space = await service.space(community, { answerHours: 24 });
  const body = { spaceId: space, startTime: '2027-03-20', startHour: 10 };
  const due = service.time.now + 24 * 3_600_000;
  const id = (await service.post('/bookings', { key: brand.key, body })).json().id;
  let now = due - 1;
  /** Readings of the clock: one per round, even if the round reads no bookings. */
  let rounds = 0;
  const looks: number[] = [];
  const { bookings } = core.commands;
  const expired: number[] = [];
  const scheduler = createScheduler({
    bookings: {
      ...bookings,
      expire(booking, context) {
        if (booking === id) expired.push(rounds);
        return bookings.expire(booking, context);
      },
    },
    readModels: core.projector.readModels,
    clock() {
      rounds += 1;
      return now;
    },
    async clockProblem() {
      looks.push(rounds);
      if (looks.length === 3) now = due;
      return undefined;
    },
    logger: core.logger,
    periodMs: 20,
  });
  scheduler.start();
  await eventually(() => expect(expired).not.toEqual([]));
  await scheduler.stop();
  const [, , last = 0] = looks;
  // A round that reads bookings reads the clock twice at most.
  expect((expired[0] ?? 0) - last).toBeLessThanOrEqual(2);
});

test('logs one line when rounds fail, and one when they succeed again', async () => {
  const { core } = service;
  const logger = { info: vi.fn(), error: vi.fn() };
  let rounds = 0;
  let broken = true;
  const scheduler = createScheduler({
    bookings: core.commands.bookings,
    readModels: core.projector.readModels,
    clock: () => service.time.now,
    async clockProblem() {
      rounds += 1;
      if (broken) throw new Error('The log cannot be reached');
      return undefined;
    },
    logger,
    periodMs: 10,
  });
  scheduler.start();
  await eventually(() => expect(rounds).toBeGreaterThan(5));
  broken = false;
  await eventually(() => expect(logger.info).toHaveBeenCalledTimes(1));
  await scheduler.stop();
  expect(logger.error).toHaveBeenCalledTimes(1);
});

test('a request can be approved until its deadline and not a moment longer, even without a running scheduler', async () => {
  const { core, time } = service;
  const [community, brand, rival] = [await service.community(), await service.brand(), await service.brand('Rival')];
  const space = await service.space(community, { answerHours: 24 });
  const requestedAt = time.now;
  const request = (key: string, startTime: string) =>
    service.post('/bookings', { key, body: { spaceId: space, startTime, startHour: 10 } });
  const first: number = (await request(brand.key, '2027-03-10')).json().id;
  const second: number = (await request(brand.key, '2027-03-11')).json().id;
  const approve = (id: number) => core.commands.bookings.approve({ bookingId: id, communityId: community.id }, CONTEXT);
  const slot = async (date: string) =>
    (await service.get(`/spaces/${space}/availability?date=${date}`, { key: rival.key })).json().timeSlots[1];

  time.now = requestedAt + 24 * 3_600_000 - 1;
  expect(await approve(first)).not.toHaveProperty('refused');
  time.now += 1;
  expect(await approve(second)).toMatchObject({
    refused: 'BookingNotAllowed',
    details: expect.stringMatching(/answered by/),
  });

  // The hour stays taken until the cancellation is in the log.
  expect(await slot('2027-03-11')).toMatchObject({ hour: 10, isAvailable: false });
  expect((await request(rival.key, '2027-03-11')).json()).toMatchObject({ error: 'SlotUnavailable' });
  await core.commands.bookings.expire(second, CONTEXT);
  expect(await slot('2027-03-11')).toMatchObject({ hour: 10, isAvailable: true });
  expect((await request(rival.key, '2027-03-11')).statusCode).toBe(201);
});
