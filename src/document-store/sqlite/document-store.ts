import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { freeBytes } from '../../runtime/disk.ts';
import { beginLoopTurn } from '../../runtime/loop-turn.ts';
import { FOLDER_OWNER_ONLY } from '../../runtime/private-file.ts';
import { inRounds } from '../../runtime/rounds.ts';
import { compact, emptyWal } from '../../sqlite/database.ts';
import {
  type Checkpoint,
  type Collection,
  checkCollection,
  type DeclaredCollection,
  type Documents,
  type OperatedDocumentStore,
} from '../document-store.ts';
import { startBulkLoad } from './bulk-load.ts';
import { CHECKPOINTS, prepareCheckpoints } from './checkpoints.ts';
import { openSqliteDocuments, type WritesElsewhere } from './documents.ts';
import type { SqliteFile } from './file.ts';
import { openSqliteFiles, readModelsFile } from './files.ts';
import { OwnFiles } from './own-files.ts';
import { quoted } from './table.ts';

/** How often expired documents are removed. */
const SWEEP_INTERVAL_MS = 60_000;
/** How often to check for files that another process has removed. */
const CLOSE_REMOVED_EVERY_MS = 10_000;

/** The thread that writes records and checkpoints the WALs, so that this one never waits for the disk. */
export type DocumentsElsewhere = {
  readonly writes: WritesElsewhere;
  readonly checkpoint: (path: string) => void;
};

type CollectionKind = Collection<object>['kind'];

/**
 * The embedded document store: two SQLite files in `folder`, created if absent, and one for each collection that was loaded in
 * bulk. Any number of processes on the machine may have them open. In a power failure the read models may lose their last commits,
 * those of one file together; records are on disk once the write resolves (docs/decisions/stores.md).
 */
export async function openSqliteDocumentStore({
  folder,
  clock = systemClock(),
  elsewhere,
}: {
  readonly folder: string;
  readonly clock?: Clock;
  readonly elsewhere?: DocumentsElsewhere | undefined;
}): Promise<OperatedDocumentStore> {
  await mkdir(folder, { recursive: true, mode: FOLDER_OWNER_ONLY });
  const options = { checkpoint: elsewhere?.checkpoint };
  const files = await openSqliteFiles(folder, options);
  const both = [files.readModel, files.record];
  const { repair } = readModelsFile(folder);
  const own = new OwnFiles({ folder, repair, store: await numberOf(files.readModel), options });
  const checkpoints = prepareCheckpoints(files.readModel.database);
  const opened = new Map<string, unknown>();
  const sweeps = new Map<string, (now: string) => Promise<void>>();
  const ttls = new Map<string, string>();

  const sweeper = setInterval(async () => {
    const now = new Date(clock()).toISOString();
    // If one fails (disk full, file locked), the next one catches up.
    for (const sweep of sweeps.values()) await sweep(now).catch(() => {});
  }, SWEEP_INTERVAL_MS);
  sweeper.unref();
  const closing = new AbortController();
  void inRounds(CLOSE_REMOVED_EVERY_MS, closing.signal, async () => {
    for (const name of await own.closeRemoved().catch(() => [])) opened.delete(name);
  });

  async function openCollection<D extends object>(collection: Collection<D>): Promise<Documents<D>> {
    if (own.has(collection.name)) {
      const file = await own.open(collection.name);
      return openSqliteDocuments(file, collection, { checkpoints: file.checkpoints });
    }
    const { kind } = collection;
    const documents = await openSqliteDocuments(files[kind], collection, {
      elsewhere: kind === 'record' ? elsewhere?.writes : undefined,
      checkpoints,
    });
    if (collection.ttl !== undefined) {
      sweeps.set(collection.name, documents.sweep);
      ttls.set(collection.name, collection.ttl);
    }
    return documents;
  }

  return {
    async open<D extends object>(collection: Collection<D>) {
      checkCollection(collection);
      const { name } = collection;
      for (;;) {
        // A collection's name determines the type of its documents.
        const opening = (opened.get(name) as Promise<Documents<D>> | undefined) ?? openCollection(collection);
        opened.set(name, opening);
        opening.catch(() => opened.delete(name));
        const documents = await opening;
        if (own.has(name) || tables(files[collection.kind]).includes(name)) return documents;
        // Another process may have dropped the collection since.
        if (opened.get(name) === opening) opened.delete(name);
      }
    },

    async load(collection) {
      const { name } = collection;
      if (!own.has(name) && tables(files.readModel).includes(name)) return undefined;
      quoted(name);
      return startBulkLoad(await own.open(name), collection);
    },

    async checkpoints(names) {
      // What these checkpoints cover must be visible to reads that follow in this turn.
      beginLoopTurn();
      const found = new Map<string, Checkpoint>();
      for (const name of names ?? [...tables(files.readModel), ...own.names()]) {
        const checkpoint = own.has(name) ? (await own.open(name)).checkpoints.read(name) : checkpoints.read(name);
        if (checkpoint !== undefined) found.set(name, checkpoint);
      }
      return found;
    },

    async drop(name, signal) {
      const table = quoted(name);
      opened.delete(name);
      sweeps.delete(name);
      if (own.has(name)) return own.remove(name);
      for (const file of both) {
        if (!tables(file).includes(name)) continue;
        await dismantle(file, name, signal);
        await file.write(() => {
          file.database.exec(`DROP TABLE IF EXISTS ${table}`);
          if (file === files.readModel) checkpoints.remove(name);
        });
        file.caches.get(name)?.forgetAll();
        file.caches.delete(name);
        await returnSpace(file);
      }
    },

    purge: () => emptyWal(files.record.database),

    async names() {
      return [...both.flatMap(tables), ...own.names()].sort();
    },

    async collections() {
      const of = (kind: CollectionKind) =>
        tables(files[kind]).map((name): DeclaredCollection => ({ name, kind, ...ttlOf(ttls.get(name)) }));
      const loaded = own.names().map((name): DeclaredCollection => ({ name, kind: 'readModel' }));
      return [...of('readModel'), ...of('record'), ...loaded].sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async room() {
      const { used, unused } = spaceOf(files.readModel);
      return {
        // SQLite reuses the pages of dropped collections before the file grows.
        free: (await freeBytes(folder)) + unused,
        readModels: used + own.bytes(),
      };
    },

    async now() {
      return undefined;
    },

    async ping() {
      for (const file of both) tables(file);
    },

    async close() {
      clearInterval(sweeper);
      closing.abort();
      await Promise.all([...both, own].map((file) => file.close()));
    },
  };
}

/** The random number that a file gets when it is created. It identifies the file. */
async function numberOf({ database, write }: SqliteFile): Promise<number> {
  const read = () => Number(database.prepare('PRAGMA user_version').get()?.user_version);
  if (read() === 0)
    await write(() => {
      // Another process may have set it first.
      if (read() === 0) database.exec(`PRAGMA user_version = ${randomInt(1, 2 ** 31)}`);
    });
  return read();
}

/** The used bytes of a file, and the free ones that dropped collections have left. */
function spaceOf({ database }: SqliteFile): { readonly used: number; readonly unused: number } {
  const read = (pragma: string): number => Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
  const [pageSize, unused] = [read('page_size'), read('freelist_count')];
  return { used: (read('page_count') - unused) * pageSize, unused: unused * pageSize };
}

/** Compacting a larger file would lock it for longer than a few tens of milliseconds. */
const MAX_COMPACTED_BYTES = 16 * 1024 * 1024;

/** Returns the space of dropped collections to the disk once it exceeds a third of the file. */
async function returnSpace(file: SqliteFile): Promise<void> {
  const { used, unused } = spaceOf(file);
  if (used <= MAX_COMPACTED_BYTES && unused > used / 2) await compact(file.database);
}

/** Rows removed per transaction: about a millisecond without indexes. */
const REMOVED_AT_ONCE = 200;
/** Pause between these transactions for other writers, in milliseconds. */
const PAUSE_MS = 2;

/** Drops a table in small steps. At once, a large table would block this process and lock the file while SQLite reads all of it. */
async function dismantle(file: SqliteFile, name: string, signal?: AbortSignal): Promise<void> {
  const { database } = file;
  const indexes = database
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`)
    .all(name);
  for (const index of indexes) {
    await file.write(() => database.exec(`DROP INDEX IF EXISTS "${String(index.name)}"`));
    await pause(PAUSE_MS, undefined, { signal });
  }
  const table = quoted(name);
  // Delete in file order, so that whole pages become free.
  const remove = database.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} ORDER BY rowid LIMIT ${REMOVED_AT_ONCE})`,
  );
  while ((await file.write(() => Number(remove.run().changes))) > 0) await pause(PAUSE_MS, undefined, { signal });
}

const ttlOf = (ttl: string | undefined) => (ttl === undefined ? {} : { ttl });

function tables({ database }: SqliteFile): string[] {
  const rows = database
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE '#%'`,
    )
    .all();
  return rows.map(({ name }) => String(name)).filter((name) => name !== CHECKPOINTS);
}
