import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { type Breaker, CLOSED } from './breaker.ts';

type BreakerDocument = Breaker & { readonly expiresAt: Timestamp };

/** One document per endpoint whose last attempt failed, so that a restart does not try them all at once. */
const breakerCollection: Collection<BreakerDocument> = {
  name: 'webhookBreakers',
  // A power failure loses at most the last few attempts, which is not worth an fsync each.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

/** Longer than an endpoint can fail before its registration is disabled. */
const RETENTION_MS = 60 * 24 * 3_600_000;
/** Breakers in memory. */
const CACHED = 50_000;
/** How long they are used without a read: another process may change them. */
const CACHED_MS = 5_000;

/** The breaker of one endpoint, for the process that delivers to it. */
export type EndpointBreaker = {
  /** As of the last change, stored or not. */
  state(): Breaker;
  /** Changes the state at once, then the store. */
  change(next: (breaker: Breaker) => Breaker): Promise<Breaker>;
};

export type Breakers = Awaited<ReturnType<typeof openBreakers>>;

/** The circuit breakers of all endpoints, in the document store. */
export async function openBreakers({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const breakers = await documents.open(breakerCollection);
  const changes = new SerialQueue();
  const cached = createLruCache<string, Breaker>(CACHED, { ttl: CACHED_MS });

  async function get(webhookId: string): Promise<Breaker> {
    const breaker = (await breakers.get(webhookId))?.document ?? CLOSED;
    cached.set(webhookId, breaker);
    return breaker;
  }

  async function store(webhookId: string, breaker: Breaker): Promise<void> {
    cached.set(webhookId, breaker);
    const document = { ...breaker, expiresAt: toTimestamp(clock() + RETENTION_MS) };
    if (breaker === CLOSED) await breakers.delete(webhookId);
    else await breakers.update(webhookId, () => document);
  }

  return {
    get,

    /** The breaker of an endpoint. Valid as long as this process holds the lease of its registration. */
    async open(webhookId: string): Promise<EndpointBreaker> {
      let state = await get(webhookId);
      return {
        state: () => state,
        async change(next) {
          const changed = next(state);
          // An endpoint that succeeds needs no write.
          if (changed === state) return state;
          state = changed;
          await changes.run(webhookId, () => store(webhookId, changed));
          return changed;
        },
      };
    },

    async getMany(webhookIds: readonly string[]): Promise<ReadonlyMap<string, Breaker>> {
      const stored = new Map((await breakers.getMany(webhookIds)).map(({ key, document }) => [key, document]));
      return new Map(webhookIds.map((id) => [id, stored.get(id) ?? CLOSED]));
    },

    /** The breaker in memory, if any; another process may have changed it since. */
    cached: (webhookId: string): Breaker | undefined => cached.get(webhookId),
  };
}
