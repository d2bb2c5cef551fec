import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Linked } from '../runtime/link.ts';
import type { LogThread } from '../threads/start-log-thread.ts';
import { type SupervisedThread, superviseThread } from '../threads/supervised-thread.ts';
import type { BackgroundRole, RunningRoles } from './roles.ts';

/** What the worker is started with. */
export type WorkerData = {
  readonly config: Config;
  readonly roles: ReadonlySet<BackgroundRole>;
  /** Whether all roles begin at once, because they had in a worker before it. */
  readonly begun: boolean;
  /** The ids of the heartbeats of the workers before it that have ended. */
  readonly ended: readonly string[];
};

export type WorkerThread = SupervisedThread & RunningRoles;

/**
 * Runs roles in a thread of this process, with stores of its own, as a process with these `ROLES` would.
 * @param deps.link gets a port to the worker, and to the next one if it ends
 */
export function startWorker(deps: {
  readonly config: Config;
  readonly logger: Logger;
  readonly roles: ReadonlySet<BackgroundRole>;
  readonly link: Linked;
  readonly logThread: LogThread | undefined;
}): WorkerThread {
  const { config, logger, roles, link, logThread } = deps;
  const ended: string[] = [];
  const projecting = Promise.withResolvers<void>();
  let begun = false;
  const thread = superviseThread({
    name: 'worker',
    file: new URL('./worker-thread.ts', import.meta.url),
    data: (): WorkerData => ({ config, roles, begun, ended }),
    started(worker: Worker) {
      link.connect(worker);
      logThread?.connectWorker(worker);
      worker.on('message', (session: unknown) => {
        if (typeof session !== 'string') return;
        ended.push(session);
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
