import { randomBytes } from 'node:crypto';
import type { Collection, Documents, Find, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Subject } from '../domain/personal-text.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { Clock } from '../runtime/clock.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** The key of a subject, sealed under the secret key, or its tombstone. */
type SubjectKey =
  | { readonly state: 'live'; readonly sealedKey: string; readonly createdAt: Timestamp }
  | { readonly state: 'forgotten'; readonly forgottenAt: Timestamp };

export const subjectKeys: Collection<SubjectKey> = {
  name: 'subjectKeys',
  kind: 'record',
  indexes: [{ fields: ['state'] }],
};

const everyForgotten = declareQuery(subjectKeys, (): Find<SubjectKey> => ({ where: { state: 'forgotten' } }), []);

/** The key of a subject, or `forgotten` if it was destroyed. */
export type KeyOrForgotten = Buffer | 'forgotten';

/**
 * How long a process may seal with a cached key. Texts sealed after another process has destroyed the key are unreadable at once.
 * Cached keys never open texts.
 */
const SEALS_FOR_MS = 2_000;
const CACHED_KEYS = 10_000;

/**
 * One key per subject, so that destroying it erases all texts of the subject in every copy of the log
 * (docs/decisions/personal-data.md).
 */
export function createSubjectKeys(deps: {
  readonly documents: Pick<OperatedDocumentStore, 'open' | 'purge'>;
  readonly secretKey: SecretKey;
  readonly clock: Clock;
}) {
  const { documents, secretKey, clock } = deps;
  const records = loadOnce(() => documents.open(subjectKeys));
  const sealing = createLruCache<Subject, { readonly key: Buffer; readonly readAt: number }>(CACHED_KEYS);

  function keyIn({ key: subject, document }: Pick<Stored<SubjectKey>, 'key' | 'document'>): KeyOrForgotten {
    if (document.state === 'forgotten') return 'forgotten';
    return Buffer.from(unseal(secretKey, purposes.subjectKey(subject), document.sealedKey), 'base64');
  }

  /** Creates the key of a subject unless it has one. Durable once it resolves; of concurrent attempts, one wins. */
  async function obtain(subject: Subject): Promise<KeyOrForgotten> {
    const collection = await records();
    const stored = await collection.get(subject);
    if (stored !== undefined) return keyIn(stored);
    const key = randomBytes(32);
    const sealedKey = seal(secretKey, purposes.subjectKey(subject), key.toString('base64'));
    if (await collection.insert(subject, { state: 'live', sealedKey, createdAt: toTimestamp(clock()) })) return key;
    const other = await collection.get(subject);
    if (other === undefined) throw new MissingSubjectKey(subject);
    return keyIn(other);
  }

  return {
    /** The key for sealing, created on first use and cached for {@link SEALS_FOR_MS} (monotonic). */
    async forSealing(subject: Subject): Promise<KeyOrForgotten> {
      const cached = sealing.get(subject);
      const now = performance.now();
      if (cached !== undefined && now - cached.readAt < SEALS_FOR_MS) return cached.key;
      const key = await obtain(subject);
      if (key === 'forgotten') sealing.delete(subject);
      else sealing.set(subject, { key, readAt: now });
      return key;
    },

    /**
     * The keys for opening. Read each time, so that no process shows a text after its subject was forgotten.
     * @throws {MissingSubjectKey} if there is neither a key nor its tombstone
     */
    async forOpening(subjects: Iterable<Subject>): Promise<ReadonlyMap<Subject, KeyOrForgotten>> {
      const wanted = new Set(subjects);
      const byKey = new Map<string, KeyOrForgotten>();
      for (const stored of await (await records()).getMany([...wanted])) byKey.set(stored.key, keyIn(stored));
      const keys = new Map<Subject, KeyOrForgotten>();
      for (const subject of wanted) {
        const key = byKey.get(subject);
        if (key === undefined) throw new MissingSubjectKey(subject);
        keys.set(subject, key);
      }
      return keys;
    },

    /** Whether a subject has a key, or had one. */
    async isKnown(subject: Subject): Promise<boolean> {
      return (await (await records()).get(subject)) !== undefined;
    },

    /** Whether the key of a subject was destroyed. */
    async isForgotten(subject: Subject): Promise<boolean> {
      return (await (await records()).get(subject))?.document.state === 'forgotten';
    },

    /** See {@link destroyIn}. Also erases the key from the files, if the engine supports it. A repeated call retries that. */
    async destroy(subject: Subject, at: Timestamp): Promise<Destroyed> {
      sealing.delete(subject);
      const destroyed = await destroyIn(await records(), subject, at);
      await documents.purge();
      return destroyed;
    },

    /** The number of forgotten subjects. Tombstones stay, so the count changes with each, independent of clocks. */
    async forgottenVersion(): Promise<number> {
      return (await records()).count(everyForgotten());
    },
  };
}

/** When a key was destroyed, and whether it was there until now. */
export type Destroyed = { readonly isDestroyed: boolean; readonly at: Timestamp };

/** Destroys the key of a subject for good, even if it never had one. The tombstone prevents a new key. */
export async function destroyIn(keys: Documents<SubjectKey>, subject: Subject, at: Timestamp): Promise<Destroyed> {
  const { isChanged, stored } = await keys.update(subject, (key): SubjectKey | undefined =>
    key?.state === 'forgotten' ? undefined : { state: 'forgotten', forgottenAt: at },
  );
  return { isDestroyed: isChanged, at: stored?.document.state === 'forgotten' ? stored.document.forgottenAt : at };
}

/** Neither a key nor its tombstone exists: records are lost or belong to another log. Never treated as an erased text. */
class MissingSubjectKey extends Error {
  constructor(subject: string) {
    super(
      `The key of ${subject} is missing from the records, and the subject was not forgotten: restore the records from a backup`,
    );
    this.name = 'MissingSubjectKey';
  }
}
