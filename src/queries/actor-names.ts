import type { Actor } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { type ApiKeyId, apiKeyId, brandId } from '../domain/ids.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import { type NamedActor, type ShownActor, shownActor, type Viewer } from '../domain/shown-actor.ts';
import { streamOf } from '../domain/streams.ts';
import type { EventStore } from '../event-store/event-store.ts';
import type { createAccountQueries } from './accounts.ts';

/** Names that are stored in records, which can be removed. Undefined for removed ones. */
export type Directory = {
  /** The e-mail address of a user. */
  user(id: string): Promise<string | undefined>;
  /** The name of an OAuth client. */
  client(id: string): Promise<string | undefined>;
};

export type ActorNames = ReturnType<typeof createActorNames>;

/** Resolves the names of actors on reading: an event holds only the id of its actor (docs/decisions/accounts.md). */
export function createActorNames(deps: {
  readonly events: EventStore;
  readonly accounts: ReturnType<typeof createAccountQueries>;
  readonly directory: Directory;
}) {
  const { events, accounts, directory } = deps;

  /** The name of a key, client or webhook from the first event of its stream. Also finds removed ones. */
  async function inLog(stream: string): Promise<string | undefined> {
    for await (const stored of events.readStream(stream, { limit: 1 })) {
      if (!isKnown(stored)) return undefined;
      const event = knownEvent(stored);
      if (event.type === 'ApiKeyIssued') return event.data.label;
      if (event.type === 'ClientAdded') return event.data.name;
      if (event.type === 'WebhookRegistered') return event.data.url;
    }
    return undefined;
  }

  async function nameOf({ kind, id = '', account }: ShownActor): Promise<string | undefined> {
    switch (kind) {
      case 'account':
        return account && accounts.name(account);
      case 'user':
        return directory.user(id);
      case 'apiKey':
        return inLog(streamOf.apiKey(apiKeyId(id)));
      case 'client':
        return (await directory.client(id)) ?? inLog(streamOf.oauthClient(id));
      case 'operator':
      case 'system':
        return undefined;
      default:
        return kind satisfies never;
    }
  }

  return {
    /** Resolves the names of actors for a viewer. Looks each up once, so create one per answer. */
    for(viewer: Viewer): (actor: Actor) => Promise<NamedActor> {
      const names = new Map<string, Promise<string | undefined>>();
      return async (actor) => {
        const visible = shownActor(actor, viewer);
        const key = JSON.stringify(visible);
        const name = names.get(key) ?? nameOf(visible);
        names.set(key, name);
        return { ...visible, ...defined({ name: await name }) };
      };
    },

    /** The names of the subjects of events, for their own account and the operator. */
    user: directory.user,
    brand: (id: number) => accounts.name({ kind: 'Brand', id: brandId(id) }),
    client: (id: string) => nameOf({ kind: 'client', id }),
    apiKey: (id: ApiKeyId) => inLog(streamOf.apiKey(id)),
    webhook: (id: string) => inLog(streamOf.webhook(id)),
  };
}
