import { fetch } from 'undici';
import { ForbiddenAddress, type GuardOptions, guardedAgent } from '../outbound/address-guard.ts';

const MAX_BYTES = 5 * 1024;
const TIMEOUT_MS = 2_500;

export type Fetched = { readonly status: number; readonly text: string; readonly cacheControl: string };

/** Fetches client metadata documents from addresses that the guard allows, without following redirects. */
export function createDocumentFetch(guard: GuardOptions) {
  const dispatcher = guardedAgent({ ...guard, timeoutMs: TIMEOUT_MS });
  return {
    /** @throws if the publisher cannot be reached or the document is too large */
    async fetchDocument(url: string): Promise<Fetched> {
      const response = await fetch(url, {
        dispatcher,
        headers: { accept: 'application/json' },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const text = await limited(response.body ?? []);
      return { status: response.status, text, cacheControl: response.headers.get('cache-control') ?? '' };
    },

    isRefused,
  };
}

class TooLarge extends Error {}

/**
 * Whether we refused the document, as opposed to failing to fetch it. A name with a private address counts as unknown, so that clients
 * cannot find out which names the operator's network has.
 */
const isRefused = (error: unknown): boolean =>
  error instanceof TooLarge ||
  (error instanceof Error && error.cause instanceof ForbiddenAddress && !error.cause.isResolved);

async function limited(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new TooLarge('The client metadata document is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
