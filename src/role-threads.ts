import type { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { BackgroundRole } from './roles.ts';
import { type KeptThread, keepThread } from './runtime/kept-thread.ts';

/** What a thread that runs roles is given. */
export type RoleThreadData = {
  readonly config: Config;
  readonly roles: ReadonlySet<BackgroundRole>;
  readonly news: string;
  /** The ids of the heartbeats of the threads before it that have ended. */
  readonly ended: readonly string[];
};

type RoleThread = KeptThread & {
  /** Tells it to end all that it does but projecting, which goes on until it is stopped. */
  finish(): void;
  /** Resolves once it projects for the first time, if that is one of its roles. */
  readonly up: Promise<void>;
};

/** Runs roles in a thread of this process, with stores of its own, as a process with these `ROLES` would. */
export function startRoleThread(
  config: Config,
  logger: Logger,
  roles: ReadonlySet<BackgroundRole>,
  news: string,
): RoleThread {
  const ended: string[] = [];
  const up = Promise.withResolvers<void>();
  const thread = keepThread({
    name: [...roles].join(' and '),
    file: new URL('./role-thread.ts', import.meta.url),
    data: (): RoleThreadData => ({ config, roles, news, ended }),
    started(worker: Worker) {
      worker.on('message', (session: unknown) => {
        if (typeof session !== 'string') return;
        ended.push(session);
        up.resolve();
      });
    },
    logger,
  });
  return { ...thread, up: up.promise, finish: () => thread.running()?.postMessage('finish') };
}
