import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';

/** The failures of a registration's receiver. A healthy receiver has no document. */
type ReceiverDocument = {
  /** The first failure since the last success. */
  readonly failingSince: Timestamp;
  readonly expiresAt: Timestamp;
};

const receiverCollection: Collection<ReceiverDocument> = {
  name: 'webhookReceivers',
  // A power failure may at worst make the count start a moment later, which is not worth an fsync per failure.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

/** Longer than a receiver can fail before its registration is disabled. */
const RETENTION_MS = 60 * 24 * 3_600_000;

/** The health of a receiver, for the process that delivers to it. Changes are serialised. */
export type Receiver = {
  /** Records a failed attempt. @returns since when nothing has succeeded, in milliseconds since the epoch */
  failed(): Promise<number>;
  /** Records a success, or that earlier failures no longer count. */
  succeeded(): Promise<void>;
};

export type Receivers = {
  /** The receiver of a registration. Valid as long as this process holds the registration's lease. */
  open(webhookId: string): Promise<Receiver>;
};

/** The health of all receivers, shared between processes. */
export async function openReceivers(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
}): Promise<Receivers> {
  const { documents, clock } = deps;
  const receivers = await documents.open(receiverCollection);
  const changes = new SerialQueue();

  return {
    async open(webhookId) {
      /** As last read or written, so that a healthy receiver costs no read. */
      let stored: Stored<ReceiverDocument> | undefined = await receivers.get(webhookId);
      return {
        failed: () =>
          changes.run(webhookId, async () => {
            if (stored === undefined) {
              const now = clock();
              const document = { failingSince: toTimestamp(now), expiresAt: toTimestamp(now + RETENTION_MS) };
              // Another process that held the lease before or after this one may have been faster.
              await receivers.insert(webhookId, document);
              stored = await receivers.get(webhookId);
            }
            return stored === undefined ? clock() : Date.parse(stored.document.failingSince);
          }),

        async succeeded() {
          if (stored === undefined) return;
          await changes.run(webhookId, async () => {
            await receivers.delete(webhookId);
            stored = undefined;
          });
        },
      };
    },
  };
}
