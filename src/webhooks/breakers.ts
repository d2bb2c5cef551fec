import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { everyDocument } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { SerialQueue } from '../event-loop/serial-queue.ts';
import type { Clock } from '../runtime/clock.ts';
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

export type LoadedBreakers = Awaited<ReturnType<Awaited<ReturnType<typeof openBreakers>>['load']>>;

/** The circuit breakers of all endpoints, in the document store. */
export async function openBreakers({ documents, clock }: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const collection = await documents.open(breakerCollection);
  const changes = new SerialQueue();

  async function store(webhookId: string, breaker: Breaker): Promise<void> {
    const document = { ...breaker, expiresAt: toTimestamp(clock() + RETENTION_MS) };
    if (breaker === CLOSED) await collection.delete(webhookId);
    else await collection.update(webhookId, () => document);
  }

  return {
    /** As stored. */
    get: async (webhookId: string): Promise<Breaker> => (await collection.get(webhookId))?.document ?? CLOSED,

    /** The number of open ones, as stored. */
    async countOpen(): Promise<number> {
      let open = 0;
      for await (const { document } of collection.find(everyDocument())) if (document.open !== undefined) open += 1;
      return open;
    },

    /** Loads all of them into the memory of the process that delivers, the only one that changes them. */
    async load() {
      const failing = new Map<string, Breaker>();
      for await (const { key, document } of collection.find(everyDocument())) failing.set(key, document);
      const state = (webhookId: string): Breaker => failing.get(webhookId) ?? CLOSED;
      return {
        /** As of the last change, stored or not. */
        state,
        /** Changes the state at once, then the store. */
        async change(webhookId: string, next: (breaker: Breaker) => Breaker): Promise<void> {
          const changed = next(state(webhookId));
          // An endpoint that succeeds needs no write.
          if (changed === state(webhookId)) return;
          if (changed === CLOSED) failing.delete(webhookId);
          else failing.set(webhookId, changed);
          await changes.run(webhookId, () => store(webhookId, changed));
        },
      };
    },
  };
}
