import type { DocumentStore } from '../document-store/document-store.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { Heartbeats } from '../leases/heartbeats.ts';
import { readHolder } from '../leases/read-holder.ts';
import { ROLE_LEASES } from '../leases/role.ts';
import { projectorLease, READ_MODEL_LEASES } from '../read-models/leases.ts';
import type { NodeStatus } from '../read-models/node-status.ts';
import type { ReadModelsStatus } from '../read-models/status.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { StoreFacts } from './store-facts.ts';

export type ServiceStatus = {
  readonly eventsBehind: number;
  /** When the first of these events happened. */
  readonly behindSince?: string;
  /** Without deliveries, or without mails; an event may be both. */
  readonly parkedEvents: number;
  readonly retryingEvents: number;
  readonly openBreakers: number;
  /** When the delivery was created that has waited longest. */
  readonly oldestDelivery: Timestamp | null;
  /** When the mail was stored that has waited longest. */
  readonly oldestMail: Timestamp | null;
  readonly lastBackup: Timestamp | null;
  /** When the last event happened that a checkpoint covers. */
  readonly lastSeal: string | null;
  readonly processes: readonly ProcessStatus[];
};

type ProcessStatus = {
  readonly process: string;
  readonly kind: NodeStatus['kind'];
  /** As in the lines of its log. */
  readonly hostname: string;
  readonly pid: number;
  readonly release: string;
  readonly roles: readonly string[];
  /** The roles in which it works now, while others stand by. */
  readonly active: readonly string[];
};

/** What `venue status` shows. */
export async function readServiceStatus(deps: {
  readonly documents: Pick<DocumentStore, 'open'>;
  readonly heartbeats: Pick<Heartbeats<NodeStatus>, 'confirmed' | 'session'>;
  readonly readModels: () => Promise<ReadModelsStatus>;
  readonly webhooks: Pick<Webhooks, 'countFailedEvents'>;
  readonly facts: StoreFacts;
}): Promise<ServiceStatus> {
  const { documents, heartbeats, readModels, webhooks, facts } = deps;
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

  const processes = others.map(({ session, status }): ProcessStatus => {
    const { kind, hostname, pid, release, roles } = status;
    const active = holders.filter(({ holder }) => holder === session).map(({ role }) => role);
    return { process: session, hostname, pid, kind, release, roles, active };
  });
  const { lag, behindSince } = await readModels();
  const failed = await Promise.all([webhooks.countFailedEvents(), facts.eventsWithoutMails()]);
  const sumOf = (state: 'parked' | 'retrying') => failed.reduce((sum, counts) => sum + counts[state], 0);
  return {
    eventsBehind: lag,
    ...defined({ behindSince }),
    parkedEvents: sumOf('parked'),
    retryingEvents: sumOf('retrying'),
    openBreakers: await facts.openBreakers(),
    oldestDelivery: (await facts.oldestPendingDelivery()) ?? null,
    oldestMail: (await facts.oldestPendingMail()) ?? null,
    lastBackup: (await facts.lastBackup()) ?? null,
    lastSeal: (await facts.lastSeal()) ?? null,
    processes,
  };
}
