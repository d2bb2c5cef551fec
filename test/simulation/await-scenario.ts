import { SYSTEM } from '../../src/domain/account.ts';
import { isRefusal, type Refusal } from '../../src/domain/decision.ts';
import type { BookingId, PlainDate } from '../../src/domain/ids.ts';
import type { CancelBooking } from '../../src/domain/space-day.ts';
import { differencesBetween, type Outcome, outcomeOf, readModelFaults } from './await-outcome.ts';
import { copyOf, type Filled, startIn, TODAY, TOMORROW, type Venue, type Watching, type World } from './await-world.ts';
import type { Process } from './process.ts';
import { seedRandomness } from './seeded-crypto.ts';
import { runUntil, virtualNow } from './virtual-time.ts';

type Core = NonNullable<Process['service']>['core'];

/** How long a client waits for an answer, and before it asks again. */
const ANSWER_WITHIN_MS = 10_000;
const ASK_AGAIN_MS = 500;
const ASKS = 30;
/** How long after its end a process is started again: by then, the other one has noticed. */
const RESTART_AFTER_MS = 6_000;
const START_AGAIN_AFTER_MS = 1_000;
const STOP_WITHIN_MS = 10_000;
/** By then both processes run; and the last event of the day has ended: a second is ten minutes of the calendar (process.ts). */
const STARTED_MS = 3_000;
const OVER_AFTER_MS = 40_000;
/** How long the consequences of a fault may take, and how long nothing more may follow. */
const RECOVERED_WITHIN_MS = 180_000;
const QUIET_MS = 5_000;
/** Every run begins at the same place in the periods of all jobs. */
const BEGINS_EVERY_MS = 60_000;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const NO_ANSWER = Symbol('no answer');
const withinMs = <T>(ms: number, work: Promise<T>): Promise<T | typeof NO_ANSWER> =>
  Promise.race([work, sleep(ms).then((): typeof NO_ANSWER => NO_ANSWER)]);

/** Two processes, each of which is started again whenever it ends. */
class Pair {
  readonly #world: World;
  readonly #watching: Watching;
  readonly #current: (Process | undefined)[] = [];
  #isOver = false;

  constructor(world: World, watching: Watching) {
    this.#world = world;
    this.#watching = watching;
  }

  /** Starts one of them, again if a store fails meanwhile. */
  async start(index: number): Promise<void> {
    while (!this.#isOver) {
      const begun = (process: Process) => {
        this.#current[index] = process;
      };
      if ((await startIn(this.#world, index, this.#watching, begun).catch(() => undefined)) !== undefined) return;
      this.#current[index]?.kill();
      await sleep(START_AGAIN_AFTER_MS);
    }
  }

  /** Ends a process as SIGKILL does. A new one takes its place. */
  kill(process: Process): void {
    if (process.isDead) return;
    process.kill();
    void sleep(RESTART_AFTER_MS).then(() => this.start(process.index));
  }

  /** Stops one of them, kills it if that takes too long, and starts it again. */
  async restart(index: number): Promise<void> {
    const process = this.#current[index];
    const stopped = process?.run(async () => process.service?.stop()).catch(() => {});
    await withinMs(STOP_WITHIN_MS, stopped ?? Promise.resolve());
    if (process === undefined || process.isDead) return;
    process.kill();
    // Not awaited: the new one may be the one that hangs.
    void this.start(index);
  }

  /** Asks one of them, and whenever there is no answer the other one. */
  async ask<T>(first: number, work: (core: Core) => Promise<T>): Promise<T> {
    let reason: unknown;
    for (let turn = first; turn < first + ASKS; turn += 1) {
      const process = this.#current[turn % 2];
      const { core } = process?.service ?? {};
      if (process !== undefined && core !== undefined) {
        const answer = process
          .run(() => work(core))
          .catch((error: unknown): typeof NO_ANSWER => {
            reason = error;
            return NO_ANSWER;
          });
        const given = await withinMs(ANSWER_WITHIN_MS, answer);
        if (given !== NO_ANSWER) return given;
      }
      await sleep(ASK_AGAIN_MS);
    }
    throw new Error(`A client was not answered ${ASKS} times: ${reason}`);
  }

  end(): void {
    this.#isOver = true;
    for (const process of this.#current) process?.kill();
  }
}

/** What clients ask for: requests that are approved, declined, withdrawn, and left to expire, around a restart. */
async function play(pair: Pair, { communityId, brandId, spaceId }: Venue): Promise<void> {
  const context = { actor: SYSTEM, correlationId: 'client' };
  const request = (on: number, idempotencyKey: string, date: PlainDate, startHour: number) =>
    pair.ask(on, async ({ commands }): Promise<BookingId> => {
      const details = { spaceId, date, startHour, message: `To be ${idempotencyKey}` };
      const answer = await commands.bookings.request({ brandId, details, idempotencyKey }, context);
      if (isRefusal(answer)) throw new Error(answer.details);
      return answer.bookingId;
    });
  const decide = (on: number, decision: (commands: Core['commands']) => Promise<object | Refusal>) =>
    pair.ask(on, async ({ commands }) => {
      const answer = await decision(commands);
      // A booking that is no longer open was decided by the same command before, whose answer was lost.
      if (isRefusal(answer) && answer.refused !== 'BookingNotAllowed') throw new Error(answer.details);
    });
  const cancel = (on: number, bookingId: BookingId, by: CancelBooking['by']) =>
    decide(on, ({ bookings }) => bookings.cancel({ bookingId, by, reason: 'Something else' }, context));

  const approved = await request(0, 'approved', TODAY, 14);
  await decide(1, ({ bookings }) => bookings.approve({ bookingId: approved, communityId }, context));
  const declined = await request(1, 'declined', TOMORROW, 10);
  await cancel(0, declined, { kind: 'Community', id: communityId });
  await request(0, 'expired', TODAY, 13);
  await sleep(5_000);
  await pair.restart(0);
  const withdrawn = await request(1, 'withdrawn', TOMORROW, 12);
  await cancel(0, withdrawn, { kind: 'Brand', id: brandId });
}

/**
 * Runs two processes through a day.
 * @param watchingOf makes the hooks, from what kills a process
 * @param options.begun called when both processes run
 * @param options.expected the outcome of a day without a fault
 * @returns what is wrong in the end
 */
export async function runScenario(
  { venue, ...stores }: Filled,
  watchingOf: (kill: (process: Process) => void) => Watching,
  { begun, expected }: { readonly begun: () => void; readonly expected?: Outcome },
): Promise<{ readonly outcome: Outcome; readonly wrong: readonly string[] }> {
  await runUntil(Math.ceil((virtualNow() + 1) / BEGINS_EVERY_MS) * BEGINS_EVERY_MS);
  seedRandomness(1);
  const world = copyOf(stores);
  const pair: Pair = new Pair(
    world,
    watchingOf((process) => pair.kill(process)),
  );
  void pair.start(0);
  void pair.start(1);
  await runUntil(virtualNow() + STARTED_MS);
  begun();
  const from = virtualNow();
  let unplayed: string | undefined = 'The clients were not answered';
  const played = (problem: unknown) => {
    unplayed = problem === undefined ? undefined : String(problem);
  };
  void play(pair, venue).then(played, played);
  await runUntil(from + OVER_AFTER_MS);
  const faults = () => (expected === undefined ? [] : differencesBetween(expected, outcomeOf(world)));
  while ((unplayed !== undefined || faults().length > 0) && virtualNow() < from + RECOVERED_WITHIN_MS)
    await runUntil(virtualNow() + 1_000);
  await runUntil(virtualNow() + QUIET_MS);
  pair.end();
  const heldTwice = world.heldTwice.map((name) => `Two processes held ${name}`);
  const wrong = [...(unplayed === undefined ? [] : [unplayed]), ...faults(), ...heldTwice];
  return { outcome: outcomeOf(world), wrong: [...wrong, ...(await readModelFaults(world))] };
}
