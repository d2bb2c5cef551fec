import fc from 'fast-check';
import { test } from 'vitest';
import { type Step, steps, type World, worlds } from './histories.ts';
import { runHistory } from './run-history.ts';

const { MODEL_STEPS = '5000', MODEL_SEED } = process.env;
/** Steps of one history. */
const LENGTH = 40;
/** How long a shorter history is looked for once one has failed. */
const SHORTENING_MS = 45_000;
const HISTORIES = Math.ceil(Number(MODEL_STEPS) / LENGTH);

test(`the service answers as the model says, in ${HISTORIES} random histories`, { timeout: 3_600_000 }, async () => {
  let taken = 0;
  let failedAt: number | undefined;
  const history = fc.array(steps, { minLength: LENGTH / 2, maxLength: 1.5 * LENGTH, size: 'max' });
  const result = await fc.check(
    fc.asyncProperty(worlds, history, async (world, each) => {
      // What shorter histories remain to be tried count as passed.
      if (failedAt !== undefined && performance.now() > failedAt + SHORTENING_MS) return;
      taken += each.length;
      await runHistory(world, each).catch((error: unknown) => {
        failedAt ??= performance.now();
        throw error;
      });
    }),
    { numRuns: HISTORIES, ...(MODEL_SEED !== undefined && { seed: Number(MODEL_SEED) }) },
  );
  console.log(`${taken} steps in ${result.numRuns} histories, seed ${result.seed}`);
  if (!result.failed) return;
  const [world, each] = result.counterexample ?? [];
  throw new Error(
    `Seed ${result.seed}. The shortest history found:\n\n${testOf(world, each)}\n\n${result.errorInstance}`,
  );
});

/** A history as a test that can be pasted. */
const testOf = (world?: World, each: readonly Step[] = []): string =>
  `test('…', () =>\n  runHistory(\n    ${JSON.stringify(world)},\n    [\n${each.map((step) => `      ${JSON.stringify(step)},`).join('\n')}\n    ],\n  ));`;
