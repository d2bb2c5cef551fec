import type { BookingDocument } from '../../../projections/bookings.ts';
import { daysLater, isMonth, isPlainDate, localDate, monthsLater } from '../../domain/calendar.ts';
import type { Space } from '../../domain/space.ts';
import { BOOKING_STATUSES } from '../../domain/space-day.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { NO_SUCH_SPACE } from '../parts/addressed.ts';
import { addressOf, type Fields } from '../parts/addresses.ts';
import { statusClass } from '../parts/booking-views.ts';
import { formProblem, hasProblems, NO_PROBLEMS, type Problems, select, statusOf } from '../parts/fields.ts';
import { dayAndMonth, longDate, monthName, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { tabs } from '../parts/tabs.ts';
import { monthProblem } from '../parts/typed-dates.ts';
import { idOf, missing, type Routes, type Visit } from '../parts/visit.ts';
import { cancelledList, dayTable, groupPager, groupsOf, groupTabs } from './calendar-day.ts';
import { countsOf } from './calendar-entry.ts';
import { daysOf, monthTable } from './calendar-month.ts';

const PATH = '/console/calendar';

/** More spaces than this are chosen from a list instead of tabs. */
const MOST_TABS = 5;
/** Cancelled bookings below the schedule of a day. */
const MOST_CANCELLED = 20;

/** A community's month and day views, of all its spaces or of one. */
export function calendarPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(
    PATH,
    async (visit) => {
      const { account, query } = visit;
      const [spaces, zone] = await Promise.all([queries.spaces.list(account), zoneOf(visit)]);
      const today = localDate(visit.now, zone);
      const asked = query.text('month');
      const month = isMonth(asked) ? asked : today.slice(0, 7);
      const chosen = chosenOf(spaces, visit);
      const { space } = chosen;
      const problems = { ...chosen.problems, ...monthProblem(asked, month) };
      const days = daysOf(month).filter(isPlainDate);
      const byDay = new Map<string, BookingDocument[]>();
      const [startDate, endDate] = [days[0], days.at(-1)];
      if (startDate === undefined || endDate === undefined) return missing('month');
      for (const booking of await queries.bookings.between(account, startDate, endDate, space?.spaceId))
        if (booking.status !== 'Cancelled') byDay.getOrInsertComputed(booking.date, () => []).push(booking);
      const [before, after] = [monthsLater(month, -1), monthsLater(month, 1)];
      const href = (of: string) => addressOf(PATH, { month: of, space: space?.spaceId.toString() });
      return {
        title: `Calendar, ${monthName(month)}`,
        section: 'calendar',
        status: statusOf(problems),
        main: html`<div class="head"><div><h1>${monthName(month)}</h1><p class="lead">${zoneName(zone)}. Cancelled bookings are not shown.</p></div>
<nav class="row" aria-label="Month">${isMonth(before) && html`<a class="button quiet" href="${href(before)}">${icon('back')}<span class="visually-hidden">Previous month, </span>${monthName(before).split(' ')[0]}</a>`}<a class="button quiet" href="${href(today.slice(0, 7))}#today">Today</a>${isMonth(after) && html`<a class="button quiet" href="${href(after)}"><span class="visually-hidden">Next month, </span>${monthName(after).split(' ')[0]}${icon('next')}</a>`}</nav></div>
${formProblem(problems)}
<div class="row apart end">${spaceChoice(spaces, chosen, PATH, { month })}${legend()}</div>
<div id="month" data-live-region>${hasProblems(chosen.problems) ? nothingShown(href(month)) : monthTable(month, today, byDay, space)}</div>`,
      };
    },
    'Community',
  );

  routes.get(
    `${PATH}/:date`,
    async (visit) => {
      const { account, query } = visit;
      const date = visit.params.date ?? '';
      if (!isPlainDate(date)) return missing('day');
      const [spaces, zone] = await Promise.all([queries.spaces.list(account), zoneOf(visit)]);
      const chosen = chosenOf(spaces, visit);
      const { space: only, problems } = chosen;
      const bookings = await queries.bookings.between(account, date, date, only?.spaceId);
      const held = bookings.filter(({ status }) => status !== 'Cancelled');
      const groups = groupsOf(only === undefined ? spaces : [only], held);
      const current = Math.min(idOf(query.text('group')) ?? 1, groups.length) - 1;
      const group = groups[current];
      const shown = new Set(group?.spaces.map(({ spaceId }) => spaceId));
      const cancelled = bookings.filter(({ status, spaceId }) => status === 'Cancelled' && shown.has(spaceId));
      const space = only?.spaceId.toString();
      const [before, after] = [daysLater(date, -1), daysLater(date, 1)];
      const hrefOf = (day: string) => addressOf(`${PATH}/${day}`, { space });
      const groupHref = (group: number) => addressOf(`${PATH}/${date}`, { group: String(group) });
      const local = Temporal.Instant.fromEpochMilliseconds(visit.now).toZonedDateTimeISO(zone);
      const hourNow = local.toPlainDate().toString() === date ? local.hour : undefined;
      return {
        title: longDate(date),
        section: 'calendar',
        status: statusOf(problems),
        main: html`<p class="back"><a href="${addressOf(PATH, { month: date.slice(0, 7), space })}">${icon('back')} ${monthName(date.slice(0, 7))}</a></p>
<div class="head"><div><h1>${longDate(date)}</h1><p class="lead" id="day-counts" data-live-region>${!hasProblems(problems) && html`${countsOf(held) ?? 'No bookings'}, `}${zoneName(zone)}</p></div>
<nav class="row" aria-label="Day">${isPlainDate(before) && html`<a class="button quiet" href="${hrefOf(before)}">${icon('back')}<span class="visually-hidden">Previous day, </span>${dayAndMonth(before)}</a>`}${isPlainDate(after) && html`<a class="button quiet" href="${hrefOf(after)}"><span class="visually-hidden">Next day, </span>${dayAndMonth(after)}${icon('next')}</a>`}</nav></div>
${formProblem(problems)}
${spaces.length > 0 && html`<div class="row apart end">${spaceChoice(spaces, chosen, `${PATH}/${date}`)}${legend()}</div>`}
${
  hasProblems(problems)
    ? nothingShown(hrefOf(date))
    : group === undefined
      ? noSpaces()
      : html`${groupTabs(groups, current, spaces.length, groupHref)}
${dayTable(group, date, hourNow, only === undefined ? ({ spaceId }) => `?space=${spaceId}` : undefined)}
${groupPager(groups, current, groupHref)}
<div id="day-cancelled" data-live-region>${cancelledList(cancelled, date, MOST_CANCELLED)}</div>`
}`,
      };
    },
    'Community',
  );

  async function zoneOf({ account }: Visit): Promise<string> {
    return (await queries.spaces.community(account.id))?.timeZone ?? 'UTC';
  }
}

/** The space whose bookings alone are shown, or undefined for all of them, and what is wrong with what was asked for. */
type Chosen = { readonly space: Space | undefined; readonly problems: Problems };

function chosenOf(spaces: readonly Space[], { query }: Visit): Chosen {
  const asked = query.text('space');
  const space = spaces.find(({ spaceId }) => String(spaceId) === asked);
  const isThere = asked === '' || space !== undefined;
  return { space, problems: isThere ? NO_PROBLEMS : { [isList(spaces) ? 'space' : '']: NO_SUCH_SPACE } };
}

/** Whether the spaces are too many for tabs, and chosen from a list. */
const isList = (spaces: readonly Space[]): boolean => spaces.length > MOST_TABS;

const nothingShown = (all: string): Html =>
  html`<div class="empty">${icon('warning')}<h2>Nothing is shown</h2><p>The address of this page asks for a space that you do not have.</p><a class="button quiet" href="${all}">Show all spaces</a></div>`;

const noSpaces = () =>
  html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Add your first space, and brands can find it right away.</p><a class="button" href="/console/spaces/new">Add a space</a></div>`;

/**
 * All spaces or one: tabs for a few, a list to choose from for more.
 * @param kept what else the address of the page says
 */
function spaceChoice(
  spaces: readonly Space[],
  { space: chosen, problems }: Chosen,
  path: string,
  kept: Readonly<Record<string, string>> = {},
): Html | undefined {
  if (spaces.length < 2) return undefined;
  if (isList(spaces))
    return html`<form class="row end space-choice" method="get" action="${path}">${Object.entries(kept).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${select(
      {
        name: 'space',
        label: 'Space',
        value: chosen === undefined ? '' : String(chosen.spaceId),
        problems,
        options: [
          { value: '', label: `All ${spaces.length} spaces` },
          ...spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(name) })),
        ],
      },
    )}<button class="button quiet">Show</button></form>`;
  const href = (space: Fields) => addressOf(path, { ...kept, ...space });
  return html`<nav aria-label="Space">${tabs([
    { label: 'All spaces', href: href({}), current: chosen === undefined && !hasProblems(problems) },
    ...spaces.map((space) => ({
      label: named(space.name),
      href: href({ space: String(space.spaceId) }),
      current: space === chosen,
    })),
  ])}</nav>`;
}

const legend = (): Html =>
  html`<ul class="legend" aria-label="Statuses">${BOOKING_STATUSES.filter((status) => status !== 'Cancelled').map((status) => html`<li class="entry ${statusClass(status)}">${status}</li>`)}</ul>`;
