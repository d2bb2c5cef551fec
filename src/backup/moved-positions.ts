import type { Position } from '../event-store/event-store.ts';

/**
 * What stands for the positions of one log in another copy of it: positions of its own, or the ids of events. Only those that are
 * asked for are kept. For a position that is not that of an event stands what does for the last event before it.
 * @param start what stands for a position before the first event
 */
export function createMovedPositions<To>(wanted: Iterable<Position>, start: To) {
  const sorted = [...new Set(wanted)].sort();
  const moved = new Map<Position, To>();
  let next = 0;
  let last = start;

  /** Those below `limit` are behind what has been stored so far. */
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
    /** @returns undefined if it was not asked for */
    of: (position: Position): To | undefined => moved.get(position),
  };
}
