import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beginLoopTurn } from '../../event-loop/loop-turn.ts';
import { inRounds } from '../../event-loop/rounds.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { freeBytes } from '../../runtime/disk.ts';
import { FOLDER_OWNER_ONLY } from '../../runtime/private-file.ts';
import { emptyWal, type TakeWalStep } from '../../sqlite/database.ts';
import {
  type Checkpoint,
  type Collection,
  checkCollection,
  type DeclaredCollection,
  isGeneration,
  type OperatedDocumentStore,
  type Projected,
} from '../document-store.ts';
import { CHECKPOINT } from './checkpoints.ts';
import { openSqliteDocuments, type SqliteDocuments, WRITE_BATCH, type WritesElsewhere } from './documents.ts';
import type { SqliteFile } from './file.ts';
import { openSqliteFiles, readModelsFile } from './files.ts';
import { GenerationFiles } from './generation-files.ts';
import { createIndexes, quoted } from './table.ts';

/** How often expired documents are removed. */
const SWEEP_INTERVAL_MS = 60_000;
/** How often to check for files that another process has removed. */
const CLOSE_REMOVED_EVERY_MS = 10_000;

/** The thread that writes records and takes steps for the WALs, so that this one never waits for the disk. */
export type DocumentsElsewhere = {
  readonly writes: WritesElsewhere;
  readonly walSteps: TakeWalStep;
};

type CollectionKind = Collection<object>['kind'];

/**
 * The embedded document store: two SQLite files in `folder`, created if absent, and one for each generation of read models. Any number
 * of processes on the machine may have them open. In a power failure the read models may lose their last commits, those of one file
 * together; records are on disk once the write resolves (docs/decisions/processes.md).
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
  const options = { walSteps: elsewhere?.walSteps };
  const files = await openSqliteFiles(folder, options);
  const both = [files.readModel, files.record];
  const { repair } = readModelsFile(folder);
  const generations = new GenerationFiles({ folder, repair, store: await numberOf(files.readModel), options });
  const opened = new Map<string, Promise<SqliteDocuments<never>>>();
  /** Generations without indexes, which no process reads. */
  const building = new Set<string>();
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
    for (const generation of await generations.closeRemoved().catch(() => [])) forget(generation);
  });

  /** Forgets the collections of a generation that was dropped. */
  function forget(generation: string): void {
    for (const id of opened.keys()) if (id.startsWith(`${generation}.`)) opened.delete(id);
  }

  const fileOf = async ({ generation, kind }: Pick<Collection<object>, 'generation' | 'kind'>): Promise<SqliteFile> =>
    generation === undefined ? files[kind] : generations.open(generation);

  async function openCollection<D extends object>(
    collection: Collection<D>,
    later?: 'indexes later',
  ): Promise<SqliteDocuments<D>> {
    const { name, kind, ttl } = collection;
    const documents = await openSqliteDocuments(await fileOf(collection), collection, {
      elsewhere: kind === 'record' ? elsewhere?.writes : undefined,
      later,
    });
    if (ttl !== undefined) {
      sweeps.set(name, documents.sweep);
      ttls.set(name, ttl);
    }
    return documents;
  }

  async function open<D extends object>(
    collection: Collection<D>,
    later?: 'indexes later',
  ): Promise<SqliteDocuments<D>> {
    checkCollection(collection);
    const { name, generation } = collection;
    const id = generation === undefined ? name : `${generation}.${name}`;
    for (;;) {
      // A collection's name determines the type of its documents.
      const opening = (opened.get(id) as Promise<SqliteDocuments<D>> | undefined) ?? openCollection(collection, later);
      opened.set(id, opening as Promise<SqliteDocuments<never>>);
      opening.catch(() => opened.delete(id));
      const documents = await opening;
      const isThere =
        generation === undefined ? tables(files[collection.kind]).includes(name) : generations.has(generation);
      if (isThere) return documents;
      // Another process may have dropped the collection since.
      if (opened.get(id) === opening) opened.delete(id);
    }
  }

  return {
    open,
    async openWithoutIndexes(collection) {
      if (collection.generation !== undefined) building.add(collection.generation);
      return open(collection, 'indexes later');
    },

    async makeIndexes(collection) {
      const file = await fileOf(collection);
      for (const sql of createIndexes(collection)) {
        await file.write(() => file.database.exec(sql));
        await nextTurn();
      }
      if (collection.generation !== undefined) building.delete(collection.generation);
    },

    async checkpoints(names) {
      // What these checkpoints cover must be visible to reads that follow in this turn.
      beginLoopTurn();
      const result = new Map<string, Checkpoint>();
      for (const name of names ?? generations.names()) {
        const checkpoint = generations.has(name) ? (await generations.open(name)).checkpoint.read() : undefined;
        if (checkpoint !== undefined) result.set(name, checkpoint);
      }
      return result;
    },

    async project(generation, writes, checkpoint, onWritten) {
      const file = await generations.open(generation);
      const all: { readonly documents: SqliteDocuments<never>; readonly write: Projected<never> }[] = [];
      for (const [name, some] of writes) {
        const documents = await opened.get(`${generation}.${name}`);
        if (documents === undefined) throw new Error(`The collection ${name} of ${generation} is not open`);
        // The documents of a collection have its type.
        for (const write of some) all.push({ documents, write: write as Projected<never> });
      }
      // No other work waits for a file that is being built. Each page is written once per transaction.
      const size = building.has(generation) ? Math.max(1, all.length) : WRITE_BATCH;
      for (let from = 0; ; from += size) {
        const isLast = from + size >= all.length;
        const isNext = await file.write(() => {
          if (isLast && !file.checkpoint.advance(checkpoint)) return false;
          for (const { documents, write } of all.slice(from, from + size)) documents.writeProjected([write]);
          return true;
        });
        if (isLast && isNext) onWritten?.();
        if (isLast) return isNext;
        await nextTurn();
      }
    },

    // Caches are cleared by what other connections commit.
    cacheGeneration: () => () => {},

    async drop(name) {
      if (isGeneration(name)) {
        await generations.remove(name);
        return forget(name);
      }
      const table = quoted(name);
      opened.delete(name);
      sweeps.delete(name);
      for (const file of both) {
        if (!tables(file).includes(name)) continue;
        await file.write(() => file.database.exec(`DROP TABLE IF EXISTS ${table}`));
        file.caches.get(name)?.forgetAll();
        file.caches.delete(name);
      }
    },

    purge: () => emptyWal(files.record.database),

    async names() {
      return [...both.flatMap(tables), ...generations.names()].sort();
    },

    async collections() {
      const of = (kind: CollectionKind) =>
        tables(files[kind]).map((name): DeclaredCollection => ({ name, kind, ...ttlOf(ttls.get(name)) }));
      const built = generations.names().map((name): DeclaredCollection => ({ name, kind: 'readModel' }));
      return [...of('readModel'), ...of('record'), ...built].sort((a, b) => (a.name < b.name ? -1 : 1));
    },

    async room() {
      return { free: await freeBytes(folder), readModels: generations.bytes() };
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
      await Promise.all([...both, generations].map((file) => file.close()));
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

const ttlOf = (ttl: string | undefined) => (ttl === undefined ? {} : { ttl });

function tables({ database }: SqliteFile): string[] {
  const rows = database
    .prepare(
      `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite@_%' ESCAPE '@' AND name NOT LIKE '#%'`,
    )
    .all();
  return rows.map(({ name }) => String(name)).filter((name) => name !== CHECKPOINT);
}
