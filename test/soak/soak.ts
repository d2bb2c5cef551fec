import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { recordProof } from '../proof/proof.ts';
import { HISTORY } from '../release/releases.ts';
import { rollOutAndBack } from '../release/rollout.ts';
import { find, ToolMissing } from '../tool.ts';
import { chaos } from './chaos.ts';
import { closures } from './closures.ts';
import { kills } from './kills.ts';
import { outage } from './outage.ts';
import { poison } from './poison.ts';
import { createRandom } from './random.ts';
import { receivers } from './receivers.ts';
import { revoke } from './revoke.ts';
import type { Outcome, RoundOptions } from './round.ts';
import { type Engines, embeddedEngines, givenEngines, standInEngines } from './store.ts';

const SCENARIOS: Readonly<Record<string, (options: RoundOptions) => Promise<Outcome>>> = {
  rollout: ({ forMs, ...options }) => rollOutAndBack({ ...options, phaseMs: Math.round(forMs / 5) }),
  chaos,
  poison,
  revoke,
  closures,
  receivers,
  outage,
  kills,
};
/** Takes longer than all others together, so only `--only` plays it. */
const LONG = 'kills';

const HELP = `npm run soak -- [--minutes 10] [--seed N] [--only scenario] [--engines embedded,stand-ins] [--quiet]

Runs real processes under load, disturbs them at random, and after each round checks what docs/promises.md lists: no acknowledged
event is lost, no booking or delivery exists twice, a booking that was moved is at one place and no others overlap it, no own event overlaps
a booking or a closed time and none is half done, a receiver may see one webhook-id again, and an answer is stale only where its wait of 2 s
ran out. Exits with 1 after the first round that broke a promise; its folder is kept.

  --minutes N   how long rounds are begun (default: 10)
  --seed N      repeats the timings of the round with that seed first; what the machine makes of them differs
  --only NAME   only this scenario:
                  rollout    a release is rolled out and back, with kills and a freeze
                  chaos      processes of all roles are killed, frozen for 2 to 6 s and restarted
                  poison     a read model meets an event that it cannot take; the operator skips it
                  revoke     API keys are revoked; none is accepted once the command line has said so
                  closures   hours are closed, taken by own events, reopened and booked at once, under kills
                  outage     the log is down or locked for a moment, or its connections break (not on servers given)
                  receivers  a receiver hangs and one fails, beside one that works
                  kills      200 kills in a row on one store (KILLS=1000 for more); only if it is named here
  --engines     on what: embedded (default), stand-ins (a server that speaks the protocol of EventStoreDB, and the MongoDB
                  of the tests), or both, in turn
  --quiet       no lines between the rounds

With EVENTSTORE_URL and MONGODB_URL set, the processes run on those. All rounds then share the one log that an EventStoreDB has.
It has to be empty, or of an earlier soak with the same SECRET_KEY, and the database too.`;

const fail = (message: string): never => {
  console.error(`${message}\n\n${HELP}`);
  process.exit(2);
};

function readOptions() {
  try {
    return parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        seed: { type: 'string' },
        only: { type: 'string' },
        engines: { type: 'string', default: 'embedded' },
        quiet: { type: 'boolean', default: false },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

const options = readOptions();
if (options.help) {
  console.log(HELP);
  process.exit(0);
}
const minutes = Number(options.minutes);
if (!(minutes > 0)) fail('--minutes: more than 0');
const firstSeed = options.seed === undefined ? randomInt(2 ** 31) : Number(options.seed);
if (!Number.isSafeInteger(firstSeed) || firstSeed < 0) fail('--seed: a whole number');
let names = options.only === undefined ? Object.keys(SCENARIOS).filter((name) => name !== LONG) : [options.only];
if (names.some((name) => SCENARIOS[name] === undefined)) fail(`--only: one of ${Object.keys(SCENARIOS).join(', ')}`);

async function openEngines(): Promise<Engines[]> {
  const { EVENTSTORE_URL = '', MONGODB_URL = '' } = process.env;
  if (EVENTSTORE_URL !== '' && MONGODB_URL !== '') return [givenEngines({ EVENTSTORE_URL, MONGODB_URL })];
  if (EVENTSTORE_URL !== '' || MONGODB_URL !== '') fail('Set both EVENTSTORE_URL and MONGODB_URL, or neither');
  return Promise.all(
    options.engines.split(',').map((name) => {
      if (name === 'embedded') return embeddedEngines;
      return name === 'stand-ins' ? standInEngines() : fail('--engines: embedded, stand-ins, or both');
    }),
  );
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const engines = await openEngines().catch((error: unknown) => {
  if (error instanceof ToolMissing) return fail(error.message);
  throw error;
});
const history = find(HISTORY);
if ('missing' in history && names.includes('rollout')) {
  names = names.filter((name) => name !== 'rollout');
  console.error(`Without the scenario rollout: ${new ToolMissing(HISTORY.name, history).message}`);
}
if (engines.some(({ name }) => name === 'given')) names = names.filter((name) => name !== 'outage');
if (names.length === 0) fail(`--only ${options.only}: not on this machine, or not on these servers`);
const totals = { rounds: 0, acknowledged: 0, moved: 0, deliveries: 0, repeated: 0, stale: 0, killed: 0 };
const endsAt = performance.now() + minutes * 60_000;
let broken = false;

console.log(`Seed ${firstSeed}, ${minutes} minutes, on ${engines.map(({ name }) => name).join(' and ')}`);
for (let round = 0; performance.now() < endsAt && !broken; round++) {
  const seed = firstSeed + round;
  const random = createRandom(seed);
  // Derived from the seed, so that a seed and --only repeat a round.
  const on = engines[round % engines.length] ?? embeddedEngines;
  const name = names[Math.floor(round / engines.length) % names.length] ?? 'chaos';
  const play = SCENARIOS[name] ?? chaos;
  const store = await on.openStore();
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(1)} s`;
  const progress = options.quiet ? () => {} : (line: string) => console.error(`    ${seconds().padStart(7)}  ${line}`);
  progress(`round ${round + 1}: ${name}, ${on.name}`);
  const outcome = await play({ store, random, forMs: random.between(15_000, 40_000), progress });
  totals.rounds += 1;
  for (const key of ['acknowledged', 'moved', 'deliveries', 'repeated', 'stale', 'killed'] as const)
    totals[key] += outcome[key];
  const { acknowledged, moved, deliveries, repeated, stale, killed } = outcome;
  console.log(
    `${name.padEnd(9)}  ${on.name.padEnd(9)}  seed ${seed}  ${seconds()}  ${acknowledged} acknowledged, ${moved} moved, ${deliveries} deliveries, ` +
      `${repeated} repeated, ${stale} stale, ${killed} killed  ${outcome.broken.length === 0 ? 'held' : 'BROKEN'}`,
  );
  if (outcome.broken.length === 0) {
    await store.remove();
    continue;
  }
  broken = true;
  const shown = outcome.broken.slice(0, 20);
  const more = outcome.broken.length - shown.length;
  console.log([...shown, ...(more > 0 ? [`and ${more} more`] : [])].map((line) => `  ${line}`).join('\n'));
  console.log(
    `\nRepeat with --only ${name} --seed ${seed} --engines ${on.name}. Store, logs and findings: ${store.folder}`,
  );
}

const { rounds, ...figures } = totals;
const tried = `${rounds === 1 ? '1 round' : `${rounds} rounds`}: ${Object.entries(figures)
  .map(([what, count]) => `${count} ${what}`)
  .join(', ')}`;
console.log(`\n${tried}`);
if (!broken)
  recordProof({
    search: `soak: \`npm run soak${options.only === undefined ? '' : ` -- --only ${options.only}`}\``,
    promise:
      'Nothing acknowledged is lost, nothing exists twice, a moved booking is at one place, every delivery arrives, and `verify` finds no difference',
    tried: `${tried}, on ${engines.map(({ name }) => name).join(' and ')}`,
    seed: firstSeed,
  });
for (const each of engines) await each.close();
process.exit(broken ? 1 : 0);
