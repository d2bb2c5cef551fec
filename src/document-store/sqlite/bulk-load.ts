import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { FileName } from '../../sqlite/file-name.ts';
import type { BulkLoad, Collection, Projected } from '../document-store.ts';
import type { OwnFile } from './own-files.ts';
import { upsertInto } from './statements.ts';
import { createIndexes, openTable, valuesOf } from './table.ts';

/** Documents that are handed to the thread at once: about two milliseconds of this one. */
const CHUNK = 1_000;
/** Keys that are looked up in one query. */
const LOOK_UP = 500;

/** What the thread is started with. */
export type Setup = {
  readonly name: FileName;
  readonly upsert: string;
  /** The fields that have columns. */
  readonly fields: readonly string[];
};

/** What the thread is to do: to write rows, or to run a statement. */
export type Order = {
  readonly id: number;
  /**
   * Two lines for each: key and position, and the document, both as JSON. One text is handed over much faster than the values in it,
   * and the thread has time to take them out.
   */
  readonly rows?: string;
  /** The last position of the step, with its last rows. */
  readonly lastWritten?: string;
  readonly sql?: string;
};

export type Answer = { readonly id: number; readonly error?: unknown };

/**
 * Loads a collection into a file of its own. A thread writes: neither a transaction nor an index that takes seconds holds up
 * this one. The indexes are made at the end, which takes less time and leaves them in order on the disk.
 */
export async function startBulkLoad<D extends object>(file: OwnFile, collection: Collection<D>): Promise<BulkLoad<D>> {
  const table = await openTable(file, collection, 'indexes later');
  const find = file.database.prepare(
    `SELECT key, position, document FROM ${table.name} WHERE key IN (SELECT value FROM json_each(?))`,
  );
  const some = file.database.prepare(`SELECT 1 FROM ${table.name} LIMIT ${CHUNK + 1}`);
  const upsert = file.database.prepare(upsertInto(table));
  let thread: LoadThread | undefined;
  let settling: Promise<unknown> | undefined;

  function begin(): LoadThread {
    thread ??= startThread({ name: file.name, upsert: upsertInto(table), fields: table.fields });
    return thread;
  }

  return {
    async projected(keys) {
      const found = new Map<string, Projected<D>>();
      for (let from = 0; from < keys.length; from += LOOK_UP) {
        for (const { key, position, document } of find.all(JSON.stringify(keys.slice(from, from + LOOK_UP)))) {
          const known = { key: String(key), position: String(position) };
          found.set(known.key, { ...known, document: document === null ? undefined : JSON.parse(String(document)) });
        }
      }
      return found;
    },

    async write(step) {
      const lastWritten = step.reduce((last, { position }) => (position > last ? position : last), '');
      // Most collections are too small for a thread to be worth its start.
      if (thread === undefined && step.length <= CHUNK) {
        await file.write(() => {
          for (const { key, position, document } of step)
            upsert.run(
              key,
              position,
              document === undefined ? null : JSON.stringify(document),
              ...valuesOf(document, table.fields),
            );
          file.noteWritten(lastWritten);
        });
        return;
      }
      const { order } = begin();
      const written: Promise<void>[] = [];
      for (let from = 0; from < step.length; from += CHUNK) {
        let rows = '';
        for (const { key, position, document } of step.slice(from, from + CHUNK))
          rows += `${JSON.stringify([key, position])}\n${JSON.stringify(document ?? null)}\n`;
        const isLast = from + CHUNK >= step.length;
        const chunk = order({ rows, ...(isLast && { lastWritten }) });
        // Awaited below. One that fails while this prepares the next is not unhandled.
        chunk.catch(() => {});
        written.push(chunk);
        await nextTurn();
      }
      await Promise.all(written);
    },

    async finish() {
      const statements = createIndexes(collection);
      // Another load may have written most of it.
      const isSmall = thread === undefined && some.all().length <= CHUNK;
      if (isSmall) return file.write(() => file.database.exec(statements.join(';')));
      const { order } = begin();
      for (const sql of statements) await order({ sql });
      // Not waited for: the collection is complete. Most of it goes to the file without keeping anyone from writing.
      settling = Promise.all(['PASSIVE', 'TRUNCATE'].map((mode) => order({ sql: `PRAGMA wal_checkpoint(${mode})` })));
      settling.catch(() => {});
    },

    async close() {
      await settling?.catch(() => {});
      await thread?.end();
    },
  };
}

type LoadThread = {
  /** Resolves once it is done. */
  readonly order: (order: Omit<Order, 'id'>) => Promise<void>;
  /** What it has not begun by then is left undone. */
  readonly end: () => Promise<unknown>;
};

function startThread(setup: Setup): LoadThread {
  const thread = new Worker(new URL('./bulk-load-thread.ts', import.meta.url), { name: 'load', workerData: setup });
  thread.unref();
  const waiting = new Map<number, { readonly resolve: () => void; readonly reject: (error: unknown) => void }>();
  let orders = 0;
  let ended: unknown;

  function end(error: unknown): void {
    ended ??= error;
    for (const { reject } of waiting.values()) reject(ended);
    waiting.clear();
  }
  thread.on('error', end);
  thread.on('exit', () => end(new Error(`The thread that writes ${setup.name.path} has ended`)));
  thread.on('message', ({ id, error }: Answer) => {
    const order = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) order?.resolve();
    else order?.reject(error);
  });
  return {
    order: (what) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended);
        orders += 1;
        waiting.set(orders, { resolve, reject });
        thread.postMessage({ id: orders, ...what });
      }),
    end: () => thread.terminate(),
  };
}
