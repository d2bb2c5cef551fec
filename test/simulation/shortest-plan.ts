import { shortest } from '../model/shortest.ts';
import type { Entry, Plan } from './plan.ts';
import type { Outcome } from './simulate.ts';

/** How long is looked for a shorter plan, in virtual milliseconds: each simulated month takes seconds of real time. */
const MONTHS = 200;

/** What of a plan is enough for it to fail, with the problems that are left. Any problem counts. */
export async function shortestPlan(
  plan: Plan,
  outcome: Outcome,
  simulate: (plan: Plan) => Promise<Outcome>,
): Promise<{ readonly plan: Plan; readonly problems: readonly string[] }> {
  let problems = outcome.problems;
  let tries = 0;
  const fails = async (entries: readonly Entry[]): Promise<boolean> => {
    tries += 1;
    if (tries > MONTHS) return false;
    const tried = await simulate({ ...plan, entries });
    if (tried.problems.length > 0) problems = tried.problems;
    return tried.problems.length > 0;
  };
  const entries = await shortest(plan.entries, fails, Number.POSITIVE_INFINITY);
  return { plan: { ...plan, entries }, problems };
}
