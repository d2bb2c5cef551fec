import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import type { ApiKeyId } from '../domain/ids.ts';
import { upcast } from '../domain/upcast.ts';
import { type EventStore, LOG_START, logEnd, type Position } from '../event-store/event-store.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { LogAway } from '../runtime/unavailable.ts';

type IndexedKey = { readonly apiKeyId: ApiKeyId };
const KEYS: Collection<IndexedKey> = { name: 'apiKeyIndex', kind: 'record', indexes: [] };

/** How far the log has been searched for keys that no record was written of. */
type Progress = { readonly position: Position };
const PROGRESS: Collection<Progress> = { name: 'apiKeyIndexProgress', kind: 'record', indexes: [] };
const PROGRESS_KEY = 'log';

/** Unknown keys make this process search the log again no more often. */
const SEARCH_EVERY_MS = 1_000;
const CACHED_KEYS = 10_000;

/** Finds the id of an API key, and so its stream, by the key's hash. A record, so that no projection stands in between. */
export type ApiKeyIndex = {
  /** Notes a key that is about to be issued. */
  add(hash: string, id: ApiKeyId): Promise<void>;
  /**
   * @returns undefined for a hash under which no key was issued
   * @throws {LogAway} if the key is not known and the log cannot be searched
   */
  idOf(hash: string): Promise<ApiKeyId | undefined>;
};

/** Makes the log be searched from its start again: it may be another one than when it was searched last. */
export async function forgetKeySearch(documents: Pick<DocumentStore, 'open'>): Promise<void> {
  await (await documents.open(PROGRESS)).delete(PROGRESS_KEY);
}

/** Keys that the index lacks, because the records were restored from an older copy than the log, are found in the log. */
export async function openApiKeyIndex(deps: {
  readonly documents: DocumentStore;
  readonly events: Pick<EventStore, 'readAll' | 'outage'>;
  /** The id that the read model shows for a hash, asked while the log is away. */
  readonly shown: (hash: string) => Promise<ApiKeyId | undefined>;
}): Promise<ApiKeyIndex> {
  const { events, shown } = deps;
  const keys = await deps.documents.open(KEYS);
  const progress = await deps.documents.open(PROGRESS);
  const cached = createLruCache<string, ApiKeyId>(CACHED_KEYS);
  let searching: Promise<void> | undefined;
  let searchedAt = Number.NEGATIVE_INFINITY;

  async function search(): Promise<void> {
    const began = performance.now();
    const end = await logEnd(events);
    const done = await progress.get(PROGRESS_KEY);
    const after = done?.document.position ?? LOG_START;
    if (end > after) {
      for await (const stored of events.readAll({ after, types: ['ApiKeyIssued'] })) {
        const event = upcast(stored);
        if (event.type === 'ApiKeyIssued') await keys.insert(event.data.hash, { apiKeyId: event.data.apiKeyId });
      }
      // Another process that got further meanwhile keeps its place.
      await progress.update(PROGRESS_KEY, (now) =>
        (now?.position ?? LOG_START) >= end ? undefined : { position: end },
      );
    }
    searchedAt = began;
  }

  async function lookUp(hash: string): Promise<ApiKeyId | undefined> {
    const id = (await keys.get(hash))?.document.apiKeyId;
    if (id !== undefined) cached.set(hash, id);
    return id;
  }

  return {
    async add(hash, id) {
      await keys.insert(hash, { apiKeyId: id });
    },

    async idOf(hash) {
      const id = cached.get(hash) ?? (await lookUp(hash));
      if (id !== undefined) return id;
      if (performance.now() - searchedAt < SEARCH_EVERY_MS) return undefined;
      if (events.outage.since() !== undefined) {
        const shownId = await shown(hash);
        if (shownId === undefined) throw new LogAway('The event log cannot be searched for an API key');
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
