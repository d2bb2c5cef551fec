import type { DocumentStore } from '../document-store/document-store.ts';
import { type ApiKey, evolveApiKey } from '../domain/api-key.ts';
import type { Recorded, WebhookEvent } from '../domain/events.ts';
import { streamOf } from '../domain/streams.ts';
import { evolveWebhook, type Webhook } from '../domain/webhook.ts';
import type { EventStore, Position } from '../event-store/event-store.ts';
import { type ApiKeyIndex, openApiKeyIndex } from './api-key-index.ts';
import { createLiveStates } from './live-states.ts';

/** A registration, and where in the log it was made or, if later, last enabled. */
type LiveWebhook = Webhook & { readonly activeSince: Position };

/**
 * Whether API keys and webhook registrations still hold, as the log itself says: a key that was revoked, or a registration that
 * was disabled or removed, stops within 2 s in every process, also while read models lag (docs/decisions/credentials.md).
 */
export type Credentials = {
  /** The key with this hash. @throws {Unavailable} if the log cannot be read */
  keyByHash(hash: string): Promise<ApiKey | undefined>;
  /** The key with this id, if it is known and its state fresh: on the path of every request. */
  freshKey(apiKeyId: string): ApiKey | undefined;
  /** The key with this id. @throws {Unavailable} if the log cannot be read */
  key(apiKeyId: string): Promise<ApiKey | undefined>;
  /** A registration, removed ones included. @throws {Unavailable} if the log cannot be read */
  webhook(webhookId: string): Promise<LiveWebhook | undefined>;
  readonly keyIndex: Pick<ApiKeyIndex, 'add'>;
  /** This process has appended to a stream: what it did counts here at once. */
  appended(stream: string): void;
};

export async function openCredentials(deps: {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  /** How long a key or registration that was good goes on while the log cannot be read. */
  readonly graceMs: number;
}): Promise<Credentials> {
  const { events, graceMs } = deps;
  const keyIndex = await openApiKeyIndex(deps);
  const keys = createLiveStates({
    events,
    evolve: evolveApiKey,
    standsIn: ({ revoked }: ApiKey) => (revoked ? 'final' : 'grace'),
    graceMs,
  });
  const webhooks = createLiveStates({
    events,
    evolve: evolveLiveWebhook,
    standsIn: ({ status }: LiveWebhook) => (status === 'removed' ? 'final' : status === 'enabled' ? 'grace' : 'none'),
    graceMs,
  });
  const key = (id: string) => keys.get(streamOf.apiKey(id));

  return {
    key,
    freshKey: (id) => keys.fresh(streamOf.apiKey(id)),
    async keyByHash(hash) {
      const id = await keyIndex.idOf(hash);
      return id === undefined ? undefined : key(id);
    },
    webhook: (id) => webhooks.get(streamOf.webhook(id)),
    keyIndex,
    appended(stream) {
      keys.forget(stream);
      webhooks.forget(stream);
    },
  };
}

function evolveLiveWebhook(webhook: LiveWebhook | undefined, event: Recorded<WebhookEvent>): LiveWebhook | undefined {
  const { type, position } = event;
  const next = evolveWebhook(webhook, event);
  if (next === undefined) return undefined;
  const began = webhook === undefined || type === 'WebhookEnabled';
  return { ...next, activeSince: began ? position : webhook.activeSince };
}
