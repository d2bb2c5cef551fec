import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import { daysLater, isMonth, isPlainDate, isYearsLater, localDate, monthsLater } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { MAX_YEARS_AHEAD } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { dayAndMonth, longDate, monthName, shortened, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { type BookingCounts, type CountsBySpace, NO_BOOKINGS, totalOf } from '../../queries/calendar.ts';
import type { Queries } from '../../queries/queries.ts';
import { missing } from '../parts/answer.ts';
import { statusClass } from '../parts/booking-views.ts';
import { dateField, hasProblems, hiddenField, select } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, ENTER, FEEDS, type Fields, neighbours, pager, tabs } from '../parts/links.ts';
import { daysOf } from '../parts/month-days.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { monthProblem, readDate } from '../parts/typed-dates.ts';
import { type Form, idOf, NO_SUCH_SPACE, type Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may, type Visit } from '../parts/visit.ts';
import { bookingPanel } from './booking-panel.ts';
import { cancelledList, type Group, groupOf, groupPager, groupsOf, groupTabs } from './calendar-day.ts';
import {
  countsText,
  type DayOfMonth,
  type MonthSpaces,
  monthTable,
  openDaysList,
  PER_DAY,
  type SpaceOfDay,
} from './calendar-month.ts';
import { type Plan, planOfSpace, planOfSpaces } from './calendar-plan.ts';
import { calendarTabs } from './calendar-tabs.ts';
import { CLOSURES } from './closures.ts';

const PATH = '/console/calendar';

/** More spaces than this are chosen from a list instead of tabs. */
const MOST_TABS = 5;
const NO_SPACE = 'A Manager of the community can add one.';

/** Cancelled bookings below the schedule of a day. */
const MOST_CANCELLED = 20;
/** Characters of the name of a space in a link to it. */
const MOST_OF_NAME = 30;

/** A community's month and day views, of all its spaces or of one. */
export function calendarPages({ community }: ConsoleRoutes, { queries }: PageDeps): void {
  community.get(PATH, 'Viewer', async (visit) => {
    const { account, accountZone: zone, query, now } = visit;
    const spaces = await queries.spaces.list(account);
    const today = localDate(now, zone);
    const typed = query.text('month');
    const month = isMonth(typed) ? typed : today.slice(0, 7);
    const chosen = chosenOf(spaces, query);
    const spaceId = chosen.space?.spaceId;
    const dates = daysOf(month).filter(isPlainDate);
    const counts = await queries.calendar.byDate(account.id, dates, spaceId);
    const href = (of: string) => addressOf(PATH, { month: of, space: spaceId?.toString() });
    const monthLink = (word: string, of: string) =>
      isMonth(of) && { href: href(of), label: neighbour(`${word} month`, monthName(of).split(' ')[0]) };
    return {
      title: `Calendar, ${monthName(month)}`,
      heading: monthName(month),
      lead: html`${zoneName(zone)}. What was declined or cancelled is not shown.
<a href="${FEEDS}">Calendar feeds</a>`,
      actions: html`<div class="row">${may(visit, 'Coordinator') && buttonLink(ENTER, 'Enter a booking', 'quiet')}
${buttonLink(CLOSURES, 'Closed times', 'quiet')}${neighbours(
  'Month',
  monthLink('Previous', monthsLater(month, -1)),
  monthLink('Next', monthsLater(month, 1)),
  buttonLink(`${href(today.slice(0, 7))}#today`, 'Today', 'quiet'),
)}</div>`,
      problems: { ...chosen.problems, ...monthProblem(typed, month) },
      main: html`${calendarTabs('month', dayIn(month, today))}
<div class="row apart end">${spaceChoice(spaces, chosen, PATH, { month })}${legend}</div>
<div class="stack full" id="month" data-live-region>${
        hasProblems(chosen.problems)
          ? noSuchSpace(href(month))
          : await monthOf(month, today, { counts, account, spaces, chosen })
      }</div>`,
    };
  });

  /** The bookings of each day that has some: those of each space or, if one space was chosen, the first ones. */
  async function bookingsByDay(
    counts: ReadonlyMap<PlainDate, CountsBySpace>,
    { id }: Account,
    { shown, only }: MonthSpaces,
  ): Promise<ReadonlyMap<PlainDate, Omit<DayOfMonth, 'closures'>>> {
    const withBookings = [...counts].filter(([, bySpace]) => bySpace.size > 0);
    const read = withBookings.map(async ([date, bySpace]): Promise<[PlainDate, Omit<DayOfMonth, 'closures'>]> => {
      const total = totalOf(bySpace.values());
      if (only === undefined) return [date, { counts: total, spaces: spacesOf(bySpace, shown), first: [] }];
      const page = { limit: PER_DAY, spaceId: only.spaceId };
      return [date, { counts: total, spaces: [], first: await queries.calendar.firstOn(id, date, total, page) }];
    });
    return new Map(await Promise.all(read));
  }

  /** The table of a month, and how many of its open days are booked. */
  async function monthOf(
    month: string,
    today: PlainDate,
    { counts, account, spaces, chosen }: MonthFacts,
  ): Promise<Html> {
    const shown = shownOf(spaces, chosen);
    const ofMonth = new Map([...counts].filter(([date]) => date.startsWith(month)));
    // The weeks that begin and end in the months beside it, too.
    const dates = [...counts.keys()];
    const [first, last] = [dates[0], dates.at(-1)];
    const closures = first === undefined ? [] : await queries.closures.list(account.id, first, last);
    const [booked, closed, openDays] = await Promise.all([
      bookingsByDay(counts, account, { shown, only: chosen.space }),
      queries.calendar.closuresOn(
        dates,
        closures,
        shown.map(({ spaceId }) => spaceId),
      ),
      queries.calendar.openDays(shown, ofMonth, closures),
    ]);
    const days = new Map(
      [...booked.keys(), ...closed.keys()].map((date): [string, DayOfMonth] => {
        const { counts = NO_BOOKINGS, spaces = [], first = [] } = booked.get(date) ?? {};
        return [date, { counts, spaces, first, closures: closed.get(date) ?? [] }];
      }),
    );
    return html`${monthTable(month, today, days, { shown, only: chosen.space })}
${openDaysList(month, openDays, shown.length === 1)}`;
  }

  community.get(`${PATH}/:date`, 'Viewer', async (visit) => {
    const { account, accountZone: zone, query, now, params } = visit;
    const date = params.date ?? '';
    if (!isPlainDate(date)) return missing('day');
    const picked = query.text('date');
    const { date: other, problem } = picked === '' ? {} : readDate(picked);
    if (other !== undefined) return { go: addressOf(`${PATH}/${other}`, { space: query.text('space') }) };
    const spaces = await queries.spaces.list(account);
    const chosen = chosenOf(spaces, query);
    const { day, counts } = await dayOf(account, date, shownOf(spaces, chosen), query.text('group'));
    const typed = query.text('booking');
    const id = idOf(typed);
    const booking = id === undefined ? undefined : await queries.bookings.get(account, id);
    const fields = { space: chosen.space?.spaceId.toString(), group: query.text('group') };
    const href = (day: string) => addressOf(`${PATH}/${day}`, { space: fields.space });
    const dayLink = (word: string, day: string) =>
      isPlainDate(day) && { href: href(day), label: neighbour(`${word} day`, dayAndMonth(day)) };
    const isWrong = hasProblems(chosen.problems);
    const today = localDate(now, zone);
    const month = date.slice(0, 7);
    const closed = addressOf(`${PATH}/${date}`, fields);
    const here = addressOf(`${PATH}/${date}`, { ...fields, booking: typed });
    const panel = booking && (await bookingPanel(queries, visit, booking, { here, closed }));
    const plan: DayPlan = {
      date,
      minuteNow: minuteOn(date, now, zone),
      takesEvents: may(visit, 'Coordinator') && takesEvents(date, today),
      opened: booking?.bookingId,
      bookingHref: (id) => `${addressOf('', { ...fields, booking: String(id) })}#booking`,
    };
    return {
      title: longDate(date),
      lead: html`${!isWrong && html`${countsText(counts) ?? 'No bookings'}, `}${zoneName(zone)}`,
      back: { href: addressOf(PATH, { month, space: fields.space }), label: monthName(month) },
      actions: neighbours(
        'Day',
        dayLink('Previous', daysLater(date, -1)),
        dayLink('Next', daysLater(date, 1)),
        buttonLink(href(today), 'Today', 'quiet'),
      ),
      problems: {
        ...chosen.problems,
        ...defined({ date: problem }),
        ...(typed !== '' && booking === undefined && { '': `You have no booking “${namedText(typed)}”.` }),
      },
      main: html`${calendarTabs('day', date)}
<div class="row apart end">${dayForm(date, problem === undefined ? date : picked, problem, fields)}${
        spaces.length > 0 && html`${spaceChoice(spaces, chosen, `${PATH}/${date}`)}${legend}`
      }</div>
${isWrong ? noSuchSpace(href(date)) : await schedule(visit, plan, spaces, chosen.space, day, panel)}`,
    };
  });

  /**
   * Reads a day of some spaces.
   * @param group the number of a group, from 1, or `all`
   */
  async function dayOf(
    { id }: Account,
    date: PlainDate,
    spaces: readonly Space[],
    group: string,
  ): Promise<{ readonly day: DayContent | undefined; readonly counts: BookingCounts }> {
    const bySpace = await queries.calendar.bySpace(id, date);
    const groups = group === 'all' ? [groupOf(spaces, bySpace)] : groupsOf(spaces, bySpace);
    const counts = groupOf(spaces, bySpace).counts;
    const current = group === 'all' ? 0 : Math.min(idOf(group) ?? 1, groups.length) - 1;
    const spaceIds = groups[current]?.spaces.map(({ spaceId }) => spaceId);
    if (spaceIds === undefined) return { day: undefined, counts };
    const [bookings, cancelled, closures] = await Promise.all([
      queries.calendar.heldOn(id, date, spaceIds),
      queries.calendar.cancelledOn(id, date, spaceIds, MOST_CANCELLED),
      queries.closures.list(id, date, date),
    ]);
    return { day: { groups, current, bookings, cancelled, closures }, counts };
  }
}

/** The spaces with bookings, in their order, those with a request first. */
const spacesOf = (bySpace: CountsBySpace, shown: readonly Space[]): readonly SpaceOfDay[] =>
  shown
    .flatMap((space): readonly SpaceOfDay[] => {
      const counts = bySpace.get(space.spaceId);
      return counts === undefined ? [] : [{ space, counts }];
    })
    .toSorted((a, b) => Number(b.counts.pending > 0) - Number(a.counts.pending > 0));

/** Today, or the first day of another month. */
const dayIn = (month: string, today: PlainDate): PlainDate =>
  today.startsWith(month) ? today : (daysOf(month).find((day) => day.startsWith(month)) ?? today);

/** Shows another day of the same spaces. */
const dayForm = (
  shown: PlainDate,
  value: string,
  problem: string | undefined,
  { space }: { readonly space: string | undefined },
): Html => html`<form class="row end day-choice" method="get" action="${PATH}/${shown}">
${space !== undefined && hiddenField('space', space)}${dateField({
  name: 'date',
  label: 'Date',
  value,
  required: true,
  problems: defined({ date: problem }),
})}<button class="button quiet">Show this day</button></form>`;

type Account = CommunityVisit['account'];

/** What a month is made from. */
type MonthFacts = {
  readonly counts: ReadonlyMap<PlainDate, CountsBySpace>;
  readonly account: Account;
  readonly spaces: readonly Space[];
  readonly chosen: Chosen;
};

/** Own events are entered from today on, as far ahead as bookings. */
const takesEvents = (date: PlainDate, today: PlainDate): boolean =>
  date >= today && !isYearsLater(date, today, MAX_YEARS_AHEAD);

const shownOf = (spaces: readonly Space[], { space }: Chosen): readonly Space[] =>
  space === undefined ? spaces : [space];

/** The label of a link to a month or day beside this one. */
const neighbour = (word: string, name: string | undefined): Html =>
  html`<span class="visually-hidden">${word}, </span>${name}`;

/** The minute of the day that the clocks of a zone show, if it is that day there. */
function minuteOn(date: string, now: number, zone: string): number | undefined {
  const local = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone);
  return local.toPlainDate().toString() === date ? local.hour * 60 + local.minute : undefined;
}

/** The groups of spaces of a day, and the bookings of the one that is shown. Undefined without spaces. */
type DayContent = {
  readonly groups: readonly Group[];
  readonly current: number;
  readonly bookings: readonly BookingDocument[];
  readonly closures: readonly ReadableClosure[];
  readonly cancelled: Awaited<ReturnType<Queries['calendar']['cancelledOn']>>;
};

type DayPlan = Pick<Plan, 'date' | 'minuteNow' | 'takesEvents' | 'opened' | 'bookingHref'>;

/**
 * The plan of a day, of one group of spaces at a time if there is too much for a page.
 * @param only the space that alone is shown
 * @param panel the booking beside the plan
 */
async function schedule(
  visit: Visit,
  plan: DayPlan,
  spaces: readonly Space[],
  only: Space | undefined,
  day: DayContent | undefined,
  panel: Html | undefined,
): Promise<Html> {
  const group = day?.groups[day.current];
  if (day === undefined || group === undefined) {
    const add = may(visit, 'Manager') && buttonLink('/console/spaces/new', 'Add a space');
    const text = add ? 'Add your first space, and brands can find it right away.' : NO_SPACE;
    return emptyState('space', 'No spaces yet', add)`${text}`;
  }
  const { groups, current, bookings, cancelled, closures } = day;
  const path = `${PATH}/${plan.date}`;
  const href = (group: number | 'all') => addressOf(path, { group: String(group) });
  const isOne = only !== undefined || spaces.length === 1;
  const visible = { ...plan, spaces: group.spaces, bookings, closures };
  const table = isOne ? planOfSpace(visible) : await planOfSpaces(visible);
  return html`${groupTabs(groups, current, spaces.length, href)}
<div class="day-plan${panel && ' with-panel'}">${panel}${table}</div>
<p class="plan-keys muted small">Arrow keys move in the plan, Enter opens. Tab leaves it.</p>
${only === undefined ? groupPager(groups, current, href) : spacePager(spaces, only, path)}
<div id="day-cancelled" data-live-region>${cancelledList(cancelled, plan.date)}</div>`;
}

/** The links to the days of the spaces before and after, for phones, which show one space at a time. */
function spacePager(spaces: readonly Space[], only: Space, path: string): Html | undefined {
  const at = spaces.indexOf(only);
  const [previous, next] = [spaces[at - 1], spaces[at + 1]];
  const href = (space: Space | undefined) => space && addressOf(path, { space: String(space.spaceId) });
  const label = (space: Space | undefined) => namedText(shortened(space?.name ?? '', MOST_OF_NAME));
  return pager(
    { previous: href(previous), next: href(next) },
    { label: 'More spaces', previous: label(previous), next: label(next) },
  );
}

/** The only space to show, or undefined for all of them. */
type Chosen = { readonly space: Space | undefined; readonly problems: Problems };

function chosenOf(spaces: readonly Space[], query: Form): Chosen {
  const typed = query.text('space');
  const space = spaces.find(({ spaceId }) => String(spaceId) === typed);
  const isThere = typed === '' || space !== undefined;
  return { space, problems: isThere ? {} : { [isList(spaces) ? 'space' : '']: NO_SUCH_SPACE } };
}

/** Whether there are too many spaces for tabs. */
const isList = (spaces: readonly Space[]): boolean => spaces.length > MOST_TABS;

function noSuchSpace(href: string): Html {
  const all = buttonLink(href, 'Show all spaces', 'quiet');
  return emptyState('warning', 'Nothing to show', all)`The address of this page asks for a space that you do not have.`;
}

/**
 * All spaces or one: tabs for a few, a list to choose from for more.
 * @param fields the other ones of the address
 */
function spaceChoice(
  spaces: readonly Space[],
  { space: chosen, problems }: Chosen,
  path: string,
  fields: Readonly<Record<string, string>> = {},
): Html | undefined {
  if (spaces.length < 2) return undefined;
  if (!isList(spaces)) {
    const href = (space: Fields) => addressOf(path, { ...fields, ...space });
    return tabs('Space', [
      { label: 'All spaces', href: href({}), current: chosen === undefined && !hasProblems(problems) },
      ...spaces.map((space) => ({
        label: named(space.name),
        href: href({ space: String(space.spaceId) }),
        current: space === chosen,
      })),
    ]);
  }
  const hidden = Object.entries(fields).map(([name, value]) => hiddenField(name, value));
  const all = { value: '', label: `All ${spaces.length} spaces` };
  const names = spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(shortened(name)) }));
  const choice = { name: 'space', label: 'Space', value: chosen?.spaceId ?? '', problems, options: [all, ...names] };
  return html`<form class="row end space-choice" method="get" action="${path}">
${hidden}${select(choice)}<button class="button quiet">Show</button></form>`;
}

const statuses = html`${(['Pending', 'Approved', 'Completed'] as const).map(
  (status) => html`<li class="entry ${statusClass(status)}">${status}</li>`,
)}`;

const legend = html`<ul class="legend" aria-label="What the calendar shows">${statuses}
<li class="entry of-own">Own event</li><li class="entry of-shut">Closed</li></ul>`;
