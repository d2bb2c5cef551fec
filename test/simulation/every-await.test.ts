import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { recordProof } from '../proof/proof.ts';

/**
 * `call`: every call, with each fault. `site`: the first call from each place in the source, with each fault. Default: that one with two of
 * the six faults, which are others in other runs.
 */
const WHICH = process.env.EVERY_AWAIT;
const STEP = WHICH === undefined ? 3 : 1;
const FIRST = Math.floor(Math.random() * STEP);
/** Cases that a process tries, of two at the same time. */
const AT_ONCE = 320;
const IN_PARALLEL = 2;

const RUN = fileURLToPath(new URL('every-await-run.ts', import.meta.url));

type Tried = {
  readonly calls: number;
  readonly sites: number;
  readonly cases: number;
  /** Those whose call was not made: how often a job runs may depend on how fast Node's threads are. */
  readonly missed: number;
  readonly failures: readonly { readonly case: number }[];
};

/** Tries so many cases. One alone: `node test/simulation/every-await-run.ts --from CASE`. */
async function tryFrom(from: number, count: number): Promise<Tried> {
  const which = WHICH === 'call' ? ['--every-call'] : [];
  const args = [RUN, `--from=${from}`, `--count=${count}`, `--step=${STEP}`, ...which];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 });
  return JSON.parse(stdout);
}

/**
 * Two processes of the service, on stores in memory and in virtual time, through a day in which a call of one of them to a store fails, hangs
 * or ends the process, before or after its effect.
 */
test('a call to a store that fails, hangs or ends its process loses nothing and does nothing twice', async () => {
  const { calls, sites, cases } = await tryFrom(0, 0);
  const tried = Math.ceil((cases - FIRST) / STEP);
  const starts = Array.from({ length: Math.ceil(tried / AT_ONCE) }, (_, index) => FIRST + index * AT_ONCE * STEP);
  let missed = 0;
  async function tryNext(): Promise<void> {
    for (let from = starts.shift(); from !== undefined; from = starts.shift()) {
      const result = await tryFrom(from, AT_ONCE);
      expect(result.failures).toEqual([]);
      missed += result.missed;
    }
  }
  await Promise.all(Array.from({ length: IN_PARALLEL }, tryNext));
  expect(missed).toBeLessThan(tried / 50);
  console.log(`${tried - missed} faults in ${calls} calls from ${sites} places`);
  recordProof({
    search: 'every await: `EVERY_AWAIT=site npm run test:system -- test/simulation/every-await`',
    promise:
      'events once, read models as the log says, no role twice, each delivery and mail sent and no other, if a call fails, hangs, or ends its process',
    tried: `${tried - missed} faults in a day of two processes, which make ${calls} calls from ${sites} places`,
  });
}, 36_000_000);
