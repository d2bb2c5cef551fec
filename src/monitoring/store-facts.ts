import type { Audit } from '../audit/audit.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Mail } from '../mail/mail.ts';
import { lastBackup } from '../transfer/last-backup.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

/** What an operator wants to know of the whole store; every process reads the same. */
export type StoreFacts = ReturnType<typeof createStoreFacts>;

export const createStoreFacts = (deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly webhooks: Pick<Webhooks, 'oldestPendingDelivery' | 'countOpenBreakers'>;
  readonly mail: Pick<
    Mail,
    'oldestPending' | 'countPending' | 'senders' | 'awaySince' | 'awayBecause' | 'countFailedEvents'
  >;
  readonly audit: Pick<Audit, 'sealedUpTo'>;
}) => ({
  oldestPendingDelivery: deps.webhooks.oldestPendingDelivery,
  openBreakers: deps.webhooks.countOpenBreakers,
  oldestPendingMail: deps.mail.oldestPending,
  pendingMails: deps.mail.countPending,
  mailSenders: deps.mail.senders,
  mailServerAwaySince: deps.mail.awaySince,
  mailServerAwayBecause: deps.mail.awayBecause,
  eventsWithoutMails: deps.mail.countFailedEvents,
  lastBackup: () => lastBackup(deps.documents),
  lastSeal: deps.audit.sealedUpTo,
});
