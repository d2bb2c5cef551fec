import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { availability, availabilityKey } from '../../projections/availability.ts';
import { closures } from '../../projections/closures.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { checkClosedTimes } from '../closed-times.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { runNode } from './node-process.ts';
import { onEachPair } from './on-each-pair.ts';

const DATES = Array.from({ length: 12 }, (_, index) => inDays(40 + index));
const [, , LEFT_OUT = ''] = DATES;

onEachPair((current) => {
  test('processes that change an own event and leave a date out, under a kill and bookings: every day is held once, and none is lost', async () => {
    const { pair, service } = current();
    const { core, config } = service;
    const community = await service.community();
    const brand = await service.brand();
    const rooms = [
      await service.space(community, { durationHours: 1 }),
      await service.space(community, { durationHours: 1 }),
    ];
    const range = { from: DATES[0] ?? '', to: DATES.at(-1) ?? '', start: 18, until: 20 };
    const own = { ...range, communityId: community.id, kind: 'OwnEvent', spaceIds: rooms } as const;
    const { closureId } = accepted(await core.commands.closures.add(own, CONTEXT));

    const venue = (fault: string | undefined, ...args: readonly string[]) => {
      const file = join(config.dataDir, `fault-${args.join('')}`);
      if (fault !== undefined) writeFileSync(file, fault);
      const env = { DATA_DIR: config.dataDir, FAULT_POINT: file, ...pair.settings };
      return runNode('src/cli.js', ['closure', ...args], env);
    };
    const killed = 'some days of a closure are done, others not|process';
    async function changes() {
      const dead = await venue(killed, 'change', closureId, '--hours', '17-20', '--title', 'Choir');
      const others = await Promise.all([
        venue(undefined, 'change', closureId, '--hours', '18-21'),
        venue(undefined, 'leave-out', closureId, '--date', LEFT_OUT),
        venue(undefined, 'leave-out', closureId, '--date', LEFT_OUT, '--json'),
      ]);
      return { dead, others };
    }
    let isOver = false;
    const over = changes().finally(() => {
      isOver = true;
    });
    const codes = new Set<number>();
    const requestAll = async () => {
      for (let round = 0; !isOver; round += 1)
        for (const [index, startTime] of DATES.entries()) {
          const body = { spaceId: rooms[round % 2], startTime, startHour: 16 + ((index + round) % 6) };
          codes.add((await service.post('/bookings', { key: brand.key, body })).statusCode);
        }
    };
    const [{ dead, others }] = await Promise.all([over, requestAll()]);
    expect(dead.signal).toBe('SIGKILL');
    for (const { code, stderr } of others) expect([0, 1], stderr).toContain(code);
    expect(codes).toEqual(new Set([201, 422]));

    const { readModels } = core.projector;
    const followUp = createClosureFollowUp({
      closures: core.commands.closures,
      readModels,
      logger: core.logger,
      periodMs: 50,
    });
    followUp.start();
    const all = () => readModels.collection(closures).list(everyDocument());
    await eventually(async () => expect((await all()).every(({ state }) => state === 'Done')).toBe(true));
    await followUp.stop();
    expect(await checkClosedTimes(core.events)).toEqual({ wrong: [], halfDone: [] });

    for (const date of DATES)
      for (const room of rooms) {
        const stored = await readModels.collection(availability).get(availabilityKey(room, date));
        const held = stored?.closed.length;
        if (date !== LEFT_OUT) expect([room, date, held]).toEqual([room, date, 1]);
        // On some spaces, a change may have come first.
        else expect(held).toBeLessThanOrEqual(1);
      }
  }, 120_000);
});
