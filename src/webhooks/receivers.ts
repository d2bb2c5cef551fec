import type { Collection, DocumentStore, Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { SerialQueue } from '../runtime/serial-queue.ts';

/** What is known of the receiver of a registration. There is nothing to know of one that answers. */
type ReceiverDocument = {
  /** The first failure since the last success. */
  readonly failingSince: Timestamp;
  readonly expiresAt: Timestamp;
};

const receiverCollection: Collection<ReceiverDocument> = {
  name: 'webhookReceivers',
  // After a power failure the count may begin a moment later; no delivery needs to wait for the disk here.
  kind: 'readModel',
  ttl: 'expiresAt',
  indexes: [],
};

/** Longer than any receiver may fail before its registration is disabled. */
const FORGET_AFTER_MS = 60 * 24 * 3_600_000;

/** What one process learns about a receiver while it delivers to it. Changes are made one after the other. */
export type Receiver = {
  /** Notes that an attempt failed. @returns since when nothing has succeeded, in milliseconds since the epoch */
  failed(): Promise<number>;
  /** Notes that an attempt succeeded, or that what failed before no longer counts. */
  succeeded(): Promise<void>;
};

export type Receivers = {
  /** The receiver of a registration, for as long as no other process delivers to it. */
  open(webhookId: string): Promise<Receiver>;
};

/** How receivers have answered, beyond what any one process sees of them. */
export async function openReceivers(deps: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
}): Promise<Receivers> {
  const { documents, clock } = deps;
  const receivers = await documents.open(receiverCollection);
  const changes = new SerialQueue();

  return {
    async open(webhookId) {
      /** As it was read or written last: a receiver that answers costs no look into the store. */
      let stored: Stored<ReceiverDocument> | undefined = await receivers.get(webhookId);
      return {
        failed: () =>
          changes.run(webhookId, async () => {
            if (stored === undefined) {
              const now = clock();
              const document = { failingSince: toTimestamp(now), expiresAt: toTimestamp(now + FORGET_AFTER_MS) };
              // Another process may have been quicker, just after it lost the lease or before this one had it.
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
