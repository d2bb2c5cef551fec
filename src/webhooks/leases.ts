import { randomUUID } from 'node:crypto';
import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';

/** Which process delivers to a registration, and how long nothing has succeeded there. */
type LeaseDocument = {
  /** Empty when nobody holds it. */
  readonly owner: string;
  readonly until: Timestamp;
  /** The first failure since the last success. */
  readonly failingSince?: Timestamp;
  readonly expiresAt: Timestamp;
};

export const leaseCollection: Collection<LeaseDocument> = {
  name: 'webhookLeases',
  // Whoever loses its last writes in a power failure has lost its leases, too: no delivery needs to wait for the disk here.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

const FREE = toTimestamp(0);
/** What is left of a registration that nobody has delivered to for so long is forgotten, in milliseconds. */
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;

/** The right to deliver to one registration, prolonged until it is given back. Changes are made one after the other. */
export type Lease = {
  /** False once another process has it. */
  isHeld(): boolean;
  /** Notes that an attempt failed. @returns since when nothing has succeeded, in milliseconds since the epoch */
  failed(): Promise<number>;
  succeeded(): Promise<void>;
  /** Gives it back. Afterwards anyone may take it. */
  release(): Promise<void>;
};

export type Leases = {
  /** @returns the lease on a registration, or `undefined` while another process holds it */
  take(webhookId: string): Promise<Lease | undefined>;
};

/** Three times what one delivery may take, so that a process that is alive keeps its leases. In milliseconds. */
const LEASE_DURATION_MS = 15_000;

/**
 * A registration is delivered to by one process at a time: few writes (one lease for many deliveries), and the number in flight
 * to a receiver is the same whatever the number of processes. A process that was killed loses its leases by their running out.
 */
export async function openLeases(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
  /** Milliseconds. */
  readonly leaseDuration?: number;
}): Promise<Leases> {
  const { documents, clock, leaseDuration = LEASE_DURATION_MS } = deps;
  const collection = await documents.open(leaseCollection);
  const owner = randomUUID();

  const held = (failingSince: Timestamp | undefined): LeaseDocument => {
    const now = clock();
    return {
      owner,
      until: toTimestamp(now + leaseDuration),
      ...(failingSince === undefined ? {} : { failingSince }),
      expiresAt: toTimestamp(now + FORGET_AFTER_MS),
    };
  };

  function lease(webhookId: string, taken: LeaseDocument, takenVersion: number): Lease {
    let document = taken;
    let version = takenVersion;
    let isHeld = true;
    const changes = new SerialQueue();
    const inTurn = (work: () => Promise<void>): Promise<void> =>
      changes.run(webhookId, async () => {
        if (isHeld) await work();
      });
    const write = async (next: LeaseDocument) => {
      isHeld = await collection.replace(webhookId, next, version);
      version += 1;
      document = next;
    };

    const renewal = setInterval(() => {
      // A renewal that fails is repeated by the next one, in time before the lease runs out.
      inTurn(() => write(held(document.failingSince))).catch(() => {});
    }, leaseDuration / 3);

    return {
      isHeld: () => isHeld,
      async failed() {
        await inTurn(async () => {
          if (document.failingSince === undefined) await write(held(toTimestamp(clock())));
        });
        return document.failingSince === undefined ? clock() : Date.parse(document.failingSince);
      },
      succeeded: async () => {
        if (document.failingSince !== undefined) await inTurn(() => write(held(undefined)));
      },
      release() {
        clearInterval(renewal);
        return inTurn(async () => {
          isHeld = false;
          // Not deleted: its version must never start again, or a process long asleep could take it for its own.
          await collection.replace(webhookId, { ...document, owner: '', until: FREE }, version);
        });
      },
    };
  }

  return {
    async take(webhookId) {
      const stored = await collection.get(webhookId);
      if (stored === undefined) {
        const document = held(undefined);
        return (await collection.insert(webhookId, document)) ? lease(webhookId, document, 1) : undefined;
      }
      const { document, version } = stored;
      if (document.owner !== owner && document.until > toTimestamp(clock())) return undefined;
      const next = held(document.failingSince);
      return (await collection.replace(webhookId, next, version)) ? lease(webhookId, next, version + 1) : undefined;
    },
  };
}
