/** The wake-ups of this thread and their callbacks, by time (monotonic, in milliseconds). */
const wakeUps = new Map<number, { readonly timer: NodeJS.Timeout; readonly wakes: Set<() => void> }>();
/** The last wake-up. A timer may fire a few milliseconds before it. */
let reached = 0;

/**
 * Calls `wake` at the next multiple of a period. Periodic jobs thus share wake-ups: on an idle machine, one costs more
 * than most jobs (docs/benchmarks.md#at-rest), so a timer for each job would exceed the 0.5 % of a core that an idle service may use.
 * @param options.ref whether this keeps the process running. Default true
 * @returns cancels it
 */
export function atNext(periodMs: number, wake: () => void, { ref = true } = {}): () => void {
  const now = performance.now();
  const at = (Math.floor(Math.max(now, reached) / periodMs) + 1) * periodMs;
  const start = () => ({ timer: setTimeout(fire, at - now, at).unref(), wakes: new Set<() => void>() });
  const wakeUp = wakeUps.getOrInsertComputed(at, start);
  if (ref) wakeUp.timer.ref();
  // A function of its own, because a caller may pass the same one twice.
  const call = () => wake();
  wakeUp.wakes.add(call);
  return () => {
    wakeUp.wakes.delete(call);
    if (wakeUp.wakes.size > 0 || wakeUps.get(at) !== wakeUp) return;
    clearTimeout(wakeUp.timer);
    wakeUps.delete(at);
  };
}

function fire(at: number): void {
  const { wakes } = wakeUps.get(at) ?? {};
  wakeUps.delete(at);
  reached = at;
  for (const wake of wakes ?? []) wake();
}

/**
 * Resolves at the next multiple of a period, or when the signal is aborted.
 * @param options.ref see {@link atNext}
 */
export async function untilNext(
  periodMs: number,
  signal: AbortSignal,
  options?: { readonly ref: boolean },
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = atNext(periodMs, resolve, options);
  const abort = () => resolve();
  signal.addEventListener('abort', abort);
  await promise;
  signal.removeEventListener('abort', abort);
  cancel();
}

/**
 * Runs a job at the multiples of a period, one round at a time, until the signal is aborted. Does not keep the process running.
 * @param round must not reject
 * @returns resolves once the last round has ended
 */
export async function inRounds(periodMs: number, signal: AbortSignal, round: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    await untilNext(periodMs, signal, { ref: false });
    if (!signal.aborted) await round();
  }
}

/** A job that runs in rounds between `start` and `stop`, which waits for the last one. See {@link inRounds}. */
export function periodicJob(periodMs: number, round: () => Promise<unknown>) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running: Promise<void> | undefined;
  return {
    /** Aborted once the job is to stop. */
    signal,
    start(): void {
      running = inRounds(periodMs, signal, round);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
