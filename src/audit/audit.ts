import type { StoredEvent } from '../event-store/event-store.ts';
import { loadOnce } from '../runtime/load-once.ts';
import type { EventProofs } from './event-proofs.ts';
import type { SealRecord } from './seal-records.ts';
import type { Sealing, SealingDeps } from './sealing.ts';

type OnProgress = (progress: { readonly done: number }) => void;

/** An auditor's operations on a store in use. */
export type Audit = {
  /** Seals what is new, and waits for another process that is sealing. @returns the newest checkpoint; undefined for an empty log */
  seal(onProgress?: OnProgress): Promise<SealRecord | undefined>;
  /** The errors of publishing checkpoints, by setting. */
  copyProblems(): Promise<ReadonlyMap<string, string>>;
  /** The public key for checking checkpoints. Created if there is none. */
  makeKey(): Promise<string>;
  /** The same, undefined if there is none. */
  publishedKey(): Promise<string | undefined>;
  /** Signed notes about each fork of the log, the latest last. */
  forks(): Promise<readonly string[]>;
  /**
   * Proves that the events of a booking are in the log, as of the newest checkpoint.
   * @param streams the streams with its events
   * @returns the proofs of the sealed events, if any, and the number of unsealed ones
   */
  proveBooking(
    id: number,
    streams: readonly string[],
  ): Promise<{ readonly proofs?: EventProofs; readonly unsealed: number }>;
};

/** Loads its dependencies on first use, to keep the start short. */
export function createAudit(deps: SealingDeps): Audit {
  const sealing = loadOnce(async (): Promise<Sealing> => (await import('./sealing.ts')).openSealing(deps));
  const records = loadOnce(async () => (await import('./seal-records.ts')).openSealRecords(deps.documents));
  const keys = () => import('./seal-key.ts');
  const notes = () => import('./signed-note.ts');
  return {
    async seal(onProgress) {
      return (await sealing()).sealInTurn(onProgress && { onProgress });
    },
    copyProblems: async () => (await sealing()).copyProblems,
    async makeKey() {
      const key = await (await keys()).obtainSealKey(await records(), deps);
      return (await notes()).verifierKeyText(key);
    },
    forks: async () => (await keys()).forksIn(await records()),
    async publishedKey() {
      const key = await (await keys()).publishedKey(await records());
      return key && (await notes()).verifierKeyText(key);
    },
    async proveBooking(id, streams) {
      const { countSealed, proveEvents } = await import('./event-proofs.ts');
      const known = await records();
      const [key, head] = [await (await keys()).publishedKey(known), await known.head()];
      const all: StoredEvent[] = [];
      for (const stream of streams)
        for await (const event of deps.events.readStream(stream)) if (event.data.bookingId === id) all.push(event);
      all.sort((a, b) => (a.position < b.position ? -1 : 1));
      const sealed = await countSealed(deps, head, all);
      const unsealed = all.length - sealed;
      if (key === undefined || head === undefined || sealed === 0) return { unsealed };
      return { proofs: await proveEvents({ ...deps, records: known, key }, head, all.slice(0, sealed)), unsealed };
    },
  };
}
