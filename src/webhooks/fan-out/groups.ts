import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';

/**
 * The kinds of events that this release sends to webhooks, and the consumer group of each. A process joins only the groups of kinds it knows,
 * so that it never takes an event from a newer release (docs/decisions/webhook-deliveries.md).
 */
export const FAN_OUT_GROUPS: readonly { readonly kind: string; readonly group: string }[] = keysOf(WEBHOOK_EVENTS).map(
  (kind) => ({ kind, group: `webhook-deliveries-${kind}` }),
);
