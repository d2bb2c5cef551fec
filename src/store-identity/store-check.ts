import { setTimeout as delay } from 'node:timers/promises';
import type { DocumentStore } from '../document-store/document-store.ts';
import { streamOf } from '../domain/streams.ts';
import { type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import { ConfigError } from '../runtime/config-error.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { readLogId } from './log-id.ts';
import { standstillProblem } from './standstill.ts';
import { checkFormat } from './store-format.ts';
import {
  isKeyOf,
  MEMORY_KEY,
  memoryOfRecords,
  READ_MODELS_MEMORY,
  type RecordsMemory,
  type StoreMemory,
} from './store-memory.ts';

/** How long another process may take to create the store's identity: a few writes. */
const CONFIRMED_WITHIN_MS = 2_000;
/** How often to ask a remote log for an event that it may not have replicated yet. */
const ASK_AGAIN_MS = 250;

const ADOPT = 'run: venue restore --adopt';
const CHECK_SETTINGS = 'Check DATA_DIR, EVENTSTORE_URL and MONGODB_URL';

/** The names of the stores in messages: a file, or the engine's setting. */
export type StoreLocations = { readonly log: string; readonly records: string; readonly readModels: string };

export type CheckDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly locations: StoreLocations;
  /** The positions of the read models; absent for EventStoreDB, where they may lie after the last event of the service. */
  readonly shownPositions?: () => Promise<readonly Position[]>;
  /** The highest position up to which the records say that events were handled. */
  readonly markedTo?: () => Promise<Position>;
  /** How long a seen event may be missing, because a node lags. 0 for an embedded log. */
  readonly settleMs: number;
};

/**
 * Checks that log, records and read models belong together. Changes nothing.
 * @param fenced whether to accept a fenced store, for reading only
 * @throws {UnusableStore} if records or read models belong to another log, or have seen events that the log lacks
 * @throws {ConfigError} if the records are sealed with another key
 */
export async function checkStoresMatch(deps: CheckDeps, fenced: boolean): Promise<void> {
  const { events, documents, settleMs } = deps;
  const memory = await memoryOfLogInUse(deps);
  const readModelsMemory = (await (await documents.open(READ_MODELS_MEMORY)).get(MEMORY_KEY))?.document;
  const logId = await settled(
    () => readLogId(events),
    (id) => memory === undefined || id === memory.logId,
    settleMs,
  );
  if (memory !== undefined) await checkRecords(deps, memory, logId, fenced);
  if (readModelsMemory !== undefined) await checkReadModels(deps, readModelsMemory, logId);
}

async function checkRecords(
  deps: CheckDeps,
  memory: RecordsMemory,
  logId: string | undefined,
  fenced: boolean,
): Promise<void> {
  const { log, records } = deps.locations;
  checkFormat(`The record store in ${records}`, memory.format);
  const { standstill } = memory;
  if (standstill !== undefined && !(fenced && standstill.kind === 'fence'))
    throw new UnusableStore(standstillProblem(standstill, deps.locations));
  if (!isKeyOf(memory, deps.secretKey))
    throw new ConfigError('SECRET_KEY', `is not the key that the secrets in ${records} are sealed with`);
  if (logId !== memory.logId)
    throw new UnusableStore(
      `The event log in ${log} is not the one that the records in ${records} belong to: ` +
        `${idText(logId)} instead of ${memory.logId}. ${CHECK_SETTINGS}; if the log was replaced on purpose, ${ADOPT}`,
    );
  const missing = (await missingOf(deps, memory)) ?? (await missingOfMarks(deps));
  if (missing !== undefined)
    throw new UnusableStore(
      `The event log in ${log} is older than the records in ${records}: it has no ${missing}. To go on with what it holds, ${ADOPT}`,
    );
}

async function checkReadModels(deps: CheckDeps, memory: StoreMemory, logId: string | undefined): Promise<void> {
  const { log, readModels } = deps.locations;
  if (logId !== memory.logId)
    throw new UnusableStore(
      `The read models in ${readModels} belong to another event log than the one in ${log}: ` +
        `${memory.logId} instead of ${idText(logId)}. Rebuild them with: venue rebuild --from-nothing`,
    );
  const missing = (await missingOf(deps, memory)) ?? (await missingOfShown(deps));
  if (missing !== undefined)
    throw new UnusableStore(
      `The read models in ${readModels} show more than the event log in ${log} holds: it has no ${missing}. To go on with what it holds, ${ADOPT}`,
    );
}

/** The records' memory of their log. @throws {UnusableStore} if they have none, although the log is in use */
async function memoryOfLogInUse({ events, documents, locations }: CheckDeps): Promise<RecordsMemory | undefined> {
  const memory = await memoryOfRecords(documents);
  if (memory !== undefined || !(await isInUse(events))) return memory;
  // Another process may be creating the store's identity now.
  const later = await settled(
    () => memoryOfRecords(documents),
    (later) => later !== undefined,
    CONFIRMED_WITHIN_MS,
  );
  if (later !== undefined) return later;
  throw new UnusableStore(
    `The records in ${locations.records} have never seen the event log in ${locations.log}. ${CHECK_SETTINGS}. ` +
      'If the records were lost, replace the store with a backup: venue restore FILE --overwrite. ' +
      `To go on without them, ${ADOPT}`,
  );
}

/** Whether the log has events besides its id. If not, the process that created it may have been killed. */
async function isInUse(events: Pick<EventStore, 'readAll' | 'readStream' | 'lastEvent'>): Promise<boolean> {
  if ((await readLogId(events)) === undefined) return false;
  return (await events.lastEvent())?.stream !== streamOf.log;
}

/** Describes the seen event if the log does not hold it at its position. */
async function missingOf({ events, settleMs }: CheckDeps, { seen }: StoreMemory): Promise<string | undefined> {
  if (seen === undefined) return undefined;
  const findSeen = async () => {
    for await (const { id, position } of events.readStream(seen.stream, { from: seen.revision, limit: 1 }))
      return id === seen.eventId && position === seen.position;
    return false;
  };
  const isThere = await settled(findSeen, (isAtPosition) => isAtPosition, settleMs);
  return isThere ? undefined : `event ${seen.eventId} of ${seen.stream} at position ${seen.position}`;
}

/** Describes the highest mark if it is beyond the log's end: what follows there would never be handled. */
async function missingOfMarks({ events, markedTo, settleMs }: CheckDeps): Promise<string | undefined> {
  if (markedTo === undefined) return undefined;
  // Read the end after the mark, because both move while the store is in use.
  const position = await markedTo();
  const isThere = await settled(
    async () => (await logEnd(events)) >= position,
    (reachesIt) => reachesIt,
    settleMs,
  );
  return isThere ? undefined : `event at position ${position}, up to which it was handled`;
}

/**
 * Describes a position of a read model beyond the log's end. This finds more than the stored event does, because read models follow every
 * event.
 */
async function missingOfShown({ events, shownPositions }: CheckDeps): Promise<string | undefined> {
  const positions = (await shownPositions?.()) ?? [];
  // Read the end after the positions, because both grow while the store is in use.
  const end = await logEnd(events);
  const beyond = positions.find((position) => position > end);
  return beyond === undefined ? undefined : `event at position ${beyond}`;
}

/** Calls `find` until its result is good, or the time is over. @returns the last result */
async function settled<T>(find: () => Promise<T>, isGood: (result: T) => boolean, withinMs: number): Promise<T> {
  const giveUpAt = performance.now() + withinMs;
  for (;;) {
    const result = await find();
    if (isGood(result) || performance.now() >= giveUpAt) return result;
    await delay(ASK_AGAIN_MS);
  }
}

const idText = (logId: string | undefined): string => logId ?? 'a log without an id';
