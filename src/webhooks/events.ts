import { type DeliverableEvent, isDeliverable } from '../contract/webhook-payload.ts';
import type { Recorded } from '../domain/events.ts';
import { isKnown, knownEvent } from '../domain/known-event.ts';
import type { StoredEvent } from '../event-store/event-store.ts';

/** An event as webhooks send it; undefined if it is not deliverable or only a newer release knows it. */
export function deliverable(stored: StoredEvent): Recorded<DeliverableEvent> | undefined {
  if (!isKnown(stored)) return undefined;
  const event: Recorded = knownEvent(stored);
  return isDeliverable(event) ? event : undefined;
}
