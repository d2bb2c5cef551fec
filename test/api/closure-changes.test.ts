import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { closures } from '../../projections/closures.ts';
import { closure } from '../../src/commands/aggregates.ts';
import { type CommandContext, createCommandHandler } from '../../src/commands/command-handler.ts';
import { changesOf } from '../../src/contract/account-change.ts';
import { communityId, type PlainDate } from '../../src/domain/ids.ts';
import { subjectOfUser } from '../../src/domain/personal-text.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { checkClosedTimes } from '../closed-times.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
const commands = () => service.core.commands.closures;
const readModels = () => service.core.projector.readModels;
const stored = async (id: string) => await readModels().collection(closures).get(id);
const closedOn = async (space: number, date: string) =>
  (await readModels().collection(availability).get(availabilityKey(space, date)))?.closed ?? [];

beforeAll(async () => {
  service = await runService();
  community = await service.community();
});
afterAll(() => service.stop());

/** Runs the scheduler until a closed time is in a state. */
async function finished(id: string, state: object): Promise<void> {
  const followUp = createClosureFollowUp({
    closures: commands(),
    readModels: readModels(),
    logger: { info() {}, error() {} },
    periodMs: 20,
  });
  followUp.start();
  await eventually(async () => expect(await stored(id)).toMatchObject(state));
  await followUp.stop();
}

test('the scheduler finishes a date whose leaving out a process that died had begun, and ends what has no day left', async () => {
  const rooms = [await service.space(community), await service.space(community)];
  const range = { from: '2027-05-03', to: '2027-05-04', start: 9, until: 11, kind: 'Closure' } as const;
  const { closureId } = accepted(
    await commands().add({ ...range, communityId: community.id, spaceIds: rooms }, CONTEXT),
  );
  const handler = createCommandHandler({
    events: service.core.events,
    clock: () => service.time.now,
    waitFor: readModels().waitFor,
  });
  const leaveOut = async (date: string) => {
    const data = { closureId, communityId: communityId(community.id), date: date as PlainDate };
    const decide = () => [{ type: 'ClosureDateLeftOut', data } as const];
    accepted(await handler.execute(streamOf.venue_closure(closureId), closure, CONTEXT, decide));
  };
  await leaveOut('2027-05-03');
  expect(await stored(closureId)).toMatchObject({ state: 'Working' });
  await finished(closureId, { state: 'Done' });
  for (const room of rooms)
    expect([await closedOn(room, '2027-05-03'), await closedOn(room, '2027-05-04')]).toMatchObject([
      [],
      [{ closureId }],
    ]);
  await leaveOut('2027-05-04');
  await finished(closureId, { state: 'Done', endedAt: expect.any(String) });
});

test('of a closed time with 2,000 days of spaces, the command line leaves out a date, and the history says who did', async () => {
  const rooms: number[] = [];
  for (let i = 0; i < 100; i += 1) rooms.push(await service.space(community, { name: `Room ${i}` }));
  // The command line has the clock of the machine.
  const dates = Array.from({ length: 20 }, (_, index) => inDays(200 + index));
  const [from = '', date = ''] = dates;
  const whole = { from, to: inDays(219), start: 0, until: 24, kind: 'Closure', spaceIds: rooms } as const;
  const { closureId, days } = accepted(await commands().add({ ...whole, communityId: community.id }, CONTEXT));
  expect(days).toBe(2_000);
  useDataDir(service.config.dataDir);
  const leaveOut = ['closure', 'leave-out', closureId, '--date'];
  expect(await json(...leaveOut, date)).toEqual({ closureId, hasEnded: false });
  await eventually(async () => expect((await stored(closureId))?.leftOut).toHaveLength(100));
  expect(await stored(closureId)).toMatchObject({ state: 'Done', datesLeftOut: [date] });
  for (const room of rooms) expect([room, await closedOn(room, date)]).toEqual([room, []]);
  // Once more changes nothing.
  const events = async () => (await Array.fromAsync(service.core.events.readAll())).length;
  const before = await events();
  expect(await json(...leaveOut, date)).toEqual({ closureId, hasEnded: false });
  expect(await events()).toBe(before);

  const { changes } = await service.core.queries.accountHistory.page(community.account, { topic: 'spaces', limit: 1 });
  expect(changes).toMatchObject([
    { event: { type: 'ClosureDateLeftOut', data: { date } }, by: { kind: 'operator', id: expect.any(String) } },
  ]);
  expect(await json('audit', '--community', String(community.id), '--kind', 'ClosureDateLeftOut')).toMatchObject([
    {},
    {},
    { actor: { kind: 'operator' }, changes: { date: { to: date }, status: { to: 'left out' } } },
  ]);
  for (const [args, code, message] of [
    [['closure', 'leave-out', 'nothing', '--date', date], 1, /no closed time nothing/],
    [['closure', 'leave-out', closureId, '--date', 'soon'], 2, /YYYY-MM-DD/],
    [['closure', 'leave-out', closureId], 2, /--date/],
    [[...leaveOut, inDays(300)], 1, /must be one of its dates/],
    [[...leaveOut, '2020-01-01'], 1, /must be today/],
  ] as const) {
    const outcome = await inProcess(...args);
    expect([outcome.code, outcome.stderr], args.join(' ')).toEqual([code, expect.stringMatching(message)]);
  }
}, 60_000);

test('the night on which the clocks change can be left out, and its last date ends it', async () => {
  const room = await service.space(community, { windowStart: 0, durationHours: 1 });
  const night = { from: '2027-03-27', to: '2027-03-28', start: 1, until: 4, spaceIds: [room] };
  const { closureId } = accepted(
    await commands().add({ ...night, kind: 'OwnEvent', communityId: community.id }, CONTEXT),
  );
  const leaveOut = (date: string) =>
    commands().leaveOut({ closureId, communityId: community.id, date: date as PlainDate }, CONTEXT);
  expect(await leaveOut('2027-03-28')).toEqual({ closureId, hasEnded: false });
  expect([await closedOn(room, '2027-03-27'), await closedOn(room, '2027-03-28')]).toMatchObject([[{ closureId }], []]);
  expect(await leaveOut('2027-03-27')).toEqual({ closureId, hasEnded: true });
  expect(await stored(closureId)).toMatchObject({ state: 'Done', endedAt: expect.any(String) });
  expect(await leaveOut('2027-03-27')).toEqual({ closureId, hasEnded: true });
});

describe('a change', () => {
  let brand: Awaited<ReturnType<RunningService['brand']>>;
  beforeAll(async () => {
    brand = await service.brand();
  });
  const request = (spaceId: number, startTime: string, startHour: number) =>
    service.post('/bookings', { key: brand.key, body: { spaceId, startTime, startHour } });
  const weekly = async (rooms: readonly number[], more: object = {}) => {
    const mondays = { from: '2027-01-04', to: '2027-01-18', weekdays: ['Monday'], start: 18, until: 20 } as const;
    const wanted = {
      kind: 'OwnEvent',
      communityId: community.id,
      spaceIds: rooms,
      title: 'Choir',
      ...mondays,
    } as const;
    return accepted(await commands().add({ ...wanted, ...more }, CONTEXT)).closureId;
  };
  const change = async (id: string, wanted: object, context: CommandContext = CONTEXT) =>
    commands().change({ closureId: id, communityId: community.id, ...wanted }, context);
  const hoursOn = async (room: number, date: string) =>
    (await closedOn(room, date)).map(({ start, until }) => `${start}-${until}`);
  const events = async () => (await Array.fromAsync(service.core.events.readAll())).length;
  const listed = async () =>
    (await service.core.queries.closures.list(communityId(community.id), '2027-01-01' as PlainDate)).map(
      ({ closureId, title, start, until }) => ({ closureId, title, hours: `${start}-${until}` }),
    );

  test('of the hours takes over each day in one append, keeps the title, and ends the former one', async () => {
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room]);
    const changed = accepted(await change(id, { start: 17, until: 19 }));
    expect(changed).toEqual({ closureId: expect.any(String), days: 3, skipped: [], bookings: [] });
    for (const date of ['2027-01-04', '2027-01-11', '2027-01-18']) {
      expect(await hoursOn(room, date)).toEqual(['17-19']);
      const stream = await Array.fromAsync(service.core.events.readStream(streamOf.spaceDay(room, date as PlainDate)));
      expect(stream.map(({ type }) => type)).toEqual(['TimeClosed', 'TimeReopened', 'TimeClosed']);
    }
    expect(await stored(id)).toMatchObject({ state: 'Done', endedAt: expect.any(String) });
    expect(await listed()).toContainEqual({ closureId: changed.closureId, title: 'Choir', hours: '17-19' });
    expect((await request(room, '2027-01-04', 19)).statusCode).toBe(201);
    expect((await request(room, '2027-01-04', 18)).statusCode).toBe(422);
    // The same once more changes nothing, and the former one cannot be changed again.
    const before = await events();
    expect(await change(changed.closureId, { start: 17, until: 19, title: 'Choir' })).toMatchObject({ days: 0 });
    const over = {
      refused: 'ValidationError',
      details: `It was changed: its days are those of ${changed.closureId} now.`,
    };
    const name = { closureId: id, communityId: community.id };
    expect(await change(id, { start: 17, until: 19 })).toEqual(over);
    expect(await commands().end(name, CONTEXT)).toEqual(over);
    expect(await commands().leaveOut({ ...name, date: '2027-01-04' as PlainDate }, CONTEXT)).toEqual(over);
    expect(await events()).toBe(before);
  });

  test('of one date leaves the others, and of the title the hours', async () => {
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room]);
    const concert = accepted(await change(id, { date: '2027-01-11', start: 19, until: 23, title: 'Concert' }));
    expect(await hoursOn(room, '2027-01-11')).toEqual(['19-23']);
    expect(await hoursOn(room, '2027-01-04')).toEqual(['18-20']);
    expect(await stored(id)).toMatchObject({ state: 'Done', leftOut: [{ spaceId: room, date: '2027-01-11' }] });
    expect((await stored(id))?.endedAt).toBeUndefined();
    const taken = { closureId: id, communityId: community.id, date: '2027-01-11' as PlainDate };
    expect(await commands().leaveOut(taken, CONTEXT)).toMatchObject({
      details: 'It has none of these days any more.',
    });
    const renamed = accepted(await change(id, { title: '' }));
    expect(renamed).toMatchObject({ days: 2, skipped: [] });
    const mine = (await listed()).filter(({ closureId }) => [concert.closureId, renamed.closureId].includes(closureId));
    expect(mine).toEqual([
      { closureId: renamed.closureId, title: undefined, hours: '18-20' },
      { closureId: concert.closureId, title: 'Concert', hours: '19-23' },
    ]);
    expect(await change(renamed.closureId, { date: '2027-01-11', start: 9 })).toMatchObject({
      refused: 'ValidationError',
      details: 'It has none of these days any more.',
    });
  });

  test('leaves a day on which a booking has the new hours as it was, and says which booking', async () => {
    const rooms = [
      await service.space(community, { durationHours: 1 }),
      await service.space(community, { durationHours: 1 }),
    ];
    const [first = 0, second = 0] = rooms;
    const id = await weekly(rooms);
    const taken = (await request(second, '2027-01-11', 16)).json().id;
    const changed = accepted(await change(id, { start: 16 }));
    expect(changed).toMatchObject({
      days: 5,
      skipped: [{ spaceId: second, date: '2027-01-11', reason: expect.stringContaining(`booking #${taken} of Acme`) }],
    });
    expect([await hoursOn(first, '2027-01-11'), await hoursOn(second, '2027-01-11')]).toEqual([['16-20'], ['18-20']]);
    expect(await stored(id)).toMatchObject({ state: 'Done', closedDays: 6, openedDays: 5 });
    // Cancelling the booking changes nothing; changing the former one once more takes the day.
    accepted(await service.core.commands.bookings.cancel({ bookingId: taken, by: brand.account }, CONTEXT));
    expect(await hoursOn(second, '2027-01-11')).toEqual(['18-20']);
    expect(accepted(await change(id, { start: 16 }))).toMatchObject({ days: 1, skipped: [] });
    expect(await hoursOn(second, '2027-01-11')).toEqual(['16-20']);
    expect((await stored(id))?.endedAt).toEqual(expect.any(String));
  });

  test('of which no day is possible is refused, and everything is as it was', async () => {
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room]);
    for (const date of ['2027-01-04', '2027-01-11', '2027-01-18']) await request(room, date, 12);
    expect(await change(id, { start: 12 })).toMatchObject({ refused: 'SlotUnavailable' });
    expect(await hoursOn(room, '2027-01-11')).toEqual(['18-20']);
    expect(await stored(id)).toMatchObject({ state: 'Done', openedDays: 0 });
    const before = await events();
    expect(await change(id, { date: '2027-01-11', start: 12 })).toMatchObject({
      refused: 'SlotUnavailable',
      details: expect.stringContaining('12:00–20:00 on 2027-01-11 is not free: booking #'),
    });
    for (const [wanted, details] of [
      [{ date: '2027-01-12', start: 9 }, /one of its dates/],
      [{ date: '2026-11-30', start: 9 }, /must be today/],
      [{ start: 20 }, /end after they begin/],
      [{ start: 9.5 }, /must be whole/],
      [{ title: 'x'.repeat(201) }, /title/],
    ] as const)
      expect(await change(id, wanted)).toMatchObject({ details: expect.stringMatching(details) });
    expect(await change('nothing', { start: 9 })).toMatchObject({ refused: 'ResourceNotFound' });
    const other = { closureId: id, communityId: community.id + 1, start: 9 };
    expect(await commands().change(other, CONTEXT)).toMatchObject({ refused: 'ResourceNotFound' });
    expect(await events()).toBe(before);
  });

  test('of one that has begun leaves the days that are over, and only what is to come is listed', async () => {
    const now = service.time.now;
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room]);
    try {
      service.time.now = Date.parse('2027-01-11T23:30:00Z');
      const changed = accepted(await change(id, { start: 12, until: 14 }));
      expect(changed.days).toBe(1);
      expect([await hoursOn(room, '2027-01-04'), await hoursOn(room, '2027-01-11')]).toEqual([['18-20'], ['18-20']]);
      expect(await hoursOn(room, '2027-01-18')).toEqual(['12-14']);
      const { list } = service.core.queries.closures;
      const since = (await list(communityId(community.id), '2027-01-12' as PlainDate)).map(
        ({ closureId }) => closureId,
      );
      expect([since.includes(id), since.includes(changed.closureId)]).toEqual([false, true]);
      expect((await stored(id))?.endedAt).toBeUndefined();
      service.time.now = Date.parse('2027-01-19T00:00:00Z');
      expect(await change(changed.closureId, { start: 9 })).toMatchObject({
        details: 'It has no date from today (2027-01-19) on.',
      });
    } finally {
      service.time.now = now;
    }
  });

  test('to hours that the clocks skip leaves that night as it was', async () => {
    const room = await service.space(community, { windowStart: 0, durationHours: 1 });
    const nights = { from: '2027-03-27', to: '2027-03-28', weekdays: undefined, start: 4, until: 5 };
    const id = await weekly([room], nights);
    const changed = accepted(await change(id, { start: 2, until: 3 }));
    expect(changed).toMatchObject({ days: 1, skipped: [{ reason: expect.stringContaining('the clocks skip it') }] });
    expect([await hoursOn(room, '2027-03-27'), await hoursOn(room, '2027-03-28')]).toEqual([['2-3'], ['4-5']]);
    accepted(await change(changed.closureId, { start: 1, until: 5 }));
    expect(await hoursOn(room, '2027-03-27')).toEqual(['1-5']);
  });

  test('of a closed time always succeeds, and lists the bookings inside it', async () => {
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room], { kind: 'Closure' });
    const inside = (await request(room, '2027-01-11', 10)).json().id;
    const changed = accepted(await change(id, { start: 0, until: 24 }));
    expect(changed).toMatchObject({ days: 3, skipped: [], bookings: [inside] });
  });

  test('counts towards the daily quota as a new one does', async () => {
    const small = await runService({ ACCOUNT_EVENTS_PER_DAY: '10' });
    try {
      const { id, account } = await small.community();
      const spaceIds = [await small.space({ id })];
      const actor = { kind: 'user', id: 'user-1', account } as const;
      const context = { actor, correlationId: 'test' };
      const range = { from: '2027-01-04', to: '2027-01-06', start: 9, until: 11, kind: 'Closure', spaceIds } as const;
      const { closures: own } = small.core.commands;
      const first = accepted(await own.add({ ...range, communityId: id }, context));
      const second = accepted(await own.change({ ...first, communityId: id, until: 12 }, context));
      expect(await own.change({ ...second, communityId: id, until: 13 }, context)).toMatchObject({
        details: expect.stringContaining('as much as it may in a day'),
      });
      expect(accepted(await own.end({ ...second, communityId: id }, context)).days).toBe(3);
    } finally {
      await small.stop();
    }
  });

  test('races with bookings, ends and another change: each day has one of them, and no own event overlaps a booking', async () => {
    const room = await service.space(community, { durationHours: 1 });
    const id = await weekly([room], { weekdays: undefined });
    const dates = Array.from({ length: 15 }, (_, index) => `2027-01-${String(4 + index).padStart(2, '0')}`);
    await Promise.all([
      change(id, { start: 9, until: 11 }),
      change(id, { start: 12, until: 14 }),
      ...dates.map((date, index) => request(room, date, index % 2 === 0 ? 10 : 13)),
      commands().leaveOut({ closureId: id, communityId: community.id, date: '2027-01-05' as PlainDate }, CONTEXT),
    ]);
    await finished(id, { state: 'Done' });
    for (const date of dates) expect((await closedOn(room, date)).length).toBeLessThanOrEqual(1);
    expect(await checkClosedTimes(service.core.events)).toEqual({ wrong: [], halfDone: [] });
  });

  test('keeps the ids of its days in calendar programs, with a higher number', async () => {
    const rooms = [await service.space(community), await service.space(community)];
    const id = await weekly(rooms);
    const { id: userId } = accepted(
      await service.core.users.add(
        { email: 'ida@harbour.example', password: 'ten or more', accounts: [community.account] },
        CONTEXT,
      ),
    );
    const feed = { userId, account: community.account, showsNames: true, spaceId: rooms[1] ?? 0 };
    const { secret } = accepted(await service.core.commands.calendarFeeds.add(feed, CONTEXT));
    const days = async () => {
      const { body } = await service.call('GET', `/calendar/${secret}.ics`);
      const field = (event: string, name: string) => new RegExp(`^${name}:(.*)\r$`, 'm').exec(event)?.[1] ?? '';
      return body
        .split('BEGIN:VEVENT')
        .slice(1)
        .map((event) => ['UID', 'SEQUENCE', 'DTSTART'].map((name) => field(event.replaceAll('\r\n ', ''), name)))
        .toSorted(([, , a = ''], [, , b = '']) => (a < b ? -1 : 1));
    };
    const before = await days();
    expect(before.map(([uid]) => uid?.split('@')[0])).toEqual(
      ['2027-01-04', '2027-01-11', '2027-01-18'].map((date) => `closure-${id}-${date}`),
    );
    service.time.now += 5_000;
    await request(rooms[0] ?? 0, '2027-01-11', 14);
    const changed = accepted(await change(id, { start: 17 }));
    expect(changed.days).toBe(5);
    const after = await days();
    // The second date is split: its other space stays with the former one.
    expect(after.map(([uid]) => uid?.split('@')[0])).toEqual([
      `closure-${id}-2027-01-04`,
      `closure-${changed.closureId}-2027-01-11`,
      `closure-${id}-2027-01-18`,
    ]);
    expect(after.map(([, sequence]) => sequence)).toEqual(['5', '5', '5']);
    expect(before.map(([, sequence]) => sequence)).toEqual(['0', '0', '0']);
  });

  test('is one line of the history with what was before, and forgetting the author of a kept title erases it', async () => {
    const room = await service.space(community);
    const by = (id: string) => ({ actor: { kind: 'user', id }, correlationId: 'test' }) as const;
    const range = { kind: 'OwnEvent', communityId: community.id, spaceIds: [room] } as const;
    const days = { from: '2027-02-01', to: '2027-02-01', start: 9, until: 11, title: 'Mirabellenkuchen' };
    const { closureId } = accepted(await commands().add({ ...range, ...days }, by('user-1')));
    const changed = accepted(await change(closureId, { until: 12 }, by('user-2')));
    const { accountHistory } = service.core.queries;
    const { changes } = await accountHistory.page(community.account, { topic: 'spaces', limit: 2 });
    expect(changes.map((each) => [each.event.type, each.event.metadata.actor, changesOf(each)])).toMatchObject([
      [
        'ClosureAdded',
        { id: 'user-2' },
        { hours: { from: '09:00–11:00', to: '09:00–12:00' }, firstDay: { to: '2027-02-01' } },
      ],
      ['ClosureAdded', { id: 'user-1' }, { title: { to: 'Mirabellenkuchen' } }],
    ]);
    expect(changesOf(changes[0] ?? expect.fail())).not.toHaveProperty('title');
    accepted(await service.core.commands.personalData.forget(subjectOfUser('user-1'), CONTEXT));
    const titles = async () => (await listed()).filter((each) => each.closureId === changed.closureId);
    expect(await titles()).toMatchObject([{ title: 'erased' }]);
    const again = accepted(await change(changed.closureId, { until: 13 }, by('user-2')));
    expect((await listed()).find((each) => each.closureId === again.closureId)?.title).toBeUndefined();
    const files = readdirSync(service.config.dataDir, { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of files.filter((each) => each.isFile()))
      expect(readFileSync(join(parentPath, name), 'latin1').includes('Mirabellenkuchen'), name).toBe(false);
  });

  test('by the command line', async () => {
    const room = await service.space(community);
    const range = [
      '--community',
      String(community.id),
      '--space',
      String(room),
      '--from',
      inDays(90),
      '--to',
      inDays(91),
    ];
    useDataDir(service.config.dataDir);
    const { closureId } = await json('closure', 'add', ...range, '--hours', '9-12', '--title', 'Floor');
    const changed = await json('closure', 'change', closureId, '--date', inDays(91), '--hours', '0-24');
    expect(changed).toEqual({ closureId: expect.any(String), days: 1, skipped: [], bookings: [] });
    const all: { id: string }[] = await json('closure', 'list', ...range.slice(0, 2), '--to', inDays(91));
    const list = all.filter(({ id }) => [closureId, changed.closureId].includes(id));
    expect(list).toMatchObject([
      { id: closureId, hours: '9-12', title: 'Floor' },
      { id: changed.closureId, from: inDays(91), hours: '0-24', title: 'Floor' },
    ]);
    for (const [args, code, message] of [
      [[closureId], 2, /Name --hours or --title/],
      [[closureId, '--hours', '12-9'], 1, /end after they begin/],
      [['nothing', '--hours', '9-10'], 1, /no closed time nothing/],
    ] as const) {
      const outcome = await inProcess('closure', 'change', ...args);
      expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringMatching(message)]);
    }
  });
});
