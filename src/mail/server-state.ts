import type { Collection, DocumentStore } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Clock } from '../runtime/clock.ts';
import { MAIL_CAUSES, type MailCause } from './smtp-cause.ts';

/** That the mail server takes no mail at all, as the last attempts have shown. */
export type MailOutage = {
  readonly since: Timestamp;
  readonly cause: MailCause;
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
    async outage(): Promise<MailOutage | undefined> {
      const stored = (await collection.get(KEY))?.document;
      // A release that runs beside this one may know other causes.
      return stored !== undefined && Object.hasOwn(MAIL_CAUSES, stored.cause) ? stored : undefined;
    },

    async isDown(cause: MailCause): Promise<void> {
      const since = toTimestamp(clock());
      await collection.update(KEY, (before) => (before?.cause === cause ? undefined : { since, ...before, cause }));
    },

    async isUp(): Promise<void> {
      await collection.delete(KEY);
    },
  };
}

export type ServerState = Awaited<ReturnType<typeof openServerState>>;
