import type { Clock } from '../runtime/clock.ts';
import type { SteadyClock } from '../runtime/steady-clock.ts';
import { within } from '../runtime/within.ts';
import { isOff, lengthOf, offsetOf, SET_MS } from './deviation.ts';

/** An engine that may have a clock of its own, on another machine. */
export type Engine = { readonly name: string; now(): Promise<number | undefined> };

/** The result of a check: a sentence with the problem, if there is one. */
export type Finding = { readonly problem: string | undefined };

/** The interval while the clocks agree and have not been set. */
const COMPARE_EVERY_MS = 10 * 60_000;
/** The interval while they disagree, because the engine's clock may be the wrong one. */
const COMPARE_AGAIN_MS = 10_000;
const ANSWER_WITHIN_MS = 3_000;

/**
 * Compares this machine's clock with those of the engines. Comparisons are rare; in between, the monotonic clock reveals whether
 * this clock has been set, which triggers a comparison.
 * @returns compares them, if due; undefined if no engine has a clock
 */
export function createEngineClocks(deps: {
  readonly engines: readonly Engine[];
  readonly wall: Clock;
  readonly steady: SteadyClock;
}): () => Promise<Finding | undefined> {
  const { wall, steady } = deps;
  let engines = deps.engines;
  let last: (Finding & { readonly at: number; readonly offset: number }) | undefined;

  /** The minimum lead of this clock over the engine's, in milliseconds; negative if behind. Undefined without an engine clock. */
  async function deviationFrom(engine: Engine): Promise<number | undefined> {
    for (;;) {
      const [before, start] = [wall(), steady.now()];
      const theirs = await answerOf(engine);
      const [after, end] = [wall(), steady.now()];
      if (theirs === undefined) return undefined;
      // The clock was set during the comparison, so the readings do not match.
      if (Math.abs(after - before - (end - start)) > SET_MS) continue;
      return before > theirs ? before - theirs : Math.min(after - theirs, 0);
    }
  }

  return async () => {
    if (engines.length === 0) return undefined;
    const at = steady.now();
    const offset = offsetOf(wall, steady);
    const isSet = last === undefined || Math.abs(offset - last.offset) > SET_MS;
    const pause = last?.problem === undefined ? COMPARE_EVERY_MS : COMPARE_AGAIN_MS;
    if (last !== undefined && !isSet && at - last.at < pause) return last;

    const problems: string[] = [];
    const withClock: Engine[] = [];
    for (const engine of engines) {
      let deviation: number | undefined;
      try {
        deviation = await deviationFrom(engine);
      } catch {
        // Keep the last result if the engine is unreachable and the clock has not been set since.
        if (last !== undefined && !isSet) return last;
        return {
          problem: `The clock of this machine cannot be compared with that of ${engine.name}, which does not answer`,
        };
      }
      if (deviation === undefined) continue;
      withClock.push(engine);
      if (isOff(deviation)) {
        const where = deviation > 0 ? 'ahead of' : 'behind';
        problems.push(`The clock of this machine is ${lengthOf(deviation)} ${where} that of ${engine.name}`);
      }
    }
    engines = withClock;
    if (engines.length === 0) return undefined;
    last = { problem: problems.length === 0 ? undefined : problems.join('. '), at, offset };
    return last;
  };
}

const answerOf = (engine: Engine): Promise<number | undefined> =>
  within(ANSWER_WITHIN_MS, engine.now(), () => new Error(`${engine.name} does not answer`));
