import fc from 'fast-check';
import { onTestFinished, test } from 'vitest';
import { recordProof } from '../proof/proof.ts';
import { type Step, steps, type World, worlds } from './histories.ts';
import { openOutside } from './modelled-service.ts';
import { runHistory } from './run-history.ts';
import { shortest } from './shortest.ts';

const { MODEL_STEPS = '1000', MODEL_MINUTES = '600', MODEL_SEED } = process.env;
/** Steps of one history. */
const LENGTH = 60;
/** How long a shorter history is looked for once one has failed. */
const SHORTENING_MS = 45_000;
const HISTORIES = Math.ceil(Number(MODEL_STEPS) / LENGTH);

test('the service answers as the model says, in random histories', {
  timeout: 11 * 3_600_000,
}, async () => {
  const outside = await openOutside();
  onTestFinished(outside.close);
  const deadline = performance.now() + Number(MODEL_MINUTES) * 60_000;
  let [taken, histories] = [0, 0];
  const history = fc.array(steps, { minLength: LENGTH / 2, maxLength: 1.5 * LENGTH, size: 'max' });
  const { failed, counterexample, seed } = await fc.check(
    fc.asyncProperty(worlds, history, async (world, each) => {
      if (performance.now() > deadline) return;
      taken += each.length;
      histories += 1;
      await runHistory(world, each, outside);
    }),
    { numRuns: HISTORIES, endOnFailure: true, ...(MODEL_SEED !== undefined && { seed: Number(MODEL_SEED) }) },
  );
  if (failed && counterexample !== null) {
    const [world, each] = counterexample;
    const failureOf = (some: readonly Step[]) => runHistory(world, some, outside).catch((error: unknown) => error);
    const few = await shortest(each, async (some) => (await failureOf(some)) !== undefined, SHORTENING_MS);
    const why = `${await failureOf(few)}`;
    throw new Error(`Seed ${seed}, step ${taken}. The shortest history found:\n\n${testOf(world, few)}\n\n${why}`);
  }
  console.log(`${taken} steps in ${histories} histories, seed ${seed}`);
  recordProof({
    search: '`npm run test:system -- test/model`',
    promise:
      'Answers, deliveries and mails are as the model says, for each key, app, role and page, also after a change of release',
    tried: `${taken.toLocaleString('en')} steps in ${histories.toLocaleString('en')} histories`,
    seed,
  });
});

/** A history as a test that can be pasted. */
const testOf = (world: World, each: readonly Step[]): string => `test('…', async () => {
  const outside = await openOutside();
  onTestFinished(outside.close);
  await runHistory(
    ${JSON.stringify(world)},
    [
${each.map((step) => `      ${JSON.stringify(step)},`).join('\n')}
    ],
    outside,
  );
});`;
