import { isYearsLater, localDate, WEEKDAYS } from './calendar.ts';
import { type Describe, withChanges } from './changed-values.ts';
import { type Decision, isRefusal, type Refusal, refuse, refuseField, refuseFor } from './decision.ts';
import {
  type HouseFacts,
  SPACE_FACTS,
  type SpaceDescription,
  type SpaceFacts,
  type SpaceTexts,
  spaceChanges,
} from './description.ts';
import type {
  DateHours,
  DayHours,
  SpaceAdded,
  SpaceChanged,
  SpaceClosed,
  SpaceDescribed,
  SpaceEvent,
  SpaceOpened,
  SpacePhotosChanged,
  SpaceTerms,
} from './events.ts';
import type { Cents, CommunityId, PlainDate, SpaceId } from './ids.ts';
import { keysOf } from './keys-of.ts';
import {
  ANSWER_HOURS,
  CANCEL_HOURS,
  DURATION_HOURS,
  EVENT_FEE,
  GAP_HOURS,
  HORIZON_DAYS,
  HOUR,
  isWithin,
  MAX_SPECIAL_DATES,
  MAX_YEARS_AHEAD,
  NAME,
  NOTICE_HOURS,
  wrongNumber,
  wrongText,
} from './limits.ts';
import { changedPhotos, evolvePhotos, MAX_PHOTOS, type PhotoChange, type Photos } from './photos.ts';
import { picked } from './picked.ts';

/** A space with its terms, folded. */
export type Space = SpaceTerms & {
  readonly spaceId: SpaceId;
  readonly communityId: CommunityId;
  /** IANA zone of its community. */
  readonly timeZone: string;
  /** Only an active space takes bookings. */
  readonly active: boolean;
  /** Dates with hours of their own. */
  readonly special?: SpecialHours;
  /** What can be searched for. Its texts are a read model of their own. */
  readonly facts?: SpaceFacts;
  /** For commands alone: they are a read model of their own. */
  readonly photos?: Photos;
};

/** Hours of single dates. */
type SpecialHours = { readonly [date: PlainDate]: DayHours };
/** New hours of single dates; `none` removes those of a date. */
export type SpecialChanges = { readonly [date: PlainDate]: DayHours | 'none' };

/** A space with the name and the house of the community that owns it. */
export type NamedSpace = { readonly space: Space; readonly communityName: string; readonly house?: HouseFacts };

export function evolveSpace(space: Space | undefined, event: SpaceEvent): Space | undefined {
  if (event.type === 'SpaceAdded') return { ...event.data, active: true };
  if (space === undefined) return undefined;
  switch (event.type) {
    case 'SpaceChanged': {
      const { dates, ...terms } = event.data;
      return { ...space, ...terms, ...(dates && { special: withDates(space.special, dates) }) };
    }
    case 'SpaceClosed':
      return { ...space, active: false };
    case 'SpaceOpened':
      return { ...space, active: true };
    case 'SpacePhotosChanged':
      return { ...space, photos: evolvePhotos(space.photos, event.data) };
    case 'SpaceDescribed':
      return { ...space, facts: withChanges(space.facts ?? {}, event.data, SPACE_FACTS) };
    default:
      return event satisfies never;
  }
}

function withDates(before: SpecialHours = {}, dates: readonly DateHours[]): SpecialHours {
  const special = new Map(entriesOf(before));
  for (const { date, hours } of dates) {
    if (hours === 'none') special.delete(date);
    else special.set(date, hours);
  }
  return Object.fromEntries(special);
}

/** Refuses the terms of a new space, all broken rules at once. */
export const wrongSpace = (terms: SpaceTerms): Refusal | undefined => refuseFor(wrongIn(terms, terms));

export function addSpace(existing: Space | undefined, command: SpaceAdded['data']): Decision<SpaceAdded> {
  if (existing !== undefined) return refuse('ValidationError', `Space ${command.spaceId} already exists.`);
  return wrongSpace(command) ?? [{ type: 'SpaceAdded', data: command }];
}

/** The terms that a page showed, and the special hours if it shows those. */
export type SeenTerms = SpaceTerms & Pick<Space, 'special'>;

export type ChangeSpace = {
  readonly spaceId: SpaceId;
  readonly terms: Partial<SpaceTerms>;
  readonly special?: SpecialChanges;
  readonly seen?: SeenTerms;
};

/**
 * Changes the given terms and the hours of the given dates, in one event; existing bookings keep theirs. No event if nothing differs. Only what changes
 * is checked, so that a space whose terms were allowed by older rules can still be changed and corrected.
 *
 * A page that saves all terms sends the terms that it showed (`seen`). If a term has changed since, the command is refused,
 * because it would undo a change that the user has not seen.
 */
export function changeSpace(
  space: Space | undefined,
  command: ChangeSpace,
  context: { readonly now: number },
): Decision<SpaceChanged> {
  if (space === undefined) return unknownSpace(command.spaceId);
  const changed: Partial<SpaceTerms> = Object.fromEntries(
    Object.entries(command.terms).filter(
      ([term, value]) => value !== undefined && !isSame(value, termOf(space, term as keyof SpaceTerms)),
    ),
  );
  const { spaceId, communityId } = space;
  const dates = changedDates(space, command.special ?? {});
  if (Object.keys(changed).length === 0 && dates.length === 0) return [];
  const meanwhile =
    command.seen === undefined ? [] : changedTerms(command.seen, space, localDate(context.now, space.timeZone));
  const outdated =
    meanwhile.length === 0
      ? undefined
      : refuse('ValidationError', `Space ${spaceId} was changed meanwhile (${meanwhile.join(', ')}). Look again.`);
  const wrong = [...wrongIn(changed, { ...space, ...changed }), ...wrongDates(space, dates, context.now)];
  return (
    refuseFor([outdated, ...wrong]) ?? [
      {
        type: 'SpaceChanged',
        data: { ...changed, ...(dates.length > 0 && { dates }), spaceId, communityId },
      },
    ]
  );
}

/** A term that was never set has its default, so setting the default changes nothing. */
const termOf = <T extends keyof SpaceTerms>(space: SpaceTerms, term: T): unknown => space[term] ?? DEFAULT_TERMS[term];

const DEFAULT_TERMS: Partial<SpaceTerms> = { week: [], gapHours: 0, noticeHours: 0, cancelHours: 0 };

/** The changes of dates that differ from the hours of the space. */
const changedDates = ({ special = {} }: Space, changes: SpecialChanges): readonly DateHours[] =>
  entriesOf(changes).flatMap(([date, hours]) => (isSame(hours, special[date] ?? 'none') ? [] : [{ date, hours }]));

/** The refusals of the hours of dates: of each one, and of their number. Hours of a date that is over can only be removed. */
function wrongDates(space: Space, changes: readonly DateHours[], now: number): readonly (Refusal | undefined)[] {
  const today = localDate(now, space.timeZone);
  const wrong = changes.flatMap(({ date, hours }) => {
    if (hours === 'none') return [];
    if (date < today) return [wrongDate(date, `is in the past: today is ${today}`)];
    return isYearsLater(date, today, MAX_YEARS_AHEAD)
      ? [wrongDate(date, `is more than ${MAX_YEARS_AHEAD} years ahead`)]
      : wrongHours('special', date, hours);
  });
  const changed = new Map(changes.map(({ date, hours }) => [date, hours]));
  const stored = entriesOf(space.special ?? {}).filter(([date]) => !changed.has(date));
  const set = changes.filter(({ hours }) => hours !== 'none');
  const count = [...stored.map(([date]) => date), ...set.map(({ date }) => date)].filter((date) => date >= today);
  return set.length === 0 || count.length <= MAX_SPECIAL_DATES
    ? wrong
    : [
        ...wrong,
        refuse(
          'ValidationError',
          `special hours are for at most ${MAX_SPECIAL_DATES} dates to come, not ${count.length}.`,
        ),
      ];
}

/** Refuses hours of their own on a date. */
const wrongDate = (date: PlainDate, rule: string): Refusal => ({
  ...refuseField('special', rule),
  day: date,
  details: `special ${date} ${rule}.`,
});

/** The special hours of the dates from one on, by date. */
export const datesFrom = (from: PlainDate, { special = {} }: Pick<Space, 'special'>): [PlainDate, DayHours][] =>
  entriesOf(special).filter(([date]) => date >= from);

/** The hours of dates, by date. */
export const entriesOf = <T>(hours: { readonly [date: PlainDate]: T }): [PlainDate, T][] =>
  keysOf(hours)
    .toSorted()
    .flatMap((date) => {
      const of = hours[date];
      return of === undefined ? [] : [[date, of]];
    });

/** Gives a space the zone of its community. No event if it has it. */
export function moveSpace(
  space: Space | undefined,
  command: { readonly spaceId: SpaceId; readonly timeZone: string },
): Decision<SpaceChanged> {
  if (space === undefined) return unknownSpace(command.spaceId);
  const { spaceId, communityId, timeZone } = space;
  if (timeZone === command.timeZone) return [];
  return [{ type: 'SpaceChanged', data: { timeZone: command.timeZone, spaceId, communityId } }];
}

/** The names of the terms that differ; `special` if the page showed special hours and those from today on differ. */
export const changedTerms = (before: SeenTerms, now: SeenTerms, today: PlainDate): readonly (keyof SeenTerms)[] => [
  ...SPACE_TERMS.filter((term) => !isSame(before[term], now[term])),
  ...(before.special === undefined || isSame(datesFrom(today, before), datesFrom(today, now))
    ? []
    : (['special'] as const)),
];

/** The hours of a week are the same if they read the same. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A closed space takes no new bookings; existing ones stay. No event if it is closed, or open, already. */
export function switchSpace(
  space: Space | undefined,
  command: { readonly spaceId: SpaceId; readonly active: boolean },
): Decision<SpaceClosed | SpaceOpened> {
  if (space === undefined) return unknownSpace(command.spaceId);
  if (space.active === command.active) return [];
  const { spaceId, communityId } = space;
  return [{ type: command.active ? 'SpaceOpened' : 'SpaceClosed', data: { spaceId, communityId } }];
}

/**
 * Describes a space: only what differs, in one event; no event if nothing does.
 * @param texts what is written about it now
 */
export function describeSpace(
  space: Space | undefined,
  command: Describe<SpaceDescription> & { readonly spaceId: SpaceId },
  texts: SpaceTexts,
): Decision<SpaceDescribed> {
  if (space === undefined) return unknownSpace(command.spaceId);
  const changes = spaceChanges({ ...space.facts, ...texts }, command);
  if (isRefusal(changes)) return changes;
  const { spaceId, communityId } = space;
  return Object.keys(changes).length === 0
    ? []
    : [{ type: 'SpaceDescribed', data: { ...changes, spaceId, communityId } }];
}

/** Adds photos to a space, or arranges them: one event with the whole list; no event if nothing differs. */
export function changeSpacePhotos(
  space: Space | undefined,
  command: PhotoChange & { readonly spaceId: SpaceId },
): Decision<SpacePhotosChanged> {
  if (space === undefined) return unknownSpace(command.spaceId);
  const list = changedPhotos(space.photos, command, MAX_PHOTOS.space);
  if (list === undefined || isRefusal(list)) return list ?? [];
  const { spaceId, communityId } = space;
  return [{ type: 'SpacePhotosChanged', data: { ...list, spaceId, communityId } }];
}

const unknownSpace = (id: SpaceId) => refuse('ResourceNotFound', `There is no space ${id}.`);

/** As people write it; the rule is in cents. Not a constant: loading the formats of a language takes 15 ms of every start. */
const largestFee = () => (EVENT_FEE.max / 100).toLocaleString('en', { minimumFractionDigits: 2 });

type EveryTerm = Required<SpaceTerms>;

/** The rule of each term. Exhaustive: a new one does not compile without its rule. */
const TERM_RULES: {
  readonly [T in keyof EveryTerm]: (value: EveryTerm[T]) => Refusal | undefined;
} = {
  name: (name) => wrongText('name', name, NAME),
  windowStart: (hour) => wrongNumber('windowStart', hour, HOUR),
  windowEnd: (hour) => wrongNumber('windowEnd', hour, HOUR),
  durationHours: (hours) => wrongNumber('durationHours', hours, DURATION_HOURS),
  eventFee: (fee) => wrongFee(fee),
  answerHours: (hours) => wrongNumber('answerHours', hours, ANSWER_HOURS),
  week: (week) => {
    if (![0, WEEKDAYS.length].includes(week.length)) return refuseField('week', 'must have seven days');
    return refuseFor(
      week.flatMap((hours, day) => (hours === 'closed' ? [] : wrongHours('week', WEEKDAYS[day] ?? '', hours))),
    );
  },
  gapHours: (hours) => wrongNumber('gapHours', hours, GAP_HOURS),
  noticeHours: (hours) => wrongNumber('noticeHours', hours, NOTICE_HOURS),
  horizonDays: (days) => wrongNumber('horizonDays', days, HORIZON_DAYS),
  cancelHours: (hours) => wrongNumber('cancelHours', hours, CANCEL_HOURS),
};

const wrongFee = (fee: Cents): Refusal | undefined =>
  isWithin(fee, EVENT_FEE)
    ? undefined
    : refuseField('eventFee', `must be 0 to ${largestFee()}, with at most two decimals`);

/** The refusals of the hours of a day. */
function wrongHours(of: 'week' | 'special', day: string, { windowStart, windowEnd, eventFee }: DayHours): Refusal[] {
  const window = [wrongNumber('windowStart', windowStart, HOUR), wrongNumber('windowEnd', windowEnd, HOUR)];
  const inOrder = window.some((wrong) => wrong !== undefined) || windowStart < windowEnd;
  const wrong = [
    ...window,
    eventFee === undefined ? undefined : wrongFee(eventFee),
    inOrder ? undefined : NOT_BEFORE_END,
  ];
  return wrong
    .filter((refusal) => refusal !== undefined)
    .map((refusal) => ({ ...refusal, day, details: `${of} ${day}: ${refusal.details}` }));
}

const NOT_BEFORE_END = refuseField('windowStart', 'must be before', 'windowEnd');

/** The refusals of terms that break their own rules. */
function wrongOf(terms: Partial<EveryTerm>): readonly Refusal[] {
  const check = <T extends keyof EveryTerm>(term: T): Refusal | undefined => {
    const value: EveryTerm[T] | undefined = terms[term];
    return value === undefined ? undefined : TERM_RULES[term](value);
  };
  return SPACE_TERMS.flatMap((term) => check(term) ?? []);
}

/** Refuses terms that break their own rules, all of them at once. */
export const wrongTerms = (terms: Partial<SpaceTerms>): Refusal | undefined => refuseFor(wrongOf(terms));

export const SPACE_TERMS = keysOf(TERM_RULES);

/** The refusals of changed terms, and of the window that results. */
function wrongIn(changed: Partial<SpaceTerms>, { windowStart, windowEnd }: SpaceTerms): readonly Refusal[] {
  const wrong = wrongOf(changed);
  if (windowStart < windowEnd || wrongOf(picked(changed, ['windowStart', 'windowEnd'])).length > 0) return wrong;
  return [...wrong, NOT_BEFORE_END];
}
