import { randomUUIDv7 } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { toTimestamp } from '../../src/domain/calendar.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { openFailedEvents } from '../../src/outbox/failed-events.ts';
import { runOutbox } from '../../src/outbox/outbox.ts';
import type { ReadModels } from '../../src/read-models/read-models.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { eventually } from '../eventually.ts';
import { recordProof } from '../proof/proof.ts';
import { approved, cancelled, requested } from '../webhooks/deliverable-events.ts';
import { mortalStores } from './mortal-stores.ts';
import { type Answer, KINDS, NO_LOG, POLL_MS, type Way, ways } from './ways.ts';

/** How many histories are tried. OUTBOX_RUNS=300 tries more. */
const RUNS = Number(process.env.OUTBOX_RUNS ?? 8);

/** Brands, and how many receivers each has: one with many, which must not delay the others. */
const RECEIVERS: readonly number[] = [10, 1, 2];
const [MANY, ONE] = [0, 1];
const HOUR_MS = 3_600_000;
/** Longer than a breaker pauses. */
const PAUSE_MS = HOUR_MS;

type Mode = Answer | 'hangs';
/** Whether records can be made of an event: at once, only when it comes again, or only when it is replayed. */
type FanOut = 'works' | 'waits' | 'fails';
/** Where a process dies: at which call to its stores, and whether the call still has its effect. */
type Death = { readonly call: number; readonly done: boolean };
type Step =
  /** The next event of a booking: requested, approved, cancelled. */
  | { readonly step: 'append'; readonly brand: number; readonly booking: number; readonly fanOut: FanOut }
  /** From now on the receivers of a brand do this. */
  | { readonly step: 'receivers'; readonly brand: number; readonly mode: Mode }
  /** The process stops, or is killed, and another one begins. */
  | { readonly step: 'restart'; readonly isKilled: boolean; readonly diesAt: Death | undefined }
  | { readonly step: 'clock'; readonly byMs: number };

const brand = fc.nat(RECEIVERS.length - 1);
const diesAt = fc.option(fc.record({ call: fc.integer({ min: 1, max: 120 }), done: fc.boolean() }), { nil: undefined });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      step: fc.constant('append' as const),
      brand,
      booking: fc.nat(1),
      fanOut: fc.constantFrom<FanOut>('works', 'works', 'works', 'waits', 'fails'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant('receivers' as const),
      brand,
      mode: fc.constantFrom<Mode>('takes it', 'refuses it', 'is away', 'hangs'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant('restart' as const), isKilled: fc.boolean(), diesAt }) },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant('clock' as const),
      byMs: fc.constantFrom(-8 * HOUR_MS, -10_000, 6_000, 60_000, HOUR_MS / 2),
    }),
  },
);
const history = fc.record({
  /** Whether consumer groups hand out events, too. */
  hasGroups: fc.boolean(),
  first: diesAt,
  /** Each step, and how long the process goes on before the next. */
  steps: fc.array(fc.tuple(step, fc.nat(12)), { minLength: 3, maxLength: 16, size: 'max' }),
  flood: fc.boolean(),
});

/** An event, as far as the model knows it. */
type Owed = {
  readonly id: string;
  readonly type: (typeof KINDS)[number];
  readonly brandId: number;
  readonly sequence: string;
  /** How often the clock had been set back. */
  readonly setBack: number;
};

async function openWorld(way: Way, hasGroups: boolean) {
  const folder = await mkdtemp(join(tmpdir(), 'venue-outbox-'));
  let now = Date.parse('2027-03-01T12:00:00Z');
  const clock = () => now;
  const events = await openSqliteEventStore({ path: join(folder, 'log.sqlite') });
  const documents = await openSqliteDocumentStore({ folder, clock });
  const queue = await way.open({ documents, clock });
  const failedEvents = await openFailedEvents({ documents, clock, role: way.role });
  const readModels = { waitFor: async () => true } as unknown as ReadModels;

  // The model: what is owed, what was sent, and what went wrong so far.
  const owed: Owed[] = [];
  const waiting = new Set<string>();
  const failing = new Set<string>();
  const attempts: { readonly id: string; readonly process: object; answer: Answer | undefined }[] = [];
  const modes = new Map<number, Mode>();
  const problems: string[] = [];
  let setBack = 0;
  let deaths = 0;
  let gate = Promise.withResolvers<Answer>();
  let process: Awaited<ReturnType<typeof startProcess>> | undefined;

  const receiversOf = (brandId: number) => RECEIVERS[brandId] ?? 0;
  const recordsOf = (event: Owed) =>
    Array.from({ length: receiversOf(event.brandId) }, (_, receiver) => way.idOf(event, event.brandId, receiver));
  const progressOf = (all: readonly Owed[]) => queue.existing(all.flatMap(recordsOf));
  const eventOf = (id: string) => owed.find((event) => recordsOf(event).includes(id));

  /** An earlier event of the booking goes first: it was tried before, and none of them is being sent now. */
  function checkOrder(id: string, event: Owed): void {
    for (const earlier of owed.slice(0, owed.indexOf(event))) {
      if (earlier.sequence !== event.sequence || failing.has(earlier.id) || earlier.setBack < setBack) continue;
      const before = recordsOf(earlier)[recordsOf(event).indexOf(id)];
      const tries = attempts.filter((attempt) => attempt.id === before);
      if (tries.length === 0) problems.push(`${id} was sent before ${before}`);
      if (tries.some((attempt) => attempt.process === process && attempt.answer === undefined))
        problems.push(`${id} was sent together with ${before}`);
    }
  }

  async function receive(id: string, by: object): Promise<Answer> {
    const event = eventOf(id);
    if (event === undefined) problems.push(`${id} was sent, and is not owed`);
    else if (way.isOrdered) checkOrder(id, event);
    const attempt: (typeof attempts)[number] = { id, process: by, answer: undefined };
    attempts.push(attempt);
    const mode = modes.get(event?.brandId ?? 0) ?? 'takes it';
    const answer = mode === 'hangs' ? await gate.promise : mode;
    await sleep(0);
    attempt.answer = answer;
    return answer;
  }

  /** Ends the attempts that hang. */
  function release(answer: Answer): void {
    gate.resolve(answer);
    gate = Promise.withResolvers();
  }

  async function startProcess(dies: Death | undefined) {
    const stores = mortalStores({ events, documents }, 'killed', dies && { diesAt: dies });
    stores.count();
    const self = {};
    const deps = { ...stores, clock, readModels, receiversOf };
    const starting = (async () => {
      const sending = await way.send({
        ...deps,
        isActive: () => !stores.isDead(),
        receive: (id) => (stores.isDead() ? new Promise(() => {}) : receive(id, self)),
      });
      return runOutbox(
        {
          ...deps,
          role: way.role,
          kinds: KINDS,
          groups: hasGroups ? way.groups.filter(({ kind }) => KINDS.some((each) => each === kind)) : [],
          reads: [],
          ping: async () => {},
          logger: NO_LOG,
          failedEvents: await openFailedEvents({ ...deps, role: way.role, delaysMs: [1_000] }),
          tuning: { pollIntervalMs: POLL_MS, markEveryMs: POLL_MS },
        },
        {
          ...sending,
          async handle(event) {
            if (waiting.delete(event.id)) throw new Unavailable('The event has to wait');
            if (failing.has(event.id)) throw new Error('Nothing can be made of this event');
            await sending.handle(event);
          },
        },
      );
    })();
    starting.catch(() => {});
    const stop = () => starting.then((running) => running.stop());
    return {
      mayDie: dies !== undefined,
      isDead: stores.isDead,
      kill() {
        stores.kill();
        stop().catch(() => {});
      },
      async stop() {
        release('is away');
        let isStopped = false;
        stop().then(
          () => {
            isStopped = true;
          },
          () => {},
        );
        await until('the process stops', () => isStopped || stores.isDead());
      },
    };
  }

  async function restart(isKilled: boolean, dies: Death | undefined): Promise<void> {
    if (isKilled) process?.kill();
    else await process?.stop();
    if (process?.isDead()) {
      process.kill();
      deaths += 1;
    }
    process = await startProcess(dies);
  }

  async function append(brandId: number, booking: number, fanOut: FanOut = 'works'): Promise<void> {
    const bookingId = 100 * (brandId + 1) + booking;
    const sequence = `booking-${bookingId}`;
    const revision = owed.filter((event) => event.sequence === sequence).length;
    const type = KINDS[revision];
    if (type === undefined) return;
    const facts = { bookingId, brandId };
    const { data, metadata } = {
      BookingRequested: () => requested(facts),
      BookingApproved: () => approved(facts),
      BookingCancelled: () => cancelled({ ...facts, cancelledBy: 'Brand' }),
    }[type]();
    const id = randomUUIDv7();
    if (fanOut === 'waits') waiting.add(id);
    if (fanOut === 'fails') failing.add(id);
    owed.push({ id, type, brandId, sequence, setBack });
    const event = { id, type, data, metadata: { ...metadata, at: toTimestamp(now) } };
    await events.append(sequence, [event], { expectedRevision: revision === 0 ? 'none' : revision - 1 });
  }

  async function take(next: Step): Promise<void> {
    if (next.step === 'append') return append(next.brand, next.booking, next.fanOut);
    if (next.step === 'restart') return restart(next.isKilled, next.diesAt);
    if (next.step === 'receivers') {
      release('is away');
      modes.set(next.brand, next.mode);
    } else {
      now += next.byMs;
      if (next.byMs < 0) setBack += 1;
    }
  }

  /** Everything answers from now on. What waits is tried again after the delay that led to it, also if the clock was moved. */
  async function settle(): Promise<void> {
    release('is away');
    modes.clear();
    if (process?.mayDie) await restart(true, undefined);
    for (let round = 0; failing.size > 0 && round < 3; round += 1) {
      now += 2_000;
      await sleep(3 * POLL_MS);
    }
    const parked = async () => (await failedEvents.list()).filter(({ state }) => state === 'Parked').length;
    await until('what fails is parked', async () => {
      now += 1_000;
      return (await parked()) === failing.size;
    });
    failing.clear();
    await failedEvents.replay();
    await until('each event has its records', async () => {
      const progress = await progressOf(owed);
      return owed.flatMap(recordsOf).every((id) => progress.has(id));
    });
    for (let round = 0; round < 3; round += 1) {
      const pending = [...(await progressOf(owed)).values()].filter(({ document }) => document.state === 'Pending');
      now += Math.max(...pending.map(({ document }) => document.delayMs ?? 0), PAUSE_MS) + 1_000;
      await sleep(3 * POLL_MS);
    }
    await until('nothing waits', async () =>
      [...(await progressOf(owed)).values()].every(({ document }) => document.state !== 'Pending'),
    );
    expect(await failedEvents.count()).toEqual({ parked: 0, retrying: 0 });
  }

  /** What became of all: sent at least once, and more often only if a process died. No history is long enough to use up a schedule. */
  async function check(): Promise<void> {
    for (const [id, { document }] of await progressOf(owed)) {
      const answered = attempts.filter((attempt) => attempt.id === id && attempt.answer !== undefined);
      const taken = answered.filter(({ answer }) => answer === 'takes it').length;
      if (document.state !== way.sent) problems.push(`${id} is ${document.state}`);
      if (taken === 0) problems.push(`${id} was not sent`);
      if (taken > 1 + deaths) problems.push(`${id} was sent ${taken} times`);
      if (document.attempts.length < answered.length - deaths) problems.push(`attempts of ${id} were not stored`);
    }
    expect(problems).toEqual([]);
  }

  /** One brand has much to be sent when something happens to another. */
  async function flood(): Promise<void> {
    for (const brandId of RECEIVERS.keys()) modes.set(brandId, 'hangs');
    const before = owed.length;
    for (let booking = 0; booking < 20; booking += 1) await append(MANY, 10 + booking);
    const stored = async () => {
      const all = owed.slice(before);
      return (await progressOf(all)).size === all.flatMap(recordsOf).length;
    };
    await until('the flood is stored', stored);
    await append(ONE, 10);
    await until('the other one is stored', stored);
    const begun = attempts.length;
    modes.clear();
    release('takes it');
    await settle();
    const [other] = owed.slice(-1).flatMap(recordsOf);
    const first = attempts.findIndex(({ id }) => id === other);
    const ahead = attempts.slice(begun, Math.max(begun, first)).length;
    if (ahead > way.mostAhead) problems.push(`${ahead} were sent before that of another account`);
  }

  return {
    take,
    restart,
    settle,
    check,
    flood,
    async close() {
      await process?.stop();
      await events.close();
      await documents.close();
      await rm(folder, { recursive: true });
    },
  };
}

async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => {
    if (!(await isSo())) throw new Error(`It does not happen that ${what}`);
  });
}

describe.each(ways)('in random histories, $role', (way) => {
  test('sends everything at least once, in order, and one account delays no other', async () => {
    const seed = Date.now() % 2 ** 31;
    await fc.assert(
      fc.asyncProperty(history, async ({ hasGroups, first, steps, flood }) => {
        const world = await openWorld(way, hasGroups);
        try {
          await world.restart(true, first);
          for (const [next, pauseMs] of steps) {
            await world.take(next);
            await sleep(pauseMs);
          }
          await world.settle();
          await world.check();
          if (flood) await world.flood();
          await world.check();
        } finally {
          await world.close();
        }
      }),
      // What does not happen is waited for, so finding a shorter history would take minutes.
      { numRuns: RUNS, seed, endOnFailure: true },
    );
    recordProof({
      search: `random histories of an outbox: \`npm test -- test/outbox/model\`, ${way.role}`,
      promise: 'each is sent, in order, and one account delays no other; processes die and clocks move',
      tried: `${RUNS} histories`,
      seed,
    });
  });
});
