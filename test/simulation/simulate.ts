import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { createSigningKeys } from '../../src/auth/signing-keys.ts';
import { Wakeup } from '../../src/event-loop/wakeup.ts';
import type { Lease } from '../../src/leases/lease.ts';
import { createRandom } from '../soak/random.ts';
import './edges.ts';
import { Clients } from './clients.ts';
import { Faults } from './faults.ts';
import { CONFIG, Fleet } from './fleet.ts';
import { problemsAtTheEnd } from './invariants.ts';
import { LogChecks } from './log-checks.ts';
import { newDocumentsDisk, openMemoryDocuments, removeExpired } from './memory-documents.ts';
import { newEventsDisk, openMemoryEvents } from './memory-events.ts';
import { Outside } from './outside.ts';
import { type Entry, type Fault, MONTH_MS, type Plan } from './plan.ts';
import { Calendar, type Process, RATE } from './process.ts';
import { seedRandomness } from './seeded-crypto.ts';
import { finished, runUntil, setWall, virtualNow, wallOf } from './virtual-time.ts';

/** Simulations begin at multiples of this, because jobs run at multiples of their periods. */
const BEGINS_EVERY_MS = 3_600_000;
const SET_UP_WITHIN_MS = 60_000;
/** How long all goes well at the end: longer than any request waits for its answer, and any delivery for its next try. */
const CALM_MS = (3 * 86_400_000) / RATE;
const LOOK_EVERY_MS = 1_000;
/** Engines remove documents some time after they have expired. So late, that the checks at the end find those of the whole month. */
const REMOVED_AFTER_MS = 10 * 86_400_000;
const REMOVE_EVERY_MS = 86_400_000 / RATE;

export type Outcome = {
  /** What must not be, the first first. */
  readonly problems: readonly string[];
  /** The same for the same plan. */
  readonly digest: string;
  readonly events: number;
  readonly tries: Readonly<Record<string, number>>;
  readonly deliveries: number;
  readonly mails: number;
  readonly faults: number;
};

/** The keys that sign tokens. Node makes them in threads of its own, which take real time, so that they are made before. */
const KEYS = newDocumentsDisk();
async function makeKeys(): Promise<void> {
  const documents = openMemoryDocuments(KEYS);
  await (await createSigningKeys({ documents, secretKey: CONFIG.secretKey, clock: () => 0 })).current();
}

function newDisk() {
  const disk = { events: newEventsDisk(), documents: newDocumentsDisk() };
  for (const [name, { entries, ...rest }] of KEYS.collections)
    disk.documents.collections.set(name, { ...rest, entries: new Map(entries) });
  return disk;
}

/** What the service would have logged, for whom looks at a failure. */
export const logged: string[] = [];
const logger = pino({ level: 'warn' }, { write: (line: string) => void logged.push(`${virtualNow()} ${line}`) });

/** Lives through a plan, and says what should not have happened. */
export async function simulate({ seed, begin, entries }: Plan, isStopping = (): boolean => false): Promise<Outcome> {
  if (KEYS.collections.size === 0) await finished(makeKeys());
  await runUntil(Math.ceil((virtualNow() + 1) / BEGINS_EVERY_MS) * BEGINS_EVERY_MS);
  seedRandomness(seed);
  logged.length = 0;
  const started = virtualNow();
  setWall(Date.parse(begin));
  const calendar = new Calendar(Date.parse(begin));
  const disk = newDisk();
  const problems: string[] = [];
  const report = (problem: string) =>
    void problems.push(`${((virtualNow() - started) / 1_000).toFixed(1)} s: ${problem}`);
  const faults = new Faults(createRandom(seed + 1));
  const clocks = new Clocks(entries);
  const log = new LogChecks({ now: calendar.now, report, wasClockWrongAfter: (at) => clocks.wasWrongAfter(at) });
  const outside = new Outside(createRandom(seed + 2), {
    onDelivery: log.sends,
    onMail: ({ mail, process }) => {
      if (clients.hasLeft(mail.userId, process)) report(`A former member gets the mail ${mail.subject}`);
    },
  });
  const leases = new Leases(report);
  const openEvents = (process: Process) =>
    openMemoryEvents(disk.events, { watch: faults.watch(process, 'events'), handOut: faults.handOut });
  const openDocuments = (process: Process) =>
    openMemoryDocuments(disk.documents, { watch: faults.watch(process, 'documents'), now: wallOf });
  const acquired = (process: Process, name: string, lease: Lease) => leases.acquired(process, name, lease);
  const { post, sendMail } = outside;
  const fleet = new Fleet({ openEvents, openDocuments, post, sendMail, acquired }, logger, calendar.onMachine);
  const clients = new Clients(fleet, calendar.now);
  const grown = Object.assign(new Wakeup(), { wake: () => log.read(disk.events.log) });
  disk.events.waiting.add(grown);
  const unhandled = (error: unknown) => report(`A process would have died of an error that nothing handles: ${error}`);
  process.on('unhandledRejection', unhandled);
  const looking = setInterval(() => leases.look(), LOOK_EVERY_MS);
  const removing = setInterval(() => removeExpired(disk.documents, calendar.now() - REMOVED_AFTER_MS), REMOVE_EVERY_MS);

  let digest = '';
  const isBroken = () => isStopping() || problems.length > 0;
  try {
    fleet.start();
    let isSetUp = false;
    const settingUp = clients.setUp().then(() => {
      isSetUp = true;
    });
    settingUp.catch((error: unknown) => report(`The set-up failed: ${error}`));
    await runUntil(started + SET_UP_WITHIN_MS, () => isSetUp || isBroken());
    const begun = virtualNow();
    clocks.begun = begun;
    for (const entry of entries) void carryOut(entry, { fleet, faults, outside, clients });
    await runUntil(begun + MONTH_MS, isBroken);
    await runUntil(virtualNow() + CALM_MS, isBroken);
    digest = log.digest();
    if (problems.length === 0) {
      const { documents } = disk;
      const world = { documents, fleet, clients, outside, log, now: calendar.now, entries, begun };
      problems.push(...(await finished(problemsAtTheEnd(world))));
    }
  } finally {
    fleet.end();
    clearInterval(looking);
    clearInterval(removing);
    disk.events.waiting.clear();
    process.off('unhandledRejection', unhandled);
  }
  return {
    problems,
    digest,
    events: disk.events.log.length,
    tries: countBy(clients.tries, ({ outcome }) => outcome),
    deliveries: outside.deliveries.length,
    mails: outside.mails.length,
    faults: entries.filter((entry) => 'fault' in entry).length,
  };
}

type World = { readonly fleet: Fleet; readonly faults: Faults; readonly outside: Outside; readonly clients: Clients };

async function carryOut(entry: Entry, { fleet, faults, outside, clients }: World): Promise<void> {
  await sleep(entry.at);
  if ('do' in entry) return clients.take(entry, entry.via, `entry-${entry.id}`);
  const concerned = concernedBy(entry, { fleet, faults, outside });
  concerned.begin();
  await sleep(entry.forMs);
  concerned.finish();
}

/** What a fault changes. */
function concernedBy(fault: Fault, { fleet, faults, outside }: Omit<World, 'clients'>) {
  switch (fault.fault) {
    case 'calls':
    case 'group':
      return { begin: () => faults.begin(fault), finish: () => faults.end(fault) };
    case 'receiver':
    case 'mail':
      return { begin: () => outside.begin(fault), finish: () => outside.end(fault) };
    default:
      return { begin: () => fleet.begin(fault), finish: () => fleet.finish(fault) };
  }
}

/** Knows when clocks were wrong. */
class Clocks {
  begun = 0;
  readonly #entries: readonly Entry[];

  constructor(entries: readonly Entry[]) {
    this.#entries = entries;
  }

  wasWrongAfter(at: number): boolean {
    const [from, now] = [at - this.begun, virtualNow() - this.begun];
    return this.#entries.some(
      (entry) => 'fault' in entry && entry.fault === 'clock' && entry.at <= now && entry.at + entry.forMs >= from,
    );
  }
}

/** Checks that no lease has two holders. */
class Leases {
  readonly #report: (problem: string) => void;
  #acquired: { readonly process: Process; readonly name: string; readonly lease: Lease }[] = [];

  constructor(report: (problem: string) => void) {
    this.#report = report;
  }

  acquired(process: Process, name: string, lease: Lease): void {
    this.#acquired.push({ process, name, lease });
    this.look();
  }

  look(): void {
    // One that is not held now may count as held again by mistake.
    this.#acquired = this.#acquired.filter(({ process }) => !process.isDead);
    const held = this.#acquired.filter(({ process, lease }) => process.run(() => lease.isHeld()));
    for (const [name, holders] of Map.groupBy(held, (each) => each.name))
      if (holders.length > 1)
        this.#report(`${name} is held by the processes ${holders.map(({ process }) => process.index).join(' and ')}`);
  }
}

const countBy = <T>(all: readonly T[], by: (one: T) => string): Readonly<Record<string, number>> =>
  Object.fromEntries([...Map.groupBy(all, by)].map(([key, some]) => [key, some.length]));
