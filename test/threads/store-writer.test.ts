import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import type { Collection, DocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type StoreWriter, startStoreWriter } from '../../src/threads/store-writer.ts';
import { documentStoreContract } from '../contract/document-store.ts';
import { eventStoreContract } from '../contract/event-store.ts';
import { ask } from '../document-store/ask.ts';
import { eventually } from '../eventually.ts';

type Threaded = {
  readonly writer: StoreWriter;
  openLog(): Promise<EventStore>;
  openDocuments(): Promise<DocumentStore>;
  remove(): Promise<void>;
};

/** A store whose writes are made by a thread. */
async function startThreaded(): Promise<Threaded> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-threads-'));
  const path = join(folder, 'events.db');
  // Whoever starts the thread has opened the files before.
  await (await openSqliteEventStore({ path })).close();
  const writer = startStoreWriter({ data: { log: path, documents: folder }, logger: pino({ level: 'silent' }) });
  await isUp(writer);
  return {
    writer,
    openLog: () => openSqliteEventStore({ path, appendElsewhere: writer.append }),
    openDocuments: () => openSqliteDocumentStore({ folder, writesElsewhere: writer.writes }),
    async remove() {
      await writer.stop();
      await rm(folder, { recursive: true });
    },
  };
}

const isUp = (writer: StoreWriter) => eventually(() => expect(writer.append()).toBeDefined());

eventStoreContract('SQLite, appended by a thread', async () => {
  const { openLog, remove } = await startThreaded();
  return { open: openLog, stop: remove };
});

describe('document store on SQLite, written by a thread', () =>
  documentStoreContract(async () => {
    const { openDocuments, remove } = await startThreaded();
    const stores: DocumentStore[] = [];
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

describe('a thread that ends', () => {
  /** Ends the thread in the middle of what is going on, five times. */
  async function killing({ writer }: Threaded, work: () => Promise<void>): Promise<void> {
    let kills = 0;
    const killer = (async () => {
      while (kills < 5) {
        await isUp(writer);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await writer.running()?.terminate();
        kills += 1;
      }
    })();
    while (kills < 5) await work();
    await killer;
  }

  test('loses no append and makes none twice; each has an answer', { timeout: 60_000 }, async () => {
    const threaded = await startThreaded();
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

  test('loses no document, and says of each write what became of it', { timeout: 60_000 }, async () => {
    const threaded = await startThreaded();
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
        if (await documents.replace('counter', { n: document.n + 1 }, version)) counted += 1;
      });
      expect((await documents.get('counter'))?.document.n).toBe(counted);
      expect(await documents.count(ask())).toBe(next + 1);
    } finally {
      await store.close();
      await threaded.remove();
    }
  });
});
