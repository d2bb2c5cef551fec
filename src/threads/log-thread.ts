import { MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { PlainCollection } from '../document-store/sqlite/documents.ts';
import type { CommittedGroup } from '../event-store/sqlite/log-writer.ts';
import { answer } from '../runtime/calls.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { createLink } from '../runtime/link.ts';
import { COMMITTED, type Described, type LogCalls, type LogThreadData } from './log-calls.ts';

// The log thread makes every durable commit, of events and records, for the main thread and the worker. The main thread sends it a port
// to the worker. It sends each commit of events to the worker, and then answers.
const { log, documents }: LogThreadData = workerData.data;
if (parentPort === null) throw new Error('This file must run in a worker thread');
const parent = parentPort;

const toWorker = createLink();
const committed = toWorker.open<CommittedGroup>(COMMITTED, () => {});
const logWriter = log === undefined ? undefined : await openLog(log);
const documentWriter = documents === undefined ? undefined : await openDocuments(documents);

/** The worker's port. This thread cannot end while it is open. */
let workerPort: MessagePort | undefined;

answerOver(parent);
parent.on('message', async (message: unknown) => {
  if (message instanceof MessagePort) {
    workerPort = message;
    toWorker.connect(message);
    answerOver(message);
  }
  if (message !== 'stop') return;
  await Promise.all([logWriter?.close(), documentWriter?.close()]);
  workerPort?.close();
  parent.close();
});

function answerOver(port: MessagePort): void {
  const described = new Map<string, PlainCollection>();
  port.on('message', (message: unknown) => {
    if (isDescribed(message)) for (const collection of message.collections) described.set(collection.name, collection);
  });
  function known(name: string): PlainCollection {
    const collection = described.get(name);
    if (collection === undefined) throw new Error(`Another thread writes to ${name}, which it has not described`);
    return collection;
  }

  answer<LogCalls>(port, {
    append: (append) => required(logWriter).append(append),
    async insert({ collection, key, written }, isRepeated) {
      const isInserted = await required(documentWriter).insert(known(collection), key, written, isRepeated);
      faultPoint(`log: ${collection} stored, not answered`);
      return isInserted;
    },
    replace: ({ collection, key, written, version }, isRepeated) =>
      required(documentWriter).replace(known(collection), key, written, version, isRepeated),
    delete: ({ collection, key, version }, isRepeated) =>
      required(documentWriter).delete(known(collection), key, version, isRepeated),
    async sweep({ collection, now }) {
      await required(documentWriter).sweep(known(collection), now);
      return undefined;
    },
  });
}

async function openLog(path: string) {
  const { openLogWriter } = await import('../event-store/sqlite/log-writer.ts');
  return openLogWriter(path, (group) => {
    faultPoint('log: committed, worker not notified');
    committed.send(group);
  });
}

async function openDocuments(folder: string) {
  const { openDocumentWriter } = await import('../document-store/sqlite/document-writer.ts');
  return openDocumentWriter(folder);
}

const isDescribed = (message: unknown): message is Described =>
  typeof message === 'object' && message !== null && 'collections' in message;

function required<W>(writer: W | undefined): W {
  if (writer === undefined) throw new Error('This part of the store is not embedded');
  return writer;
}
