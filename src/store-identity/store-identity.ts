import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { BaseLogger } from 'pino';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { streamOf } from '../domain/streams.ts';
import { type EventStore, lastEvent, logEnd, type Position, type StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { inRounds } from '../runtime/rounds.ts';
import { UnusableStore } from '../runtime/unusable-store.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { ensureLogId, readLogId } from './log-id.ts';
import { isFenced, standstillProblem } from './standstill.ts';
import { checkFormat, STORE_FORMAT } from './store-format.ts';
import {
  MEMORY_KEY,
  READ_MODELS_MEMORY,
  RECORDS_MEMORY,
  type RecordsMemory,
  type StoreMemory,
  seenOf,
} from './store-memory.ts';

/** How often the last seen event is stored. A start cannot detect that a restore lost events of the last interval. */
const STORE_EVERY_MS = 1_000;
/** How often the positions of the consumer groups are stored. Older ones only cause more redeliveries. */
const NOTE_GROUPS_EVERY_MS = 10_000;
/** How long a stop waits for the final write. */
const FINAL_WRITE_WITHIN_MS = 1_000;
/** How long another process may take to create the store's identity: a few writes. */
const CONFIRMED_WITHIN_MS = 2_000;
/** How often to ask a remote log for an event that it may not have replicated yet. */
const ASK_AGAIN_MS = 250;

/** The secret key is not the one that the store was made with. */
export class WrongSecretKey extends Error {}

/** The names of the stores in messages: a file, or the engine's setting. */
export type StoreLocations = { readonly log: string; readonly records: string; readonly readModels: string };

export type IdentityDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  readonly locations: StoreLocations;
  readonly logger: Pick<BaseLogger, 'warn'>;
  /** The positions of the consumer groups: everything up to there has been handled. */
  readonly groups?: () => Promise<{ readonly [group: string]: Position }>;
  /** The positions of the read models; absent for a log with positions after its last event. */
  readonly shownPositions?: () => Promise<readonly Position[]>;
  /** How long a seen event may be missing, because a node lags. 0 for an embedded log. */
  readonly settleMs: number;
};

/** Whether log, records and read models belong together (docs/decisions/stores.md). */
export type StoreIdentity = {
  /**
   * Changes nothing.
   * @param options.fenced whether to accept a fenced store, for reading only. Default false
   * @throws {UnusableStore} if records or read models belong to another log, or have seen events that the log lacks
   * @throws {WrongSecretKey} if the records are sealed with another key
   */
  check(options?: { readonly fenced: boolean }): Promise<void>;
  /** Creates the store's identity if it has none. Call it after the check, once the secrets could be opened. */
  confirm(): Promise<void>;
  /** The id of the log. Call it after `confirm`. */
  logId(): Promise<string>;
  /**
   * Stores the last seen event regularly, in the background.
   * @param onFenced called with a sentence if another process has fenced the store while this one was suspended
   */
  start(onFenced: (problem: string) => void): void;
  /** Stores it a last time. */
  stop(): Promise<void>;
};

export async function openStoreIdentity(deps: IdentityDeps): Promise<StoreIdentity> {
  const { events, secretKey, clock, locations, logger, settleMs } = deps;
  const records = await deps.documents.open(RECORDS_MEMORY);
  const readModels = await deps.documents.open(READ_MODELS_MEMORY);
  const adopt = 'run: venue restore --adopt';
  const fromNothing = 'Build them anew with: venue rebuild --from-nothing';
  let storedPosition: string | undefined;
  let notedAt = Number.NEGATIVE_INFINITY;
  const stopping = new AbortController();
  let isFailing = false;
  let remembering: Promise<void> = Promise.resolve();
  let fenced: (problem: string) => void = () => {};

  async function check({ fenced } = { fenced: false }): Promise<void> {
    const known = await memoryOfRecords();
    const shown = (await readModels.get(MEMORY_KEY))?.document;
    const logId = await settled(
      () => readLogId(events),
      (found) => known === undefined || found === known.logId,
    );
    if (known !== undefined) {
      checkFormat(`The record store in ${locations.records}`, known.format);
      const { standstill } = known;
      if (standstill !== undefined && !(fenced && standstill.kind === 'fence'))
        throw new UnusableStore(standstillProblem(standstill, locations));
      checkSecretKey(known);
      if (logId !== known.logId) {
        throw new UnusableStore(
          `The event log in ${locations.log} is not the one that the records in ${locations.records} belong to: ${idText(logId)} instead of ${known.logId}. Check DATA_DIR, EVENTSTORE_URL and MONGODB_URL; if the log was replaced on purpose, ${adopt}`,
        );
      }
      const missing = await missingOf(known);
      if (missing !== undefined) {
        throw new UnusableStore(
          `The event log in ${locations.log} is older than the records in ${locations.records}: it has no ${missing}. To go on with what it holds, ${adopt}`,
        );
      }
    }
    if (shown === undefined) return;
    if (logId !== shown.logId) {
      throw new UnusableStore(
        `The read models in ${locations.readModels} belong to another event log than the one in ${locations.log}: ${shown.logId} instead of ${idText(logId)}. ${fromNothing}`,
      );
    }
    const missing = (await missingOf(shown)) ?? (await missingOfShown());
    if (missing !== undefined) {
      throw new UnusableStore(
        `The read models in ${locations.readModels} show more than the event log in ${locations.log} holds: it has no ${missing}. To go on with what it holds, ${adopt}`,
      );
    }
  }

  /**
   * The position of read models that are ahead of the log's end. More precise than the stored event, because they follow every
   * event.
   */
  async function missingOfShown(): Promise<string | undefined> {
    const shown = (await deps.shownPositions?.()) ?? [];
    // Read the end after the positions, because both grow while the store is in use.
    const end = await logEnd(events);
    const beyond = shown.find((position) => position > end);
    return beyond === undefined ? undefined : `event at position ${beyond}`;
  }

  /** @throws {UnusableStore} if the records have no memory of a log in use */
  async function memoryOfRecords(): Promise<RecordsMemory | undefined> {
    const read = async () => (await records.get(MEMORY_KEY))?.document;
    const known = await read();
    if (known !== undefined || !(await isInUse(events))) return known;
    // Another process may be creating the store's identity now.
    const later = await settled(read, (found) => found !== undefined, CONFIRMED_WITHIN_MS);
    if (later !== undefined) return later;
    throw new UnusableStore(
      `The records in ${locations.records} have never seen the event log in ${locations.log}. Check DATA_DIR, EVENTSTORE_URL and MONGODB_URL. If the records were lost, replace the store with a backup: venue restore DIR --overwrite. To go on without them, ${adopt}`,
    );
  }

  function checkSecretKey({ logId, probe }: RecordsMemory): void {
    try {
      unseal(secretKey, purposes.storeProbe(logId), probe);
    } catch {
      throw new WrongSecretKey(`is not the key that the secrets in ${locations.records} are sealed with`);
    }
  }

  /** Describes the seen event if the log does not hold it at its position. */
  async function missingOf({ seen }: StoreMemory): Promise<string | undefined> {
    if (seen === undefined) return undefined;
    const look = async () => {
      for await (const { id, position } of events.readStream(seen.stream, { from: seen.revision, limit: 1 }))
        return id === seen.eventId && position === seen.position;
      return false;
    };
    const isThere = await settled(look, (found) => found);
    return isThere ? undefined : `event ${seen.eventId} of ${seen.stream} at position ${seen.position}`;
  }

  async function settled<T>(look: () => Promise<T>, isGood: (found: T) => boolean, withinMs = settleMs): Promise<T> {
    const giveUpAt = performance.now() + withinMs;
    for (;;) {
      const found = await look();
      if (isGood(found) || performance.now() >= giveUpAt) return found;
      await delay(ASK_AGAIN_MS);
    }
  }

  async function confirm(): Promise<void> {
    const logId = await ensureLogId(events, clock);
    const probe = seal(secretKey, purposes.storeProbe(logId), logId);
    // If two stores start on one MongoDB for the first time, the second one is refused and writes nothing.
    if (!(await records.insert(MEMORY_KEY, { format: STORE_FORMAT, logId, probe }))) await check();
    await readModels.insert(MEMORY_KEY, { logId });
  }

  /** Stores the last seen event in both memories, unless another process is further ahead. */
  async function remember(): Promise<void> {
    if (await isFenced(deps.documents)) fenced(standstillProblem({ kind: 'fence' }, locations));
    // Store the groups first, because later reads of the records show what the groups have handled.
    await noteGroups();
    const last = await lastEvent(events);
    if (last === undefined || last.position === storedPosition) return;
    await advance(records, last);
    await advance(readModels, last);
    storedPosition = last.position;
  }

  async function advance<M extends StoreMemory>(memory: Documents<M>, last: StoredEvent): Promise<void> {
    await memory.update(MEMORY_KEY, (known) =>
      known === undefined || (known.seen?.position ?? '') >= last.position
        ? undefined
        : { ...known, seen: seenOf(last) },
    );
  }

  async function noteGroups(): Promise<void> {
    if (deps.groups === undefined || performance.now() - notedAt < NOTE_GROUPS_EVERY_MS) return;
    const began = performance.now();
    const groups = await deps.groups();
    await records.update(MEMORY_KEY, (known) =>
      known === undefined || isDeepStrictEqual(known.groups, groups) ? undefined : { ...known, groups },
    );
    notedAt = began;
  }

  async function round(): Promise<void> {
    try {
      await remember();
      isFailing = false;
    } catch (error) {
      // Log only the first failure: the next success makes up for all of them.
      if (!isFailing) logger.warn({ err: error }, 'The last seen event could not be stored; retrying');
      isFailing = true;
    }
  }

  return {
    check,
    confirm,
    logId: () => ensureLogId(events, clock),
    start(onFenced) {
      fenced = onFenced;
      remembering = inRounds(STORE_EVERY_MS, stopping.signal, round);
    },
    async stop() {
      stopping.abort();
      // A store that does not answer must not keep the process from stopping.
      notedAt = Number.NEGATIVE_INFINITY;
      const last = remembering.then(remember).catch(() => {});
      await Promise.race([last, delay(FINAL_WRITE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

const idText = (logId: string | undefined): string => logId ?? 'a log without an id';

/** Whether the log has events besides its id. If not, the process that created it may have been killed. */
async function isInUse(events: Pick<EventStore, 'readAll' | 'readStream'>): Promise<boolean> {
  if ((await readLogId(events)) === undefined) return false;
  return (await lastEvent(events))?.stream !== streamOf.log;
}
