import { setTimeout as delay } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import type { BaseLogger } from 'pino';
import { startWorker } from '../runtime/start-worker.ts';

/** Pauses before a thread is started again that ended by itself; the last one repeats. */
const RESTART_MS = [0, 100, 500, 2_000, 5_000] as const;
/** A thread that has run for so long is started again at once. */
const STEADY_AFTER_MS = 60_000;
/** How long a thread has to end by itself. */
const ENDS_WITHIN_MS = 8_000;

export type SupervisedThread = {
  /** The worker that runs at this moment. */
  running(): Worker | undefined;
  /** Tells it to stop, waits until it has, and does not start it again. */
  stop(): Promise<void>;
};

/**
 * Runs a file in a worker thread, and starts it again whenever it ends. The file stops when it gets the message `stop`, and then
 * lets the thread end.
 */
export function superviseThread(deps: {
  /** How the log calls it. */
  readonly name: string;
  readonly file: URL;
  /** What the file finds in `workerData.data`. */
  readonly data: () => object;
  /** Called with each worker that is started. */
  readonly started: (worker: Worker) => void;
  /** Called when one has ended. */
  readonly ended?: () => void;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}): SupervisedThread {
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
      const now = startWorker(name, file, data());
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
    running: () => worker,
    async stop() {
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
