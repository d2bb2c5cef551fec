import { isRefusal, type Refusal } from '../src/domain/decision.ts';

/** The result of a command; a refusal fails the test. */
export function accepted<T>(outcome: T | Refusal): T {
  if (isRefusal(outcome)) throw new Error(`${outcome.refused}: ${outcome.details}`);
  return outcome;
}
