import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { freeBytes } from '../../runtime/disk.ts';
import type { FileName } from '../../sqlite/file-name.ts';
import type { Collection, DeclaredCollection, DocumentStore, Documents } from '../document-store.ts';
import { openSqliteDocuments } from './documents.ts';
import { openSqliteFile, type SqliteFile } from './file.ts';
import { quoted } from './table.ts';

/** How often expired documents are removed. */
const SWEEP_INTERVAL_MS = 60_000;

/**
 * The embedded document store: two SQLite files in `folder`, created if absent, which any number of processes on the machine may
 * have open. In a power failure the read models may lose their last commits, all of them together; records are on disk once the
 * write resolves (docs/decisions/embedded-log.md).
 */
export async function openSqliteDocumentStore({
  folder,
  clock = systemClock(),
  believes = async () => true,
}: {
  readonly folder: string;
  readonly clock?: Clock;
  /** Whether the clock can be believed: nothing is removed by one that cannot. */
  readonly believes?: () => Promise<boolean>;
}): Promise<DocumentStore> {
  await mkdir(folder, { recursive: true });
  const files: Record<Collection<object>['kind'], SqliteFile> = {
    readModel: await openSqliteFile(readModelsFile(folder), 'lazy'),
    record: await openSqliteFile(recordsFile(folder), 'durable'),
  };
  const both = [files.readModel, files.record];
  const opened = new Map<string, unknown>();
  const sweeps = new Map<string, (now: string) => Promise<void>>();
  const ttls = new Map<string, string>();

  const sweeper = setInterval(async () => {
    const now = new Date(clock()).toISOString();
    if (!(await believes())) return;
    // If one fails (disk full, file locked), the next one catches up.
    for (const sweep of sweeps.values()) await sweep(now).catch(() => {});
  }, SWEEP_INTERVAL_MS);
  sweeper.unref();

  async function openCollection<D extends object>(collection: Collection<D>): Promise<Documents<D>> {
    const documents = await openSqliteDocuments(files[collection.kind], collection);
    if (collection.ttl !== undefined) {
      sweeps.set(collection.name, documents.sweep);
      ttls.set(collection.name, collection.ttl);
    }
    return documents;
  }

  return {
    open<D extends object>(collection: Collection<D>) {
      const { name } = collection;
      // A collection's name determines the type of its documents.
      const documents = (opened.get(name) as Promise<Documents<D>> | undefined) ?? openCollection(collection);
      opened.set(name, documents);
      documents.catch(() => opened.delete(name));
      return documents;
    },

    async drop(name, signal) {
      const table = quoted(name);
      opened.delete(name);
      sweeps.delete(name);
      for (const file of both) {
        if (!tables(file).includes(name)) continue;
        await dismantle(file, name, signal);
        await file.write(() => file.database.exec(`DROP TABLE IF EXISTS ${table}`));
        file.caches.get(name)?.invalidateDocuments();
        file.caches.delete(name);
      }
    },

    async names() {
      return both.flatMap(tables).sort();
    },

    async collections() {
      const of = (kind: Collection<object>['kind']) =>
        tables(files[kind]).map((name): DeclaredCollection => ({ name, kind, ...ttlOf(ttls.get(name)) }));
      return [...of('readModel'), ...of('record')].sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async room() {
      const { database } = files.readModel;
      const read = (pragma: string): number =>
        Number(Object.values(database.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
      const [pageSize, unused] = [read('page_size'), read('freelist_count')];
      return {
        // SQLite fills the pages that dropped collections have left before the file grows.
        free: (await freeBytes(folder)) + unused * pageSize,
        readModels: (read('page_count') - unused) * pageSize,
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
      await Promise.all(both.map((file) => file.close()));
    },
  };
}

/** Rows that are removed in one transaction: about a millisecond once there are no indexes. */
const REMOVED_AT_ONCE = 200;
/** What others get of the file between two of these transactions, in milliseconds. */
const PAUSE_MS = 2;

/** Dropping a large table at once would block this process, and lock the file, for as long as all of it takes to read. */
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
  // In the order in which they lie in the file, so that whole pages become free.
  const remove = database.prepare(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} ORDER BY rowid LIMIT ${REMOVED_AT_ONCE})`,
  );
  while ((await file.write(() => Number(remove.run().changes))) > 0) await pause(PAUSE_MS, undefined, { signal });
}

const readModelsFile = (folder: string): FileName => ({
  what: 'read-model file',
  path: join(folder, 'read-models.sqlite'),
  mend: 'Build the read models anew with: venue rebuild --from-nothing',
});
const recordsFile = (folder: string): FileName => ({
  what: 'record file',
  path: join(folder, 'records.sqlite'),
  mend: 'Replace the store with a backup: venue restore DIR --overwrite',
});

const ttlOf = (ttl: string | undefined) => (ttl === undefined ? {} : { ttl });

function tables({ database }: SqliteFile): string[] {
  const rows = database
    .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@'`)
    .all();
  return rows.map(({ name }) => String(name));
}
