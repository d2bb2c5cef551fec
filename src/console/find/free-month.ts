import { daysOfMonth, isMonth, isYearsLater, localDate, monthsLater } from '../../domain/calendar.ts';
import { termsOn } from '../../domain/day-terms.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { PlainDate } from '../../domain/ids.ts';
import { MAX_YEARS_AHEAD } from '../../domain/limits.ts';
import type { Space } from '../../domain/space.ts';
import { dayAndMonth, longDate, monthName, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { neighbours } from '../parts/links.ts';
import { weeksTable } from '../parts/month-days.ts';
import { type ConsoleRoutes, type PageDeps, spaceRoutes } from '../parts/routes.ts';
import { monthProblem } from '../parts/typed-dates.ts';
import { type CarriedFields, hourIn, monthPath, spacePath } from './space-path.ts';

/** A day has few free times if at most one in so many of its start times is free. */
const FEW = 3;

type FreeDays = ReadonlyMap<PlainDate, readonly number[]>;

/** The free days of a space in a month. */
export function freeMonthPages({ brand }: ConsoleRoutes, { queries }: PageDeps): void {
  spaceRoutes(brand, queries).get('/console/find/:id/month', 'Viewer', async (visit, space) => {
    const { account, query, now } = visit;
    const { spaceId } = space;
    const today = localDate(now, space.timeZone);
    const typed = query.text('month');
    const month = isMonth(typed) ? typed : today.slice(0, 7);
    const { startDate: from, endDate: to } = daysOfMonth(month);
    const open = await queries.openDays({ account, spaceIds: [spaceId], from, to, limit: 31 });
    const free: FreeDays = new Map(isRefusal(open) ? [] : open.days.map(({ date, openHours }) => [date, openHours]));
    const again = query.integer('again');
    const carried: CarriedFields = {
      start: hourIn(query, 'start'),
      again: Number.isNaN(again) ? undefined : again,
      via: visit.via,
    };
    const isLast = isYearsLater(daysOfMonth(monthsLater(month, 1)).startDate, today, MAX_YEARS_AHEAD);
    const link = (to: string) => ({ href: monthPath(spaceId, to, carried), label: monthName(to) });
    return {
      title: `${namedText(space.name)}, ${monthName(month)}`,
      heading: monthName(month),
      lead: html`Free start times of ${named(space.name)}, ${zoneName(space.timeZone)}.`,
      back: {
        href: spacePath(spaceId, { ...carried, date: month < today.slice(0, 7) ? today : from }),
        label: namedText(space.name),
      },
      actions: neighbours(
        'Month',
        month > today.slice(0, 7) && link(monthsLater(month, -1)),
        !isLast && link(monthsLater(month, 1)),
      ),
      problems: monthProblem(typed, month),
      main: monthTable(space, month, { today, free, carried }),
    };
  });
}

type Month = { readonly today: PlainDate; readonly free: FreeDays; readonly carried: CarriedFields };

const monthTable = (space: Space, month: string, of: Month): Html =>
  weeksTable(month, {
    classes: 'free-month',
    caption: html`<caption class="visually-hidden">Free start times in ${monthName(month)}</caption>`,
    cell: (day) => (day.startsWith(month) ? dayCell(space, day, of) : html`<td class="outside"></td>`),
  });

function dayCell(space: Space, day: PlainDate, { today, free, carried }: Month): Html {
  const { kind, text } = freedomOf(space, day, free.get(day)?.length ?? 0);
  const date = html`<span class="date" aria-hidden="true">${Number(day.slice(8))}</span>`;
  if (day < today)
    return html`<td class="is-none"><span class="free-day">${date}
<span class="visually-hidden">${dayAndMonth(day)}, past</span></span></td>`;
  const spoken = html`<span class="visually-hidden">${longDate(day)}, </span>`;
  const href = spacePath(space.spaceId, { ...carried, date: day });
  return html`<td class="is-${kind}"><a href="${href}" class="free-day">${spoken}${date}<span class="small">${text}</span></a></td>`;
}

/** How free a day is: in words with a number, and in one word for its look. */
function freedomOf(space: Space, day: PlainDate, count: number): { readonly kind: string; readonly text: string } {
  const { isClosedDay, windowStart, windowEnd } = termsOn(space, day);
  if (count === 0) return { kind: 'none', text: isClosedDay ? 'closed' : 'none free' };
  const isFew = count * FEW <= windowEnd - windowStart;
  return isFew ? { kind: 'few', text: `only ${count} free` } : { kind: 'many', text: `${count} free` };
}
