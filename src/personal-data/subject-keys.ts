import { randomBytes } from 'node:crypto';
import type { Collection, Documents, Find, OperatedDocumentStore, Stored } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Subject } from '../domain/personal-text.ts';
import type { Clock } from '../runtime/clock.ts';
import { loadOnce } from '../runtime/load-once.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { purposes } from '../secrets/purposes.ts';
import { seal, unseal } from '../secrets/seal.ts';
import type { SecretKey } from '../secrets/secret-key.ts';

/** The key of a subject, sealed under the secret key, or what is left of it once the subject has been forgotten. */
type SubjectKey =
  | { readonly state: 'live'; readonly sealedKey: string; readonly createdAt: Timestamp }
  | { readonly state: 'forgotten'; readonly forgottenAt: Timestamp };

export const subjectKeys: Collection<SubjectKey> = {
  name: 'subjectKeys',
  kind: 'record',
  indexes: [{ fields: ['state'] }],
};

const everyForgotten = declareQuery(subjectKeys, (): Find<SubjectKey> => ({ where: { state: 'forgotten' } }), []);

/** The key of a subject, or that it was destroyed. */
export type KeyOrForgotten = Buffer | 'forgotten';

/**
 * How long a process may go on sealing under a key that it has read. What it seals after another process has destroyed the key is
 * erased from the beginning. Nothing is ever opened by a cached key.
 */
const SEALS_FOR_MS = 2_000;
const CACHED_KEYS = 10_000;

/**
 * A key of its own for each subject, so that destroying it erases every text of that subject, in every copy of the log
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

  /** Makes the key of a subject unless it has one. Durable once it resolves; of several that are made at once, one is kept. */
  async function obtain(subject: Subject): Promise<KeyOrForgotten> {
    const collection = await records();
    const found = await collection.get(subject);
    if (found !== undefined) return keyIn(found);
    const key = randomBytes(32);
    const sealedKey = seal(secretKey, purposes.subjectKey(subject), key.toString('base64'));
    if (await collection.insert(subject, { state: 'live', sealedKey, createdAt: toTimestamp(clock()) })) return key;
    const other = await collection.get(subject);
    if (other === undefined) throw new MissingSubjectKey(subject);
    return keyIn(other);
  }

  return {
    /**
     * The key to seal with, made on first use. Not read again within {@link SEALS_FOR_MS}, by a monotonic clock.
     */
    async forSealing(subject: Subject): Promise<KeyOrForgotten> {
      const known = sealing.get(subject);
      const now = performance.now();
      if (known !== undefined && now - known.readAt < SEALS_FOR_MS) return known.key;
      const key = await obtain(subject);
      if (key === 'forgotten') sealing.delete(subject);
      else sealing.set(subject, { key, readAt: now });
      return key;
    },

    /**
     * The keys to open with. They are read each time, so that no text is shown in any process once its subject has been forgotten.
     * @throws {MissingSubjectKey} if there is neither a key nor what is left of one
     */
    async forOpening(subjects: Iterable<Subject>): Promise<ReadonlyMap<Subject, KeyOrForgotten>> {
      const wanted = new Set(subjects);
      const found = new Map<string, KeyOrForgotten>();
      for (const stored of await (await records()).getMany([...wanted])) found.set(stored.key, keyIn(stored));
      const keys = new Map<Subject, KeyOrForgotten>();
      for (const subject of wanted) {
        const key = found.get(subject);
        if (key === undefined) throw new MissingSubjectKey(subject);
        keys.set(subject, key);
      }
      return keys;
    },

    /** Whether a subject has a key, or had one. */
    async isKnown(subject: Subject): Promise<boolean> {
      return (await (await records()).get(subject)) !== undefined;
    },

    /** See {@link destroyIn}. Also leaves nothing of the key in the files, if the engine lets it; done again, it looks again. */
    async destroy(subject: Subject, at: Timestamp): Promise<Destroyed> {
      sealing.delete(subject);
      const destroyed = await destroyIn(await records(), subject, at);
      await documents.purge();
      return destroyed;
    },

    /** How many subjects have been forgotten. Their tombstones stay, so the count changes with each, independent of clocks. */
    async forgottenVersion(): Promise<number> {
      return (await records()).count(everyForgotten());
    },
  };
}

/** When a key was destroyed, and whether it was there until now. */
export type Destroyed = { readonly isDestroyed: boolean; readonly at: Timestamp };

/** Destroys the key of a subject for good, also of one that never had one. What is left of it keeps a new one from being made. */
export async function destroyIn(keys: Documents<SubjectKey>, subject: Subject, at: Timestamp): Promise<Destroyed> {
  const { isChanged, stored } = await keys.update(subject, (key): SubjectKey | undefined =>
    key?.state === 'forgotten' ? undefined : { state: 'forgotten', forgottenAt: at },
  );
  return { isDestroyed: isChanged, at: stored?.document.state === 'forgotten' ? stored.document.forgottenAt : at };
}

/** Neither a key nor its tombstone is there: records are lost, or belong to another log. Never taken for an erased text. */
class MissingSubjectKey extends Error {
  constructor(subject: string) {
    super(
      `The key of ${subject} is missing from the records, and the subject was not forgotten: restore the records from a backup`,
    );
    this.name = 'MissingSubjectKey';
  }
}
