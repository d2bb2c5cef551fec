import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { createRandom } from '../soak/random.ts';

/** What one of several processes moves: bookings of a customer that a community looks after, to random hours. */
export type Moves = {
  readonly community: number;
  readonly bookings: readonly number[];
  readonly spaces: readonly number[];
  readonly dates: readonly string[];
  readonly seed: number;
  readonly rounds: number;
};

/** A separate process that moves and cancels bookings until it is done. `FAULT_POINT` may end it on the way. */
const { community, bookings, spaces, dates, seed, rounds }: Moves = JSON.parse(process.argv[2] ?? '');
const core = await openCore(readConfig(process.env), pino({ level: 'silent' }), { kind: 'tool' });
core.projector.start();
const random = createRandom(seed);
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const by = { kind: 'Community', id: communityId(community) } as const;
const outcomes: string[] = [];
for (let round = 0; round < rounds; round += 1) {
  const id = bookingId(random.pick(bookings));
  const to = {
    spaceId: spaceId(random.pick(spaces)),
    date: random.pick(dates) as PlainDate,
    startHour: random.between(9, 12),
  };
  const outcome =
    random.between(1, 50) === 1
      ? await core.commands.bookings.cancel({ bookingId: id, by }, CONTEXT)
      : await core.commands.moves.move({ bookingId: id, by, to }, CONTEXT);
  outcomes.push(isRefusal(outcome) ? outcome.refused : 'done');
}
process.stdout.write(JSON.stringify(outcomes));
await core.projector.stop();
await core.close();
