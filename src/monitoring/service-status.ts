import type { Audit } from '../audit/audit.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { readHolder } from '../leases/read-holder.ts';
import { ROLE_LEASES } from '../leases/role.ts';
import type { Mail } from '../mail/mail.ts';
import { projectorLease, READ_MODEL_LEASES } from '../read-models/leases.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import type { ReadModelsStatus } from '../read-models/status.ts';
import { lastBackup } from '../transfer/last-backup.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';

/** What `venue status` shows. */
export async function readServiceStatus(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'confirmed' | 'session'>;
  readonly readModels: () => Promise<ReadModelsStatus>;
  readonly webhooks: Pick<Webhooks, 'countFailedEvents' | 'countOpenBreakers' | 'oldestPendingDelivery'>;
  readonly mail: Pick<Mail, 'countFailedEvents' | 'oldestPending'>;
  readonly audit: Pick<Audit, 'sealedUpTo'>;
}) {
  const { documents, heartbeats, readModels, webhooks, mail, audit } = deps;
  const living = await heartbeats.confirmed();
  const others = living.filter(({ session }) => session !== heartbeats.session);

  // Roles of one process at a time. The read models of each release have a projector.
  const leases: readonly (readonly [role: string, collection: string, lease: string])[] = [
    ...[...new Set(others.map(({ status }) => status.wants))].map(
      (wants) => ['projector', READ_MODEL_LEASES, projectorLease(wants)] as const,
    ),
    ['webhooks', ROLE_LEASES, 'webhooks'],
    ['scheduler', ROLE_LEASES, 'scheduler'],
    ['mail', ROLE_LEASES, 'mail'],
  ];
  const holders = await Promise.all(
    leases.map(async ([role, collection, lease]) => ({ role, holder: await readHolder(documents, collection, lease) })),
  );

  const processes = others.map(({ session, status }) => {
    // Host and process as in the lines of its log.
    const { kind, hostname, pid, release, roles } = status;
    // The roles in which it works now, while others stand by.
    const active = holders.filter(({ holder }) => holder === session).map(({ role }) => role);
    return { process: session, hostname, pid, kind, release, roles, active };
  });
  const { lag, behindSince } = await readModels();
  const failed = await Promise.all([webhooks.countFailedEvents(), mail.countFailedEvents()]);
  const sumOf = (state: 'parked' | 'retrying') => failed.reduce((sum, counts) => sum + counts[state], 0);
  return {
    eventsBehind: lag,
    /** When the first of these events happened. */
    ...defined({ behindSince }),
    /** Without deliveries, or without mails; an event may be both. */
    parkedEvents: sumOf('parked'),
    retryingEvents: sumOf('retrying'),
    openBreakers: await webhooks.countOpenBreakers(),
    /** When the delivery was created that has waited longest, and when the mail was stored that has. */
    oldestDelivery: (await webhooks.oldestPendingDelivery()) ?? null,
    oldestMail: (await mail.oldestPending()) ?? null,
    lastBackup: (await lastBackup(documents)) ?? null,
    /** When the last event happened that a checkpoint covers. */
    lastSeal: (await audit.sealedUpTo()) ?? null,
    processes,
  };
}
