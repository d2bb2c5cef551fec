import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { defined } from '../../src/domain/defined.ts';
import { openEvents } from '../../src/engines.ts';
import type { EventStore } from '../../src/event-store/event-store.ts';
import { startMongoServer } from '../document-store/mongodb/server.ts';
import { inDatabase } from '../document-store/mongodb/server-url.ts';
import { EventStoreDbServer } from '../event-store/eventstoredb/server.ts';
import { type Ended, type Environment, runNode } from '../service/node-process.ts';
import { ToolMissing } from '../tool.ts';

/** A store that real processes share. */
export type Store = {
  /** The folder for evidence from a broken round, beside the store’s files. */
  readonly folder: string;
  readonly settings: Environment;
  /** Whether later rounds use it, too. */
  readonly isShared: boolean;
  onLog<R>(work: (events: EventStore) => Promise<R>): Promise<R>;
  /** Runs the command line, of another release if `root` names one. `input`: what it reads from stdin. */
  venue(args: readonly string[], root?: string, input?: string): Promise<Ended>;
  /** Makes the log unavailable for so long; 0: only breaks calls in progress. Given servers are left alone. */
  readonly cut?: (forMs: number) => Promise<void>;
  remove(): Promise<void>;
};

/** A pair of engines. */
export type Engines = {
  readonly name: string;
  /** A new store, or the same one again on given engines. */
  openStore(): Promise<Store>;
  close(): Promise<void>;
};

/** The embedded engines, each store in its own folder. */
export const embeddedEngines: Engines = {
  name: 'embedded',
  async openStore() {
    const store = await storeWith({});
    const log = join(store.folder, 'data', 'events.db');
    return { ...store, cut: (forMs) => whileLocked(log, () => delay(forMs)) };
  },
  close: async () => {},
};

/** The EventStoreDB and the MongoDB from the environment. All rounds share the store, which may exist already. */
export function givenEngines(env: { readonly EVENTSTORE_URL: string; readonly MONGODB_URL: string }): Engines {
  const { SECRET_KEY = randomBytes(32).toString('base64'), EVENTSTORE_PREFIX = '' } = process.env;
  const settings = { ...env, EVENTSTORE_PREFIX, SECRET_KEY };
  return { name: 'given', openStore: () => storeWith(settings, true), close: async () => {} };
}

/** An in-process server with the EventStoreDB protocol, and the MongoDB of the tests. Both are in memory. */
export async function standInEngines(): Promise<Engines> {
  const { server, stop } = await startMongoServer();
  if ('missing' in server) throw new ToolMissing('MongoDB', server);
  return {
    name: 'stand-ins',
    async openStore() {
      const log = await EventStoreDbServer.start();
      const SECRET_KEY = randomBytes(32).toString('base64');
      const store = await storeWith({
        EVENTSTORE_URL: log.url,
        MONGODB_URL: inDatabase(server.url, `soak-${randomUUID()}`),
        SECRET_KEY,
      });
      const cut = async (forMs: number) => {
        if (forMs === 0) return log.dropConnections();
        await log.disconnect();
        await delay(forMs);
        await log.connect();
      };
      return { ...store, cut, remove: () => store.remove().finally(() => log.stop()) };
    },
    close: async () => void (await stop()),
  };
}

/** Another program locks the file, for example to copy it. */
async function whileLocked(file: string, work: () => Promise<void>): Promise<void> {
  const other = new DatabaseSync(file, { timeout: 10_000 });
  other.exec('BEGIN IMMEDIATE');
  await work();
  other.exec('ROLLBACK');
  other.close();
}

async function storeWith(engines: Environment, isShared = false): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-soak-'));
  const settings = { ...engines, DATA_DIR: join(folder, 'data'), DEMO: 'false' };
  return {
    folder,
    settings,
    isShared,
    async onLog(work) {
      const events = await openEvents(readConfig(settings), pino({ level: 'silent' }));
      return work(events).finally(() => events.close());
    },
    venue: (args, root, input) => runNode('src/cli.js', [...args, '--json'], settings, defined({ root, input })),
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  };
}

/** Writes the whole log beside the store, for later analysis: in-memory servers leave nothing behind. */
export const keepLog = ({ folder, onLog }: Store): Promise<void> =>
  onLog(async (events) => {
    const all = await Array.fromAsync(events.readAll());
    await writeFile(join(folder, 'log.jsonl'), all.map((event) => `${JSON.stringify(event)}\n`).join(''));
  });
