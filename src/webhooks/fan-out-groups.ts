import { timestamp } from '../domain/ids.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS, type WebhookEventName } from '../domain/webhook.ts';
import { type EventStore, LOG_START, type Position } from '../event-store/event-store.ts';
import type { FailedEvents } from './failed-events.ts';

/**
 * The group that earlier releases shared for all kinds. It is left where it stands: their processes go on with it, and after a
 * rollback, too.
 */
export const FORMER_GROUP = 'webhook-deliveries';
/** The kinds that those releases knew. */
export const FORMER_KINDS: readonly string[] = [
  'BookingRequested',
  'BookingApproved',
  'BookingCancelled',
  'ReviewPosted',
] satisfies WebhookEventName[];

/**
 * The consumer group of one kind of event. A process joins the groups of the kinds it knows, so that it never takes an event
 * from those who know its kind (docs/decisions/webhook-deliveries.md).
 */
export const fanOutGroup = (kind: string): string => `${FORMER_GROUP}-${kind}`;

type Deps = {
  readonly events: Pick<EventStore, 'groupPosition' | 'createGroup' | 'parked'>;
  readonly failedEvents: Pick<FailedEvents, 'parkedBefore'>;
  /** Default: those of this release. */
  readonly kinds?: readonly string[];
};

/**
 * Creates the groups that do not exist yet, where those before them stand. A process does this before it answers requests, so
 * that a registration for a new kind finds the kind's group.
 */
export async function prepareFanOutGroups(deps: Deps): Promise<void> {
  const { events, failedEvents, kinds = keysOf(WEBHOOK_EVENTS) } = deps;
  const groups = await Promise.all(
    kinds.map(async (kind) => ({ kind, position: await events.groupPosition(fanOutGroup(kind)) })),
  );
  const missing = groups.filter(({ position }) => position === undefined).map(({ kind }) => kind);
  if (missing.length === 0) return;
  const former = await events.groupPosition(FORMER_GROUP);
  // After the position was read: what is parked later lies behind it, so that the new groups get it.
  if (missing.some(isFormer)) await takeOverParked({ events, failedEvents });
  const positions = groups.map(({ position }) => position).filter((position) => position !== undefined);
  for (const kind of missing) {
    const after = isFormer(kind) ? former : (lowest(positions) ?? former);
    await events.createGroup(fanOutGroup(kind), { types: [kind], after: after ?? LOG_START });
  }
}

/** Keeps what the engine has parked for earlier releases. Once the groups of this release exist, that has been done. */
async function takeOverParked(deps: {
  readonly events: Pick<EventStore, 'parked'>;
  readonly failedEvents: Deps['failedEvents'];
}): Promise<void> {
  for await (const { event, reason, parkedAt } of deps.events.parked(FORMER_GROUP))
    await deps.failedEvents.parkedBefore(event, reason, timestamp(parkedAt));
}

/** As {@link takeOverParked}, unless it has been done. For whoever is about to move the group: an engine may forget them then. */
export async function saveParked({
  events,
  failedEvents,
}: {
  readonly events: Pick<EventStore, 'groupPosition' | 'parked'>;
  readonly failedEvents: Deps['failedEvents'];
}): Promise<void> {
  const positions = await Promise.all(FORMER_KINDS.map((kind) => events.groupPosition(fanOutGroup(kind))));
  if (positions.includes(undefined)) await takeOverParked({ events, failedEvents });
}

const isFormer = (kind: string): boolean => FORMER_KINDS.includes(kind);

const lowest = (positions: readonly Position[]): Position | undefined => positions.toSorted()[0];
