import { LRUCache } from 'lru-cache';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Authenticate } from './authenticate.ts';

type KeyUse = { readonly usedAt: Timestamp };

const collection: Collection<KeyUse> = { name: 'apiKeyUses', kind: 'record', indexes: [] };

const MINUTE_MS = 60_000;

export type ApiKeyUsage = {
  /** The same callers; notes on the side, and without making the call wait, that a key was used. */
  trackUsage(authenticate: Authenticate): Authenticate;
  /** When each of these keys was last used, to the minute. Keys never used are absent. */
  lastUsed(apiKeyIds: readonly string[]): Promise<ReadonlyMap<string, Timestamp>>;
};

/** When API keys were last used, so that people dare to revoke those that nobody needs: one write a minute and key. */
export async function createApiKeyUsage(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly logger: { debug(details: object, text: string): void };
}): Promise<ApiKeyUsage> {
  const { clock, logger } = deps;
  const uses = await deps.documents.open(collection);
  /** The minute of the last note of this process. */
  const noted = new LRUCache<string, number>({ max: 10_000 });

  async function note(apiKeyId: string, minute: number): Promise<void> {
    const usedAt = toTimestamp(minute * MINUTE_MS);
    const stored = await uses.get(apiKeyId);
    // Who comes too late lost to somebody who noted about the same moment.
    if (stored === undefined) await uses.insert(apiKeyId, { usedAt });
    else if (stored.document.usedAt < usedAt) await uses.replace(apiKeyId, { usedAt }, stored.version);
  }

  return {
    trackUsage: (authenticate) => async (token) => {
      const caller = await authenticate(token);
      if (caller?.credential.kind !== 'apiKey') return caller;
      const { id } = caller.credential;
      const minute = Math.floor(clock() / MINUTE_MS);
      if (noted.get(id) === minute) return caller;
      noted.set(id, minute);
      note(id, minute).catch((error: unknown) => logger.debug({ err: error }, 'the use of a key was not noted'));
      return caller;
    },

    async lastUsed(apiKeyIds) {
      const found = await uses.getMany(apiKeyIds);
      return new Map(found.map(({ key, document }) => [key, document.usedAt]));
    },
  };
}
