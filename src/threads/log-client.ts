import type { PlainCollection, WritesElsewhere } from '../document-store/sqlite/documents.ts';
import type { AppendsElsewhere } from '../event-store/sqlite/event-store.ts';
import type { CommittedGroup } from '../event-store/sqlite/log-writer.ts';
import { createCaller } from '../runtime/calls.ts';
import { createLink, type Port } from '../runtime/link.ts';
import { COMMITTED, type Described, type LogCalls } from './log-calls.ts';

/** A client of the log thread. Calls without an answer are repeated when the log thread restarts. */
export type LogClient = {
  readonly appends: AppendsElsewhere;
  readonly writes: WritesElsewhere;
  connect(port: Port): void;
  disconnect(): void;
  /** Rejects pending and future writes. */
  close(): void;
};

/** @param options.receivesCommits whether the log thread sends its commits to this thread */
export function createLogClient({ receivesCommits }: { readonly receivesCommits: boolean }): LogClient {
  const { ask, ...caller } = createCaller<LogCalls>();
  const described = new Map<string, PlainCollection>();
  const fromLog = createLink();
  let describe: (message: Described) => void = () => {};

  /** Describes a collection to the log thread on first use. @returns its name */
  function named(collection: PlainCollection): string {
    if (!described.has(collection.name)) {
      described.set(collection.name, collection);
      describe({ collections: [collection] });
    }
    return collection.name;
  }

  return {
    appends: {
      append: (append) => ask('append', append),
      ...(receivesCommits && { onCommitted: (listener) => void fromLog.open<CommittedGroup>(COMMITTED, listener) }),
    },
    writes: {
      insert: (collection, key, written) => ask('insert', { collection: named(collection), key, written }),
      replace: (collection, key, written, version) =>
        ask('replace', { collection: named(collection), key, written, version }),
      delete: (collection, key, version) => ask('delete', { collection: named(collection), key, version }),
      sweep: (collection, now) => ask('sweep', { collection: named(collection), now }),
    },
    connect(port) {
      describe = (message) => port.postMessage(message);
      describe({ collections: [...described.values()] });
      if (receivesCommits) fromLog.connect(port);
      caller.connect(port);
    },
    disconnect: caller.disconnect,
    close: () => caller.close(new Error('The store is closed')),
  };
}
