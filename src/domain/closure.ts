import { datesBetween, daysIn, isPlainDate, isYearsLater, WEEKDAYS, type Weekday, weekdayOf } from './calendar.ts';
import { type Decision, isRefusal, type Refusal, refuse, refuseField } from './decision.ts';
import { defined } from './defined.ts';
import type { ClosureAdded, ClosureDateLeftOut, ClosureEnded, ClosureEvent, ClosureKind } from './events.ts';
import type { ClosureId, CommunityId, PlainDate, SpaceId, Timestamp } from './ids.ts';
import { CLOSURE_TITLE, MAX_SPACE_DAYS, MAX_YEARS_AHEAD, wrongText } from './limits.ts';
import { picked } from './picked.ts';

/** A closed time or an own event of a community, as it was asked for. */
export type Closure = ClosureAdded['data'] & {
  readonly hasEnded: boolean;
  /** What has taken over its last day. */
  readonly replacedBy?: ClosureId;
  /** The dates that were left out by hand. */
  readonly datesLeftOut: readonly PlainDate[];
};

export function evolveClosure(closure: Closure | undefined, event: ClosureEvent): Closure | undefined {
  switch (event.type) {
    case 'ClosureAdded':
      return { ...event.data, hasEnded: false, datesLeftOut: [] };
    case 'ClosureDateLeftOut':
      return closure && { ...closure, datesLeftOut: [...closure.datesLeftOut, event.data.date] };
    case 'ClosureEnded':
      return closure && { ...closure, hasEnded: true, ...picked(event.data, ['replacedBy']) };
    default:
      return event satisfies never;
  }
}

/** A space on a date. */
export type SpaceDate = { readonly spaceId: SpaceId; readonly date: PlainDate };

type Dates = Pick<Closure, 'from' | 'to' | 'weekdays'>;

/** The days of all spaces that a closure covers, by date. */
export function spaceDatesOf(closure: Dates & Pick<Closure, 'spaceIds'>): SpaceDate[] {
  return datesOf(closure).flatMap((date) => closure.spaceIds.map((spaceId) => ({ spaceId, date })));
}

/** Whether a closure covers a space on a date. */
export const covers = (closure: Dates & Pick<Closure, 'spaceIds'>, { spaceId, date }: SpaceDate): boolean =>
  closure.from <= date && date <= closure.to && isOnWeekday(closure, date) && closure.spaceIds.includes(spaceId);

/** The dates of a closure, in order. */
export const datesOf = (closure: Dates): PlainDate[] =>
  Array.from(datesBetween(closure.from, closure.to)).filter((date) => isOnWeekday(closure, date));

const isOnWeekday = ({ weekdays }: Dates, date: PlainDate): boolean =>
  weekdays === undefined || weekdays.includes(weekdayOf(date));

export type AddClosure = {
  readonly closureId: ClosureId;
  readonly communityId: CommunityId;
  readonly kind: ClosureKind;
  readonly spaceIds: readonly SpaceId[];
  /** Both inclusive. */
  readonly from: string;
  readonly to: string;
  /** Default: every day of the range. */
  readonly weekdays?: readonly Weekday[];
  /** Whole hours: from `start`, 0 to 23, up to, not including, `until`, 1 to 24. */
  readonly start: number;
  readonly until: number;
  readonly title?: string;
  /** Identifies the line of an imported file. */
  readonly importKey?: string;
};

/**
 * Decides a closure. No event if it is there already. Refuses dates that are past or more than five years ahead, hours that end before they
 * begin, and more than 2,000 days of spaces (`ValidationError`).
 * @param today by the clock of the community
 */
export function addClosure(before: Closure | undefined, command: AddClosure, today: PlainDate): Decision<ClosureAdded> {
  if (before !== undefined) return [];
  const { from, to, weekdays, start, until, title } = command;
  if (!isPlainDate(from) || !isPlainDate(to))
    return refuse('ValidationError', 'from and to must be dates, YYYY-MM-DD.');
  const wrong = wrongDates(from, to, today) ?? wrongHours(start, until) ?? wrongText('title', title, CLOSURE_TITLE);
  if (wrong !== undefined) return wrong;
  if (command.spaceIds.length === 0) return refuse('ValidationError', 'Name at least one space.');
  if (weekdays?.length === 0) return refuse('ValidationError', 'Name at least one weekday.');
  const dates = datesOf({ from, to, ...defined({ weekdays }) });
  const days = dates.length * command.spaceIds.length;
  if (days === 0)
    return refuse('ValidationError', `None of the weekdays lies between ${from} and ${to}.`, {
      reason: 'NoWeekdayInRange',
      field: 'weekdays',
    });
  if (days > MAX_SPACE_DAYS)
    return refuse(
      'ValidationError',
      `This would be ${days.toLocaleString('en')} days (${dates.length} dates, ${command.spaceIds.length} spaces). ` +
        `At most ${MAX_SPACE_DAYS.toLocaleString('en')} can be closed at once.`,
    );
  const all = weekdays === undefined || WEEKDAYS.every((day) => weekdays.includes(day));
  const { closureId, communityId, kind, spaceIds, importKey } = command;
  return [
    {
      type: 'ClosureAdded',
      data: {
        closureId,
        communityId,
        kind,
        spaceIds,
        from,
        to,
        start,
        until,
        ...defined({ weekdays: all ? undefined : weekdays, title: title === '' ? undefined : title, importKey }),
      },
    },
  ];
}

export type ChangeClosure = Pick<AddClosure, 'closureId' | 'start' | 'until' | 'title'> & {
  /** The only date that changes. Default: all from today on. */
  readonly date?: PlainDate;
  /** What calendar programs know the days by, and since when. */
  readonly calendar: { readonly calendarId: ClosureId; readonly firstAddedAt: Timestamp };
};

/** Decides the closure that takes over the days of another one, with other hours or another title. */
export function changeClosure(
  replaced: Closure,
  { date, calendar, ...command }: ChangeClosure,
  today: PlainDate,
): Decision<ClosureAdded> {
  const { closureId, communityId, kind, spaceIds } = replaced;
  if (replaced.replacedBy !== undefined) return wasChanged(replaced.replacedBy);
  if (replaced.hasEnded) return refuse('ValidationError', 'It has ended.');
  const wrong = date && wrongDate(replaced, date, today);
  if (wrong) return wrong;
  const from = replaced.from < today ? today : replaced.from;
  const dates = date ? { from: date, to: date } : { ...picked(replaced, ['to', 'weekdays']), from };
  if (datesOf(dates).length === 0) return refuse('ValidationError', `It has no date from today (${today}) on.`);
  const decision = addClosure(undefined, { ...command, communityId, kind, spaceIds, ...dates }, today);
  if (isRefusal(decision)) return decision;
  return decision.map(({ type, data }) => ({ type, data: { ...data, replaces: { closureId, ...calendar } } }));
}

/**
 * What calendar programs know a date of a closure by. A change keeps it, so that they replace what they have. If it could not change the date on
 * each space, both closures are in the calendar, each under its own id.
 */
export function calendarIdOn(
  {
    closureId,
    replaces,
    leftOut,
  }: Pick<Closure, 'closureId' | 'replaces'> & { readonly leftOut: readonly SpaceDate[] },
  date: PlainDate,
): ClosureId {
  return replaces === undefined || leftOut.some((day) => day.date === date) ? closureId : replaces.calendarId;
}

/** The same for all dates, as those that replace it pass it on. An own one if a date is split between two closures. */
export function calendarIdOf({
  closureId,
  replaces,
  leftOut,
  spaceIds,
}: Pick<Closure, 'closureId' | 'replaces' | 'spaceIds'> & { readonly leftOut: readonly SpaceDate[] }): ClosureId {
  const byDate = Map.groupBy(leftOut, ({ date }) => date);
  const isSplit = [...byDate.values()].some((days) => days.length < spaceIds.length);
  return replaces === undefined || isSplit ? closureId : replaces.calendarId;
}

/** Whether it has a day on or after a date that was not left out. */
export function hasDayFrom(
  closure: Dates & Pick<Closure, 'spaceIds'> & { readonly leftOut: readonly SpaceDate[] },
  first: PlainDate,
): boolean {
  const later = closure.leftOut.filter(({ date }) => date >= first);
  if (later.length === 0) return closure.to >= first;
  return later.length < datesOf(closure).filter((date) => date >= first).length * closure.spaceIds.length;
}

function wrongDates(from: PlainDate, to: PlainDate, today: PlainDate): Refusal | undefined {
  if (daysIn(from, to) < 1)
    return refuse('ValidationError', `to (${to}) must not be before from (${from}).`, { field: 'to' });
  if (from < today) return refuseField('from', `must be today (${today}) or later, got ${from}`);
  if (isYearsLater(to, today, MAX_YEARS_AHEAD))
    return refuseField('to', `must be within the next ${MAX_YEARS_AHEAD} years, got ${to}`);
  return undefined;
}

function wrongHours(start: number, until: number): Refusal | undefined {
  const areWhole = Number.isInteger(start) && Number.isInteger(until);
  if (areWhole && start >= 0 && until <= 24 && start < until) return undefined;
  return refuse('ValidationError', 'The hours must be whole, 0 to 24, and end after they begin.');
}

/** Ends a closure. No event if it has ended. Refuses one whose days another one has taken over (`ValidationError`). */
export function endClosure(
  closure: Closure | undefined,
  {
    closureId,
    communityId,
    replacedBy,
  }: { readonly closureId: string; readonly communityId: CommunityId; readonly replacedBy?: ClosureId | undefined },
): Decision<ClosureEnded> {
  if (closure === undefined || closure.communityId !== communityId) return noClosure(closureId);
  if (closure.replacedBy !== undefined) return wasChanged(closure.replacedBy);
  if (closure.hasEnded) return [];
  return [{ type: 'ClosureEnded', data: { closureId: closure.closureId, communityId, ...defined({ replacedBy }) } }];
}

/** Leaves a date out for good. No event if it is left out already, or if the closure has ended. */
export function leaveOutDate(
  closure: Closure | undefined,
  {
    closureId,
    communityId,
    date,
  }: Pick<Closure, 'communityId'> & { readonly closureId: string; readonly date: PlainDate },
  today: PlainDate,
): Decision<ClosureDateLeftOut> {
  if (closure === undefined || closure.communityId !== communityId) return noClosure(closureId);
  if (closure.replacedBy !== undefined) return wasChanged(closure.replacedBy);
  if (closure.hasEnded) return [];
  const wrong = wrongDate(closure, date, today);
  if (wrong !== undefined) return wrong;
  if (closure.datesLeftOut.includes(date)) return [];
  return [{ type: 'ClosureDateLeftOut', data: { closureId: closure.closureId, communityId, date } }];
}

function wrongDate(closure: Closure, date: PlainDate, today: PlainDate): Refusal | undefined {
  if (date < today) return refuseField('date', `must be today (${today}) or later, got ${date}`);
  if (datesOf(closure).includes(date)) return undefined;
  return refuseField('date', `must be one of its dates, got ${date}`);
}

const wasChanged = (replacedBy: ClosureId): Refusal =>
  refuse('ValidationError', `It was changed: its days are those of ${replacedBy} now.`);

export const noClosure = (closureId: string): Refusal =>
  refuse('ResourceNotFound', `There is no closed time ${closureId}.`);
