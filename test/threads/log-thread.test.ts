import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MessagePort } from 'node:worker_threads';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { Collection, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { closeStores, openStores } from '../../src/engines.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { createLogClient, type LogClient } from '../../src/threads/log-client.ts';
import { type LogThread, startLogThread } from '../../src/threads/start-log-thread.ts';
import { documentStoreContract } from '../contract/document-store.ts';
import { eventStoreContract } from '../contract/event-store.ts';
import { ask } from '../document-store/ask.ts';
import { replace } from '../document-store/replace.ts';

type Threaded = {
  readonly thread: LogThread;
  openLog(): Promise<OperatedEventStore>;
  openDocuments(): Promise<OperatedDocumentStore>;
  remove(): Promise<void>;
};

/** The thread that writes through the log thread: the one that started it, or the worker, over its own port. */
const WRITERS = ['main', 'worker'] as const;
type Writer = (typeof WRITERS)[number];

/** A store whose writes are made by the log thread. */
async function startThreaded(writer: Writer = 'main'): Promise<Threaded> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-threads-'));
  const path = join(folder, 'events.db');
  // The main thread has already opened the files.
  await (await openSqliteEventStore({ path })).close();
  const main = createLogClient({ receivesCommits: false });
  const thread = startLogThread({
    client: main,
    data: { log: path, documents: folder },
    logger: pino({ level: 'silent' }),
  });
  const client = writer === 'main' ? main : connectedWorker(thread);
  return {
    thread,
    openLog: () => openSqliteEventStore({ path, elsewhere: client.appends }),
    openDocuments: () =>
      openSqliteDocumentStore({ folder, elsewhere: { kinds: ['record', 'readModel'], writes: client.writes } }),
    async remove() {
      client.close();
      await thread.stop();
      await rm(folder, { recursive: true });
    },
  };
}

/** The worker’s connection to the log thread, in this thread. */
function connectedWorker(thread: LogThread): LogClient {
  const client = createLogClient({ receivesCommits: true });
  thread.connectWorker({
    postMessage(port) {
      if (!(port instanceof MessagePort)) return;
      client.connect(port);
      port.on('close', client.disconnect);
    },
  });
  return client;
}

eventStoreContract('SQLite, appended by a thread', async () => {
  const { openLog, remove } = await startThreaded();
  return { open: openLog, stop: remove };
});

describe('document store on SQLite, written by a thread', () =>
  documentStoreContract(async () => {
    const { openDocuments, remove } = await startThreaded();
    const stores: OperatedDocumentStore[] = [];
    return {
      async open() {
        const store = await openDocuments();
        stores.push(store);
        return store;
      },
      async remove() {
        await Promise.all(stores.map((store) => store.close()));
        await remove();
      },
    };
  }));

type Counted = { readonly n: number };
const counters: Collection<Counted> = { name: 'counters', kind: 'record', indexes: [] };

describe.each(WRITERS)('a log thread that dies, used by the %s', (writer) => {
  /** Ends the thread in the middle of its work, four times: before the fifth start it would pause for 5 s. */
  async function killing({ thread }: Threaded, work: () => Promise<void>): Promise<void> {
    let kills = 0;
    const killer = (async () => {
      while (kills < 4) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (thread.running() === undefined) continue;
        await thread.running()?.terminate();
        kills += 1;
      }
    })();
    while (kills < 4) await work();
    await killer;
  }

  test('loses or repeats no append, and answers each', { timeout: 60_000 }, async () => {
    const threaded = await startThreaded(writer);
    const log = await threaded.openLog();
    try {
      let next = 0;
      await killing(threaded, async () => {
        await Promise.all(
          Array.from({ length: 20 }, () =>
            log.append(`stream-${next++}`, [{ type: 'Happened', data: {}, metadata: {} }], {
              expectedRevision: 'none',
            }),
          ),
        );
      });
      const streams = (await Array.fromAsync(log.readAll())).map(({ stream }) => stream);
      expect(streams).toHaveLength(next);
      expect(new Set(streams).size).toBe(next);
    } finally {
      await log.close();
      await threaded.remove();
    }
  });

  test('loses no document, and reports the outcome of each write', { timeout: 60_000 }, async () => {
    const threaded = await startThreaded(writer);
    const store = await threaded.openDocuments();
    try {
      const documents = await store.open(counters);
      await documents.insert('counter', { n: 0 });
      let next = 0;
      let counted = 0;
      await killing(threaded, async () => {
        const inserted = await Promise.all(Array.from({ length: 10 }, () => documents.insert(`d${next++}`, { n: 1 })));
        expect(inserted).toEqual(Array.from({ length: 10 }, () => true));
        const stored = await documents.get('counter');
        const { version = 0, document = { n: -1 } } = stored ?? {};
        if (await replace(documents, 'counter', { n: document.n + 1 }, version)) counted += 1;
      });
      expect((await documents.get('counter'))?.document.n).toBe(counted);
      expect(await documents.count(ask())).toBe(next + 1);
    } finally {
      await store.close();
      await threaded.remove();
    }
  });
});

test('a write from a thread that does not know a newer release’s column still fills it', async () => {
  const threaded = await startThreaded();
  const [older, newer] = [await threaded.openDocuments(), await threaded.openDocuments()];
  try {
    const tickets: Collection<Ticket> = { name: 'tickets', kind: 'record', indexes: [{ fields: ['row'] }] };
    const before = await older.open(tickets);
    await before.insert('a', { row: 1, seat: 1 });
    const after = await newer.open({ ...tickets, indexes: [...tickets.indexes, { fields: ['seat'] }] });
    await after.insert('b', { row: 1, seat: 2 });
    await before.insert('c', { row: 2, seat: 2 });
    await replace(before, 'a', { row: 1, seat: 2 }, 1);
    expect((await Array.fromAsync(after.find(ask({ where: { seat: 2 } })))).map(({ key }) => key)).toEqual([
      'a',
      'b',
      'c',
    ]);
  } finally {
    await Promise.all([older.close(), newer.close()]);
    await threaded.remove();
  }
});

type Ticket = { readonly row: number; readonly seat: number };

test('with a log thread, the worker sends records to it and writes read models itself', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-threads-'));
  const there: string[] = [];
  const log: LogClient = {
    appends: {
      async append({ stream }) {
        there.push(stream);
        return { revision: 0, position: '1' };
      },
    },
    writes: {
      insert: async (_, key) => there.push(key) > 0,
      replace: async () => true,
      delete: async () => true,
      sweep: async () => {},
    },
    connect: () => {},
    disconnect: () => {},
    close: () => {},
  };
  const config = { dataDir: folder, eventStoreUrl: undefined, mongoUrl: undefined, eventStorePrefix: undefined };
  const stores = await openStores(config, pino({ level: 'silent' }), { log });
  try {
    await stores.events.append('stream', [{ type: 'Happened', data: {}, metadata: {} }], { expectedRevision: 'none' });
    await (await stores.documents.open(counters)).insert('record', { n: 1 });
    const shown = await stores.documents.open<Counted>({ name: 'shown', kind: 'readModel', indexes: [] });
    await shown.insert('read model', { n: 1 });
    expect(there).toEqual(['stream', 'record']);
    expect(await shown.get('read model')).toMatchObject({ document: { n: 1 } });
  } finally {
    await closeStores(stores);
    await rm(folder, { recursive: true });
  }
});
