import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import { webhooks as registrations } from '../../projections/webhooks.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { type ApiKey, evolveApiKey } from '../domain/api-key.ts';
import type { Recorded, WebhookEvent } from '../domain/events.ts';
import { streamOf } from '../domain/streams.ts';
import { evolveWebhook, type Webhook } from '../domain/webhook.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { type ApiKeyIndex, openApiKeyIndex } from './api-key-index.ts';
import { createLiveStates } from './live-states.ts';

/** A registration with the position where it was created or last enabled. */
type LiveWebhook = Webhook & { readonly activeSince: Position };

/** The number of keys cached by hash, and of keys cached as revoked. */
const CACHED_KEYS = 10_000;

/**
 * Checks API keys and webhook registrations against the log itself. A revoked key, or a disabled or removed registration, stops
 * within 2 s in every process, even while read models lag. During an outage of the log, the last known state and the read models
 * are used (docs/decisions/credentials.md).
 */
export type Credentials = {
  /** The key with this hash. @throws {Unavailable} if the log cannot be read */
  keyByHash(hash: string): Promise<ApiKey | undefined>;
  /** The key with this id. Every request calls this. @throws {Unavailable} if the log cannot be read */
  key(apiKeyId: string): Promise<ApiKey | undefined>;
  /** A registration, removed ones included. @throws {Unavailable} if the log cannot be read */
  webhook(webhookId: string): Promise<LiveWebhook | undefined>;
  readonly keyIndex: Pick<ApiKeyIndex, 'add'>;
  /** Call after this process has appended events of these types, so that they take effect at once. */
  appended(stream: string, types: readonly string[]): void;
};

export async function openCredentials(deps: {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly readModels: Pick<ReadModels, 'collection'>;
}): Promise<Credentials> {
  const { events, readModels } = deps;
  const shownKeys = readModels.collection(apiKeys);
  const shownWebhooks = readModels.collection(registrations);
  const hashes = createLruCache<string, string>(CACHED_KEYS);
  const revokedHere = createLruCache<string, true>(CACHED_KEYS);
  const keyIndex = await openApiKeyIndex({
    ...deps,
    shown: async (hash) => (await shownKeys.get(hash))?.document.apiKeyId,
  });
  const keys = createLiveStates({
    events,
    evolve: evolveApiKey,
    async fallback(stream, last): Promise<ApiKey | undefined> {
      if (last !== undefined && revokedHere.has(stream)) return { ...last, revoked: true };
      const hash = last?.hash ?? hashes.get(stream);
      if (hash === undefined) return undefined;
      const shown = await shownKeys.get(hash);
      return shown && keyOf(shown.document, hash, revokedHere.has(stream));
    },
    certainty: ({ revoked }: ApiKey) => (revoked ? 'final' : 'assumed'),
  });
  const webhooks = createLiveStates({
    events,
    evolve: evolveLiveWebhook,
    async fallback(_stream, last): Promise<LiveWebhook | undefined> {
      const shown = last && (await shownWebhooks.get(last.webhookId));
      return shown && { ...last, status: shown.document.status };
    },
    certainty: ({ status }: LiveWebhook) =>
      status === 'removed' ? 'final' : status === 'enabled' ? 'assumed' : 'unsure',
  });
  const key = (id: string) => keys.get(streamOf.apiKey(id));

  return {
    key,
    async keyByHash(hash) {
      const id = await keyIndex.idOf(hash);
      if (id === undefined) return undefined;
      hashes.set(streamOf.apiKey(id), hash);
      return key(id);
    },
    webhook: (id) => webhooks.get(streamOf.webhook(id)),
    keyIndex,
    appended(stream, types) {
      if (types.includes('ApiKeyRevoked')) revokedHere.set(stream, true);
      keys.forget(stream);
      webhooks.forget(stream);
    },
  };
}

function keyOf(shown: ApiKeyDocument, hash: string, isRevoked: boolean): ApiKey {
  const { apiKeyId, owner: account, permissions, label, preview, revokedAt } = shown;
  return { apiKeyId, account, permissions, label, preview, hash, revoked: isRevoked || revokedAt !== undefined };
}

function evolveLiveWebhook(webhook: LiveWebhook | undefined, event: Recorded<WebhookEvent>): LiveWebhook | undefined {
  const { type, position } = event;
  const next = evolveWebhook(webhook, event);
  if (next === undefined) return undefined;
  const began = webhook === undefined || type === 'WebhookEnabled';
  return { ...next, activeSince: began ? position : webhook.activeSince };
}
