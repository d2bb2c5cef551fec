import { isDeepStrictEqual } from 'node:util';
import type { BookingDocument } from '../../../projections/bookings.ts';
import { isPlainDate, localDate, WEEKDAYS } from '../../domain/calendar.ts';
import { eachOf, isRefusal, type Refusal, refuseFor, sentenceWith } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import type { DayHours } from '../../domain/events.ts';
import { cents, type PlainDate, type SpaceId } from '../../domain/ids.ts';
import { isObject } from '../../domain/is-object.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { HORIZON_DAYS } from '../../domain/limits.ts';
import { picked } from '../../domain/picked.ts';
import {
  datesFrom,
  entriesOf,
  type SeenTerms,
  SPACE_TERMS,
  type Space,
  type SpecialChanges,
} from '../../domain/space.ts';
import { counted, hours, momentIn, shortDate, shortened, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { digest } from '../../http/entity-tag.ts';
import type { SpaceNow } from '../../queries/space-changes.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import { actorOrYou } from '../parts/actor-view.ts';
import { type Answer, done, notDone, nothingToDo, type PageContent } from '../parts/answer.ts';
import { viaField, withVia } from '../parts/back-link.ts';
import { hasProblems, hiddenField, postForm, problemOf } from '../parts/forms.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import {
  edited,
  type FormOptions,
  HOURS_INPUTS,
  hoursFields,
  type ReadTerms,
  RULES,
  readTerms,
  type TypedDate,
  type TypedTerms,
  typedIn,
  typedOf,
} from './hours-form.ts';
import { copiesFees, otherSpaces, tickedOf, withOwnFees } from './other-spaces.ts';
import { dayText, hoursPath, PATH } from './space-list.ts';
import { isTerms } from './spaces.ts';

/** Bookings outside the new hours that the page lists. It counts the others. */
const MAX_LISTED = 20;
/** Other spaces to which a form applies. */
const MAX_SPACES = 100;
/** Refused spaces that the message names. It travels in a cookie. */
const MAX_REFUSED = 5;

type Outcome = { readonly space: Space; readonly refused?: string };

/** What the page shows besides the form. */
type Shown = {
  readonly problems?: Problems;
  /** Default: the current terms. */
  readonly seen?: SeenTerms;
  /** The other spaces that are ticked. */
  readonly also?: ReadonlySet<SpaceId>;
  /** What the hours that are about to be saved leave outside. */
  readonly outside?: readonly BookingDocument[];
  readonly focus?: FormOptions['focus'];
};

/** The hours of a space by weekday and date, and its rules about time, for one space or several at once. */
export function hoursPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  const ofSpace = spaceRoutes(community, queries);

  ofSpace.get(`${PATH}/:id/hours`, 'Manager', (visit, space) => {
    const { restored } = visit;
    if (restored === undefined) return hoursPage(visit, space, typedOf(space, todayIn(visit, space)));
    return hoursPage(visit, space, typedIn(restored), defined({ seen: seenIn(restored) }));
  });

  ofSpace.post(`${PATH}/:id/hours`, 'Manager', async (visit, space) => {
    const { form } = visit;
    const typed = typedIn(form);
    const seen = seenIn(form);
    const also = new Set((await othersTicked(visit, space)).map(({ spaceId }) => spaceId));
    const again = (now: TypedTerms, focus?: FormOptions['focus']) =>
      hoursPage(visit, space, now, { also, focus, ...defined({ seen }) });
    const changed = edited(typed, form.text('do'));
    if (changed !== undefined) return again(...changed);
    if (seen === undefined) return { ...(await again(typedOf(space, todayIn(visit, space)))), ...OUTDATED };
    return save(visit, space, typed, seen);
  });

  async function save(visit: CommunityVisit, space: Space, typed: TypedTerms, seen: SeenTerms): Promise<Answer> {
    const { account, form, context } = visit;
    const others = await othersTicked(visit, space);
    const also = new Set(others.map(({ spaceId }) => spaceId));
    const page = (shown: Shown) => hoursPage(visit, space, typed, { seen, also, ...shown });
    const read = readTerms(typed);
    if (hasProblems(read.problems)) return page({ problems: read.problems });
    if (others.length > MAX_SPACES) return page({ problems: { also: `Choose at most ${MAX_SPACES} spaces.` } });
    /** The page that shows what others saved since this one was made, if they did. */
    const changedSince = async (): Promise<Answer | undefined> => {
      const now = await queries.spaceChanges(account, space.spaceId, seen);
      return now === undefined || now.changed.length === 0 ? undefined : changedPage(visit, typed, seen, now, also);
    };

    const own = changeOf(space, read, removedSince(seen, read, todayIn(visit, space)));
    const ofOthers = copiesFees(form) ? () => read : (one: Space) => withOwnFees(read, one);
    const rest = others.map((one) => changeOf(one, ofOthers(one)));
    const after = [own, ...rest].flatMap((change) => change.after ?? []);
    const outside = own.isValid ? await queries.outsideHours(account, after) : [];
    if (outside.length > 0 && form.text('confirmed') !== digestOf(outside))
      return (await changedSince()) ?? { ...(await page({ outside })), status: 200 };

    const outcome = await commands.catalogue.changeSpace({ ...own.command, seen }, context);
    if (isRefusal(outcome)) return (await changedSince()) ?? page({ problems: problemsOf(outcome, typed) });
    const outcomes = await Promise.all(rest.map((change) => saveOther(visit, change)));
    return savedAnswer(visit, space, [...(outcome.events.length > 0 ? [{ space }] : []), ...outcomes.flat()]);
  }

  /** None if it has these hours already. */
  async function saveOther(
    { context }: CommunityVisit,
    { before, command }: ReturnType<typeof changeOf>,
  ): Promise<readonly Outcome[]> {
    try {
      const outcome = await commands.catalogue.changeSpace(command, context);
      if (isRefusal(outcome)) return [{ space: before, refused: outcome.details }];
      return outcome.events.length > 0 ? [{ space: before }] : [];
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      return [{ space: before, refused: 'It is not known whether it was saved. Look again in a moment.' }];
    }
  }

  function savedAnswer(visit: CommunityVisit, space: Space, outcomes: readonly Outcome[]): Answer {
    const back = withVia(visit, hoursPath(space.spaceId));
    const refused = outcomes.filter((one) => one.refused !== undefined);
    const saved = outcomes.length - refused.length;
    const count = outcomes.every((one) => one.space === space) ? '' : ` for ${counted(saved, 'space')}`;
    const keptFees = count === '' || copiesFees(visit.form) ? '' : ' The other spaces keep their fees.';
    const whys = refused
      .slice(0, MAX_REFUSED)
      .map((one) => `${namedText(shortened(one.space.name))}: ${shortened(one.refused ?? '', 200)}`);
    const others = refused.length > MAX_REFUSED ? ` And ${refused.length - MAX_REFUSED} more.` : '';
    if (refused.length > 0) return notDone(back, `Saved${count}. Not saved: ${whys.join(' ')}${others}`);
    return saved > 0
      ? done(back, `Saved${count}.${keptFees} Existing requests and bookings keep their terms.`)
      : nothingSaved(visit, space);
  }

  const nothingSaved = (visit: CommunityVisit, { spaceId }: Space): Answer =>
    nothingToDo(withVia(visit, hoursPath(spaceId)), 'Nothing has changed: these are the hours and rules already.');

  async function othersOf({ account }: CommunityVisit, { spaceId }: Space): Promise<readonly Space[]> {
    return (await queries.spaces.list(account)).filter((other) => other.spaceId !== spaceId);
  }

  /** The other spaces to which the form applies, too. */
  async function othersTicked(visit: CommunityVisit, space: Space): Promise<readonly Space[]> {
    return visit.form.all('also').length === 0 ? [] : tickedOf(visit.form, await othersOf(visit, space));
  }

  async function hoursPage(
    visit: CommunityVisit,
    space: Space,
    typed: TypedTerms,
    { problems = {}, seen = space, also = new Set(), outside = [], focus }: Shown = {},
  ): Promise<PageContent> {
    const { spaceId } = space;
    const today = todayIn(visit, space);
    const options = { visit, earliest: today, focus };
    const content = html`${viaField(visit)}${seenField(seen, today)}
${outside.length > 0 && outsideNotice(outside)}${hoursFields(space, typed, problems, options)}
${otherSpaces(await othersOf(visit, space), also, problems, copiesFees(visit.form))}
<p class="muted small">Existing requests and bookings keep the fee and the rules on which they were made.</p>
<div><button class="button" name="do" value="save">Save</button></div>`;
    return {
      title: `Hours of ${namedText(space.name)}`,
      lead: `When events can start, what they cost by day, and how early they are booked. ${zoneName(space.timeZone)}.`,
      back: { href: withVia(visit, `${PATH}/${spaceId}`), label: named(space.name) },
      problems,
      main: postForm(visit, hoursPath(spaceId), 'card fields')`${content}`,
    };
  }

  /**
   * Shows what others saved since the page was rendered, beside the user's input. Untouched fields take the new values, so that saving
   * again changes only what this user chose.
   */
  async function changedPage(
    visit: CommunityVisit,
    typed: TypedTerms,
    seen: SeenTerms,
    { space, changed }: SpaceNow,
    also: ReadonlySet<SpaceId>,
  ): Promise<Answer> {
    const today = todayIn(visit, space);
    const [before, now] = [typedOf(seen, today), typedOf(space, today)];
    const merged = mergedWith(typed, before, now);
    const who = [...new Set(changed.map(({ by }) => actorOrYou(visit, by)))].join(' and ');
    const by = (term: string) => {
      const change = changed.find((each) => each.term === term);
      return change && `changed by ${actorOrYou(visit, change.by)} on ${momentIn(space.timeZone, change.at)}`;
    };
    const dates = changedKeys(byDate(before), byDate(now));
    const shownDates = dates.map((date) => `${shortDate(date)} ${textOn(space.special?.[date], visit)}`);
    const inDates = dates.length === 0 ? '' : ` Special dates now: ${shownDates.join('; ')} (${by('special')}).`;
    const problems: Record<string, string> = {
      '': `This space was changed by ${who} in the meantime. Your changes weren't saved.${inDates} Review and save again.`,
    };
    for (const [day, weekday] of WEEKDAYS.entries()) {
      if (isDeepStrictEqual(before.days[day], now.days[day])) continue;
      const is = textOn(space.week?.[day] ?? picked(space, ['windowStart', 'windowEnd']), visit);
      problems[`day${day}From`] = `${weekday} is now ${is}, ${by('week') ?? by('windowStart') ?? by('windowEnd')}.`;
    }
    for (const rule of keysOf(RULES))
      if (before.rules[rule] !== now.rules[rule])
        problems[rule] = `“${RULES[rule]}” is now ${now.rules[rule] || 'empty'}, ${by(rule)}.`;
    return { ...(await hoursPage(visit, space, merged, { problems, also })), status: 409 };
  }
}

const todayIn = ({ now }: Pick<CommunityVisit, 'now'>, { timeZone }: Space): PlainDate => localDate(now, timeZone);

const OUTDATED = {
  status: 409,
  problems: { '': "This form came from an older version of the page. Your changes weren't saved. Fill it in again." },
} as const;

/** The change of a space that the form asks for, and the space after it; absent if no hours change. */
function changeOf(before: Space, { days, rules, special }: ReadTerms, removed: readonly PlainDate[] = []) {
  const set: SpecialChanges = {
    ...Object.fromEntries(removed.map((date) => [date, 'none' as const])),
    ...Object.fromEntries(special),
  };
  const isUsual = days.every((day) => day !== 'closed' && isWindowOf(before, day));
  const { horizonDays, ...others } = rules;
  const isFullHorizon = before.horizonDays === undefined && horizonDays === HORIZON_DAYS.max;
  const week = isUsual ? [] : days;
  const kept = entriesOf(before.special ?? {}).filter(([date]) => !removed.includes(date));
  const after: Space = { ...before, week, special: { ...Object.fromEntries(kept), ...Object.fromEntries(special) } };
  const isValid = [...days, ...special.values()].every((day) => day === 'closed' || day.windowStart < day.windowEnd);
  return {
    before,
    command: {
      spaceId: before.spaceId,
      terms: { week, ...others, ...defined({ horizonDays: isFullHorizon ? undefined : horizonDays }) },
      special: set,
    },
    isValid,
    after: hoursOf(before) === hoursOf(after) ? undefined : after,
  };
}

const hoursOf = ({ week = [], special = {} }: Space): string => JSON.stringify([week, entriesOf(special)]);

const isWindowOf = ({ windowStart, windowEnd }: Space, day: DayHours): boolean =>
  day.windowStart === windowStart && day.windowEnd === windowEnd && day.eventFee === undefined;

/** The dates that the page showed and the form no longer has. */
const removedSince = (seen: SeenTerms, read: ReadTerms, today: PlainDate): readonly PlainDate[] =>
  datesFrom(today, seen).flatMap(([date]) => (read.special.has(date) ? [] : [date]));

/** The problems of a refusal: beside the weekday or the date that each is about, the others beside the rules. */
function problemsOf(refusal: Refusal, typed: TypedTerms): Problems {
  const problems: Record<string, string> = {};
  const others: Refusal[] = [];
  for (const each of eachOf(refusal)) {
    const name = inputOf(each, typed);
    if (name === undefined) others.push(each);
    else problems[name] ??= sentenceOnDay(each);
  }
  const further = refuseFor(others);
  return { ...problems, ...(further && problemOf(further, RULES)) };
}

/** The input of the hours of a day that a refusal is about, or of the date itself; undefined if it is about neither. */
function inputOf({ day, field = '' }: Refusal, { dates }: TypedTerms): string | undefined {
  const weekday = WEEKDAYS.map(String).indexOf(day ?? '');
  const row = dates.findIndex(({ date }) => date === day);
  const input = isHoursField(field) ? HOURS_INPUTS[field].suffix : '';
  if (weekday >= 0) return `day${weekday}${input}`;
  return row >= 0 ? `date${row}${input}` : undefined;
}

const isHoursField = (field: string): field is keyof typeof HOURS_INPUTS => Object.hasOwn(HOURS_INPUTS, field);

function sentenceOnDay(refusal: Refusal): string {
  const { day = '', field = '' } = refusal;
  const name = isPlainDate(day) ? shortDate(day) : day;
  if (!isHoursField(field)) return sentenceWith(refusal, () => name);
  const nameOf = (one: string) => (isHoursField(one) ? `“${HOURS_INPUTS[one].label}”` : one);
  return `${name}: ${sentenceWith(refusal, nameOf)}`;
}

const digestOf = (outside: readonly BookingDocument[]): string =>
  digest(outside.map(({ bookingId }) => bookingId).join());

function outsideNotice(outside: readonly BookingDocument[]): Html {
  const listed = outside.slice(0, MAX_LISTED);
  const more = outside.length - listed.length;
  const rows = listed.map(
    ({ bookingId, date, startHour, freeFrom, brandName, spaceName, status }) =>
      html`<li><a href="/console/bookings/${bookingId}">${shortDate(date)}, ${hours(startHour, freeFrom)}</a>,
${named(spaceName)}, ${named(brandName)}${status === 'Pending' && ' (waits for your answer)'}</li>`,
  );
  return html`<div class="flash notice" id="outside" role="status">${icon('warning')}<div class="stack tight">
<p><strong>Nothing is saved yet.</strong> Outside these hours:
${counted(outside.length, 'request or booking', 'requests and bookings')}. They stay as they are.</p><ul class="bullets">${rows}</ul>${
    more > 0 && html`<p>And ${more.toLocaleString('en')} more.</p>`
  }<div><button class="button" name="do" value="save">Save all the same</button></div>
${hiddenField('confirmed', digestOf(outside))}</div></div>`;
}

/** What the form was made from, to detect changes by others: the terms, and one field for each date (`2026-12-24 10 14 60000`). */
function seenField(terms: SeenTerms, today: PlainDate): Html {
  const dates = datesFrom(today, terms).map(([date, { windowStart, windowEnd, eventFee }]) =>
    hiddenField('seenDate', [date, windowStart, windowEnd, eventFee].join(' ').trim()),
  );
  return html`${hiddenField('seen', JSON.stringify(picked(terms, SPACE_TERMS)))}${dates}`;
}

/** Undefined if the form lacks it. */
function seenIn(form: Form): SeenTerms | undefined {
  try {
    const seen: unknown = JSON.parse(form.text('seen'));
    if (!isTerms(seen) || !isWeek(seen.week)) return undefined;
    return { ...seen, special: Object.fromEntries(form.all('seenDate').flatMap((text) => dateIn(text) ?? [])) };
  } catch {
    return undefined;
  }
}

function dateIn(text: string): [[PlainDate, DayHours]] | undefined {
  const [date = '', start, end, fee] = text.split(' ');
  if (!isPlainDate(date)) return undefined;
  const hours = { windowStart: Number(start), windowEnd: Number(end) };
  return [[date, fee === undefined ? hours : { ...hours, eventFee: cents(Number(fee)) }]];
}

const isWeek = (week: unknown): boolean =>
  week === undefined || (Array.isArray(week) && week.every((day: unknown) => day === 'closed' || isDay(day)));

const isDay = (day: unknown): boolean =>
  isObject(day) &&
  [day.windowStart, day.windowEnd].every((hour) => typeof hour === 'number') &&
  ['number', 'undefined'].includes(typeof day.eventFee);

/** The fields of a form that differ from `before` are the user's; the others are those of `now`. */
function mergedWith(typed: TypedTerms, before: TypedTerms, now: TypedTerms): TypedTerms {
  const [mine, theirs] = [byDate(before), byDate(now)];
  const dates = new Map(theirs);
  for (const date of mine.keys())
    if (!typed.dates.some((row) => row.date === date) && isDeepStrictEqual(mine.get(date), theirs.get(date)))
      dates.delete(date);
  for (const row of typed.dates)
    if (row.date !== '' && !isDeepStrictEqual(row, mine.get(row.date))) dates.set(row.date, row);
  return {
    days: typed.days.map((day, index) => (isDeepStrictEqual(day, before.days[index]) ? (now.days[index] ?? day) : day)),
    rules: {
      ...now.rules,
      ...picked(
        typed.rules,
        keysOf(RULES).filter((rule) => typed.rules[rule] !== before.rules[rule]),
      ),
    },
    dates: [...dates.values()],
  };
}

const byDate = ({ dates }: TypedTerms): ReadonlyMap<string, TypedDate> => new Map(dates.map((row) => [row.date, row]));

const changedKeys = (
  before: ReadonlyMap<string, TypedDate>,
  now: ReadonlyMap<string, TypedDate>,
): readonly PlainDate[] =>
  [...new Set([...before.keys(), ...now.keys()])]
    .filter(isPlainDate)
    .filter((date) => !isDeepStrictEqual(before.get(date), now.get(date)));

const textOn = (day: DayHours | 'closed' | undefined, visit: CommunityVisit): string =>
  day === undefined ? 'without hours of its own' : dayText(day, visit);
