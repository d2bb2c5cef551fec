import type { ReadableClosure } from '../../projections/closures.ts';
import { picked } from '../domain/picked.ts';

/** A closed time or an own event, as the command line prints it. */
export function toOperatorClosure(closure: ReadableClosure) {
  return {
    id: closure.closureId,
    ...picked(closure, ['kind', 'from', 'to', 'weekdays']),
    hours: `${closure.start}-${closure.until}`,
    ...picked(closure, ['spaceIds', 'title', 'closedDays', 'leftOut', 'state']),
  };
}
