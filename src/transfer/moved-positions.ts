import type { Position } from '../event-store/event-store.ts';

/**
 * Maps requested positions of a log to positions in its copy, or to ids of events. A position without an event maps like the last event
 * before it.
 * @param start the value for a position before the first event
 */
export function createMovedPositions<To>(wanted: Iterable<Position>, start: To) {
  const sorted = [...new Set(wanted)].sort();
  const moved = new Map<Position, To>();
  let next = 0;
  let last = start;

  /** Maps the requested positions below `limit` to the last event before them. */
  function settle(limit: Position | undefined): void {
    for (;;) {
      const position = sorted[next];
      if (position === undefined || (limit !== undefined && position >= limit)) return;
      moved.set(position, last);
      next += 1;
    }
  }

  return {
    /** Call for every event, in log order. */
    stored(from: Position, to: To): void {
      settle(from);
      last = to;
    },
    /** Call after the last event. */
    end: (): void => settle(undefined),
    /** @returns undefined if it was not requested */
    of: (position: Position): To | undefined => moved.get(position),
  };
}
