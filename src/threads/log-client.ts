import type { PlainCollection, WritesElsewhere } from '../document-store/sqlite/documents.ts';
import type { AppendsElsewhere } from '../event-store/sqlite/event-store.ts';
import type { CommittedGroup } from '../event-store/sqlite/log-writer.ts';
import { createCaller } from '../runtime/calls.ts';
import { createLink, type Port } from '../runtime/link.ts';
import { COMMITTED, type Described, type LogCalls } from './log-calls.ts';

/** The log thread, as another thread writes through it. What has no answer when it ends is asked of the next one. */
export type LogClient = {
  readonly appends: AppendsElsewhere;
  readonly writes: WritesElsewhere;
  connect(port: Port): void;
  disconnect(): void;
  /** Nothing is written through it from now on. */
  close(): void;
};

/** @param options.isTold whether the log thread tells this one what it commits */
export function createLogClient({ isTold }: { readonly isTold: boolean }): LogClient {
  const { ask, ...caller } = createCaller<LogCalls>();
  const described = new Map<string, PlainCollection>();
  const fromLog = createLink();
  let describe: (message: Described) => void = () => {};

  /** The name of a collection that the log thread knows. */
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
      ...(isTold && { onCommitted: (hear) => void fromLog.open<CommittedGroup>(COMMITTED, hear) }),
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
      if (isTold) fromLog.connect(port);
      caller.connect(port);
    },
    disconnect: caller.disconnect,
    close: () => caller.close(new Error('The store is closed')),
  };
}
