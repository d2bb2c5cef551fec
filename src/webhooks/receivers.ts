import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';
import { type ReceiverHealth, UNKNOWN } from './receiver-health.ts';

type ReceiverDocument = ReceiverHealth & { readonly expiresAt: Timestamp };

const receiverCollection: Collection<ReceiverDocument> = {
  name: 'webhookReceiverStates',
  // A power failure loses at most the last few attempts, which is not worth an fsync each.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

/** Longer than a receiver can fail before its registration is disabled. */
const RETENTION_MS = 60 * 24 * 3_600_000;
/** Receivers whose last known health is cached. */
const CACHED = 50_000;
/** How long it is cached: another process may change it. */
const CACHED_MS = 5_000;

/** The receiver of a registration, for the process that delivers to it. */
export type Receiver = {
  /** As of the last change, stored or not. */
  health(): ReceiverHealth;
  /** Changes `health` at once, then the store. */
  change(next: (health: ReceiverHealth) => ReceiverHealth): Promise<ReceiverHealth>;
};

export type Receivers = Awaited<ReturnType<typeof openReceivers>>;

/** The health of all receivers, in the document store, shared between processes. */
export async function openReceivers(deps: { readonly documents: DocumentStore; readonly clock: Clock }) {
  const { documents, clock } = deps;
  const receivers = await documents.open(receiverCollection);
  const changes = new SerialQueue();
  const cached = createLruCache<string, ReceiverHealth>(CACHED, { ttl: CACHED_MS });

  function note(webhookId: string, stored: Stored<ReceiverDocument> | undefined): ReceiverHealth {
    const health = stored?.document ?? UNKNOWN;
    cached.set(webhookId, health);
    return health;
  }

  async function store(webhookId: string, next: (health: ReceiverHealth) => ReceiverHealth): Promise<ReceiverHealth> {
    // Another process may briefly deliver to it as well.
    const { stored } = await receivers.update(webhookId, (document) => {
      const known: ReceiverHealth = document ?? UNKNOWN;
      const changed = next(known);
      if (changed === known && !isStale(document)) return undefined;
      return { ...changed, expiresAt: toTimestamp(clock() + RETENTION_MS) };
    });
    return note(webhookId, stored);
  }

  /** Whether the document of an idle receiver would soon be removed. */
  const isStale = (document: ReceiverDocument | undefined): boolean =>
    document !== undefined && Date.parse(document.expiresAt) - clock() < RETENTION_MS / 2;

  return {
    /** The receiver of a registration. Valid as long as this process holds the registration's lease. */
    async open(webhookId: string): Promise<Receiver> {
      const stored = await receivers.get(webhookId);
      let health = note(webhookId, stored);
      let mustWrite = isStale(stored?.document);
      let writing = 0;
      return {
        health: () => health,
        async change(next) {
          const changed = next(health);
          // A healthy receiver needs no read and no write.
          if (changed === health && !mustWrite) return health;
          health = changed;
          mustWrite = false;
          writing += 1;
          try {
            const written = await changes.run(webhookId, () => store(webhookId, next));
            if (writing === 1) health = written;
            return written;
          } finally {
            writing -= 1;
          }
        },
      };
    },

    async get(webhookId: string): Promise<ReceiverHealth> {
      return note(webhookId, await receivers.get(webhookId));
    },

    async getMany(webhookIds: readonly string[]): Promise<ReadonlyMap<string, ReceiverHealth>> {
      const stored = new Map((await receivers.getMany(webhookIds)).map((each) => [each.key, each]));
      return new Map(webhookIds.map((id) => [id, note(id, stored.get(id))]));
    },

    /** The cached health, if any; another process may have changed it since. */
    cached: (webhookId: string): ReceiverHealth | undefined => cached.get(webhookId),
  };
}
