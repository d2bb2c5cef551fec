import { hash } from 'node:crypto';
import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';

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

  async function store(url: string, text: string | undefined, stored: Stored<Copy> | undefined): Promise<void> {
    const now = clock();
    const copy = { ...defined({ text }), fetchedAt: toTimestamp(now), expiresAt: toTimestamp(now + KEPT_MS) };
    await copies.update(keyOf(url), () => copy, { stored });
  }

  async function current(url: string): Promise<Copy | undefined> {
    const copy = (await copies.get(keyOf(url)))?.document;
    return copy !== undefined && Date.parse(copy.expiresAt) > clock() ? copy : undefined;
  }

  return {
    get: async (url: string): Promise<string | undefined> => (await current(url))?.text,

    /** Whether a user has allowed the client. */
    isAllowed: async (url: string): Promise<boolean> => (await current(url)) !== undefined,

    /** Caches a document. It is stored once a user has allowed its client. */
    async fetched(url: string, text: string): Promise<void> {
      lastFetched.set(url, text);
      const stored = await copies.get(keyOf(url));
      if (stored === undefined) return;
      const isOld = Math.abs(clock() - Date.parse(stored.document.fetchedAt)) > STORED_AGAIN_AFTER_MS;
      if (isOld || stored.document.text !== text) await store(url, text, stored);
    },

    /**
     * Call when a user has allowed the client: stores a copy of its document, if it has one. If another process fetched it, the copy is
     * stored at its next fetch.
     */
    async keep(url: string): Promise<void> {
      const text = lastFetched.get(url);
      const stored = await copies.get(keyOf(url));
      if (text !== undefined || (stored === undefined && URL.canParse(url))) await store(url, text, stored);
    },
  };
}

/** A digest, so that keys have the same length for any URL. */
const keyOf = (url: string) => hash('sha256', url, 'base64url');
