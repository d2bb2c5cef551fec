import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';

/** That the mail server takes no mail at all, as the last attempts have shown. */
export type MailOutage = {
  readonly since: Timestamp;
  /** For pages that everyone can read. Absent in what an earlier release stored. */
  readonly cause?: string;
};

const stateCollection: Collection<MailOutage> = {
  name: 'mailServer',
  // The next attempt shows it again.
  kind: 'readModel',
  indexes: [],
};

const KEY = 'outage';

/** Whether the mail server takes mail: written by the process that sends, read by every process. */
export async function openServerState({
  documents,
  clock,
}: {
  readonly documents: DocumentStore;
  readonly clock: Clock;
}) {
  const collection = await documents.open(stateCollection);
  return {
    /** Undefined if it takes mail, or nothing was sent yet. */
    outage: async (): Promise<MailOutage | undefined> => (await collection.get(KEY))?.document,

    async isDown(cause: string): Promise<void> {
      const since = toTimestamp(clock());
      await collection.update(KEY, (before) => (before?.cause === cause ? undefined : { since, ...before, cause }));
    },

    async isUp(): Promise<void> {
      await collection.delete(KEY);
    },
  };
}

export type ServerState = Awaited<ReturnType<typeof openServerState>>;
