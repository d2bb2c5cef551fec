import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { BackgroundRole, RunningRoles } from './roles.ts';
import { type KeptThread, keepThread } from './runtime/kept-thread.ts';
import type { StoreThread } from './threads/store-writer.ts';

/** What a thread that runs roles is given. */
export type RoleThreadData = {
  readonly config: Config;
  readonly roles: ReadonlySet<BackgroundRole>;
  readonly news: string;
  /** Whether all of them begin at once, because they had in a thread before it. */
  readonly begun: boolean;
  /** The ids of the heartbeats of the threads before it that have ended. */
  readonly ended: readonly string[];
};

type RoleThread = KeptThread & RunningRoles;

/**
 * Runs roles in a thread of this process, with stores of its own, as a process with these `ROLES` would.
 * @param storeThread who writes for it what has to wait for the disk
 */
export function startRoleThread(
  config: Config,
  logger: Logger,
  roles: ReadonlySet<BackgroundRole>,
  news: string,
  storeThread?: StoreThread,
): RoleThread {
  const ended: string[] = [];
  const projecting = Promise.withResolvers<void>();
  let begun = false;
  const thread = keepThread({
    name: [...roles].join(' and '),
    file: new URL('./role-thread.ts', import.meta.url),
    data: (): RoleThreadData => ({ config, roles, news, begun, ended }),
    started(worker: Worker) {
      storeThread?.lend(worker);
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
