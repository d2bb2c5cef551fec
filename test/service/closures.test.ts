import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { closures } from '../../projections/closures.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { brandId } from '../../src/domain/ids.ts';
import { createClosureFollowUp } from '../../src/scheduler/closures.ts';
import { accepted } from '../accepted.ts';
import { checkClosedTimes } from '../closed-times.ts';
import { eventually } from '../eventually.ts';
import { inDays } from '../in-days.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import { runNode } from './node-process.ts';
import { onEachPair } from './on-each-pair.ts';

const FIRST = 40;
const DATES = Array.from({ length: 10 }, (_, index) => inDays(FIRST + index));
const RANGE = { from: inDays(FIRST), to: inDays(FIRST + DATES.length - 1) };
const KILLED_AFTER = 'some days of a closure are done, others not';

onEachPair((current) => {
  test('eight processes race closures, own events, ends and bookings under kills: no overlap, nothing half done, no zombie', async () => {
    const { pair, service } = current();
    const { core, config } = service;
    const community = await service.community();
    const brand = await service.brand();
    const first = await service.space(community, { durationHours: 1 });
    const second = await service.space(community, { durationHours: 1 });
    const own = { communityId: community.id, ...RANGE, kind: 'OwnEvent', start: 18, until: 20 } as const;
    const toEnd = [
      accepted(await core.commands.closures.add({ ...own, kind: 'Closure', start: 9, until: 11 }, CONTEXT)),
      accepted(await core.commands.closures.add(own, CONTEXT)),
    ];

    let processes = 0;
    const venue = (isKilled: boolean, ...args: readonly string[]) => {
      processes += 1;
      const fault = join(config.dataDir, `fault-${processes}`);
      if (isKilled) writeFileSync(fault, `${KILLED_AFTER}|process`);
      return runNode('src/cli.js', ['closure', ...args], {
        DATA_DIR: config.dataDir,
        FAULT_POINT: fault,
        ...pair.settings,
      });
    };
    const range = ['--community', String(community.id), '--from', RANGE.from, '--to', RANGE.to];
    const add = (isKilled: boolean, hours: string, ...more: readonly string[]) =>
      venue(isKilled, 'add', ...range, '--hours', hours, ...more);
    const running = Promise.all([
      add(true, '9-12'),
      add(false, '13-15', '--title', 'Floor'),
      add(true, '10-12', '--own-event'),
      add(false, '11-14', '--own-event', '--space', String(first)),
      add(true, '15-17', '--own-event'),
      ...toEnd.map(({ closureId }, index) => venue(index === 0, 'end', closureId)),
    ]);

    let isOver = false;
    const over = running.then((ended) => {
      isOver = true;
      return ended;
    });
    const codes = new Set<number>();
    const requestAll = async () => {
      for (let round = 0; !isOver; round += 1)
        for (const [index, startTime] of DATES.entries()) {
          const body = { spaceId: round % 2 === 0 ? first : second, startTime, startHour: 9 + ((index + round) % 11) };
          const answer = await service.post('/bookings', { key: brand.key, body });
          codes.add(answer.statusCode);
          if (answer.statusCode !== 201 || round % 3 !== 0) continue;
          const by = { kind: 'Brand', id: brandId(brand.id) } as const;
          accepted(await core.commands.bookings.cancel({ bookingId: answer.json().id, by }, CONTEXT));
        }
    };
    const [ended] = await Promise.all([over, requestAll()]);
    expect(ended.map(({ signal }) => signal)).toEqual(['SIGKILL', null, 'SIGKILL', null, 'SIGKILL', 'SIGKILL', null]);
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
    await eventually(async () => expect((await all()).map(({ state }) => state)).toEqual(Array(7).fill('Done')));
    await followUp.stop();
    expect(await checkClosedTimes(core.events)).toEqual({ wrong: [], halfDone: [] });
  }, 120_000);
});
