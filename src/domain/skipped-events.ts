import type { Decision } from './decision.ts';
import type { ProjectionEventSkipped } from './events.ts';
import { SKIP_REASON, wrongText } from './limits.ts';

/** The events that a read model skips, in all of its versions. */
export type SkippedEvents = readonly ProjectionEventSkipped['data'][];

export const evolveSkipped = (skipped: SkippedEvents, event: ProjectionEventSkipped): SkippedEvents => [
  ...skipped,
  event.data,
];

/** Makes a read model skip an event for good. No event if it already does. */
export function skipEvent(
  skipped: SkippedEvents,
  skip: ProjectionEventSkipped['data'],
): Decision<ProjectionEventSkipped> {
  const wrong = wrongText('reason', skip.reason, SKIP_REASON);
  if (wrong !== undefined) return wrong;
  const isDone = skipped.some(({ version, eventId }) => version === skip.version && eventId === skip.eventId);
  return isDone ? [] : [{ type: 'ProjectionEventSkipped', data: skip }];
}
