import type { Worker } from 'node:worker_threads';
import type { BaseLogger } from 'pino';
import type { WritesElsewhere } from '../document-store/sqlite/documents.ts';
import type { AppendToLog } from '../event-store/sqlite/log-writer.ts';
import { createAsk } from '../runtime/calls.ts';
import { type KeptThread, keepThread } from '../runtime/kept-thread.ts';
import type { StoreCalls } from './store-calls.ts';
import type { StoreThreadData } from './store-thread.ts';

export type StoreWriter = KeptThread & {
  /** Undefined while the thread is not there. */
  readonly append: () => AppendToLog | undefined;
  readonly writes: () => WritesElsewhere | undefined;
};

/** Starts the thread that writes to the embedded stores for this one. Until it is up, and while it is not, this one writes itself. */
export function startStoreWriter(deps: {
  readonly data: StoreThreadData;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}): StoreWriter {
  let up: { readonly append: AppendToLog; readonly writes: WritesElsewhere } | undefined;
  let ended = () => {};

  function started(worker: Worker): void {
    const asking = createAsk<StoreCalls>(worker);
    const { ask } = asking;
    ended = asking.ended;
    const ready = {
      append: (append: Parameters<AppendToLog>[0]) => ask('append', append),
      writes: {
        insert: (collection, key, json) => ask('insert', { collection, key, json }),
        replace: (collection, key, json, version) => ask('replace', { collection, key, json, version }),
        delete: (collection, key, version) => ask('delete', { collection, key, version }),
        sweep: (collection, now) => ask('sweep', { collection, now }),
      } satisfies WritesElsewhere,
    };
    worker.on('message', (message: unknown) => {
      if (message === 'up') up = ready;
    });
  }

  const thread = keepThread({
    ...{ name: 'store', logger: deps.logger, started },
    file: new URL('./store-thread.ts', import.meta.url),
    data: () => deps.data,
    ended() {
      up = undefined;
      ended();
    },
  });
  return { ...thread, append: () => up?.append, writes: () => up?.writes };
}
