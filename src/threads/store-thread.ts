import { parentPort, workerData } from 'node:worker_threads';
import { answer } from '../runtime/calls.ts';
import type { StoreCalls } from './store-calls.ts';

/**
 * The thread that writes for the one that answers requests: it appends to the embedded log and writes records, so that nobody
 * waits for the disk while it waits.
 */
export type StoreThreadData = {
  /** The embedded log; absent if the log is elsewhere. */
  readonly log: string | undefined;
  /** The folder of the embedded documents; absent if they are elsewhere. */
  readonly documents: string | undefined;
};

const { log, documents }: StoreThreadData = workerData.data;
const port = parentPort;
if (port === null) throw new Error('To be run in a thread');

const logWriter = log === undefined ? undefined : await openLog(log);
const documentWriter = documents === undefined ? undefined : await openDocuments(documents);

answer<StoreCalls>(port, {
  append: (append) => required(logWriter).append(append),
  insert: ({ collection, key, json }) => required(documentWriter).insert(collection, key, json),
  replace: ({ collection, key, json, version }) => required(documentWriter).replace(collection, key, json, version),
  delete: ({ collection, key, version }) => required(documentWriter).delete(collection, key, version),
  async sweep({ collection, now }) {
    await required(documentWriter).sweep(collection, now);
    return undefined;
  },
});
port.on('message', async (message: unknown) => {
  if (message !== 'stop') return;
  await Promise.all([logWriter?.close(), documentWriter?.close()]);
  port.close();
});
port.postMessage('up');

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
