import { parentPort, workerData } from 'node:worker_threads';
import type { PlainCollection } from '../document-store/sqlite/documents.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { answer } from './calls.ts';
import { createCheckpointer } from './checkpointer.ts';
import type { Described, WriterCalls, WriterData } from './writer-calls.ts';

// The writer makes every durable commit, of events and records, for the main thread.
const { log, documents }: WriterData = workerData.data;
if (parentPort === null) throw new Error('This file must run in a worker thread');
const parent = parentPort;
const { take, stop: stopCheckpoints } = createCheckpointer();

const logWriter = log === undefined ? undefined : await openLog(log);
const documentWriter = documents === undefined ? undefined : await openDocuments(documents);
const described = new Map<string, PlainCollection>();

parent.on('message', async (message: unknown) => {
  if (isDescribed(message)) for (const collection of message.collections) described.set(collection.name, collection);
  if (message !== 'stop') return;
  await answered();
  await Promise.all([logWriter?.close(), documentWriter?.close()]);
  await stopCheckpoints();
  parent.close();
});

const answered = answer<WriterCalls>(parent, {
  async append(append) {
    const outcome = await required(logWriter).append(append);
    faultPoint('writer: committed, not answered');
    return outcome;
  },
  async write({ collection, write }, isRepeated) {
    const isMade = await required(documentWriter).write(collectionOf(collection), write, isRepeated);
    if (write.type === 'insert') faultPoint(`writer: ${collection} stored, not answered`);
    return isMade;
  },
  async sweep({ collection, now }) {
    await required(documentWriter).sweep(collectionOf(collection), now);
    return undefined;
  },
  async walStep({ path, step }) {
    take(path, step);
    return undefined;
  },
});

function collectionOf(name: string): PlainCollection {
  const collection = described.get(name);
  if (collection === undefined) throw new Error(`The main thread writes to ${name}, which it has not described`);
  return collection;
}

async function openLog(path: string) {
  const { openLogWriter } = await import('../event-store/sqlite/log-writer.ts');
  return openLogWriter(path, take);
}

async function openDocuments(folder: string) {
  const { openDocumentWriter } = await import('../document-store/sqlite/document-writer.ts');
  return openDocumentWriter(folder, { walSteps: take });
}

const isDescribed = (message: unknown): message is Described =>
  typeof message === 'object' && message !== null && 'collections' in message;

function required<W>(writer: W | undefined): W {
  if (writer === undefined) throw new Error('This part of the store is not embedded');
  return writer;
}
