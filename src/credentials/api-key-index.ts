import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { ApiKeyIssued } from '../domain/events.ts';
import type { ApiKeyId } from '../domain/ids.ts';
import { upcast } from '../domain/upcast.ts';
import type { EventStore } from '../event-store/event-store.ts';
import { LogUnavailable } from '../runtime/unavailable.ts';
import { API_KEY_INDEX, compareWithLog } from '../store-identity/log-progress.ts';

type IndexedKey = { readonly apiKeyId: ApiKeyId };
const KEYS: Collection<IndexedKey> = { name: 'apiKeyIndex', kind: 'record', indexes: [] };

/** The shortest interval between searches for unknown keys. */
const SEARCH_EVERY_MS = 1_000;

/** Finds the id, and thus the stream, of an API key by its hash. Stored as records, so that it does not depend on a projection. */
export type ApiKeyIndex = {
  /** Adds a key before it is issued. */
  add(hash: string, id: ApiKeyId): Promise<void>;
  /**
   * @returns undefined if no key with this hash was issued
   * @throws {LogUnavailable} if the key is not known and the log cannot be searched
   */
  idOf(hash: string): Promise<ApiKeyId | undefined>;
};

/** Searches the log for keys missing from the index, as after a restore of older records. */
export async function openApiKeyIndex(deps: {
  readonly documents: DocumentStore;
  readonly events: Pick<EventStore, 'readAll' | 'lastEvent' | 'outage'>;
  /** Looks a hash up in the read model while the log is unavailable. */
  readonly shown: (hash: string) => Promise<ApiKeyId | undefined>;
}): Promise<ApiKeyIndex> {
  const { events, shown } = deps;
  const keys = await deps.documents.open(KEYS);
  let searching: Promise<void> | undefined;
  let searchedAt = Number.NEGATIVE_INFINITY;

  async function search(): Promise<void> {
    const began = performance.now();
    await compareWithLog(deps, API_KEY_INDEX, ['ApiKeyIssued'], async (stored) => {
      const { data } = upcast<ApiKeyIssued>(stored);
      await keys.insert(data.hash, { apiKeyId: data.apiKeyId });
    });
    searchedAt = began;
  }

  async function lookUp(hash: string): Promise<ApiKeyId | undefined> {
    return (await keys.get(hash))?.document.apiKeyId;
  }

  return {
    async add(hash, id) {
      await keys.insert(hash, { apiKeyId: id });
    },

    async idOf(hash) {
      const id = await lookUp(hash);
      if (id !== undefined) return id;
      if (performance.now() - searchedAt < SEARCH_EVERY_MS) return undefined;
      if (events.outage.since() !== undefined) {
        const shownId = await shown(hash);
        if (shownId === undefined) throw new LogUnavailable('The event log cannot be searched for an API key');
        return shownId;
      }
      searching ??= search().finally(() => {
        searching = undefined;
      });
      await searching;
      return lookUp(hash);
    },
  };
}
