import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Authenticate } from './authenticate.ts';
import type { Caller } from './caller.ts';

type KeyUse = { readonly usedAt: Timestamp };

const collection: Collection<KeyUse> = { name: 'apiKeyUses', kind: 'record', indexes: [] };

const MINUTE_MS = 60_000;

export type ApiKeyUsage = Awaited<ReturnType<typeof createApiKeyUsage>>;

/** Records when API keys were last used, which helps to revoke unused ones. At most one write per key and minute. */
export async function createApiKeyUsage(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  readonly logger: { debug(details: object, text: string): void };
}) {
  const { clock, logger } = deps;
  const uses = await deps.documents.open(collection);
  /** The keys that this process has recorded for the current minute. */
  const recorded = new Set<string>();
  let currentMinute = 0;

  async function record(apiKeyId: string, minute: number): Promise<void> {
    const usedAt = toTimestamp(minute * MINUTE_MS);
    await uses.update(apiKeyId, (use) => (use !== undefined && use.usedAt >= usedAt ? undefined : { usedAt }));
  }

  function used(caller: Caller | undefined): Caller | undefined {
    if (caller?.credential.kind !== 'apiKey') return caller;
    const { id } = caller.credential;
    const minute = Math.floor(clock() / MINUTE_MS);
    if (minute !== currentMinute) {
      recorded.clear();
      currentMinute = minute;
    }
    if (recorded.has(id)) return caller;
    recorded.add(id);
    record(id, minute).catch((error: unknown) =>
      logger.debug({ err: error }, 'failed to record the use of an API key'),
    );
    return caller;
  }

  return {
    /** Wraps an authentication so that it records the use of API keys, without delaying the call. */
    trackUsage:
      (authenticate: Authenticate): Authenticate =>
      async (token) =>
        used(await authenticate(token)),

    /** When each of these keys was last used, to the minute. Keys that were never used are absent. */
    async lastUsed(apiKeyIds: readonly string[]): Promise<ReadonlyMap<string, Timestamp>> {
      const documents = await uses.getMany(apiKeyIds);
      return new Map(documents.map(({ key, document }) => [key, document.usedAt]));
    },
  };
}
