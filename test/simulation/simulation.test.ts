import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect, test } from 'vitest';
import { recordProof } from '../proof/proof.ts';
import type { Outcome } from './simulate.ts';

/** SIMULATED_MONTHS=1000 simulates more, SIMULATION_SEED repeats a run. */
const MONTHS = Number(process.env.SIMULATED_MONTHS ?? 8);
const SEED = Number(process.env.SIMULATION_SEED ?? Date.now() % 2 ** 31);
const DAY_MS = 86_400_000;

type Month = Outcome & { readonly seed: number };

/** Simulates in a process of its own, whose clocks and timers are replaced. */
async function simulated(what: Readonly<Record<string, string>>): Promise<readonly Month[]> {
  const env = { PATH: process.env.PATH, ...what };
  const child = spawn(process.execPath, ['test/simulation/main.ts'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const months: Month[] = [];
  for await (const line of createInterface(child.stdout)) {
    const printed = JSON.parse(line);
    if ('shortest' in printed) throw new Error(asTest(printed.shortest));
    months.push(printed);
  }
  return months;
}

const monthsFrom = (seed: number, months: number) =>
  simulated({ SIMULATION_SEED: String(seed), SIMULATED_MONTHS: String(months) });

/** A plan that fails, as a test that can be pasted below. */
const asTest = ({ plan, problems }: { readonly plan: object; readonly problems: readonly string[] }): string =>
  [
    ...problems,
    `test('…', async () => expect(problemsOf(await simulated(${JSON.stringify({ SIMULATION_PLAN: JSON.stringify(plan) })}))).toEqual([]));`,
  ].join('\n');

const problemsOf = (months: readonly Month[]) => months.flatMap(({ problems }) => problems);

test('nothing is lost, doubled or out of order in simulated months, and each goes the same way again', {
  timeout: DAY_MS,
}, async () => {
  const months = await monthsFrom(SEED, MONTHS);
  expect(problemsOf(months)).toEqual([]);
  expect(months.length).toBe(MONTHS);
  // What fails fails again.
  expect(await monthsFrom(SEED + MONTHS - 1, 1)).toEqual(months.slice(-1));
  const sum = (of: (month: Month) => number) => months.reduce((total, month) => total + of(month), 0);
  const tries = sum((month) => Object.values(month.tries).reduce((a, b) => a + b, 0));
  const tried = `${MONTHS} months of three processes: ${tries} commands, ${sum((month) => month.events)} events, ${sum(
    (month) => month.deliveries,
  )} POSTs, ${sum((month) => month.mails)} mails, ${sum((month) => month.faults)} faults`;
  recordProof({
    search: 'Simulated months: `SIMULATED_MONTHS=1000 npm run test:system -- test/simulation/simulation`',
    promise:
      'no overlap, no lost or doubled command, delivery or mail, one holder of a lease, read models as the log says',
    tried,
    seed: SEED,
  });
});
