import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Linked } from '../runtime/link.ts';
import type { LogThread } from '../threads/start-log-thread.ts';
import { type SupervisedThread, superviseThread } from '../threads/supervised-thread.ts';
import type { BackgroundRole, RunningRoles } from './roles.ts';

/** The start parameters of the worker. */
export type WorkerData = {
  readonly config: Config;
  readonly roles: ReadonlySet<BackgroundRole>;
  /** Whether all roles begin at once, as after a restart of the worker. */
  readonly begun: boolean;
  /** The heartbeat ids of the workers that ran before it. */
  readonly formerWorkers: readonly string[];
};

export type WorkerThread = SupervisedThread & RunningRoles;

/**
 * Runs roles in a thread with its own stores, like a process with these `ROLES`.
 * @param deps.link gets a port to the worker, and a new one after each restart
 */
export function startWorker(deps: {
  readonly config: Config;
  readonly logger: Logger;
  readonly roles: ReadonlySet<BackgroundRole>;
  readonly link: Linked;
  readonly logThread: LogThread | undefined;
}): WorkerThread {
  const { config, logger, roles, link, logThread } = deps;
  const workers: string[] = [];
  const projecting = Promise.withResolvers<void>();
  let begun = false;
  const thread = superviseThread({
    name: 'worker',
    file: new URL('./worker-thread.ts', import.meta.url),
    data: (): WorkerData => ({ config, roles, begun, formerWorkers: workers }),
    started(worker: Worker) {
      link.connect(worker);
      logThread?.connectWorker(worker);
      worker.on('message', (session: unknown) => {
        if (typeof session !== 'string') return;
        workers.push(session);
        projecting.resolve();
      });
    },
    logger,
  });
  return {
    ...thread,
    projecting: projecting.promise,
    async begin() {
      begun = true;
      thread.running()?.postMessage('begin');
    },
    async finish() {
      thread.running()?.postMessage('finish');
    },
  };
}
