import { hash } from 'node:crypto';
import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';

/**
 * The metadata documents of clients that users have allowed, as they were last fetched: a publisher that is down for a while does
 * not disconnect its users (docs/decisions/oauth.md).
 */
export type DocumentCopies = {
  get(url: string): Promise<string | undefined>;
  /** Takes note of a document. It is stored once a user has allowed its client. */
  fetched(url: string, text: string): Promise<void>;
  /**
   * A user has allowed the client: from now on there is a copy of its document, if it has one. If another process has fetched it, there
   * is from its next fetch on.
   */
  keep(url: string): Promise<void>;
  /** Whether a user has allowed the client. */
  isAllowed(url: string): Promise<boolean>;
};

type Copy = {
  /** Absent until it is fetched again. */
  readonly text?: string;
  readonly fetchedAt: Timestamp;
  readonly expiresAt: Timestamp;
};

const COLLECTION: Collection<Copy> = { name: 'clientDocuments', kind: 'record', ttl: 'expiresAt', indexes: [] };

const DAY_MS = 24 * 3_600_000;
/** Longer than an app can go without a refresh. */
const KEPT_MS = 31 * DAY_MS;
/** How old a copy gets before the same document is stored again, which lets it live on. */
const STORED_AGAIN_AFTER_MS = DAY_MS;
/** Documents remembered until a user has allowed their clients. */
const REMEMBERED = 1_000;

export async function openDocumentCopies(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
}): Promise<DocumentCopies> {
  const { clock } = deps;
  const copies = await deps.documents.open(COLLECTION);
  const lastFetched = createLruCache<string, string>(REMEMBERED);

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
    get: async (url) => (await current(url))?.text,
    isAllowed: async (url) => (await current(url)) !== undefined,

    async fetched(url, text) {
      lastFetched.set(url, text);
      const stored = await copies.get(keyOf(url));
      if (stored === undefined) return;
      const isOld = Math.abs(clock() - Date.parse(stored.document.fetchedAt)) > STORED_AGAIN_AFTER_MS;
      if (isOld || stored.document.text !== text) await store(url, text, stored);
    },

    async keep(url) {
      const text = lastFetched.get(url);
      const stored = await copies.get(keyOf(url));
      if (text !== undefined || (stored === undefined && URL.canParse(url))) await store(url, text, stored);
    },
  };
}

/** Of one length, however long the URL is. */
const keyOf = (url: string) => hash('sha256', url, 'base64url');
