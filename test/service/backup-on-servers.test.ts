import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Collection, DocumentStore } from '../../src/document-store/document-store.ts';
import { openMongoDocumentStore } from '../../src/document-store/mongodb/document-store.ts';
import type { OperatedEventStore } from '../../src/event-store/event-store.ts';
import { addMarks, readMarks } from '../../src/outbox/marks.ts';
import { inProcessWith, jsonWith } from '../cli/in-process.ts';
import { MONGODB, ownDatabase } from '../document-store/engines.ts';
import { createOwnLog } from '../event-store/eventstoredb/own-log.ts';
import { lacks } from '../lacks.ts';
import { startServiceProcess, temporaryDataDir } from './service-process.ts';

/** A new log and a new MongoDB database. */
async function servers(SECRET_KEY: string) {
  const log = await createOwnLog();
  onTestFinished(() => log.stop());
  const url = ownDatabase();
  const env = { ...log.settings, MONGODB_URL: url, SECRET_KEY, DATA_DIR: temporaryDataDir() };
  return {
    env,
    run: (...args: readonly string[]) => inProcessWith(env, ...args, '--json'),
    json: (...args: readonly string[]) => jsonWith(env, ...args),
    async onLog<R>(work: (events: OperatedEventStore) => Promise<R>): Promise<R> {
      const events = await log.open();
      return work(events).finally(() => events.close());
    },
    async onDocuments<R>(work: (documents: DocumentStore) => Promise<R>): Promise<R> {
      const documents = await openMongoDocumentStore({ url });
      return work(documents).finally(() => documents.close());
    },
  };
}

const all = (events: OperatedEventStore) => Array.fromAsync(events.readAll());
/** A record that contains a position. */
const FAILURES: Collection<{ readonly position: string }> = { name: 'fanOutFailures', kind: 'record', indexes: [] };

test.skipIf(lacks(MONGODB))(
  'a store on EventStoreDB and MongoDB is restored into new ones, in log order',
  { timeout: 120_000 },
  async () => {
    const SECRET_KEY = randomBytes(32).toString('base64');
    const one = await servers(SECRET_KEY);
    await one.json('community', 'add', '--name', 'Harbour Lofts', '--time-zone', 'Europe/Berlin');
    const terms = ['--window', '9-22', '--duration', '4', '--fee', '42'];
    await one.json('space', 'add', '--community', '1', '--name', 'Hall', ...terms);
    await one.json('brand', 'add', '--name', 'Acme');
    const { id } = await one.json('api-key', 'issue', '--brand', '1', '--label', 'Desk');
    const backup = join(temporaryDataDir(), 'backup.ndjson');
    const position = (await one.onLog(all))[3]?.position ?? expect.fail();
    await one.onDocuments((store) => addMarks(store, 'webhooks', { BookingRequested: position }));
    await one.onDocuments(async (store) => (await store.open(FAILURES)).insert('1', { position }));
    const made = await one.json('backup', backup);
    const backedUp = await one.onLog(all);
    await one.json('brand', 'add', '--name', 'Later');

    const other = await servers(SECRET_KEY);
    expect(await other.json('restore', backup)).toMatchObject({ events: made.events, records: made.records });
    const restored = await other.onLog(all);
    const facts = (events: typeof backedUp) => events.map(({ position: _, ...fact }) => fact);
    expect(facts(restored.slice(0, backedUp.length))).toEqual(facts(backedUp));
    expect(restored.slice(backedUp.length).map(({ type }) => type)).toEqual(Array(5).fill('IdsReserved'));
    expect(await other.json('brand', 'list')).toMatchObject([{ name: 'Acme' }]);
    expect(await other.json('api-key', 'list', '--brand', '1')).toMatchObject([{ id }]);
    expect((await other.json('brand', 'add', '--name', 'New')).id).toBeGreaterThan(1_000_000);
    expect(await other.json('verify')).toMatchObject({ differences: [], notVerified: [] });

    // References to a position point to the same event in the new log.
    const moved = restored[3]?.position;
    expect(await other.onDocuments((store) => readMarks(store, 'webhooks'))).toEqual({ BookingRequested: moved });
    const note = await other.onDocuments(async (store) => (await store.open(FAILURES)).get('1'));
    expect(note?.document.position).toBe(moved);

    const full = await one.run('restore', backup, '--overwrite');
    expect(full).toMatchObject({ code: 1, stderr: expect.stringContaining('EventStoreDB cannot be emptied') });
    // The same backup fills a store on other engines.
    const embedded = { DATA_DIR: temporaryDataDir(), SECRET_KEY };
    expect(await jsonWith(embedded, 'restore', backup)).toMatchObject({ events: made.events, records: made.records });
    expect(await jsonWith(embedded, 'api-key', 'list', '--brand', '1')).toMatchObject([{ id }]);
  },
);

test.skipIf(lacks(MONGODB))(
  'a store on servers is not restored and loses no read models while a service is running on it',
  { timeout: 120_000 },
  async () => {
    const one = await servers(randomBytes(32).toString('base64'));
    const service = await startServiceProcess(one.env.DATA_DIR, one.env);
    for (const command of [
      ['restore', '--adopt'],
      ['rebuild', '--from-nothing'],
    ])
      expect(await one.run(...command)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('A process has the store in MONGODB_URL open. Stop the service first.'),
      });
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(await one.json('restore', '--adopt')).toMatchObject({ adopted: true, lost: [] });
    expect(await one.json('rebuild', '--from-nothing')).toMatchObject({
      rebuilt: expect.arrayContaining(['bookings']),
    });
  },
);
