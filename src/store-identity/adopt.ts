import type { DocumentStore } from '../document-store/document-store.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { ConfigError } from '../runtime/config-error.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { ensureLogId } from './log-id.ts';
import { checkFormat } from './store-format.ts';
import {
  isKeyOf,
  MEMORY_KEY,
  memoryOfRecords,
  newMemory,
  RECORDS_MEMORY,
  type RecordsMemory,
  seenOf,
} from './store-memory.ts';

type AdoptDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
};

/**
 * Reads the records' memory of their log.
 * @throws {UnusableStore} if the records are in another format than this release reads
 * @throws {ConfigError} if their secrets are sealed with another key
 */
export async function readMemory({
  documents,
  secretKey,
}: Pick<AdoptDeps, 'documents' | 'secretKey'>): Promise<RecordsMemory | undefined> {
  const memory = await memoryOfRecords(documents);
  if (memory === undefined) return undefined;
  checkFormat('The record store', memory.format);
  if (!isKeyOf(memory, secretKey))
    throw new ConfigError('SECRET_KEY', 'is not the key that the secrets in the records are sealed with');
  return memory;
}

/**
 * Binds the records to the log in its current state. The read models must have been dropped; the next start builds them for this
 * log.
 */
export async function adopt({ events, documents, secretKey, clock }: AdoptDeps): Promise<void> {
  const logId = await ensureLogId(events, clock);
  const last = await events.lastEvent();
  await writeMemory(documents, { ...newMemory(logId, secretKey), ...(last && { seen: seenOf(last) }) });
}

/** Replaces the records' memory of their log. */
export async function writeMemory(documents: Pick<DocumentStore, 'open'>, memory: RecordsMemory): Promise<void> {
  const records = await documents.open(RECORDS_MEMORY);
  await records.update(MEMORY_KEY, () => memory);
}
