import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Ask, createCaller } from '../../runtime/calls.ts';
import { startThread } from '../../runtime/start-thread.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import type { BulkLoad, Collection, NextCheckpoint, Projected } from '../document-store.ts';
import type { OwnFile } from './own-files.ts';
import type { Value } from './query.ts';
import { upsertInto } from './statements.ts';
import { createIndexes, openTable, valuesOf } from './table.ts';

/** Documents sent to the thread at once: about two milliseconds of work for this thread. */
const CHUNK = 1_000;
/** Keys per query. */
const LOOK_UP = 500;

/** The start parameters of the thread. */
export type Setup = {
  readonly name: FileName;
  readonly collection: string;
  readonly upsert: string;
};

/** The calls to the thread. */
export type LoadCalls = {
  readonly write: {
    readonly argument: {
      /** The parameters of the statement for each row, prepared in this thread. */
      readonly rows: readonly (readonly Value[])[];
      /** Whether these are the last rows of the step. */
      readonly isLast: boolean;
      readonly checkpoint: NextCheckpoint | undefined;
    };
    /** False if another load has moved the checkpoint: the step is not written. */
    readonly result: boolean;
  };
  readonly run: { readonly argument: string; readonly result: undefined };
};

/**
 * Loads a collection into a file of its own. A worker thread writes, so that long transactions and index builds do not block this
 * thread. Indexes are created at the end, which is faster and stores them in order.
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
    thread ??= startLoadThread({ name: file.name, collection: collection.name, upsert: upsertInto(table) });
    return thread;
  }

  const rowOf = ({ key, position, document }: Projected<D>): Value[] => {
    const row: Value[] = [key, position, document === undefined ? null : JSON.stringify(document)];
    // Spreading into the row literal would make this function 50% slower.
    for (const value of valuesOf(document, table.fields)) row.push(value);
    return row;
  };

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

    async write(step, checkpoint) {
      // Most collections are too small to be worth a thread.
      if (thread === undefined && step.length <= CHUNK) {
        return file.write(() => {
          if (checkpoint !== undefined && !file.checkpoints.advance(collection.name, checkpoint)) return false;
          for (const projected of step) upsert.run(...rowOf(projected));
          return true;
        });
      }
      const { ask } = begin();
      const written: Promise<boolean>[] = [];
      for (let from = 0; from === 0 || from < step.length; from += CHUNK) {
        const rows = step.slice(from, from + CHUNK).map(rowOf);
        const isLast = from + CHUNK >= step.length;
        const chunk = ask('write', { rows, isLast, checkpoint });
        // Awaited below. Prevents an unhandled rejection while this thread prepares the next chunk.
        chunk.catch(() => {});
        written.push(chunk);
        await nextTurn();
      }
      return !(await Promise.all(written)).includes(false);
    },

    async finish() {
      const statements = createIndexes(collection);
      // Another load may have written most of it.
      const isSmall = thread === undefined && some.all().length <= CHUNK;
      if (isSmall) return file.write(() => file.database.exec(statements.join(';')));
      const { ask } = begin();
      if (statements.length > 0) await ask('run', 'PRAGMA wal_checkpoint(PASSIVE)');
      for (const sql of statements) await ask('run', sql);
      // Not awaited, because the collection is complete. The passive checkpoint moves most pages without blocking writers.
      settling = Promise.all(['PASSIVE', 'TRUNCATE'].map((mode) => ask('run', `PRAGMA wal_checkpoint(${mode})`)));
      settling.catch(() => {});
    },

    async close() {
      await settling?.catch(() => {});
      await thread?.end();
    },
  };
}

type LoadThread = {
  readonly ask: Ask<LoadCalls>;
  /** Skips work that has not begun. */
  readonly end: () => Promise<unknown>;
};

function startLoadThread(setup: Setup): LoadThread {
  const thread = startThread('load', new URL('./bulk-load-thread.ts', import.meta.url), setup);
  thread.unref();
  const { ask, connect, close } = createCaller<LoadCalls>();
  connect(thread);
  thread.on('error', close);
  thread.on('exit', () => close(new Error(`The thread that writes ${setup.name.path} has ended`)));
  return { ask, end: () => thread.terminate() };
}
