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
  // A power failure may at worst forget the last few attempts, which is not worth an fsync for each of them.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

/** Longer than a receiver can fail before its registration is disabled. */
const RETENTION_MS = 60 * 24 * 3_600_000;
/** Receivers whose last known health is cached. */
const CACHED = 50_000;
/** For how long: another process may change it. */
const CACHED_MS = 5_000;

/** The receiver of a registration, for the process that delivers to it. */
export type Receiver = {
  /** As of the last change, whether or not that has been stored yet. */
  health(): ReceiverHealth;
  /** Changes it, at once for `health` and then in the store. Resolves to what was stored. */
  change(next: (health: ReceiverHealth) => ReceiverHealth): Promise<ReceiverHealth>;
};

export type Receivers = Awaited<ReturnType<typeof openReceivers>>;

/** The health of all receivers, shared between processes. It outlives queues and processes. */
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
    // Another process may be delivering to it as well, for a moment.
    const { stored } = await receivers.update(webhookId, (document) => {
      const known: ReceiverHealth = document ?? UNKNOWN;
      const changed = next(known);
      if (changed === known && !isStale(document)) return undefined;
      return { ...changed, expiresAt: toTimestamp(clock() + RETENTION_MS) };
    });
    return note(webhookId, stored);
  }

  /** Whether the document of a receiver that nothing happens to would soon be removed. */
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
          // A healthy receiver costs neither a read nor a write.
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

    /** As this process knew it a moment ago, if it did; another may have changed it since. */
    cached: (webhookId: string): ReceiverHealth | undefined => cached.get(webhookId),
  };
}
