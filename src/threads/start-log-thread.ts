import { MessageChannel, type Worker } from 'node:worker_threads';
import type { BaseLogger } from 'pino';
import type { LogThreadData } from './log-calls.ts';
import type { LogClient } from './log-client.ts';
import { superviseThread } from './supervised-thread.ts';

/** The log thread, for the thread that started it. */
export type LogThread = {
  running(): Worker | undefined;
  /** Connects the worker directly with the log thread, and again after each restart of it. */
  connectWorker(worker: Pick<Worker, 'postMessage'>): void;
  stop(): Promise<void>;
};

/** @param deps.client this thread's client */
export function startLogThread(deps: {
  readonly client: LogClient;
  readonly data: LogThreadData;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}): LogThread {
  const { client } = deps;
  let worker: Pick<Worker, 'postMessage'> | undefined;

  function join(log: Worker | undefined): void {
    if (log === undefined || worker === undefined) return;
    const { port1, port2 } = new MessageChannel();
    log.postMessage(port1, [port1]);
    worker.postMessage(port2, [port2]);
  }

  const thread = superviseThread({
    name: 'log',
    file: new URL('./log-thread.ts', import.meta.url),
    data: () => deps.data,
    started(log) {
      client.connect(log);
      join(log);
    },
    ended: client.disconnect,
    logger: deps.logger,
  });
  return {
    running: thread.running,
    connectWorker(next) {
      worker = next;
      join(thread.running());
    },
    async stop() {
      await thread.stop();
      client.close();
    },
  };
}
