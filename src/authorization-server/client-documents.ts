import { AsyncLocalStorage } from 'node:async_hooks';
import Provider from 'oidc-provider';
import { isObject } from '../domain/is-object.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import type { GuardOptions } from '../outbound/address-guard.ts';
import type { AttemptCounts } from './attempt-counts.ts';
import type { DocumentCopies } from './document-copies.ts';
import type { Fetched } from './fetch-document.ts';
import { reduceMetadata } from './reduced-metadata.ts';
import { applyRegistrationRules } from './registration.ts';

const MINUTE_MS = 60_000;
/** How long a copy is used before the document is fetched again, in seconds. */
const COPY_VALID_S = 60;

/** The documents fetched for the current request. */
const fetchedForRequest = new AsyncLocalStorage<Map<string, Promise<Fetched>>>();

/** Answers a request and fetches each document at most once for it. */
export const eachDocumentOnce = <R>(answer: () => R): R => fetchedForRequest.run(new Map(), answer);

/** Contexts of requests whose client document cannot be fetched and has no copy. The client may still be valid. */
const unreachable = new WeakSet<object>();

/** Whether a request failed because its client's document could not be fetched. */
export const isDocumentUnreachable = (ctx: object): boolean => unreachable.has(ctx);

export type ClientDocumentDeps = {
  readonly guard: GuardOptions;
  readonly copies: Pick<DocumentCopies, 'get' | 'fetched'>;
  readonly counts: Pick<AttemptCounts, 'add'>;
  /** Documents fetched from one host per minute, across all processes. */
  readonly perHost: number;
};

/**
 * Fetches a client's metadata from the URL that is its client id (OAuth Client ID Metadata Document, which MCP prefers to registration;
 * docs/decisions/oauth.md). The URL comes from an untrusted client, so only public addresses are contacted, over TLS and without
 * following redirects, and the rules of registration apply to the metadata. While the publisher is down or rate-limited, the stored copy is
 * used; there is one if a user has allowed the client. Without a copy, {@link isDocumentUnreachable} is true for the request.
 */
export function createClientDocuments({
  guard,
  copies,
  counts,
  perHost,
}: ClientDocumentDeps): (url: string) => Promise<Response> {
  /** Loads undici for the first document: the console and registered clients have none. */
  const fetcher = loadOnce(async () => (await import('./fetch-document.ts')).createDocumentFetch(guard));

  /** @throws if the publisher cannot be reached, or its rate limit is exhausted */
  async function load(url: string): Promise<Fetched> {
    // Without a limit, clients could make us send any number of requests to a host.
    const host = new URL(url).hostname.replace(/\.$/, '');
    const wait = await counts.add(['clientDocument', host], { max: perHost, windowMs: MINUTE_MS });
    if (wait > 0) throw new Error(`Too many client metadata documents of ${host} are requested`);
    return (await fetcher()).fetchDocument(url);
  }

  const loadForRequest = (url: string): Promise<Fetched> =>
    fetchedForRequest.getStore()?.getOrInsertComputed(url, load) ?? load(url);

  async function copyOf(url: string): Promise<Response> {
    const text = await copies.get(url);
    if (text !== undefined) return new Response(text, { headers: { 'cache-control': `max-age=${COPY_VALID_S}` } });
    if (Provider.ctx !== undefined) unreachable.add(Provider.ctx);
    return new Response(null, { status: 503 });
  }

  return async (url) => {
    const fetched = await loadForRequest(url).catch(async (error: unknown) => {
      if ((await fetcher()).isRefused(error)) throw error;
      return undefined;
    });
    if (fetched === undefined || isDown(fetched.status)) return copyOf(url);
    const { status, text, cacheControl } = fetched;
    const headers = { 'cache-control': cacheControl };
    if (status !== 200) return new Response(null, { status: status < 400 ? 404 : status });
    const document: unknown = JSON.parse(text);
    if (!isObject(document) || typeof document.client_id !== 'string') return new Response(text, { headers });
    const metadata = { ...reduceMetadata(document), client_id: document.client_id };
    applyRegistrationRules(metadata);
    const accepted = JSON.stringify(metadata);
    await copies.fetched(url, accepted);
    return new Response(accepted, { headers });
  };
}

/** Whether the status says that the publisher cannot serve now. Any other status is an answer about the client. */
const isDown = (status: number): boolean => status === 429 || status >= 500;
