import { MessageChannel, MessagePort, type Worker } from 'node:worker_threads';
import type { BaseLogger } from 'pino';
import type { PlainCollection, WritesElsewhere } from '../document-store/sqlite/documents.ts';
import type { AppendToLog } from '../event-store/sqlite/log-writer.ts';
import { createAsk } from '../runtime/calls.ts';
import { type KeptThread, keepThread } from '../runtime/kept-thread.ts';
import type { NamedCollection, StoreCalls } from './store-calls.ts';
import type { StoreThreadData } from './store-thread.ts';

/** Writes to the embedded stores in another thread. */
export type StoreWriter = {
  /** Undefined while the thread is not there. Whoever asks then writes itself. */
  readonly append: () => AppendToLog | undefined;
  readonly writes: () => WritesElsewhere | undefined;
};

/** Another thread, as the one that has started it sees it. */
type Borrower = {
  postMessage(port: MessagePort, transfer: readonly MessagePort[]): void;
  once(event: 'exit', listener: () => void): unknown;
};

/** The thread that writes to the embedded stores, for the thread that has started it and for those that it lends it to. */
export type StoreThread = KeptThread &
  StoreWriter & {
    /** Gives another thread a port to this one, again whenever this one is started anew; see {@link borrowStoreWriter}. */
    lend(borrower: Borrower): void;
  };

/** Starts the thread that writes to the embedded stores. Until it is up, and while it is not, this one writes itself. */
export function startStoreThread(deps: {
  readonly data: StoreThreadData;
  readonly logger: Pick<BaseLogger, 'error' | 'info'>;
}): StoreThread {
  const ours = createWriter();
  const borrowers = new Set<Borrower>();
  let up: Worker | undefined;

  function connect(borrower: Borrower): void {
    if (up === undefined) return;
    const { port1, port2 } = new MessageChannel();
    up.postMessage(port1, [port1]);
    borrower.postMessage(port2, [port2]);
  }

  const thread = keepThread({
    ...{ name: 'store', logger: deps.logger },
    file: new URL('./store-thread.ts', import.meta.url),
    data: () => deps.data,
    started(worker) {
      worker.on('message', (message: unknown) => {
        if (message !== 'up') return;
        up = worker;
        ours.begin(worker);
        for (const borrower of borrowers) connect(borrower);
      });
    },
    ended() {
      up = undefined;
      ours.end();
    },
  });
  return {
    ...thread,
    ...ours.writer,
    lend(borrower) {
      borrowers.add(borrower);
      borrower.once('exit', () => borrowers.delete(borrower));
      connect(borrower);
    },
  };
}

/** The thread that writes, as another thread has it that it was lent to. */
export function borrowStoreWriter(): {
  readonly writer: StoreWriter;
  /** Call with every message to this thread. @returns whether it was a port to the one that writes */
  readonly take: (message: unknown) => boolean;
} {
  const { writer, begin, end } = createWriter();
  let current: MessagePort | undefined;
  return {
    writer,
    take(message) {
      if (!(message instanceof MessagePort)) return false;
      end();
      current = message;
      begin(message);
      message.on('close', () => {
        if (current === message) end();
      });
      return true;
    },
  };
}

type Port = Parameters<typeof createAsk>[0];

/** Writes over one port after another. */
function createWriter() {
  let up: { readonly append: AppendToLog; readonly writes: WritesElsewhere } | undefined;
  let ended = () => {};

  function begin(port: Port): void {
    const asking = createAsk<StoreCalls>(port);
    const { ask } = asking;
    ended = asking.ended;
    const described = new Set<string>();
    const named = (collection: PlainCollection): NamedCollection => {
      if (described.has(collection.name)) return collection.name;
      described.add(collection.name);
      return collection;
    };
    up = {
      append: (append) => ask('append', append),
      writes: {
        insert: (collection, key, written) => ask('insert', { collection: named(collection), key, written }),
        replace: (collection, key, written, version) =>
          ask('replace', { collection: named(collection), key, written, version }),
        delete: (collection, key, version) => ask('delete', { collection: named(collection), key, version }),
        sweep: (collection, now) => ask('sweep', { collection: named(collection), now }),
      },
    };
  }

  return {
    writer: { append: () => up?.append, writes: () => up?.writes },
    begin,
    /** What has been asked and not answered is not known to have been done. */
    end() {
      up = undefined;
      ended();
    },
  };
}
