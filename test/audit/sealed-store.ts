import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { openSealRecords } from '../../src/audit/seal-records.ts';
import { openSealing, type SealSettings } from '../../src/audit/sealing.ts';
import type { NewEvent, StoredEvent } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { type Heartbeats, startHeartbeats } from '../../src/leases/heartbeats.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';

export const SECRET_KEY = Buffer.alloc(32, 5);

export const someFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'venue-seals-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
};

/** A store on the embedded log that can be sealed, and attacked with all keys. */
export async function sealedStore(createDatabase: () => Promise<TestDatabase> = createSqliteDatabase) {
  const folder = await someFolder();
  const path = join(folder, 'events.db');
  let events = await openSqliteEventStore({ path });
  const database = await createDatabase();
  const documents = await database.open();
  const processes: Heartbeats<object>[] = [];
  onTestFinished(async () => {
    for (const process of processes) await process.stop();
    await database.remove();
    await events.close();
  });
  const records = await openSealRecords(documents);
  const warnings: string[] = [];
  /** As another process would. */
  const sealing = async (settings: Partial<SealSettings> = {}) => {
    const on = await database.open();
    const heartbeats = await startHeartbeats<object>({ documents: on, status: {} });
    processes.push(heartbeats);
    return openSealing({
      events: {
        readAll: (options) => events.readAll(options),
        lastEvent: () => events.lastEvent(),
        readStream: (stream, options) => events.readStream(stream, options),
      },
      documents: on,
      heartbeats,
      secretKey: SECRET_KEY,
      logId: async () => '11111111-2222-3333-4444-555555555555',
      settings: { sealWebhook: undefined, sealFile: undefined, sealFileLeaves: false, ...settings },
      clock: Date.now,
      logger: { warn: (_: unknown, text?: string) => void warnings.push(text ?? '') },
    });
  };

  let appended = 0;
  return {
    folder,
    database,
    documents,
    records,
    warnings,
    sealing,
    events: () => events,
    /** Appends events to three streams by turns, as few commits as possible. */
    async append(count: number, data: NewEvent['data'] = {}): Promise<void> {
      const numbers = Array.from({ length: count }, (_, at) => appended + at);
      for (const stream of [0, 1, 2]) {
        const ours = numbers.filter((n) => n % 3 === stream);
        const [first] = ours;
        if (first === undefined) continue;
        const made = ours.map((n) => ({
          type: 'SpaceChanged',
          data: { n, name: 'Zoë’s 東 😀', ...data },
          metadata: { at: '2026-11-22T06:00:00.000Z', schema: 1 },
        }));
        const expectedRevision = first < 3 ? 'none' : Math.floor(first / 3) - 1;
        await events.append(`space-${stream}`, made, { expectedRevision });
      }
      appended += count;
    },
    /** Tampers with the file of the log. */
    async attack(work: (database: DatabaseSync) => void): Promise<void> {
      await events.close();
      const database = new DatabaseSync(path);
      work(database);
      database.close();
      events = await openSqliteEventStore({ path });
    },
    all: (): Promise<StoredEvent[]> => Array.fromAsync(events.readAll()),
  };
}
