import { parseArgs } from 'node:util';
import type { Watching } from './await-world.ts';
import type { Process } from './process.ts';
import { redirectImports } from './redirect.ts';
import { installSeededCrypto } from './seeded-crypto.ts';
import { installVirtualTime } from './virtual-time.ts';

/**
 * Runs the scenario once without a fault, which gives the list of calls, and then once for each call and each fault. Prints what came of
 * that as JSON. A program of its own, because virtual time and what replaces the engines cannot be undone.
 */

installVirtualTime();
installSeededCrypto();
redirectImports();
const { newStores } = await import('./await-world.ts');
const { runScenario } = await import('./await-scenario.ts');
const { Unavailable } = await import('../../src/runtime/unavailable.ts');

const { values: options } = parseArgs({
  options: {
    /** Also the later calls from one place in the source. */
    'every-call': { type: 'boolean', default: false },
    /** The first case to try, how many, and how far apart. */
    from: { type: 'string', default: '0' },
    count: { type: 'string', default: '1' },
    step: { type: 'string', default: '1' },
  },
});
const [from, count, step] = [Number(options.from), Number(options.count), Number(options.step)];

/** How a call ends, before or after it has had its effect: with an error, never, or with the process. */
const FAULTS = ['fails before', 'fails after', 'hangs before', 'hangs after', 'dies before', 'dies after'] as const;
type Fault = (typeof FAULTS)[number];
/** A process in which a call hangs is killed after so long: past its leases. */
const HANGS_MS = 10_000;
const FRAMES = 100;

/** A call of a process to a store. */
type Call = {
  readonly process: number;
  readonly name: string;
  /** Where in the source, and what waits for it. */
  readonly site: string;
  /** How many such calls came before it. */
  readonly earlier: number;
};
type Case = { readonly call: Call; readonly fault: Fault };

const unhandled: string[] = [];
process.on('unhandledRejection', (reason) =>
  unhandled.push(`Unhandled: ${reason instanceof Error ? reason.stack : reason}`),
);

const nameOf = (method: string, of: string): string => `${of} ${method}`.trim();

function siteOf(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const frames = new Error().stack?.split('\n') ?? [];
  Error.stackTraceLimit = stackTraceLimit;
  return frames.flatMap((line) => /\/((?:src|projections)\/[^)]*)/.exec(line)?.[1] ?? []).join(' < ');
}

async function recordCalls() {
  const calls: Call[] = [];
  const counts = new Map<string, number>();
  let hasBegun = false;
  const before: Watching['before'] = (by, method, of) => {
    if (!hasBegun) return;
    const call = { process: by.index, name: nameOf(method, of), site: siteOf() };
    const key = JSON.stringify(call);
    const earlier = counts.get(key) ?? 0;
    counts.set(key, earlier + 1);
    calls.push({ ...call, earlier });
  };
  const begun = () => {
    hasBegun = true;
  };
  const result = await runScenario(stores, () => ({ before, after() {} }), { begun });
  return { calls, ...result };
}

/** The hooks that strike one call. */
function striking({ call, fault }: Case) {
  let [hasBegun, made] = [false, 0];
  let struck: Process | undefined;
  let isOver = false;

  const hooks = (kill: (process: Process) => void): Watching => {
    function strike(by: Process): Promise<never> {
      isOver = true;
      if (fault.startsWith('fails')) throw new Unavailable('The store does not answer');
      if (fault.startsWith('dies')) kill(by);
      else setTimeout(() => kill(by), HANGS_MS);
      return new Promise(() => {});
    }
    return {
      before(by, method, of) {
        if (!hasBegun || struck !== undefined || by.index !== call.process) return undefined;
        if (nameOf(method, of) !== call.name || siteOf() !== call.site || made++ < call.earlier) return undefined;
        struck = by;
        return fault.endsWith('before') ? strike(by) : undefined;
      },
      after(by, method, of) {
        const isStruck = by === struck && !isOver && nameOf(method, of) === call.name;
        return isStruck ? strike(by) : undefined;
      },
    };
  };
  return {
    hooks,
    begun: () => {
      hasBegun = true;
    },
    isOver: () => isOver,
  };
}

const stores = await newStores();
// The first run waits for modules that are loaded on their first use, so that it is not like the others.
await recordCalls();
const { calls, outcome, wrong } = await recordCalls();
if (wrong.length > 0) throw new Error(`Without a fault: ${wrong.join('\n')}`);
const sites = Map.groupBy(calls, ({ name, site }) => `${name} ${site}`);
const chosen = options['every-call'] ? calls : [...sites.values()].flatMap((some) => some.slice(0, 1));
const cases = chosen.flatMap((call) => FAULTS.map((fault): Case => ({ call, fault })));
const failures: object[] = [];
/** Cases whose call was not made: how often a job runs may depend on how fast Node's threads are. */
let missed = 0;
for (const [index, one] of [...cases.entries()].slice(from, from + count * step)) {
  if ((index - from) % step !== 0) continue;
  const { hooks, begun, isOver } = striking(one);
  const result = await runScenario(stores, hooks, { begun, expected: outcome });
  const faults = [...result.wrong, ...unhandled.splice(0)];
  if (!isOver()) missed += 1;
  if (faults.length > 0) failures.push({ case: index, ...one.call, fault: one.fault, wrong: faults });
}
console.log(JSON.stringify({ calls: calls.length, sites: sites.size, cases: cases.length, missed, failures }));
process.exit(0);
