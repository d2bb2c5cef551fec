import { loadOnce } from '../event-loop/load-once.ts';
import type { StoredEvent } from '../event-store/event-store.ts';
import { countSealed, type EventProofs, proveEvents } from './event-proofs.ts';
import { forksIn, obtainSealKey, publishedKey } from './seal-key.ts';
import { openSealRecords, type SealRecord } from './seal-records.ts';
import { openSealing, type SealingDeps } from './sealing.ts';
import { verifierKeyText } from './signed-note.ts';

type OnProgress = (progress: { readonly done: number }) => void;

export type Audit = ReturnType<typeof createAudit>;

/** An auditor's operations on a store in use. Opens its collections on first use, to keep the start short. */
export function createAudit(deps: SealingDeps) {
  const sealing = loadOnce(() => openSealing(deps));
  const records = loadOnce(() => openSealRecords(deps.documents));
  return {
    /** Seals what is new, and waits for another process that is sealing. @returns the newest checkpoint; undefined for an empty log */
    async seal(onProgress?: OnProgress): Promise<SealRecord | undefined> {
      return (await sealing()).seal(onProgress && { onProgress });
    },
    /** When the last event happened that the newest checkpoint covers; undefined without one. */
    async sealedUpTo(): Promise<string | undefined> {
      const last = (await (await records()).head())?.last;
      if (last === undefined) return undefined;
      for await (const { metadata } of deps.events.readStream(last.stream, { from: last.revision, limit: 1 }))
        return String(metadata.at);
      return undefined;
    },
    /** The errors of publishing checkpoints, by setting. */
    copyProblems: async (): Promise<ReadonlyMap<string, string>> => (await sealing()).copyProblems,
    /** The public key for checking checkpoints. Created if there is none. */
    makeKey: async (): Promise<string> => verifierKeyText(await obtainSealKey(await records(), deps)),
    /** Signed notes about each fork of the log, the latest last. */
    forks: async (): Promise<readonly string[]> => forksIn(await records()),
    /** As `makeKey`, but undefined if there is none. */
    async publishedKey(): Promise<string | undefined> {
      const key = await publishedKey(await records());
      return key && verifierKeyText(key);
    },
    /**
     * Proves that the events of a booking are in the log, as of the newest checkpoint.
     * @param streams the streams with its events
     * @returns the proofs of the sealed events, if any, and the number of unsealed ones
     */
    async proveBooking(
      id: number,
      streams: readonly string[],
    ): Promise<{ readonly proofs?: EventProofs; readonly unsealed: number }> {
      const seals = await records();
      const [key, head] = [await publishedKey(seals), await seals.head()];
      const all: StoredEvent[] = [];
      for (const stream of streams)
        for await (const event of deps.events.readStream(stream)) if (event.data.bookingId === id) all.push(event);
      all.sort((a, b) => (a.position < b.position ? -1 : 1));
      const sealed = await countSealed(deps, head, all);
      const unsealed = all.length - sealed;
      if (key === undefined || head === undefined || sealed === 0) return { unsealed };
      return { proofs: await proveEvents({ ...deps, records: seals, key }, head, all.slice(0, sealed)), unsealed };
    },
  };
}
