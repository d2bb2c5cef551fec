import { hash } from 'node:crypto';
import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import type { Clock } from '../runtime/clock.ts';

type Copy = {
  /** Absent if another process fetched the document, until the next fetch. */
  readonly text?: string;
  readonly fetchedAt: Timestamp;
  readonly expiresAt: Timestamp;
};

const COLLECTION: Collection<Copy> = { name: 'clientDocuments', kind: 'record', ttl: 'expiresAt', indexes: [] };

const DAY_MS = 24 * 3_600_000;
/** Longer than an app can go without a refresh. */
const KEPT_MS = 31 * DAY_MS;
/** Age at which an unchanged copy is stored again, which renews its expiry. */
const STORED_AGAIN_AFTER_MS = DAY_MS;
/** Documents cached until a user allows their clients. */
const CACHED_DOCUMENTS = 1_000;

export type DocumentCopies = Awaited<ReturnType<typeof openDocumentCopies>>;

/**
 * Copies of the metadata documents of clients that users have allowed, so that a publisher's outage does not disconnect its users
 * (docs/decisions/oauth.md).
 */
export async function openDocumentCopies(deps: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const { clock } = deps;
  const copies = await deps.documents.open(COLLECTION);
  const lastFetched = createLruCache<string, string>(CACHED_DOCUMENTS);

  async function store(url: string, text: string | undefined): Promise<void> {
    const now = clock();
    const copy = { ...defined({ text }), fetchedAt: toTimestamp(now), expiresAt: toTimestamp(now + KEPT_MS) };
    await copies.update(keyOf(url), () => copy);
  }

  /** Not one that has expired and only waits to be removed. */
  async function current(url: string): Promise<Stored<Copy> | undefined> {
    const stored = await copies.get(keyOf(url));
    return stored !== undefined && Date.parse(stored.document.expiresAt) > clock() ? stored : undefined;
  }

  return {
    get: async (url: string): Promise<string | undefined> => (await current(url))?.document.text,

    /** Whether a user has allowed the client. */
    isAllowed: async (url: string): Promise<boolean> => (await current(url)) !== undefined,

    /** Caches a document. It is stored once a user has allowed its client. */
    async fetched(url: string, text: string): Promise<void> {
      lastFetched.set(url, text);
      const stored = await current(url);
      if (stored === undefined) return;
      const isOld = Math.abs(clock() - Date.parse(stored.document.fetchedAt)) > STORED_AGAIN_AFTER_MS;
      if (isOld || stored.document.text !== text) await store(url, text);
    },

    /**
     * Call when a user has allowed the client: stores a copy of its document, if it has one. If another process fetched it, the copy is
     * stored at its next fetch.
     */
    async keep(url: string): Promise<void> {
      const text = lastFetched.get(url);
      const isNew = (await current(url)) === undefined;
      if (text !== undefined || (isNew && URL.canParse(url))) await store(url, text);
    },
  };
}

/** A digest, so that keys have the same length for any URL. */
const keyOf = (url: string) => hash('sha256', url, 'base64url');
