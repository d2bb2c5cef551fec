import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { canonicalForm } from '../../src/audit/portable-event.ts';
import type { OperatedDocumentStore } from '../../src/document-store/document-store.ts';
import { openSqliteDocumentStore } from '../../src/document-store/sqlite/document-store.ts';
import { OPERATOR } from '../../src/domain/account.ts';
import { LOG_START, type OperatedEventStore, type StoredEvent } from '../../src/event-store/event-store.ts';
import { openSqliteEventStore } from '../../src/event-store/sqlite/event-store.ts';
import { addMarks } from '../../src/outbox/marks.ts';
import { purposes } from '../../src/secrets/purposes.ts';
import { seal } from '../../src/secrets/seal.ts';
import { ensureLogId } from '../../src/store-identity/log-id.ts';
import { STORE_FORMAT } from '../../src/store-identity/store-format.ts';
import { openExportFile } from '../../src/transfer/export-file.ts';
import { exportStore } from '../../src/transfer/export-store.ts';
import { checkPurpose, importStore, restoreStore } from '../../src/transfer/fill-store.ts';
import { FORMAT, type Header } from '../../src/transfer/format.ts';
import { createLines } from '../../src/transfer/lines.ts';
import { readWholeExport } from '../../src/transfer/read-export.ts';

export const KEY = Buffer.alloc(32, 7);
export const LOCATIONS = { log: 'the log', records: 'the records' };

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'venue-transfer-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

export type TestStore = { readonly events: OperatedEventStore; readonly documents: OperatedDocumentStore };

/** A store on the embedded engines that holds nothing. */
export async function emptyStore(inFolder?: string): Promise<TestStore> {
  const folder = inFolder ?? (await temporaryFolder());
  const events = await openSqliteEventStore({ path: join(folder, 'log.sqlite') });
  onTestFinished(() => events.close());
  const documents = await openSqliteDocumentStore({ folder });
  onTestFinished(() => documents.close());
  return { events, documents };
}

const record = (store: TestStore, name: string) =>
  store.documents.open<{ readonly [field: string]: unknown }>({ name, kind: 'record', indexes: [] });

/**
 * A store with everything that is hard to move: events of several streams with text of all sorts, deliveries and other records
 * that hold positions, a kind of which some events were handled, one of which none were, and a parked event.
 */
export async function busyStore(count = 12): Promise<TestStore & { readonly header: Header }> {
  const store = await emptyStore();
  const { events, documents } = store;
  const logId = await ensureLogId(events, Date.now);
  const at = (n: number) => new Date(Date.parse('2026-11-01T00:00:00Z') + n * 3_600_000).toISOString();
  const made: StoredEvent[] = [];
  for (let n = 0; n < count; n += 1) {
    const stream = `spaceDay-${n % 3}-2026-12-01`;
    const type = n % 2 === 0 ? 'BookingRequested' : 'BookingApproved';
    const event = { id: randomUUID(), type, data: { b: n, a: `Büfé\u2028"🎉" ${n}` }, metadata: { at: at(n) } };
    const revision = Math.floor(n / 3);
    await events.append(stream, [event], { expectedRevision: revision === 0 ? 'none' : revision - 1 });
    for await (const stored of events.readStream(stream, { from: revision })) made.push(stored);
  }
  const [one, , three] = made;
  if (one === undefined || three === undefined) throw new Error('Too few events');
  await addMarks(documents, 'webhooks', { BookingRequested: three.position, ReviewPosted: LOG_START });
  const deliveries = await record(store, 'webhookDeliveries');
  for (const { id, position } of made) {
    const expiresAt = '2099-01-01T00:00:00.000Z';
    await deliveries.insert(`${id}:wh_1`, { eventId: id, webhookId: 'wh_1', state: 'Pending', position, expiresAt });
  }
  const parked = { eventId: one.id, type: one.type, position: one.position, state: 'Parked', due: at(0) };
  await (await record(store, 'fanOutFailures')).insert(one.id, parked);
  await (await record(store, 'apiKeyIndexProgress')).insert('log', { position: LOG_START });
  const memberships = [{ account: { kind: 'Brand', id: 1 }, role: 'Manager' }];
  await (await record(store, 'users')).insert('usr_ada', { name: '1234567890123456', text: 'Ада\u2029', memberships });
  await (await record(store, 'ofAnotherRelease')).insert('x', {
    position: 'as it stands',
    list: [1, { z: null, a: 0.1 }],
  });
  const probe = seal(KEY, purposes.storeProbe(logId), logId);
  await (await record(store, 'storeIdentity')).insert('store', { format: STORE_FORMAT, logId, probe });
  return { events, documents, header: { format: FORMAT, storeFormat: STORE_FORMAT, logId, probe, purpose: 'move' } };
}

/** Writes an export with records, or goes on with one. @returns what the file holds */
export async function exportTo(file: string, store: TestStore, header: Header): Promise<string> {
  const out = await openExportFile(file, header);
  try {
    const { begun, written } = out;
    await exportStore({
      events: store.events,
      header,
      lines: createLines(out.write, written),
      onProgress: () => {},
      ...(begun !== undefined && { begun }),
      ...(header.probe !== undefined && {
        records: {
          documents: store.documents,
          ...(header.purpose === 'keep' && { copyTo: `${file}.records` }),
        },
      }),
    });
  } finally {
    await out.close();
  }
  return readFile(file, 'utf8');
}

/** Lines as an export, with counts and digest as they should be: its author can compute them. */
export function asExport(lines: readonly string[]): string {
  const content = lines.map((line) => `${line}\n`).join('');
  const count = (field: string) => lines.filter((line) => field in JSON.parse(line)).length;
  const counts = { events: count('id'), records: count('record') };
  const sha256 = createHash('sha256').update(content).digest('hex');
  return `${content}${canonicalForm({ trailer: { ...counts, sha256 } })}\n`;
}

async function fillingFrom(file: string, store: TestStore) {
  const whole = await readWholeExport(file);
  return {
    ...store,
    clock: Date.now,
    file,
    locations: LOCATIONS,
    whole: checkPurpose(file, whole, whole.header.purpose ?? 'keep'),
    withProgress: (work: (show: () => void) => Promise<void>) => work(() => {}),
    onStep: () => {},
    otherwise: 'An import needs an empty store',
  };
}

export const importFrom = async (file: string, store: TestStore): Promise<void> =>
  importStore(await fillingFrom(file, store));

export const restoreFrom = async (file: string, store: TestStore) =>
  restoreStore({
    ...(await fillingFrom(file, store)),
    secretKey: KEY,
    skippedIds: 10,
    checkpointFiles: {},
    actor: OPERATOR,
  });
