import { afterAll, beforeAll, expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { bookings } from '../../projections/bookings.ts';
import { spaces } from '../../projections/spaces.ts';
import { spaceDay } from '../../src/commands/aggregates.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { answerMove } from '../../src/domain/move-booking.ts';
import { picked } from '../../src/domain/picked.ts';
import { EMPTY_SPACE_DAY } from '../../src/domain/space-day.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createMoveFollowUp } from '../../src/scheduler/moves.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let hall: number;
let studio: number;

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  hall = await service.space(community);
  studio = await service.space(community, { name: 'Studio', durationHours: 2 });
});
afterAll(() => service.stop());

const byBrand = () => ({ kind: 'Brand', id: brandId(brand.id) }) as const;
const byHouse = () => ({ kind: 'Community', id: communityId(community.id) }) as const;
const commands = () => service.core.commands;
const booked = (id: number) => service.core.projector.readModels.collection(bookings).get(String(id));
const takenOn = async (space: number, date: string) =>
  (await service.core.projector.readModels.collection(availability).get(availabilityKey(space, date)))?.taken ?? [];

let days = 0;
/** A day that no other test uses. */
const nextDay = () => {
  days += 1;
  return `2027-01-${String(days).padStart(2, '0')}` as PlainDate;
};

async function request(date: string, startHour = 10, space = hall): Promise<number> {
  const answer = await service.post('/bookings', {
    key: brand.key,
    body: { spaceId: space, startTime: date, startHour },
  });
  expect(answer.statusCode).toBe(201);
  return answer.json().id;
}

async function approved(date: string, startHour = 10): Promise<number> {
  const id = await request(date, startHour);
  accepted(await commands().bookings.approve({ bookingId: id, communityId: byHouse().id }, CONTEXT));
  return id;
}

/** Asks for a move to another space and day, and accepts it. */
async function moved(id: number, to: { spaceId: number; date: PlainDate; startHour: number }) {
  accepted(
    await commands().moves.move({ bookingId: id, by: byBrand(), to: { ...to, spaceId: spaceId(to.spaceId) } }, CONTEXT),
  );
  const moveId = (await booked(id))?.move?.moveId ?? '';
  return commands().moves.answer({ bookingId: id, by: byHouse(), moveId, accepts: true }, CONTEXT);
}

test('a booking moves to another space and day, with one id and one history', async () => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await approved(from);
  accepted(await moved(id, { spaceId: studio, date, startHour: 14 }));
  expect(await booked(id)).toMatchObject({
    status: 'Approved',
    spaceId: studio,
    date,
    startHour: 14,
    endHour: 16,
    totalPrice: 23_000,
    formerDays: [{ spaceId: hall, date: from }],
  });
  expect(await booked(id)).not.toHaveProperty('isMoving');
  expect(await takenOn(hall, from)).toEqual([]);
  expect(await takenOn(studio, date)).toMatchObject([{ bookingId: id, status: 'Approved' }]);
  const history = await service.get(`/bookings/${id}/history`, { key: brand.key });
  expect(history.json().map(({ event }: { event: string }) => event)).toEqual([
    'BookingRequested',
    'BookingApproved',
    'BookingMoveAsked',
    'BookingMoveAgreed',
    'BookingMoved',
  ]);
  expect(history.json().at(-1).changes).toMatchObject({
    spaceName: { from: 'Great Hall', to: 'Studio' },
    date: { from, to: date },
  });
  const cancelled = accepted(await commands().bookings.cancel({ bookingId: id, by: byBrand() }, CONTEXT));
  expect(cancelled.events).toMatchObject([{ data: { spaceId: studio, refund: 23_000 } }]);
});

test('a request moves to other hours and is approved there', async () => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await request(from);
  accepted(await commands().moves.move({ bookingId: id, by: byHouse(), to: { date, startHour: 11 } }, CONTEXT));
  expect(await booked(id)).toMatchObject({ status: 'Pending', date: from, moveWaitsFor: 'Brand' });
  const { move } = (await booked(id)) ?? {};
  accepted(
    await commands().moves.answer({ bookingId: id, by: byBrand(), moveId: move?.moveId ?? '', accepts: true }, CONTEXT),
  );
  expect(await booked(id)).toMatchObject({ status: 'Approved', date, startHour: 11, charge: 23_000 });
  expect(await booked(id)).not.toHaveProperty('move');
});

test('hours that were taken while the move waited are refused, and the booking stays', async () => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await approved(from);
  accepted(await commands().moves.move({ bookingId: id, by: byBrand(), to: { date } }, CONTEXT));
  await request(date, 12);
  const { move } = (await booked(id)) ?? {};
  const outcome = await commands().moves.answer(
    { bookingId: id, by: byHouse(), moveId: move?.moveId ?? '', accepts: true },
    CONTEXT,
  );
  expect(outcome).toMatchObject({ refused: 'SlotUnavailable' });
  expect(await booked(id)).toMatchObject({ date: from, status: 'Approved' });
});

/** Agrees to a move as a process does that dies before it carries the move out. */
async function agreedAndLeft(id: number, to: { date: PlainDate; startHour?: number }): Promise<void> {
  accepted(await commands().moves.move({ bookingId: id, by: byBrand(), to }, CONTEXT));
  const stored = await booked(id);
  if (stored?.move === undefined) throw new Error('It does not wait');
  const { events } = service.core;
  const { readModels } = service.core.projector;
  const space = await readModels.collection(spaces).get(String(stored.spaceId));
  if (space === undefined) throw new Error('There is no space');
  const handler = createCommandHandler({
    events,
    clock: () => service.time.now,
    waitFor: (at) => readModels.waitFor(at),
  });
  const { moveId, to: place } = stored.move;
  const accepts = { ...picked(place, ['date', 'startHour']), space, elsewhere: EMPTY_SPACE_DAY };
  const command = { bookingId: stored.bookingId, by: byHouse(), moveId, accepts };
  const stream = streamOf.spaceDay(stored.spaceId, stored.date);
  accepted(
    await handler.execute(stream, spaceDay, CONTEXT, (day) => answerMove(day, command, { now: service.time.now })),
  );
  expect(await booked(id)).toMatchObject({ isMoving: 'yes' });
}

test.each([
  ['a request for the former hours', async (_: number, from: string) => void (await request(from))],
  [
    'a cancellation',
    async (id: number) => {
      const { events } = accepted(await commands().bookings.cancel({ bookingId: id, by: byBrand() }, CONTEXT));
      expect(events).toHaveLength(1);
    },
  ],
  [
    'the scheduler',
    async () => {
      const { readModels } = service.core.projector;
      const followUp = createMoveFollowUp({
        moves: commands().moves,
        readModels,
        logger: service.core.logger,
        periodMs: 20,
      });
      followUp.start();
      await eventually(async () => {
        const all = await readModels.collection(bookings).list(everyDocument());
        expect(all.filter(({ isMoving }) => isMoving)).toEqual([]);
      });
      await followUp.stop();
    },
  ],
])('a move that a process left is finished by %s', async (_, finish) => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await approved(from);
  await agreedAndLeft(id, { date, startHour: 12 });
  await finish(id, from);
  const booking = await booked(id);
  expect(booking).toMatchObject({ date, startHour: 12 });
  expect(booking).not.toHaveProperty('isMoving');
});

test('a move whose hours are taken before it is carried out ends, and the booking stays', async () => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await approved(from);
  await agreedAndLeft(id, { date });
  await request(date, 12);
  const outcome = await commands().moves.move({ bookingId: id, by: byBrand(), to: { date } }, CONTEXT);
  expect(isRefusal(outcome) && outcome.refused).toBe('SlotUnavailable');
  expect(await booked(id)).toMatchObject({ date: from, status: 'Approved' });
  expect(await takenOn(hall, from)).toMatchObject([{ bookingId: id }]);
});

test('a booking moves away and back again', async () => {
  const [from, date] = [nextDay(), nextDay()];
  const id = await approved(from);
  accepted(await moved(id, { spaceId: hall, date, startHour: 10 }));
  accepted(await moved(id, { spaceId: hall, date: from, startHour: 16 }));
  expect(await booked(id)).toMatchObject({ date: from, startHour: 16 });
  expect(await takenOn(hall, date)).toEqual([]);
  expect(await takenOn(hall, from)).toMatchObject([{ bookingId: id, startHour: 16 }]);
  expect((await service.get(`/bookings/${id}/history`, { key: brand.key })).json()).toHaveLength(8);
});
