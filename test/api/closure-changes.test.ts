import { afterAll, beforeAll, expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { closures } from '../../projections/closures.ts';
import { closure } from '../../src/commands/aggregates.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { communityId, type PlainDate } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { inProcess, json, useDataDir } from '../cli/in-process.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let community: Awaited<ReturnType<RunningService['community']>>;
const commands = () => service.core.commands.closures;
const readModels = () => service.core.projector.readModels;
const stored = async (id: string) => (await readModels().collection(closures).get(id))?.document;
const closedOn = async (space: number, date: string) =>
  (await readModels().collection(availability).get(availabilityKey(space, date)))?.document.closed ?? [];

beforeAll(async () => {
  service = await runService();
  community = await service.community();
});
afterAll(() => service.stop());

/** Runs the scheduler until a closed time is in a state. */
async function finished(id: string, state: object): Promise<void> {
  const followUp = createClosureFollowUp({
    ...{ closures: commands(), readModels: readModels(), logger: { info() {}, error() {} }, periodMs: 20 },
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
    ...{ events: service.core.events, clock: () => service.time.now, waitFor: readModels().waitFor },
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
