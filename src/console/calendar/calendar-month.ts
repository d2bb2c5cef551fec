import type { BookingDocument } from '../../../projections/bookings.ts';
import { isPlainDate } from '../../domain/calendar.ts';
import { hoursBetween } from '../../domain/hours.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { clock, counted, dayAndMonth, longDate, monthName, shortened } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { type BookingCounts, type DayClosure, NO_BOOKINGS, type OpenDays } from '../../queries/calendar.ts';
import { stateOf, statusClass } from '../parts/booking-views.ts';
import { weeksTable } from '../parts/month-days.ts';

/** Lines of a day: closed times and own events, then spaces with bookings, or the bookings of the only space. The rest are counted. */
export const PER_DAY = 3;
/** Lines of a day of the months beside it, so that a page stays small. */
const PER_OTHER_DAY = 1;

/** A space with bookings on a day. */
export type SpaceOfDay = { readonly space: Space; readonly counts: BookingCounts };

/** The bookings of a day, by space or, if one space was chosen, the first of them; and what closes hours of it. */
export type DayOfMonth = {
  readonly counts: BookingCounts;
  readonly spaces: readonly SpaceOfDay[];
  readonly first: readonly BookingDocument[];
  readonly closures: readonly DayClosure[];
};

/** Characters of a name in a line, of which fewer are in sight. */
export const MOST_OF_NAME = 22;

const NOTHING: DayOfMonth = { counts: NO_BOOKINGS, spaces: [], first: [], closures: [] };

/** The spaces that the month shows. */
export type MonthSpaces = { readonly shown: readonly Space[]; readonly only: Space | undefined };

/** The weeks of a month; on a phone a list of the days that have bookings (`calendar.css`). */
export const monthTable = (
  month: string,
  today: string,
  byDay: ReadonlyMap<string, DayOfMonth>,
  spaces: MonthSpaces,
): Html =>
  weeksTable(month, {
    classes: 'month',
    caption: html`<caption class="visually-hidden">Bookings and closed times in ${monthName(month)}</caption>`,
    cell: (day) => dayCell(day, month, today, byDay.get(day) ?? NOTHING, spaces),
  });

function dayCell(
  day: PlainDate,
  month: string,
  today: string,
  { counts, spaces, first, closures }: DayOfMonth,
  { shown, only }: MonthSpaces,
): Html {
  // The calendar ends with the year 9999, in the middle of a week.
  if (!isPlainDate(day)) return html`<td class="outside free"></td>`;
  const href = `/console/calendar/${day}${only ? `?space=${only.spaceId}` : ''}`;
  const isInMonth = day.startsWith(month);
  const total = counts.pending + counts.booked;
  const classes = [
    ...(isInMonth ? [] : ['outside']),
    ...(day === today ? ['today'] : []),
    ...(total === 0 && closures.length === 0 ? ['free'] : []),
  ].join(' ');
  const most = isInMonth ? PER_DAY : PER_OTHER_DAY;
  const left = Math.max(0, most - closures.length);
  const lines = [
    ...closures.slice(0, most).map((one) => closureEntry(one, shown)),
    ...(only
      ? first.slice(0, left).map((booking) => entry(booking, false))
      : spaces.slice(0, left).map((one) => spaceEntry(one, day))),
  ];
  const more = closures.length + (only ? total : spaces.length) - lines.length;
  const spoken = html`<span class="visually-hidden">${longDate(day)}${total === 0 ? ', no bookings' : ', '}</span>`;
  const weekday = html`<span class="weekday">${dayAndMonth(day).split(' ')[0]} </span>`;
  const date = html`<span class="date" aria-hidden="true">${weekday}${Number(day.slice(8))}</span>`;
  const totals = total > 0 && html` <span class="counts">${countsText(counts)}</span>`;
  const target = day === today && html`<span id="today"></span>`;
  return html`<td class="${classes}">${target}<a class="day" href="${href}">${spoken}${date}${totals}</a>${
    lines.length > 0 && html`<ul class="entries">${lines.map((line) => html`<li>${line}</li>`)}</ul>`
  }${
    more > 0 &&
    html`<a class="more" href="${href}">+${more} more<span class="visually-hidden"> on ${dayAndMonth(day)}</span></a>`
  }</td>`;
}

/** A space with bookings in one line: its name and how many. The dot is that of a request while one of them waits. */
function spaceEntry({ space, counts }: SpaceOfDay, day: PlainDate): Html {
  const { pending, booked } = counts;
  const status = statusClass(pending > 0 ? 'Pending' : 'Approved');
  return html`<a class="entry ${status}" href="/console/calendar/${day}?space=${space.spaceId}">
<span class="what">${named(shortened(space.name, MOST_OF_NAME))} <span aria-hidden="true">${pending + booked}</span>
<span class="visually-hidden">: ${countsText(counts)}</span></span></a>`;
}

/**
 * A booking in one line: a dot for its status, time, brand.
 * @param withSpace whether to name its space
 */
export const entry = (booking: BookingDocument, withSpace: boolean): Html =>
  html`<a class="entry ${statusClass(booking.status)}" href="/console/bookings/${booking.bookingId}">${
    booking.status === 'Cancelled'
      ? `${stateOf(booking)}, `
      : html`<span class="visually-hidden">${booking.status}, </span>`
  }${clock(booking.startHour)} <span class="what">${named(shortened(booking.brandName, MOST_OF_NAME))}${
    withSpace && html`<span class="where">, ${named(shortened(booking.spaceName, MOST_OF_NAME))}</span>`
  }</span></a>`;

/** A closed time or own event in one line: its hours, unless it is the whole day, what it is, and which of the shown spaces it closes. */
export function closureEntry({ closure, spaceIds }: DayClosure, shown: readonly Space[]): Html {
  const { closureId, kind, start, until, title } = closure;
  const time = start === 0 && until === 24 ? '' : `${hoursBetween(start, until)} `;
  const what = kind === 'OwnEvent' ? (title ?? 'Own event') : title === undefined ? 'Closed' : `Closed: ${title}`;
  const [only, ...others] = shown.filter(({ spaceId }) => spaceIds.includes(spaceId));
  const isAll = spaceIds.length === shown.length;
  const all = shown.length > 1 ? 'all spaces' : undefined;
  const where = isAll ? all : others.length === 0 ? only?.name : counted(spaceIds.length, 'space');
  const name = html`${named(what)}${where !== undefined && html`<span class="where">, ${named(shortened(where, MOST_OF_NAME))}</span>`}`;
  return html`<a class="entry ${kind === 'OwnEvent' ? 'of-own' : 'of-shut'}" href="/console/calendar/closures/${closureId}">
${time}<span class="what">${name}</span></a>`;
}

/** `9 booked · 2 pending`; undefined if there are no bookings. */
export function countsText({ pending, booked }: BookingCounts): Html | undefined {
  if (pending + booked === 0) return undefined;
  return html`${booked > 0 && `${booked} booked`}${booked > 0 && pending > 0 && ' · '}${
    pending > 0 && html`<span class="waiting">${pending} pending</span>`
  }`;
}

/** Spaces whose open days a month lists; the others are chosen one by one. */
const MOST_SPACES = 100;

/** How many open days of the month have bookings: a sentence for the space that was chosen, a list for all. */
export function openDaysList(month: string, days: readonly OpenDays[], isOnly: boolean): Html | undefined {
  const [first] = days;
  if (first === undefined) return undefined;
  if (isOnly) return html`<p>${openDaysText(first)} in ${monthName(month)}.</p>`;
  const more = days.length - MOST_SPACES;
  return html`<section class="stack tight full"><h2>Open days booked</h2><ul class="open-days">${days
    .slice(0, MOST_SPACES)
    .map(
      (one) => html`<li><a href="?month=${month}&amp;space=${one.space.spaceId}">${named(one.space.name)}</a>
<meter aria-hidden="true" value="${one.booked}" max="${one.open}"></meter>${openDaysText(one)}</li>`,
    )}</ul>${more > 0 && html`<p>And ${more} more spaces: choose one above.</p>`}</section>`;
}

/** `15 of 30 open days booked` */
const openDaysText = ({ space, open, booked }: OpenDays): string =>
  space.active ? `${booked} of ${counted(open, 'open day')} booked` : 'Closed: takes no bookings';
