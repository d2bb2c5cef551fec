import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { bookingId, brandId, communityId, type PlainDate, spaceId } from '../../src/domain/ids.ts';
import { createRandom } from '../soak/random.ts';

/** What one of several processes moves, enters and closes: bookings of a customer that a community looks after, at random hours. */
export type Moves = {
  readonly community: number;
  readonly customer: number;
  readonly bookings: readonly number[];
  readonly spaces: readonly number[];
  readonly dates: readonly string[];
  readonly seed: number;
  readonly rounds: number;
};

/**
 * A separate process that moves, cancels and enters bookings and closes hours until it is done. Prints the id of each booking that it has
 * entered, at once. `FAULT_POINT` may end it on the way.
 */
const { community, customer, bookings, spaces, dates, seed, rounds }: Moves = JSON.parse(process.argv[2] ?? '');
const core = await openCore(readConfig(process.env), pino({ level: 'silent' }), { kind: 'tool' });
core.projector.start();
const random = createRandom(seed);
const CONTEXT = { actor: { kind: 'operator', id: 'test' }, correlationId: 'test' } as const;
const owner = communityId(community);
const by = { kind: 'Community', id: owner } as const;
const known = [...bookings];
const closures: string[] = [];
const { commands } = core;

const place = () => ({
  spaceId: spaceId(random.pick(spaces)),
  date: random.pick(dates) as PlainDate,
  startHour: random.between(9, 12),
});

/** The same hour on every date, as a form of a series enters it. */
async function enterSeries(): Promise<void> {
  const { spaceId: space, startHour } = place();
  for (const date of dates) {
    const details = { spaceId: space, date: date as PlainDate, startHour };
    const entered = await commands.bookings.enter(
      { brandId: brandId(customer), enteredBy: owner, details, entry: {} },
      CONTEXT,
    );
    if (isRefusal(entered)) continue;
    known.push(entered.bookingId);
    process.stdout.write(`${entered.bookingId}\n`);
  }
}

/** Closes an hour, or opens the one that was closed first. */
async function closeOrOpen(): Promise<void> {
  const opened = closures.length > 1 ? closures.shift() : undefined;
  if (opened !== undefined) {
    await commands.closures.end({ closureId: opened, communityId: owner }, CONTEXT);
    return;
  }
  const { spaceId: space, date, startHour } = place();
  const hours = { from: date, to: date, start: startHour, until: startHour + 1 };
  const kind = random.pick(['Closure', 'OwnEvent'] as const);
  const closed = await commands.closures.add({ communityId: owner, spaceIds: [space], kind, ...hours }, CONTEXT);
  if (!isRefusal(closed)) closures.push(closed.closureId);
}

for (let round = 0; round < rounds; round += 1) {
  const id = bookingId(random.pick(known));
  const step = random.between(1, 50);
  if (step <= 6) await commands.bookings.cancel({ bookingId: id, by }, CONTEXT);
  else if (step <= 8) await enterSeries();
  else if (step <= 12) await closeOrOpen();
  else await commands.moves.move({ bookingId: id, by, to: place() }, CONTEXT);
}
await core.projector.stop();
await core.close();
