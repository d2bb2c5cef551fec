import { LOG_START, type Position } from '../event-store/event-store.ts';

/**
 * Where positions of one log are in another that got the same events in the same order. Only those that are asked for are kept. A
 * position that is not that of an event moves to where the last event before it is.
 */
export function createMovedPositions(wanted: Iterable<Position>) {
  const sorted = [...new Set(wanted)].sort();
  const moved = new Map<Position, Position>();
  let next = 0;
  let last: Position = LOG_START;

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
    stored(from: Position, to: Position): void {
      settle(from);
      last = to;
    },
    /** Call after the last event. */
    end: (): void => settle(undefined),
    /** @returns the position itself if it was not asked for */
    of: (position: Position): Position => moved.get(position) ?? position,
  };
}

export type MovedPositions = ReturnType<typeof createMovedPositions>;
