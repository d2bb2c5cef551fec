import { MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { PlainCollection } from '../document-store/sqlite/documents.ts';
import { answer } from '../runtime/calls.ts';
import type { NamedCollection, StoreCalls } from './store-calls.ts';

/**
 * The thread that writes for the others: it appends to the embedded log and writes records, so that nobody waits for the disk while
 * they wait. It answers its parent, and over every port that it is sent.
 */
export type StoreThreadData = {
  /** The embedded log; absent if the log is elsewhere. */
  readonly log: string | undefined;
  /** The folder of the embedded documents; absent if they are elsewhere. */
  readonly documents: string | undefined;
};

const { log, documents }: StoreThreadData = workerData.data;
const parent = parentPort;
if (parent === null) throw new Error('To be run in a thread');

const logWriter = log === undefined ? undefined : await openLog(log);
const documentWriter = documents === undefined ? undefined : await openDocuments(documents);

/** The ports of the other threads. Those that are open keep this thread from ending. */
const ports = new Set<MessagePort>();

answerOver(parent);
parent.on('message', async (message: unknown) => {
  if (message instanceof MessagePort) {
    ports.add(message);
    message.on('close', () => ports.delete(message));
    answerOver(message);
  }
  if (message !== 'stop') return;
  await Promise.all([logWriter?.close(), documentWriter?.close()]);
  for (const port of [parent, ...ports]) port.close();
});
parent.postMessage('up');

function answerOver(port: MessagePort): void {
  const described = new Map<string, PlainCollection>();
  function known(collection: NamedCollection): PlainCollection {
    if (typeof collection !== 'string') described.set(collection.name, collection);
    const found = described.get(typeof collection === 'string' ? collection : collection.name);
    if (found === undefined) throw new Error(`Another thread writes to ${collection}, which it has not described`);
    return found;
  }

  answer<StoreCalls>(port, {
    append: (append) => required(logWriter).append(append),
    insert: ({ collection, key, written }) => required(documentWriter).insert(known(collection), key, written),
    replace: ({ collection, key, written, version }) =>
      required(documentWriter).replace(known(collection), key, written, version),
    delete: ({ collection, key, version }) => required(documentWriter).delete(known(collection), key, version),
    async sweep({ collection, now }) {
      await required(documentWriter).sweep(known(collection), now);
      return undefined;
    },
  });
}

async function openLog(path: string) {
  const { openLogWriter } = await import('../event-store/sqlite/log-writer.ts');
  return openLogWriter(path);
}

async function openDocuments(folder: string) {
  const { openDocumentWriter } = await import('../document-store/sqlite/document-writer.ts');
  return openDocumentWriter(folder);
}

function required<W>(writer: W | undefined): W {
  if (writer === undefined) throw new Error('This part of the store is not embedded');
  return writer;
}
