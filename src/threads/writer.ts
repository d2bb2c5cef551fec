import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { DocumentsElsewhere } from '../document-store/sqlite/document-store.ts';
import type { PlainCollection } from '../document-store/sqlite/documents.ts';
import type { AppendsElsewhere } from '../event-store/sqlite/event-store.ts';
import { createCaller } from './calls.ts';
import { type SupervisedThread, superviseThread } from './supervised-thread.ts';
import type { Described, WriterCalls, WriterData } from './writer-calls.ts';

/** The thread that makes every durable commit, so that this one never waits for the disk (docs/decisions/processes.md#threads). */
export type Writer = AppendsElsewhere &
  DocumentsElsewhere & {
    /** Starts the thread. The files must exist and be intact. Calls before that wait. */
    start(): void;
    /** The current thread. */
    running: SupervisedThread['running'];
    /** Commits and answers what is waiting, and ends the thread. */
    stop(): Promise<void>;
  };

/** Calls without an answer are repeated when the thread restarts: each can be repeated safely. */
export function createWriter(data: WriterData, logger: Pick<BaseLogger, 'error' | 'info'>): Writer {
  const { ask, connect, disconnect, close } = createCaller<WriterCalls>();
  const described = new Map<string, PlainCollection>();
  let describe: (message: Described) => void = () => {};
  let thread: SupervisedThread | undefined;

  /** Describes a collection to the writer on first use. @returns its name */
  function named(collection: PlainCollection): string {
    if (!described.has(collection.name)) {
      described.set(collection.name, collection);
      describe({ collections: [collection] });
    }
    return collection.name;
  }

  return {
    append: (append) => ask('append', append),
    writes: {
      write: (collection, write) => ask('write', { collection: named(collection), write }),
      sweep: (collection, now) => ask('sweep', { collection: named(collection), now }),
    },
    walSteps(path, step) {
      // If it fails, the WAL stays long and the next look asks again.
      ask('walStep', { path, step }).catch(() => {});
    },
    start() {
      thread ??= superviseThread({
        name: 'writer',
        file: new URL('./writer-thread.ts', import.meta.url),
        data: () => data,
        started(worker) {
          describe = (message) => worker.postMessage(message);
          describe({ collections: [...described.values()] });
          connect(worker);
        },
        ended: disconnect,
        logger,
      });
    },
    running: () => thread?.running(),
    async stop() {
      // The calls of this turn are sent at its end.
      await nextTurn();
      await thread?.stop();
      close(new Error('The store is closed'));
    },
  };
}
