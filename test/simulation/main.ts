import { redirectImports } from './redirect.ts';
import { installSeededCrypto } from './seeded-crypto.ts';
import { installVirtualTime } from './virtual-time.ts';

/**
 * Simulates months, and prints what came of each as a line of JSON. SIMULATED_MONTHS: how many; SIMULATION_SEED: of the first, the next has the
 * next; SIMULATION_PLAN: the plan of one instead, in JSON.
 */
installVirtualTime();
installSeededCrypto();
redirectImports();
const { planOf } = await import('./plan.ts');
const { logged, simulate } = await import('./simulate.ts');
const { shortestPlan } = await import('./shortest-plan.ts');

const { SIMULATED_MONTHS = '1', SIMULATION_SEED = '1', SIMULATION_PLAN } = process.env;
const print = (outcome: object) => console.log(JSON.stringify(outcome));

if (SIMULATION_PLAN !== undefined) {
  const { problems, ...rest } = await simulate(JSON.parse(SIMULATION_PLAN));
  for (const line of logged) process.stderr.write(line);
  print({ ...rest, problems });
  process.exit(problems.length === 0 ? 0 : 1);
}

for (let n = 0; n < Number(SIMULATED_MONTHS); n += 1) {
  const plan = planOf(Number(SIMULATION_SEED) + n);
  const outcome = await simulate(plan);
  print({ seed: plan.seed, ...outcome });
  if (outcome.problems.length === 0) continue;
  print({ shortest: await shortestPlan(plan, outcome, simulate) });
  process.exit(1);
}
process.exit(0);
