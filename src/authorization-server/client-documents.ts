import { type Dispatcher, fetch } from 'undici';
import { type GuardOptions, guardedAgent } from '../outbound/address-guard.ts';
import { applyRegistrationRules } from './registration.ts';

const MAX_BYTES = 5 * 1024;
const TIMEOUT_MS = 2_500;

/**
 * Fetches a client's metadata from the URL that is its client id (OAuth Client ID Metadata Document, which MCP prefers to
 * registration; docs/decisions/client-registration.md). The URL comes from a stranger, so only public addresses are contacted,
 * over TLS and without following redirects, and the rules of registration apply to the metadata.
 */
export function createClientDocuments(options: GuardOptions): (url: string) => Promise<Response> {
  const dispatcher: Dispatcher = guardedAgent({ ...options, timeoutMs: TIMEOUT_MS });
  return async (url) => {
    const response = await fetch(url, {
      dispatcher,
      headers: { accept: 'application/json' },
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await limited(response.body ?? []);
    const headers = { 'cache-control': response.headers.get('cache-control') ?? '' };
    if (response.status !== 200) return new Response(null, { status: response.status < 400 ? 404 : response.status });
    const document: unknown = JSON.parse(text);
    if (!isRecord(document) || typeof document.client_id !== 'string') return new Response(text, { headers });
    const metadata = { ...document, client_id: document.client_id };
    applyRegistrationRules(metadata);
    return new Response(JSON.stringify(metadata), { headers });
  };
}

async function limited(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error('The client metadata document is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
