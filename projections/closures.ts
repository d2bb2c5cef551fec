import { type SpaceDate, spaceDatesOf } from '../src/domain/closure.ts';
import { defined } from '../src/domain/defined.ts';
import type { ClosureAdded, ClosureEvent, TimeClosed, TimeReopened } from '../src/domain/events.ts';
import type { ClosureId, PlainDate, Timestamp } from '../src/domain/ids.ts';
import type { Opened } from '../src/domain/personal-text.ts';
import { picked } from '../src/domain/picked.ts';
import { projection } from './projection.ts';

export type ClosureDocument = ClosureAdded['data'] & {
  readonly addedAt: Timestamp;
  /** How many days of spaces it concerns. */
  readonly days: number;
  /** How many of them it has closed; they may be open again. */
  readonly closedDays: number;
  /** Days on which the hours of an own event were not free, and those of dates that were left out. */
  readonly leftOut: readonly SpaceDate[];
  /** Dates that are to be left out on all spaces. */
  readonly datesLeftOut: readonly PlainDate[];
  /** How many days it does not close, and never will: those left out, and all others once it has ended. */
  readonly openedDays: number;
  readonly endedAt?: Timestamp;
  /** What has taken over its last day. */
  readonly replacedBy?: ClosureId;
  /**
   * `Working` until each of its days has been closed or left out, again until a date is left out on all spaces, and from its end until each day
   * is open. One that has no day left is to be ended.
   */
  readonly state: 'Working' | 'Done';
};

/** A closed time or an own event as it is read. */
export type ReadableClosure = Opened<ClosureDocument>;

/** Closed times and own events, with how far they have been carried out. */
export const closures = projection<ClosureDocument, ClosureEvent | TimeClosed | TimeReopened>({
  name: 'closures',
  version: 4,
  indexes: [
    { fields: ['communityId', 'to', 'closureId'], holds: ['from'] },
    { fields: ['addedAt'], where: { state: 'Working' } },
  ],
  key: (event) => event.data.closureId,
  on: {
    ClosureAdded: (_, { data, metadata }) => ({
      ...data,
      addedAt: metadata.at,
      days: spaceDatesOf(data).length,
      closedDays: 0,
      openedDays: 0,
      leftOut: [],
      datesLeftOut: [],
      state: 'Working',
    }),
    ClosureDateLeftOut: (closure, { data }) =>
      closure && withState({ ...closure, datesLeftOut: [...closure.datesLeftOut, data.date] }),
    ClosureEnded: (closure, { data, metadata }) =>
      closure && withState({ ...closure, endedAt: metadata.at, ...defined(picked(data, ['replacedBy'])) }),
    TimeClosed: (closure) => closure && withState({ ...closure, closedDays: closure.closedDays + 1 }),
    TimeReopened(closure, { data: { spaceId, date } }) {
      if (closure === undefined) return undefined;
      const leftOut = closure.endedAt === undefined ? [...closure.leftOut, { spaceId, date }] : closure.leftOut;
      return withState({ ...closure, leftOut, openedDays: closure.openedDays + 1 });
    },
  },
});

function withState(closure: ClosureDocument): ClosureDocument {
  return { ...closure, state: isDone(closure) ? 'Done' : 'Working' };
}

function isDone({ days, closedDays, openedDays, endedAt, spaceIds, leftOut, datesLeftOut }: ClosureDocument): boolean {
  if (endedAt !== undefined) return openedDays >= days;
  if (closedDays + openedDays < days || openedDays === days) return false;
  const opened = leftOut.filter(({ date }) => datesLeftOut.includes(date));
  return opened.length === datesLeftOut.length * spaceIds.length;
}
