import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { backUp } from '../../src/backup/back-up.ts';
import { finish } from '../../src/backup/finish.ts';
import { restore } from '../../src/backup/restore.ts';
import type { Collection } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { ensureLogId } from '../../src/store-identity/log-id.ts';
import { openStoreIdentity } from '../../src/store-identity/store-identity.ts';

const KEY = Buffer.alloc(32, 1);
const LOCATIONS = { log: 'the log', records: 'the records', readModels: 'the read models' };
const NOTES: Collection<{ readonly text: string }> = { name: 'notes', kind: 'record', indexes: [] };

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-restore-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

async function store() {
  const folder = await temporaryFolder();
  const events = await openSqliteEventStore({ path: join(folder, 'events.db') });
  onTestFinished(() => events.close());
  const documents = await openSqliteDocumentStore({ folder });
  onTestFinished(() => documents.close());
  const stores = { events, documents };
  const ambient = { secretKey: KEY, clock: Date.now, logger: { warn: () => {} } };
  const check = async () =>
    (await openStoreIdentity({ ...stores, ...ambient, locations: LOCATIONS, settleMs: 0 })).check();
  return { ...stores, ...ambient, check };
}

test('no process starts during an interrupted restore, which continues with the same positions', async () => {
  const one = await store();
  const logId = await ensureLogId(one.events, Date.now);
  const made = Array.from({ length: 1_200 }, (_, n) => ({ type: 'Made', data: { n, text: 'é\u2028"' }, metadata: {} }));
  for (const stream of ['a', 'b']) await one.events.append(stream, made, { expectedRevision: 'none' });
  const notes = await one.documents.open(NOTES);
  for (let n = 0; n < 700; n += 1) await notes.insert(`note ${n}`, { text: `${n} é\u2028` });
  const folder = join(await temporaryFolder(), 'backup');
  const manifest = await backUp({
    ...{ ...one, logId, engines: { log: 'embedded', documents: 'embedded' }, folder },
    ...{ groups: async () => ({}), withSecretKey: false, onProgress: () => {} },
  });

  const other = await store();
  const restoring = { folder, manifest, locations: LOCATIONS, onProgress: () => {} };
  let batches = 0;
  const failing = {
    readAll: other.events.readAll.bind(other.events),
    load: async (events: Parameters<typeof other.events.load>[0]) => {
      batches += 1;
      if (batches === 3) throw new Error('interrupted');
      return other.events.load(events);
    },
  };
  await expect(restore({ ...other, ...restoring, events: failing })).rejects.toThrow('interrupted');
  await expect(other.check()).rejects.toThrow(/has not been completed. Run it again: venue restore DIR$/);

  const later = { ...manifest, startedAt: '2030-01-01T00:00:00.000Z' };
  await expect(restore({ ...other, ...restoring, manifest: later })).rejects.toThrow('There are records');
  const groups = await restore({ ...other, ...restoring });
  const all = (of: typeof one) => Array.fromAsync(of.events.readAll());
  expect(await all(other)).toEqual(await all(one));
  const restored = await other.documents.open(NOTES);
  expect(await restored.get('note 699')).toMatchObject({ document: { text: '699 é\u2028' } });
  await expect(other.check()).rejects.toThrow('has not been completed');
  await finish({ ...other, skippedIds: 10, kept: {}, actor: OPERATOR }, groups);
  await other.check();
});

test('a restore refuses a store that is in use', async () => {
  const one = await store();
  await ensureLogId(one.events, Date.now);
  const folder = join(await temporaryFolder(), 'backup');
  const manifest = await backUp({
    ...{ ...one, logId: 'x', engines: { log: 'embedded', documents: 'embedded' }, folder },
    ...{ groups: async () => ({}), withSecretKey: false, onProgress: () => {} },
  });
  const other = await store();
  await (await other.documents.open(NOTES)).insert('1', { text: 'here before' });
  const restoring = restore({ ...other, folder, manifest, locations: LOCATIONS, onProgress: () => {} });
  await expect(restoring).rejects.toThrow('There are records in the records already. To replace them, add --overwrite');
});
