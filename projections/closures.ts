import { type SpaceDate, spaceDatesOf } from '../src/domain/closure.ts';
import type { ClosureAdded, ClosureEnded, TimeClosed, TimeReopened } from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import type { Opened } from '../src/domain/personal-text.ts';
import { projection } from './projection.ts';

export type ClosureDocument = ClosureAdded['data'] & {
  readonly addedAt: Timestamp;
  /** How many days of spaces it concerns. */
  readonly days: number;
  /** How many of them it has closed; they may be open again. */
  readonly closedDays: number;
  /** Own events: days on which the hours were not free. */
  readonly leftOut: readonly SpaceDate[];
  /** How many days it does not close, and never will: those left out, and all others once it has ended. */
  readonly openedDays: number;
  readonly endedAt?: Timestamp;
  /** `Working` until each of its days has been closed or left out, and again from its end until each is open. */
  readonly state: 'Working' | 'Done';
};

/** A closed time or an own event as it is read. */
export type ReadableClosure = Opened<ClosureDocument>;

/** Closed times and own events, with how far they have been carried out. */
export const closures = projection<ClosureDocument, ClosureAdded | ClosureEnded | TimeClosed | TimeReopened>({
  name: 'closures',
  version: 2,
  indexes: [
    { fields: ['communityId', 'to', 'closureId'], holds: ['from'] },
    { fields: ['addedAt'], where: { state: 'Working' } },
  ],
  key: (event) => event.data.closureId,
  on: {
    ClosureAdded: (_, { data, metadata }) => ({
      ...data,
      ...{ addedAt: metadata.at, days: spaceDatesOf(data).length, closedDays: 0, leftOut: [], openedDays: 0 },
      state: 'Working',
    }),
    ClosureEnded: (closure, { metadata }) => closure && withState({ ...closure, endedAt: metadata.at }),
    TimeClosed: (closure) => closure && withState({ ...closure, closedDays: closure.closedDays + 1 }),
    TimeReopened(closure, { data: { spaceId, date } }) {
      if (closure === undefined) return undefined;
      const leftOut = closure.endedAt === undefined ? [...closure.leftOut, { spaceId, date }] : closure.leftOut;
      return withState({ ...closure, leftOut, openedDays: closure.openedDays + 1 });
    },
  },
});

function withState(closure: ClosureDocument): ClosureDocument {
  const { days, closedDays, openedDays, endedAt } = closure;
  const done = endedAt === undefined ? closedDays + openedDays : openedDays;
  return { ...closure, state: done < days ? 'Working' : 'Done' };
}
