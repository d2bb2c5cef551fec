import type { BaseLogger } from 'pino';
import type { DocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { type Lease, openLeases } from '../leases/lease.ts';
import type { Clock } from '../runtime/clock.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { createSealFile, createSealWebhook, type SealCopy } from './seal-copies.ts';
import { obtainSealKey } from './seal-key.ts';
import { EVENTS_PER_CHECKPOINT, sealLog } from './seal-log.ts';
import { openSealRecords, type SealRecord } from './seal-records.ts';
import type { VerifierKey } from './signed-note.ts';

export type SealSettings = {
  /** The URL that receives every checkpoint. */
  readonly sealWebhook: string | undefined;
  /** The file that every checkpoint is appended to. */
  readonly sealFile: string | undefined;
  /** Whether the file also gets the hash of every event. */
  readonly sealFileLeaves: boolean;
};

export type SealingDeps = {
  readonly events: Pick<EventStore, 'readAll' | 'readStream' | 'lastEvent'>;
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly secretKey: SecretKey;
  readonly logId: () => Promise<string>;
  readonly settings: SealSettings;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'warn'>;
};

type SealOptions = {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly done: number }) => void;
};

/** How long a sealing process may be silent before another takes over. Both would write the same. */
const LEASE_MS = 15_000;
const POLL_MS = 100;
const LEASE = 'seals';

export type Sealing = Awaited<ReturnType<typeof openSealing>>;

/** Seals the log, one process at a time, and publishes the checkpoints if configured. */
export async function openSealing(deps: SealingDeps) {
  const { events, documents, settings, logger } = deps;
  const records = await openSealRecords(documents);
  const leases = await openLeases({ ...deps, collection: 'sealLeases', durationMs: LEASE_MS });
  const { sealWebhook: url, sealFile: file, sealFileLeaves: leaves } = settings;
  const sealFile = file === undefined ? undefined : createSealFile({ file, leaves, records });
  const copies: readonly SealCopy[] = [
    ...(url === undefined ? [] : [createSealWebhook({ url, records })]),
    ...(sealFile === undefined ? [] : [sealFile]),
  ];
  const copyProblems = new Map<string, string>();

  async function sealWith(lease: Lease, options: SealOptions): Promise<SealRecord | undefined> {
    try {
      const key = await obtainSealKey(records, deps);
      const newest = await sealFile?.newest(key);
      let head = await records.head();
      // Only a long log takes several steps. Events appended meanwhile wait for the next seal, so that the loop ends on a busy store.
      for (let isWhole = false; !isWhole; ) {
        options.signal?.throwIfAborted();
        if (!lease.isHeld()) throw new Error('Another process has taken over sealing');
        const sealed = await sealLog({ events, records, key, ...defined({ newest }), ...options });
        isWhole = sealed === undefined || sealed.size - (head?.size ?? 0) < EVENTS_PER_CHECKPOINT;
        head = sealed ?? head;
      }
      if (head !== undefined) await copy(head, key);
      return head;
    } finally {
      await lease.release();
    }
  }

  async function copy(head: SealRecord, key: VerifierKey): Promise<void> {
    for (const { setting, bringUpToDate } of copies) {
      const before = copyProblems.get(setting);
      try {
        await bringUpToDate(head, key);
        copyProblems.delete(setting);
        if (before !== undefined) logger.warn({}, `${setting}: checkpoints are kept there again`);
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        copyProblems.set(setting, problem);
        // Log it once: the next success publishes all missed checkpoints.
        if (before !== problem)
          logger.warn({}, `${setting}: checkpoints could not be kept there; retrying. ${problem}`);
      }
    }
  }

  return {
    /** The last errors of publishing checkpoints, by setting. */
    copyProblems,

    /**
     * Seals what is new, and waits for another process that is sealing.
     * @returns the newest checkpoint; undefined if the log is empty
     * @throws {Unsealable} if the log differs from what was sealed; then nothing is published
     */
    async seal(options: SealOptions = {}): Promise<SealRecord | undefined> {
      const { signal } = options;
      return sealWith(await leases.acquire(LEASE, { pollMs: POLL_MS, ...(signal && { signal }) }), options);
    },
  };
}
