import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';

const PREFIX = 'webhook-deliveries-';

/**
 * The consumer group of one kind of event. A process joins only the groups of kinds it knows, so that it never takes an event from a
 * newer release (docs/decisions/webhook-deliveries.md).
 */
const fanOutGroup = (kind: string): string => `${PREFIX}${kind}`;

/** The kinds of events that this release sends to webhooks, and the consumer group of each. */
export const FAN_OUT_GROUPS: readonly { readonly kind: string; readonly group: string }[] = keysOf(WEBHOOK_EVENTS).map(
  (kind) => ({ kind, group: fanOutGroup(kind) }),
);

/** The kind of event that a group gets, even if this release does not know it. */
export const kindOf = (group: string): string => group.slice(PREFIX.length);
