import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { type EventStoreOperations, LOG_START } from '../../event-store/event-store.ts';

const PREFIX = 'webhook-deliveries-';

/**
 * The consumer group of one kind of event. A process joins only the groups of kinds it knows, so that it never takes an event from a
 * newer release (docs/decisions/webhook-deliveries.md).
 */
export const fanOutGroup = (kind: string): string => `${PREFIX}${kind}`;

/** The kind of event that a group gets, even if this release does not know it. */
export const kindOf = (group: string): string => group.slice(PREFIX.length);

/**
 * Creates missing groups at the position of the group that is furthest behind. A process does this before it answers requests, so that the
 * group of a new kind exists before its first registration.
 */
export async function prepareFanOutGroups({
  events,
  kinds = keysOf(WEBHOOK_EVENTS),
}: {
  readonly events: Pick<EventStoreOperations, 'groupPosition' | 'createGroup'>;
  /** Default: the kinds of this release. */
  readonly kinds?: readonly string[];
}): Promise<void> {
  const groups = await Promise.all(
    kinds.map(async (kind) => ({ kind, position: await events.groupPosition(fanOutGroup(kind)) })),
  );
  const positions = groups.map(({ position }) => position).filter((position) => position !== undefined);
  const after = positions.toSorted()[0] ?? LOG_START;
  for (const { kind, position } of groups)
    if (position === undefined) await events.createGroup(fanOutGroup(kind), { types: [kind], after });
}
