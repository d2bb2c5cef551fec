import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { BaseLogger } from 'pino';
import type { DocumentStore, Documents } from '../document-store/document-store.ts';
import { streamOf } from '../domain/streams.ts';
import { type EventStore, lastEvent, logEnd, type Position, type StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { untilNext } from '../runtime/until-next.ts';
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

/** How often the last event is remembered. The events of one interval may be lost in a restore without a start noticing it. */
const REMEMBER_EVERY_MS = 1_000;
/** How often the positions of the consumer groups are noted. Older ones only make more deliveries again. */
const NOTE_GROUPS_EVERY_MS = 10_000;
/** How long a stop waits for the last time. */
const LAST_TIME_WITHIN_MS = 1_000;
/** How long another process may take to give the store its identity: a few writes. */
const CONFIRMED_WITHIN_MS = 2_000;
/** How often a remote log is asked again for an event that it may not have replicated yet. */
const ASK_AGAIN_MS = 250;

/** The secret key is not the one that the store was made with. */
export class WrongSecretKey extends Error {}

/** How messages name the parts of the store: a file, or the setting of the engine. */
export type StoreLocations = { readonly log: string; readonly records: string; readonly readModels: string };

export type IdentityDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
  readonly locations: StoreLocations;
  readonly logger: Pick<BaseLogger, 'warn'>;
  /** Where the consumer groups stand: everything up to there has been handled. */
  readonly groups?: () => Promise<{ readonly [group: string]: Position }>;
  /** How far the read models are; absent for a log that has positions after its last event. */
  readonly shownPositions?: () => Promise<readonly Position[]>;
  /** How long an event that was seen may be missing, because the node that is asked lags. 0 for an embedded log. */
  readonly settleMs: number;
};

/** Whether log, records and read models belong together (docs/decisions/stores.md). */
export type StoreIdentity = {
  /**
   * Changes nothing.
   * @param options.fenced whether a store may be fenced that is only read. Default false
   * @throws {UnusableStore} if the log is another one than the records or the read models remember, or lacks what they have seen
   * @throws {WrongSecretKey} if the records are sealed with another key
   */
  check(options?: { readonly fenced: boolean }): Promise<void>;
  /** Gives a store that has none its identity. Call it when the store has been checked and its secrets could be opened. */
  confirm(): Promise<void>;
  /** The id of the log. Call it after `confirm`. */
  logId(): Promise<string>;
  /**
   * Keeps remembering the last event, in the background.
   * @param onFenced called with the problem, as a sentence, if another process has fenced the store: this one was asleep meanwhile
   */
  start(onFenced: (problem: string) => void): void;
  /** Remembers it for the last time. */
  stop(): Promise<void>;
};

export async function openStoreIdentity(deps: IdentityDeps): Promise<StoreIdentity> {
  const { events, secretKey, clock, locations, logger, settleMs } = deps;
  const records = await deps.documents.open(RECORDS_MEMORY);
  const readModels = await deps.documents.open(READ_MODELS_MEMORY);
  const adopt = 'run: venue restore --adopt';
  const fromNothing = 'Build them anew with: venue rebuild --from-nothing';
  let remembered: string | undefined;
  let notedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
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

  /** Where the read models are, if the log ends before. Closer than what was remembered: they follow every event. */
  async function missingOfShown(): Promise<string | undefined> {
    const shown = (await deps.shownPositions?.()) ?? [];
    // Read after them: both grow while the store is in use.
    const end = await logEnd(events);
    const beyond = shown.find((position) => position > end);
    return beyond === undefined ? undefined : `event at position ${beyond}`;
  }

  /** @throws {UnusableStore} if the records know nothing of a log that is in use */
  async function memoryOfRecords(): Promise<RecordsMemory | undefined> {
    const read = async () => (await records.get(MEMORY_KEY))?.document;
    const known = await read();
    if (known !== undefined || !(await isInUse(events))) return known;
    // Another process may be giving the store its identity at this moment.
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

  /** The event that was seen, by its name, unless the log holds the very event at its very position. */
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
    // Two stores that meet for the first time on one MongoDB: the second one is refused, and leaves nothing behind.
    if (!(await records.insert(MEMORY_KEY, { format: STORE_FORMAT, logId, probe }))) await check();
    await readModels.insert(MEMORY_KEY, { logId });
  }

  /** Writes what was seen last to both memories, unless another process has got further. */
  async function remember(): Promise<void> {
    if (await isFenced(deps.documents)) fenced(standstillProblem({ kind: 'fence' }, locations));
    // Noted first: what a group has handled by now, the records that are read later show.
    await noteGroups();
    const last = await lastEvent(events);
    if (last === undefined || last.position === remembered) return;
    await advance(records, last);
    await advance(readModels, last);
    remembered = last.position;
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

  function rememberSoon(): void {
    timer = setTimeout(() => {
      remembering = remember()
        .then(
          () => {
            isFailing = false;
          },
          (error: unknown) => {
            // Once: the next time that it works makes good all the others.
            if (!isFailing) logger.warn({ err: error }, 'The last event seen could not be remembered; retrying');
            isFailing = true;
          },
        )
        .then(() => {
          if (timer !== undefined) rememberSoon();
        });
    }, untilNext(REMEMBER_EVERY_MS)).unref();
  }

  return {
    check,
    confirm,
    logId: () => ensureLogId(events, clock),
    start(onFenced) {
      fenced = onFenced;
      rememberSoon();
    },
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      // A store that does not answer must not keep the process from stopping.
      notedAt = Number.NEGATIVE_INFINITY;
      const last = remembering.then(remember).catch(() => {});
      await Promise.race([last, delay(LAST_TIME_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

const idText = (logId: string | undefined): string => logId ?? 'a log without an id';

/** Whether something has been appended since the log got its id. Until then, the process that gave it may have been killed. */
async function isInUse(events: Pick<EventStore, 'readAll' | 'readStream'>): Promise<boolean> {
  if ((await readLogId(events)) === undefined) return false;
  return (await lastEvent(events))?.stream !== streamOf.log;
}
