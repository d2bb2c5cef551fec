import { afterAll, beforeAll, expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { closures } from '../../projections/closures.ts';
import { closure } from '../../src/commands/aggregates.ts';
import { createCommandHandler } from '../../src/commands/command-handler.ts';
import { communityId, type PlainDate } from '../../src/domain/ids.ts';
import { streamOf } from '../../src/domain/streams.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
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
