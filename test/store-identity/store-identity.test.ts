import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { DocumentStore } from '../../src/document-store/document-store.ts';
import { type EventStore, logEnd } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { ConfigError } from '../../src/runtime/config-error.ts';
import { UnusableStore } from '../../src/runtime/unusable-store.ts';
import { readMemory } from '../../src/store-identity/adopt.ts';
import { ensureLogId } from '../../src/store-identity/log-id.ts';
import { fence, liftFence } from '../../src/store-identity/standstill.ts';
import { STORE_FORMAT } from '../../src/store-identity/store-format.ts';
import { openStoreIdentity } from '../../src/store-identity/store-identity.ts';
import { READ_MODELS_MEMORY, RECORDS_MEMORY, type RecordsMemory } from '../../src/store-identity/store-memory.ts';
import { documentEngines } from '../document-store/engines.ts';
import { replace } from '../document-store/replace.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';

async function sqliteLog() {
  const folder = await mkdtemp(join(tmpdir(), 'venue-identity-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return () => openSqliteEventStore({ path: join(folder, 'events.db') });
}

async function eventStoreDbLog() {
  const log = await createOwnLog();
  onTestFinished(() => log.stop());
  return log.open;
}

const KEY = randomBytes(32);
const LOCATIONS = { log: 'the log', records: 'the records', readModels: 'the read models' };
const made = { type: 'Made', data: {}, metadata: {} };

/** A log and a document store, as one process after another opens them. */
async function stores(openLog: () => Promise<EventStore>, createDatabase: (typeof documentEngines)[number][1]) {
  const database = await createDatabase();
  onTestFinished(() => database.remove());
  return async () => ({ events: await opened(openLog), documents: await database.open() });
}

async function opened(openLog: () => Promise<EventStore>): Promise<EventStore> {
  const events = await openLog();
  onTestFinished(() => events.close());
  return events;
}

const identityOf = (
  events: EventStore,
  documents: DocumentStore,
  secretKey = KEY,
  shownPositions = async (): Promise<readonly string[]> => [],
) =>
  openStoreIdentity({
    events,
    documents,
    secretKey,
    clock: Date.now,
    locations: LOCATIONS,
    settleMs: 0,
    shownPositions,
    logger: { warn: () => {} },
  });

/** What a process does with the identity from its start to its end. */
async function run(events: EventStore, documents: DocumentStore, secretKey = KEY): Promise<void> {
  const identity = await identityOf(events, documents, secretKey);
  await identity.check();
  await identity.confirm();
  await identity.stop();
}

const idOf = async (events: EventStore) =>
  (await Array.fromAsync(events.readStream('log'))).map(({ type, data }) => [type, data.logId]);

describe.each(documentEngines)('with documents in %s', (_, createDatabase) => {
  describe.each([
    ['SQLite', sqliteLog],
    ['EventStoreDB', eventStoreDbLog],
  ] as const)('a log in %s', (__, createLog) => {
    test('that is empty gets an id, the same for all processes that start at once, and keeps it', async () => {
      const open = await stores(await createLog(), createDatabase);
      const { events, documents } = await open();
      const others = [await open(), await open()];
      await Promise.all([{ events, documents }, ...others].map((each) => run(each.events, each.documents)));
      const id = await idOf(events);
      expect(id).toEqual([['LogCreated', expect.stringMatching(/^[0-9a-f-]{36}$/)]]);
      await run(events, documents);
      expect(await idOf(events)).toEqual(id);
    });

    test('is refused if it holds events in another format, or in none', async () => {
      const { documents } = await (await stores(await createLog(), createDatabase))();
      const logOf = async (...first: { readonly stream: string; readonly format?: number }[]) => {
        const events = await opened(await createLog());
        for (const { stream, format } of first) {
          const data = { logId: 'an id', ...(format !== undefined && { format }) };
          const metadata = { schema: 1 };
          await events.append(stream, [{ type: 'LogCreated', data, metadata }], { expectedRevision: 'none' });
        }
        return events;
      };
      const before = `The event log has no store format; this release reads only ${STORE_FORMAT}: start the release`;
      for (const events of [await logOf({ stream: 'log' }), await logOf({ stream: 'booking-1' })]) {
        await expect(run(events, documents)).rejects.toThrow(before);
        await expect(run(events, documents)).rejects.toThrow(UnusableStore);
        await expect(ensureLogId(events, Date.now)).rejects.toThrow(before);
      }
      const later = await logOf({ stream: 'log', format: STORE_FORMAT + 1 });
      await expect(run(later, documents)).rejects.toThrow(
        `The event log has store format ${STORE_FORMAT + 1}; this release reads only ${STORE_FORMAT}: start the release`,
      );
    });

    test('is refused to records in another format, or in none', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const memory = await documents.open(RECORDS_MEMORY);
      const change = async (to: (before: RecordsMemory) => object) => {
        const stored = (await memory.get('store')) ?? expect.fail();
        await replace(memory, 'store', to(stored.document) as RecordsMemory, stored.version);
      };
      await change(({ format: _, ...before }) => before);
      await expect(run(events, documents)).rejects.toThrow(/^The record store in the records has no store format;/);
      await expect(readMemory({ documents, secretKey: KEY })).rejects.toThrow(UnusableStore);
      await change((before) => ({ ...before, format: STORE_FORMAT + 1 }));
      await expect(run(events, documents)).rejects.toThrow(/^The record store in the records has store format \d+;/);
      await change((before) => ({ ...before, format: STORE_FORMAT }));
      await run(events, documents);
    });

    test('is refused if another log takes its place, even an empty one', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const other = await opened(await createLog());
      const refused = await run(other, documents).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(UnusableStore);
      expect(String(refused)).toMatch(
        /the log .* the records .* a log without an id instead of .*venue restore --adopt$/,
      );
      expect(await idOf(other)).toEqual([]);

      await (await identityOf(other, (await (await stores(await createLog(), createDatabase))()).documents)).confirm();
      await expect(run(other, documents)).rejects.toThrow(UnusableStore);
    });

    test('is refused if another one takes the same new store at the same moment, and the other one is not', async () => {
      const logs = [await opened(await createLog()), await opened(await createLog())];
      const { documents } = await (await stores(await createLog(), createDatabase))();
      const outcomes = await Promise.allSettled(logs.map((events) => run(events, documents)));
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const first = logs[outcomes.findIndex(({ status }) => status === 'fulfilled')] ?? expect.fail();
      await run(first, documents);
    });

    test('is opened after a kill between its id and the memory of the records, but not without records it has had', async () => {
      const open = await stores(await createLog(), createDatabase);
      const { events, documents } = await open();
      await ensureLogId(events, Date.now);
      await run(events, documents);

      await events.append('booking-2', [made], { expectedRevision: 'none' });
      const { documents: lost } = await (await stores(await createLog(), createDatabase))();
      await expect(run(events, lost)).rejects.toThrow(
        /^The records in the records have never seen .* venue restore FILE --overwrite\. To go on without them, run: venue restore --adopt$/,
      );
    });

    test('is refused if it does not hold exactly the event that was seen last', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const [id] = await Array.fromAsync(events.readStream('log'));
      await events.append('booking-1', [made], { expectedRevision: 'none' });
      await run(events, documents);

      // The same log as it was before, in which something else has happened since.
      const restored = await opened(await createLog());
      const { id: eventId, type, data, metadata } = id ?? expect.fail();
      await restored.append('log', [{ id: eventId, type, data, metadata }], { expectedRevision: 'none' });
      await restored.append('booking-1', [made], { expectedRevision: 'none' });
      await expect(run(restored, documents)).rejects.toThrow(
        /^The event log in the log is older than the records in the records: it has no event .* run: venue restore --adopt$/,
      );
      await run(events, documents);
    });

    test('is refused to read models that show more than it holds', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const memory = await documents.open(READ_MODELS_MEMORY);
      const stored = (await memory.get('store')) ?? expect.fail();
      const seen = { stream: 'booking-1', revision: 0, position: 'Z', eventId: 'lost' };
      await replace(memory, 'store', { ...stored.document, seen }, stored.version);
      await expect(run(events, documents)).rejects.toThrow(/^The read models .* show more .* venue restore --adopt$/);
    });

    test('is refused to read models that are beyond its end', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const end = await logEnd(events);
      const at = (position: string) => identityOf(events, documents, KEY, async () => [position]);
      await (await at(end)).check();
      await expect((await at(`${end}0`)).check()).rejects.toThrow(/^The read models .* venue restore --adopt$/);
    });

    test('is refused while it is fenced, also to a process that had begun to start before', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const starting = await identityOf(events, documents);
      await starting.check();
      expect(await fence(documents)).toBe(true);
      await expect(starting.confirm()).rejects.toThrow(UnusableStore);
      expect(await fence(documents)).toBe(false);
      await expect(run(events, documents)).rejects.toThrow(
        /^The store in the records and the log was exported .* is fenced\. .* run: venue unfence --not-imported$/,
      );
      await (await identityOf(events, documents)).check({ fenced: true });
      expect(await liftFence(documents)).toBe(true);
      await run(events, documents);
      expect(await liftFence(documents)).toBe(false);
    });

    test('that is fenced while a process runs ends that process', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      const identity = await identityOf(events, documents);
      const told = Promise.withResolvers<string>();
      identity.start(told.resolve);
      await fence(documents);
      expect(await told.promise).toContain('is fenced');
      await identity.stop();
    });

    test('is not opened with another secret key', async () => {
      const { events, documents } = await (await stores(await createLog(), createDatabase))();
      await run(events, documents);
      await expect(run(events, documents, randomBytes(32))).rejects.toThrow(ConfigError);
      await run(events, documents);
    });
  });
});
