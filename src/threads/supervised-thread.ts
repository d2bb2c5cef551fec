import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { BaseLogger } from 'pino';

/** Pauses before restarting a thread that ended by itself; the last one repeats. */
const RESTART_MS = [0, 100, 500, 2_000, 5_000] as const;
/** A thread that ran for this long restarts at once. */
const STEADY_AFTER_MS = 60_000;
/** How long a thread may take to stop. */
const ENDS_WITHIN_MS = 8_000;

export type SupervisedThread = ReturnType<typeof superviseThread>;

/**
 * Runs a file in a worker thread and restarts it whenever it ends. On the message `stop`, the file stops its work and lets the
 * thread end.
 */
export function superviseThread(deps: {
  /** The thread's name in the log. */
  readonly name: string;
  readonly file: URL;
  /** The value of `workerData.data`. */
  readonly data: () => object;
  /** Called with each started worker. */
  readonly started: (worker: Worker) => void;
  /** Called after each end. */
  readonly ended?: () => void;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}) {
  const { name, file, data, started, logger } = deps;
  const stopping = new AbortController();
  let worker: Worker | undefined;

  async function supervise(): Promise<void> {
    for (let attempts = 0; !stopping.signal.aborted; ) {
      const startedAt = performance.now();
      const failure = await run();
      if (stopping.signal.aborted) return;
      attempts = performance.now() - startedAt > STEADY_AFTER_MS ? 0 : attempts;
      logger.error({ err: failure, thread: name }, `The thread ${name} has ended; starting it again`);
      const pause = RESTART_MS[attempts] ?? RESTART_MS.at(-1);
      attempts += 1;
      await delay(pause, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }

  /** @returns why it ended */
  function run(): Promise<unknown> {
    return new Promise((resolve) => {
      let failure: unknown;
      const now = new Worker(new URL('./thread.js', import.meta.url), {
        name,
        workerData: { module: file.href, data: data() },
        // Node must not close the thread's open files: that would release SQLite's locks for the whole process.
        trackUnmanagedFds: false,
      });
      worker = now;
      now.on('error', (error) => {
        failure = error;
      });
      now.on('exit', (code) => {
        worker = undefined;
        deps.ended?.();
        resolve(failure ?? new Error(`exit code ${code}`));
      });
      started(now);
    });
  }

  const ended = supervise();
  return {
    /** The current worker. */
    running: (): Worker | undefined => worker,
    /** Stops the thread for good and waits for its end. */
    async stop(): Promise<void> {
      stopping.abort();
      worker?.postMessage('stop');
      const last = setTimeout(() => {
        logger.error({ thread: name }, `The thread ${name} did not stop in time`);
        void worker?.terminate();
      }, ENDS_WITHIN_MS);
      await ended;
      clearTimeout(last);
    },
  };
}
