import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { bookings } from '../../projections/bookings.ts';
import { everyDocument } from '../../src/document-store/queries.ts';
import { brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { createMoveFollowUp } from '../../src/scheduler/moves.ts';
import { accepted } from '../accepted.ts';
import { eventually } from '../eventually.ts';
import { foldedDays } from '../folded-days.ts';
import { inDays } from '../in-days.ts';
import { recordProof } from '../proof/proof.ts';
import { CONTEXT } from '../running-service.fixture.ts';
import type { Moves } from './move-process.ts';
import { runNode } from './node-process.ts';
import { onEachPair } from './on-each-pair.ts';

const ROUNDS = Number(process.env.MOVE_ROUNDS ?? 60);
const SEED = Number(process.env.MOVE_SEED ?? Date.now() % 1_000_000);
const DATES = Array.from({ length: 6 }, (_, index) => inDays(40 + index));
/** Where the processes die, each once; the others live. */
const KILLED_AT = [
  'a move was agreed to, not carried out',
  'a move was decided on its new day, not on the former',
  'decided, not appended',
  'a move was agreed to, not carried out',
  'a move was decided on its new day, not on the former',
];
const PROCESSES = 8;

onEachPair((current) => {
  test(`eight processes race moves, entries, closures, requests and cancellations under kills: no overlap, nothing lost or held twice (MOVE_SEED=${SEED})`, async () => {
    const { pair, service } = current();
    const { core, config } = service;
    const community = await service.community();
    const other = await service.brand();
    const owner = communityId(community.id);
    const spaces = [
      await service.space(community, { durationHours: 1 }),
      await service.space(community, { durationHours: 2 }),
    ];
    const customer = accepted(await core.commands.customers.add({ communityId: owner, name: 'Choir' }, CONTEXT));
    const made: number[] = [];
    for (const date of DATES)
      for (const startHour of [9, 11]) {
        const details = { spaceId: spaceId(spaces[0] ?? 0), date: date as PlainDate, startHour };
        const entry = { brandId: brandId(customer.brandId), enteredBy: owner, details, entry: {} };
        made.push(accepted(await core.commands.bookings.enter(entry, CONTEXT)).bookingId);
      }

    const run = (index: number) => {
      const fault = join(config.dataDir, `fault-${index}`);
      const point = KILLED_AT[index];
      if (point !== undefined) writeFileSync(fault, `${point}|process`);
      const moves: Moves = {
        community: owner,
        customer: customer.brandId,
        bookings: made,
        spaces,
        dates: DATES,
        seed: SEED + index,
        rounds: ROUNDS,
      };
      return runNode('test/service/move-process.ts', [JSON.stringify(moves)], {
        DATA_DIR: config.dataDir,
        FAULT_POINT: fault,
        ...pair.settings,
      });
    };
    let isOver = false;
    const running = Promise.all(Array.from({ length: PROCESSES }, (_, index) => run(index))).finally(() => {
      isOver = true;
    });
    const requestAll = async () => {
      for (let round = 0; !isOver; round += 1) {
        const [space, startTime] = [spaces[round % spaces.length], DATES[round % DATES.length]];
        const body = { spaceId: space, startTime, startHour: 9 + (round % 5) };
        const answer = await service.post('/bookings', { key: other.key, body });
        expect([201, 422]).toContain(answer.statusCode);
        if (answer.statusCode !== 201) continue;
        const { id } = answer.json();
        made.push(id);
        if (round % 4 === 0) continue;
        const by = { kind: 'Brand', id: brandId(other.id) } as const;
        accepted(await core.commands.bookings.cancel({ bookingId: id, by }, CONTEXT));
      }
    };
    const [ended] = await Promise.all([running, requestAll()]);
    expect(ended.map(({ signal, code }) => signal ?? code)).toEqual([...KILLED_AT.map(() => 'SIGKILL'), 0, 0, 0]);

    const { readModels } = core.projector;
    const followUp = createMoveFollowUp({ moves: core.commands.moves, readModels, logger: core.logger, periodMs: 50 });
    followUp.start();
    const all = () => readModels.collection(bookings).list(everyDocument());
    await eventually(async () => expect((await all()).filter(({ isMoving }) => isMoving)).toEqual([]));
    await followUp.stop();

    const { wrong, days, moves } = await foldedDays(core.events);
    expect(wrong).toEqual([]);
    const documents = await all();
    const entered = ended.flatMap(({ stdout }) => stdout.split('\n').filter(Boolean).map(Number));
    expect(entered.length).toBeGreaterThan(0);
    const ids: ReadonlySet<number> = new Set(documents.map(({ bookingId }) => bookingId));
    expect([...made, ...entered].filter((id) => !ids.has(id))).toEqual([]);
    // A process may die between an entry and its report.
    expect(ids.size - made.length - entered.length).toBeLessThanOrEqual(KILLED_AT.length);
    const heldOn = (id: number) =>
      [...days].filter(([, day]) => [...day.held.keys()].some((held) => held === id)).map(([stream]) => stream);
    for (const { bookingId, spaceId: space, date, status } of documents)
      expect([bookingId, heldOn(bookingId)]).toEqual([
        bookingId,
        status === 'Cancelled' ? [] : [`spaceDay-${space}-${date}`],
      ]);
    expect(moves).toBeGreaterThan(0);
    recordProof({
      search: 'Moves and entries of bookings under kills (`npm run test:system -- test/service/moves.test.ts`)',
      promise: 'No overlap, no booking lost, nothing held twice once the moves are finished',
      tried: `${moves} moves and ${entered.length} entries by ${PROCESSES} processes, among closures`,
      seed: SEED,
    });
  }, 300_000);
});
