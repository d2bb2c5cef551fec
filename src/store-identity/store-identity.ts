import { setTimeout as delay } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { Documents } from '../document-store/document-store.ts';
import { inRounds } from '../event-loop/rounds.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import type { Clock } from '../runtime/clock.ts';
import { ensureLogId } from './log-id.ts';
import { standstillProblem } from './standstill.ts';
import { type CheckDeps, checkStoresMatch } from './store-check.ts';
import { MEMORY_KEY, newMemory, READ_MODELS_MEMORY, RECORDS_MEMORY, type StoreMemory, seenOf } from './store-memory.ts';

/** How often the last seen event is stored. A start cannot detect that a restore lost events of the last interval. */
const STORE_EVERY_MS = 1_000;
/** How long a stop waits for the final write. */
const FINAL_WRITE_WITHIN_MS = 1_000;

export type IdentityDeps = CheckDeps & {
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn'>;
};

export type StoreIdentity = Awaited<ReturnType<typeof openStoreIdentity>>;

/** Checks whether log, records and read models belong together, and remembers the last seen event (docs/decisions/processes.md). */
export async function openStoreIdentity(deps: IdentityDeps) {
  const { events, documents, secretKey, clock, locations, logger } = deps;
  const records = await documents.open(RECORDS_MEMORY);
  const readModels = await documents.open(READ_MODELS_MEMORY);
  const stopping = new AbortController();
  let storedPosition: string | undefined;
  let isFailing = false;
  let remembering: Promise<void> = Promise.resolve();
  let fenced: (problem: string) => void = () => {};

  /** Stores the last seen event in both memories, unless another process is further ahead. */
  async function remember(): Promise<void> {
    const standstill = (await records.get(MEMORY_KEY))?.document.standstill;
    if (standstill?.kind === 'fence') fenced(standstillProblem(standstill, locations));
    const last = await events.lastEvent();
    if (last === undefined || last.position === storedPosition) return;
    await advance(records, last);
    await advance(readModels, last);
    storedPosition = last.position;
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
    /** See {@link checkStoresMatch}. */
    check: ({ fenced: isAccepted } = { fenced: false }): Promise<void> => checkStoresMatch(deps, isAccepted),

    /** Creates the store's identity if it has none. Call it after the check, once the secrets could be opened. */
    async confirm(): Promise<void> {
      const logId = await ensureLogId(events, clock);
      // If two stores start on one MongoDB for the first time, the second one is refused and writes nothing.
      if (!(await records.insert(MEMORY_KEY, newMemory(logId, secretKey)))) await checkStoresMatch(deps, false);
      await readModels.insert(MEMORY_KEY, { logId });
    },

    /** The id of the log. Call it after `confirm`. */
    logId: (): Promise<string> => ensureLogId(events, clock),

    /**
     * Stores the last seen event regularly, in the background.
     * @param onFenced called with a sentence if another process has fenced the store while this one was suspended
     */
    start(onFenced: (problem: string) => void): void {
      fenced = onFenced;
      remembering = inRounds(STORE_EVERY_MS, stopping.signal, round);
    },

    /** Stores the last seen event once more. */
    async stop(): Promise<void> {
      stopping.abort();
      const last = remembering.then(remember).catch(() => {});
      // A store that does not answer must not keep the process from stopping.
      await Promise.race([last, delay(FINAL_WRITE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

async function advance<M extends StoreMemory>(memory: Documents<M>, last: StoredEvent): Promise<void> {
  await memory.update(MEMORY_KEY, (stored) =>
    stored === undefined || (stored.seen?.position ?? '') >= last.position
      ? undefined
      : { ...stored, seen: seenOf(last) },
  );
}
