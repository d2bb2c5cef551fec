import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, test, vi } from 'vitest';
import type { Collection, OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { createWriter, type Writer } from '../../src/threads/writer.ts';
import { documentStoreContract } from '../contract/document-store.ts';
import { eventStoreContract } from '../contract/event-store.ts';
import { ask } from '../document-store/ask.ts';
import { replace } from '../document-store/replace.ts';
import { eventually } from '../eventually.ts';

type Threaded = {
  readonly writer: Writer;
  openLog(): Promise<OperatedEventStore>;
  openDocuments(): Promise<OperatedDocumentStore>;
  remove(): Promise<void>;
};

/** A store whose durable commits are made by the writer. */
async function startThreaded(): Promise<Threaded> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-threads-'));
  const path = join(folder, 'events.db');
  // The main thread has already opened the files.
  await (await openSqliteEventStore({ path })).close();
  const writer = createWriter({ log: path, documents: folder }, pino({ level: 'silent' }));
  writer.start();
  return {
    writer,
    openLog: () => openSqliteEventStore({ path, elsewhere: writer }),
    openDocuments: () => openSqliteDocumentStore({ folder, elsewhere: writer }),
    async remove() {
      await writer.stop();
      await rm(folder, { recursive: true });
    },
  };
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

describe('a writer that dies', () => {
  /** Ends the thread in the middle of its work, four times: before the fifth start it would pause for 5 s. */
  async function killing({ writer }: Threaded, work: () => Promise<void>): Promise<void> {
    let kills = 0;
    const killer = (async () => {
      while (kills < 4) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        if (writer.running() === undefined) continue;
        await writer.running()?.terminate();
        kills += 1;
      }
    })();
    while (kills < 4) await work();
    await killer;
  }

  test('loses or repeats no append, and answers each', { timeout: 60_000 }, async () => {
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

  test('loses no document, and reports the outcome of each write', { timeout: 60_000 }, async () => {
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

test.each([
  ['in the same turn of the event loop', 0],
  ['a turn earlier', 1],
])('a writer that stops has answered the calls that were made %s', async (_, turns) => {
  const threaded = await startThreaded();
  const [log, store] = [await threaded.openLog(), await threaded.openDocuments()];
  try {
    await log.append('stream-1', [{ type: 'Happened', data: {}, metadata: {} }], { expectedRevision: 'none' });
    const records = await store.open(counters);
    const append = log.append('stream-2', [{ type: 'Happened', data: {}, metadata: {} }], { expectedRevision: 'none' });
    const insert = records.insert('a', { n: 1 });
    for (let turn = 0; turn < turns; turn += 1) await nextTurn();
    const [, appended, inserted] = await Promise.allSettled([threaded.writer.stop(), append, insert]);
    expect(appended).toMatchObject({ value: { revision: 0 } });
    expect(inserted).toMatchObject({ value: true });
  } finally {
    await Promise.all([log.close(), store.close()]);
    await threaded.remove();
  }
});

test('this thread is fed its own events in log order, and those of another process from the file', async () => {
  const threaded = await startThreaded();
  const [log, other] = [await threaded.openLog(), await threaded.openLog()];
  const stopping = new AbortController();
  const seen: string[] = [];
  const reading = (async () => {
    for await (const { events } of log.subscribe({ signal: stopping.signal }))
      seen.push(...events.map(({ stream, revision }) => `${stream} ${revision}`));
  })();
  try {
    const happened = { type: 'Happened', data: {}, metadata: {} };
    await Promise.all(
      Array.from({ length: 60 }, async (_, n) => {
        await (n % 4 === 0 ? other : log).append(`stream-${n}`, [happened, happened], { expectedRevision: 'none' });
      }),
    );
    await eventually(() => expect(seen).toHaveLength(120));
    const stored = (await Array.fromAsync(log.readAll())).map(({ stream, revision }) => `${stream} ${revision}`);
    expect(seen).toEqual(stored);
  } finally {
    stopping.abort();
    await reading;
    await Promise.all([log.close(), other.close()]);
    await threaded.remove();
  }
});

test('only a thread of its own checkpoints: the WAL of what this thread writes stays short', async () => {
  const threaded = await startThreaded();
  const checkpoint = vi.spyOn(threaded.writer, 'walSteps');
  const store = await threaded.openDocuments();
  try {
    const shown = await store.open<{ readonly text: string }>({ name: 'shown', kind: 'readModel', indexes: [] });
    const text = 'x'.repeat(100_000);
    for (let n = 0; n < 1_024; n += 1) await shown.insert(`d${n}`, { text });
    expect(checkpoint).toHaveBeenCalled();
    await eventually(async () => {
      await shown.insert(`later-${Math.random()}`, { text });
      // Had it never been checkpointed, it would have more than 100 MB.
      const [path = ''] = checkpoint.mock.calls[0] ?? [];
      expect(statSync(`${path}-wal`).size).toBeLessThan(80 * 2 ** 20);
    });
  } finally {
    await store.close();
    await threaded.remove();
  }
});

test('an append is answered while a checkpoint waits for a reader', async () => {
  const threaded = await startThreaded();
  const checkpoint = vi.spyOn(threaded.writer, 'walSteps').mockImplementation(() => {});
  const [store, log] = [await threaded.openDocuments(), await threaded.openLog()];
  const shown = await store.open<{ readonly text: string }>({ name: 'shown', kind: 'readModel', indexes: [] });
  const text = 'x'.repeat(100_000);
  await shown.insert('first', { text });
  for (let n = 0; checkpoint.mock.calls.length === 0; n += 1) await shown.insert(`d${n}`, { text });
  const [path = ''] = checkpoint.mock.calls[0] ?? [];
  checkpoint.mockRestore();
  const [reader, other] = [new DatabaseSync(path), new DatabaseSync(path, { timeout: 0 })];
  const isLocked = () => {
    try {
      other.exec('BEGIN IMMEDIATE; ROLLBACK');
      return false;
    } catch {
      return true;
    }
  };
  try {
    reader.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
    for (let n = 0; n < 800; n += 1) await shown.insert(`more${n}`, { text });
    let revision: number | 'none' = 'none';
    await eventually(async () => {
      threaded.writer.walSteps(path, 'checkpoint');
      // On a busy machine the lock may come and go unseen. Then another checkpoint is tried.
      for (const until = performance.now() + 500; !isLocked() && performance.now() < until; ) await nextTurn();
      ({ revision } = await log.append('thing', [{ type: 'Made', data: {}, metadata: {} }], {
        expectedRevision: revision,
      }));
      expect(isLocked()).toBe(true);
    });
  } finally {
    reader.close();
    other.close();
    await Promise.all([store.close(), log.close()]);
    await threaded.remove();
  }
});
