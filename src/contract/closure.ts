import type { ReadableClosure } from '../../projections/closures.ts';

/** A closed time or an own event, as the command line prints it. */
export function toOperatorClosure(closure: ReadableClosure) {
  const {
    closureId: id,
    kind,
    title,
    spaceIds,
    from,
    to,
    weekdays,
    start,
    until,
    state,
    closedDays,
    leftOut,
  } = closure;
  return {
    id,
    kind,
    from,
    to,
    weekdays,
    hours: `${start}-${until}`,
    spaceIds,
    title,
    closedDays,
    leftOut: leftOut.map(({ spaceId, date }) => ({ spaceId, date })),
    state,
  };
}
