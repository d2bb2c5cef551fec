import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { closures } from '../../projections/closures.ts';
import { wallDay } from '../../src/domain/calendar.ts';
import { addClosure } from '../../src/domain/closure.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import type { DomainEvent } from '../../src/domain/events.ts';
import { heldTimes, overlaps } from '../../src/domain/held-times.ts';
import { closureId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let rooms: number[];
const commands = () => service.core.commands.closures;

beforeAll(async () => {
  service = await runService();
  community = await service.community();
  brand = await service.brand();
  rooms = [];
  for (let i = 0; i < 3; i += 1) rooms.push(await service.space(community, { durationHours: 1 }));
});
afterAll(() => service.stop());

const request = (spaceId: number, startTime: string, startHour: number) =>
  service.post('/bookings', { key: brand.key, body: { spaceId, startTime, startHour } });
const booked = async (...of: Parameters<typeof request>): Promise<number> => (await request(...of)).json().id;
const openHours = async (space: number, date: string): Promise<number[]> => {
  const answer = await service.get(`/spaces/${space}/availability?date=${date}`, { key: brand.key });
  const slots: { hour: number; isAvailable: boolean }[] = answer.json().timeSlots;
  return slots.filter(({ isAvailable }) => isAvailable).map(({ hour }) => hour);
};
const closed = async (space: number, date: string) =>
  (await service.core.projector.readModels.collection(availability).get(availabilityKey(space, date)))?.closed;
const wanted = (more: object = {}) => ({
  ...({
    communityId: community.id,
    kind: 'Closure',
    from: '2026-12-24',
    to: '2026-12-26',
    start: 0,
    until: 24,
  } as const),
  ...more,
});
const events = async () => (await Array.fromAsync(service.core.events.readAll())).length;

test('a closure closes all rooms; bookings that are there stay, and neither their answer nor a repetition opens or closes a day', async () => {
  const [room = 0] = rooms;
  const approved = await booked(room, '2026-12-24', 10);
  const declined = await booked(room, '2026-12-24', 12);
  const id = closureId('closure-christmas');
  const closing = accepted(await commands().add(wanted({ closureId: id, title: 'Christmas' }), CONTEXT));
  expect(closing).toEqual({ closureId: id, days: 9, skipped: [], bookings: [approved, declined] });
  for (const space of rooms) expect(await openHours(space, '2026-12-25')).toEqual([]);
  expect((await request(room, '2026-12-26', 10)).json()).toMatchObject({ error: 'SlotUnavailable' });
  const { bookings } = service.core.commands;
  const owner = { communityId: communityId(community.id) };
  accepted(await bookings.approve({ bookingId: approved, ...owner }, CONTEXT));
  accepted(await bookings.cancel({ bookingId: declined, by: community.account }, CONTEXT));
  expect((await request(room, '2026-12-24', 12)).statusCode).toBe(422);

  const before = await events();
  accepted(await commands().add(wanted({ closureId: id }), CONTEXT));
  await commands().finish(id, CONTEXT);
  expect(await events()).toBe(before);

  expect(await commands().end({ closureId: id, communityId: community.id + 1 }, CONTEXT)).toMatchObject({
    refused: 'ResourceNotFound',
  });
  expect(await commands().end({ closureId: id, communityId: community.id }, CONTEXT)).toEqual({
    closureId: id,
    days: 9,
  });
  expect(await openHours(room, '2026-12-25')).toHaveLength(13);
  const after = await events();
  await commands().end({ closureId: id, communityId: community.id }, CONTEXT);
  await commands().finish(id, CONTEXT);
  expect(await events()).toBe(after);
});

test('an own event takes free hours only, leaves booked days out for good, and is no booking', async () => {
  const [, room = 0] = rooms;
  const taken = await booked(room, '2027-01-11', 18);
  const weekly = { kind: 'OwnEvent', spaceIds: [room], from: '2027-01-01', to: '2027-01-31', weekdays: ['Monday'] };
  const hours = { start: 18, until: 20, title: 'Choir' };
  const closing = accepted(await commands().add(wanted({ ...weekly, ...hours }), CONTEXT));
  expect(closing).toMatchObject({ days: 3, bookings: [] });
  expect(closing.skipped).toMatchObject([
    { spaceId: room, date: '2027-01-11', reason: expect.stringContaining('is not free: booking #') },
  ]);
  expect(await openHours(room, '2027-01-04')).not.toContain(18);
  const bookings = (await service.get('/bookings', { key: brand.key })).json();
  expect(bookings.filter(({ spaceId }: { spaceId: number }) => spaceId === room)).toHaveLength(1);

  accepted(await service.core.commands.bookings.cancel({ bookingId: taken, by: brand.account }, CONTEXT));
  await commands().finish(closing.closureId, CONTEXT);
  expect(await closed(room, '2027-01-11')).toEqual([]);

  // A single day that is not free: nothing is appended.
  const before = await events();
  const single = wanted({ ...weekly, ...hours, weekdays: undefined, from: '2027-01-04', to: '2027-01-04' });
  expect(await commands().add(single, CONTEXT)).toMatchObject({ refused: 'SlotUnavailable' });
  expect(await events()).toBe(before);
  // None of several days is free: it ends.
  const all = await commands().add(wanted({ ...weekly, ...hours, from: '2027-01-18', to: '2027-01-25' }), CONTEXT);
  expect(all).toMatchObject({ refused: 'SlotUnavailable' });
  expect((await service.core.queries.closures.list(communityId(community.id), '2027-01-01' as PlainDate)).length).toBe(
    1,
  );
});

test.each([
  ['dates in the wrong order', { from: '2026-12-26', to: '2026-12-24' }, /must not be before/],
  ['a date that is none', { to: '2026-02-30' }, /must be dates/],
  ['yesterday', { from: '2026-11-30' }, /today \(2026-12-01\) or later/],
  ['the year 9999', { to: '9999-12-31' }, /within the next 5 years/],
  ['2,001 days', { to: '2028-10-20', from: '2026-12-24' }, /2,001 days \(667 dates, 3 spaces\)/],
  ['hours that end before they begin', { start: 12, until: 9 }, /end after they begin/],
  ['half an hour', { start: 9.5 }, /must be whole/],
  ['no day', { to: '2026-12-24', weekdays: ['Friday'] }, /None of the weekdays/],
  ['a long title', { title: 'x'.repeat(201) }, /title/],
  ['a space of another community', { spaceIds: [999] }, /has no space 999/],
  ['an unknown community', { communityId: 999 }, /no community 999/],
])('%s is refused, and nothing is appended', async (_, wrong, details) => {
  const before = await events();
  const outcome = await commands().add(wanted(wrong), CONTEXT);
  expect(isRefusal(outcome) && outcome.details).toMatch(details);
  expect(await events()).toBe(before);
});

test('an own event leaves out the day on which the clocks skip its hours, and says so', async () => {
  const room = await service.space(community, { windowStart: 0, durationHours: 1 });
  const own = { kind: 'OwnEvent', spaceIds: [room], start: 2, until: 3, title: 'Night watch' };
  const before = await events();
  const refused = await commands().add(wanted({ ...own, from: '2027-03-28', to: '2027-03-28' }), CONTEXT);
  expect(refused).toEqual({
    refused: 'SlotUnavailable',
    details: '02:00–03:00 on 2027-03-28 does not exist: the clocks skip it.',
  });
  expect(await events()).toBe(before);

  const sundays = { ...own, from: '2027-03-21', to: '2027-04-04', weekdays: ['Sunday'] };
  const weekly = accepted(await commands().add(wanted(sundays), CONTEXT));
  const leftOut = { spaceId: room, date: '2027-03-28' };
  expect(weekly).toMatchObject({ days: 2, skipped: [{ ...leftOut, reason: expect.stringContaining('skip') }] });
  const stored = await service.core.queries.closures.get(communityId(community.id), weekly.closureId);
  expect(stored).toMatchObject({ days: 3, closedDays: 2, leftOut: [leftOut], state: 'Done' });
  expect(await openHours(room, '2027-03-28')).toEqual(expect.arrayContaining([1, 3]));
  accepted(await commands().end({ closureId: weekly.closureId, communityId: community.id }, CONTEXT));
});

test('the bookings inside a closed time are those that hold some of its time, when the clocks change, too', async () => {
  const room = await service.space(community, { windowStart: 0, durationHours: 1.5 });
  // Until 3:30, because 2:00 to 3:00 is skipped.
  const id = await booked(room, '2027-03-28', 1);
  const inside = async (start: number, until: number) => {
    const range = { spaceIds: [room], from: '2027-03-28', to: '2027-03-28', start, until };
    const { closureId: closed, bookings } = accepted(await commands().add(wanted(range), CONTEXT));
    const stored = await service.core.queries.closures.get(communityId(community.id), closed);
    const { first } = await service.core.queries.calendar.concerned(
      stored ?? expect.fail(),
      '2026-01-01' as PlainDate,
      [],
      10,
    );
    accepted(await commands().end({ closureId: closed, communityId: community.id }, CONTEXT));
    return [bookings, first.map(({ bookingId }) => bookingId)];
  };
  expect(await inside(3, 4)).toEqual([[id], [id]]);
  expect(await inside(4, 5)).toEqual([[], []]);
  expect(await inside(2, 3)).toEqual([[], []]);
});

test('a booking that has taken place is not among those that a closed time can still have cancelled', async () => {
  const room = await service.space(community, { durationHours: 1 });
  const date = inDays(5);
  const before = service.time.now;
  const id = await booked(room, date, 12);
  const { bookings } = service.core.commands;
  accepted(await bookings.approve({ bookingId: id, communityId: communityId(community.id) }, CONTEXT));
  const range = { spaceIds: [room], from: date, to: date, start: 12, until: 14 };
  const { closureId: closed } = accepted(await commands().add(wanted(range), CONTEXT));
  const stored = (await service.core.queries.closures.get(communityId(community.id), closed)) ?? expect.fail();
  const count = async () => (await service.core.queries.calendar.concerned(stored, date, [], 10)).count;
  expect(await count()).toBe(1);
  service.time.now = Date.parse(`${inDays(6)}T12:00:00Z`);
  accepted(await bookings.complete(id, CONTEXT));
  service.time.now = before;
  expect(await count()).toBe(0);
});

test('an own event keeps the time between bookings free, on both sides', async () => {
  const room = await service.space(community, { durationHours: 1, gapHours: 1.5 });
  await booked(room, '2026-12-10', 12);
  const own = (start: number, until: number) =>
    commands().add(
      wanted({ kind: 'OwnEvent', spaceIds: [room], from: '2026-12-10', to: '2026-12-10', start, until }),
      CONTEXT,
    );
  expect(await own(14, 15)).toMatchObject({
    refused: 'SlotUnavailable',
    details: expect.stringMatching(/booking #\d+ of Acme, 12:00–13:00, with 1\.5 hours to keep free around it\.$/),
  });
  expect(isRefusal(await own(10, 11))).toBe(true);
  accepted(await own(15, 16));
  expect(await openHours(room, '2026-12-10')).toEqual([9, 18, 19, 20, 21]);
  expect((await request(room, '2026-12-10', 17)).json().details).toMatch(/or the 1\.5 hours to keep free/);
});

test('the scheduler finishes what a process that died had begun, also its end', async () => {
  const [, , room = 0] = rooms;
  const readModels = service.core.projector.readModels;
  const id = closureId('closure-of-a-dead-process');
  const command = { ...wanted(), closureId: id, communityId: communityId(community.id), spaceIds: [spaceId(room)] };
  const decided = addClosure(
    undefined,
    { ...command, from: '2027-02-01', to: '2027-02-03' },
    '2026-12-01' as PlainDate,
  );
  const append = async (stream: string, event: DomainEvent, expectedRevision: number | 'none') => {
    const metadata = { at: '2026-12-01T12:00:00.000Z', ...CONTEXT, schema: 1 };
    const events = [JSON.parse(JSON.stringify({ ...event, metadata }))];
    await readModels.waitFor((await service.core.events.append(stream, events, { expectedRevision })).position);
  };
  for (const event of accepted(decided)) await append(streamOf.venue_closure(id), event, 'none');
  const followUp = createClosureFollowUp({
    closures: commands(),
    readModels,
    logger: { info() {}, error() {} },
    periodMs: 20,
  });
  followUp.start();
  const state = async () => (await readModels.collection(closures).get(id))?.state;
  await eventually(async () => expect(await state()).toBe('Done'));
  expect(await closed(room, '2027-02-03')).toHaveLength(1);
  const data = { closureId: id, communityId: communityId(community.id) };
  await append(streamOf.venue_closure(id), { type: 'ClosureEnded', data }, 0);
  expect(await state()).toBe('Working');
  await eventually(async () => expect(await state()).toBe('Done'));
  expect(await closed(room, '2027-02-03')).toEqual([]);

  // An own event that finds none of its days free ends, as it does in the process that adds it.
  await booked(room, '2027-02-05', 18);
  const ofDeadProcess = { ...command, closureId: closureId('own-event-of-a-dead-process'), kind: 'OwnEvent' } as const;
  const evening = { from: '2027-02-05', to: '2027-02-05', start: 18, until: 20 };
  for (const event of accepted(addClosure(undefined, { ...ofDeadProcess, ...evening }, '2026-12-01' as PlainDate)))
    await append(streamOf.venue_closure(ofDeadProcess.closureId), event, 'none');
  await eventually(async () => {
    const stored = await readModels.collection(closures).get(ofDeadProcess.closureId);
    expect(stored).toMatchObject({ endedAt: expect.any(String), state: 'Done' });
  });
  await followUp.stop();
});

test('brands never see a title, and after its author is forgotten no file holds it', async () => {
  const [room = 0] = rooms;
  const TITLE = 'Zwetschgenkuchen for the choir';
  const author = { actor: { kind: 'user', id: 'user-8' }, correlationId: 'test' } as const;
  const range = { spaceIds: [room], from: '2027-06-01', to: '2027-06-02', title: TITLE };
  accepted(await commands().add(wanted(range), author));
  accepted(await commands().add(wanted({ ...range, from: '2027-06-03', to: '2027-06-03', kind: 'OwnEvent' }), author));
  const asBrand = { key: brand.key };
  const seen = await Promise.all([
    service.get(`/spaces/${room}/availability?date=2027-06-01`, asBrand),
    service.get(`/spaces/${room}/availability?date=2027-06-03`, asBrand),
    service.get('/bookings', asBrand),
    service.get(`/spaces/${room}`, asBrand),
    request(room, '2027-06-01', 12),
    request(room, '2027-06-03', 12),
  ]);
  expect(seen.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200, 422, 422]);
  for (const { body } of seen) expect(body).not.toMatch(/Zwetschgen|OwnEvent|closureId/);
  const titles = async () => {
    const listed = await service.core.queries.closures.list(communityId(community.id), '2027-06-01' as PlainDate);
    return listed.filter(({ from }) => from.startsWith('2027-06')).map(({ title }) => title);
  };
  expect(await titles()).toEqual([TITLE, TITLE]);

  await service.core.commands.personalData.forget(subjectOfUser('user-8'), CONTEXT);
  expect(await titles()).toEqual(['erased', 'erased']);
  const files = readdirSync(service.config.dataDir, { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of files.filter((each) => each.isFile()))
    expect(readFileSync(join(parentPath, name), 'latin1').includes(TITLE), name).toBe(false);
});

test('closures, own events, their ends and bookings of the same hours race: no overlap, nothing half done', async () => {
  const room = await service.space(community, { durationHours: 1 });
  const dates = ['2027-03-01', '2027-03-02', '2027-03-03'] as PlainDate[];
  const range = { spaceIds: [room], from: '2027-03-01', to: '2027-03-03' };
  const ids = Array.from({ length: 12 }, (_, i) => closureId(`closure-race-${i}`));
  const adding = ids.map((id, i) => {
    const kind = i % 3 === 0 ? 'Closure' : 'OwnEvent';
    const start = 9 + (i % 5);
    return commands().add(wanted({ ...range, closureId: id, kind, start, until: start + 2 }), CONTEXT);
  });
  const booking = dates.flatMap((date) => [9, 10, 11, 12, 13, 14].map((hour) => request(room, date, hour)));
  const ending = ids.slice(0, 6).map((id) => commands().end({ closureId: id, communityId: community.id }, CONTEXT));
  await Promise.all([...adding, ...booking, ...ending]);
  for (const id of ids.slice(0, 6)) await commands().end({ closureId: id, communityId: community.id }, CONTEXT);

  for (const date of dates) {
    const read = await service.core.projector.readModels.collection(availability).get(availabilityKey(room, date));
    const { taken = [], closed = [] } = read ?? {};
    expect(closed.filter((each) => ids.slice(0, 6).includes(each.closureId))).toEqual([]);
    const held = heldTimes(wallDay(date, 'Europe/Berlin'), { taken, closed });
    const live = [...held.ownEvents, ...held.taken];
    for (const [i, a] of live.entries()) for (const b of live.slice(i + 1)) expect(overlaps(a, b)).toBe(false);
  }
  for (const id of ids) {
    const read = await service.core.projector.readModels.collection(closures).get(id);
    expect(read?.state ?? 'Done', id).toBe('Done');
  }
});

test('the command line adds, lists and ends them', async () => {
  useDataDir(service.config.dataDir);
  const [room = 0] = rooms;
  const of = ['--community', String(community.id)];
  // The command line has the clock of the machine. Two weeks have two week-ends.
  const [from, to] = [inDays(100), inDays(113)];
  const range = ['--from', from, '--to', to, '--weekdays', 'sa,su'];
  const added = await json(
    'closure',
    'add',
    ...of,
    '--space',
    String(room),
    ...range,
    '--hours',
    '9-12',
    '--title',
    'Floor',
  );
  expect(added).toEqual({ closureId: expect.any(String), days: 4, skipped: [], bookings: [] });
  const list = ['closure', 'list', ...of, '--from', from, '--to', to];
  expect(await json(...list)).toMatchObject([
    {
      id: added.closureId,
      kind: 'Closure',
      weekdays: ['Saturday', 'Sunday'],
      hours: '9-12',
      title: 'Floor',
      state: 'Done',
    },
  ]);
  const table = new RegExp(`Closure +${from} +${to} +(Saturday Sunday|Saturday, Sunday)`);
  expect((await inProcess(...list)).stdout).toMatch(table);
  expect(await json('closure', 'end', added.closureId)).toEqual({ closureId: added.closureId, days: 4 });
  expect(await json(...list)).toEqual([]);
  for (const [args, code, message] of [
    [['closure', 'end', 'nothing'], 1, /no closed time nothing/],
    [['closure', 'list', '--community', '999'], 1, /no community 999/],
    [['closure', 'add', ...of, '--from', to, '--to', from], 2, /--from must not be after --to/],
    [['closure', 'add', ...of, ...range.slice(0, 4), '--weekdays', 'xy'], 2, /no weekday/],
    [['closure', 'add', ...of, ...range.slice(0, 4), '--hours', '12-9'], 1, /end after they begin/],
  ] as const) {
    const outcome = await inProcess(...args);
    expect(outcome.code, args.join(' ')).toBe(code);
    expect(outcome.stderr).toMatch(message);
  }
});
