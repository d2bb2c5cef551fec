import type { BookingDocument } from '../../projections/bookings.ts';
import { isPlainDate, localDate, toPlainDate } from '../domain/calendar.ts';
import type { PlainDate } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import { BOOKING_STATUSES } from '../domain/space-day.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { named, namedText } from '../html/names.ts';
import { statusBadge, statusClass, statusIcon } from './booking-views.ts';
import { addDays, clock, counted, dayAndMonth, hours, longDate, monthName, zoneName } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import { tabs } from './tabs.ts';
import { missing, type Routes, type Visit } from './visit.ts';

/** Bookings shown per day of the month view; the rest are counted. */
const PER_DAY = 3;
const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** A community's month and day views, of all its spaces or of one. */
export function calendarPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(
    '/console/calendar',
    async (visit) => {
      const { account, query } = visit;
      const spaces = await queries.spaces.list(account);
      const zone = await zoneOf(visit);
      const today = localDate(visit.now, zone);
      const month = monthOf(query.text('month')) ?? today.slice(0, 7);
      const space = spaces.find(({ spaceId }) => String(spaceId) === query.text('space'));
      const days = daysOf(month);
      const byDay = new Map<string, BookingDocument[]>();
      const [startDate, endDate] = [days[0], days.at(-1)];
      if (startDate === undefined || endDate === undefined) return missing('month');
      for await (const booking of queries.bookings.list(account, { startDate, endDate })) {
        if (space !== undefined && booking.spaceId !== space.spaceId) continue;
        if (booking.status === 'Cancelled') continue;
        byDay.set(booking.date, [...(byDay.get(booking.date) ?? []), booking]);
      }
      const href = (of: string) => `/console/calendar?month=${of}${space ? `&space=${space.spaceId}` : ''}`;
      return {
        title: `Calendar, ${monthName(month)}`,
        section: 'calendar',
        main: html`<div class="head"><div><h1>${monthName(month)}</h1><p class="lead">${zoneName(zone)}. Cancelled bookings are not shown.</p></div>
<nav class="row" aria-label="Month"><a class="button quiet" href="${href(shift(month, -1))}">${icon('back')}<span class="visually-hidden">Previous month, </span>${monthName(shift(month, -1)).split(' ')[0]}</a><a class="button quiet" href="${href(today.slice(0, 7))}">Today</a><a class="button quiet" href="${href(shift(month, 1))}"><span class="visually-hidden">Next month, </span>${monthName(shift(month, 1)).split(' ')[0]}${icon('next')}</a></nav></div>
${spaceTabs(spaces, space, (id) => `/console/calendar?month=${month}${id}`)}
${legend()}
<div id="month" data-live-region><table class="month"><caption class="visually-hidden">Bookings in ${monthName(month)}</caption>
<thead><tr>${WEEKDAYS.map((day) => html`<th scope="col">${day}</th>`)}</tr></thead>
<tbody>${weeksOf(days).map((week) => html`<tr>${week.map((day) => dayCell(day, month, today, byDay.get(day) ?? [], space))}</tr>`)}</tbody></table></div>`,
      };
    },
    'Community',
  );

  routes.get(
    '/console/calendar/:date',
    async (visit) => {
      const { account, query } = visit;
      const date = visit.params.date ?? '';
      if (!isPlainDate(date)) return missing('day');
      const spaces = await queries.spaces.list(account);
      const zone = await zoneOf(visit);
      const chosen = spaces.find(({ spaceId }) => String(spaceId) === query.text('space'));
      const shown = chosen === undefined ? spaces : [chosen];
      const bookings = await Array.fromAsync(queries.bookings.list(account, { startDate: date, endDate: date }));
      const held = bookings.filter(({ status }) => status !== 'Cancelled');
      const ofShown = (list: readonly BookingDocument[]) =>
        list.filter(({ spaceId }) => chosen === undefined || spaceId === chosen.spaceId);
      const cancelled = ofShown(bookings.filter(({ status }) => status === 'Cancelled'));
      const suffix = chosen === undefined ? '' : `?space=${chosen.spaceId}`;
      return {
        title: longDate(date),
        section: 'calendar',
        main: html`<p class="back"><a href="/console/calendar?month=${date.slice(0, 7)}">${icon('back')} ${monthName(date.slice(0, 7))}</a></p>
<div class="head"><div><h1>${longDate(date)}</h1><p class="lead">${counted(ofShown(held).length, 'booking')}, ${zoneName(zone)}</p></div>
<nav class="row" aria-label="Day"><a class="button quiet" href="/console/calendar/${addDays(date, -1)}${suffix}">${icon('back')}<span class="visually-hidden">Previous day, </span>${dayAndMonth(addDays(date, -1))}</a><a class="button quiet" href="/console/calendar/${addDays(date, 1)}${suffix}"><span class="visually-hidden">Next day, </span>${dayAndMonth(addDays(date, 1))}${icon('next')}</a></nav></div>
${spaceTabs(spaces, chosen, (id) => `/console/calendar/${date}${id.replace('&', '?')}`)}
${legend()}
<div id="day" data-live-region class="stack full">${shown.length === 0 ? noSpaces() : dayTable(shown, held, date)}
${
  cancelled.length > 0 &&
  html`<section class="stack tight"><h2>Cancelled</h2><ul class="chips">${cancelled.map((booking) => html`<li>${chip(booking, true)}</li>`)}</ul></section>`
}</div>`,
      };
    },
    'Community',
  );

  async function zoneOf({ account }: Visit): Promise<string> {
    return (await queries.spaces.community(account.id))?.timeZone ?? 'UTC';
  }
}

const noSpaces = () =>
  html`<div class="empty">${icon('space')}<h2>No spaces yet</h2><p>Add your first space, and brands can find it right away.</p><a class="button" href="/console/spaces/new">Add a space</a></div>`;

const spaceTabs = (spaces: readonly Space[], chosen: Space | undefined, href: (suffix: string) => string) =>
  spaces.length > 1 &&
  html`<nav aria-label="Space">${tabs([
    { label: 'All spaces', href: href(''), current: chosen === undefined },
    ...spaces.map((space) => ({
      label: named(space.name),
      href: href(`&space=${space.spaceId}`),
      current: space === chosen,
    })),
  ])}</nav>`;

const legend = (): Html =>
  html`<ul class="legend" aria-label="Statuses">${BOOKING_STATUSES.filter((status) => status !== 'Cancelled').map((status) => html`<li>${statusBadge(status)}</li>`)}</ul>`;

function dayCell(
  day: PlainDate,
  month: string,
  today: string,
  bookings: readonly BookingDocument[],
  space: Space | undefined,
): Html {
  const href = `/console/calendar/${day}${space ? `?space=${space.spaceId}` : ''}`;
  const where = [
    ...(day.startsWith(month) ? [] : ['outside']),
    ...(day === today ? ['today'] : []),
    ...(bookings.length === 0 ? ['free'] : []),
  ].join(' ');
  const more = bookings.length - PER_DAY;
  const inOrder = bookings.toSorted((a, b) => a.startHour - b.startHour);
  return html`<td class="${where}"><a class="day" href="${href}"><span class="visually-hidden">${longDate(day)}, ${counted(bookings.length, 'booking')}</span><span aria-hidden="true"><span class="weekday">${dayAndMonth(day).split(' ')[0]} </span>${Number(day.slice(8))}</span></a>${
    bookings.length > 0 &&
    html`<ul>${inOrder.slice(0, PER_DAY).map((booking) => html`<li>${chip(booking, space === undefined)}</li>`)}${more > 0 && html`<li><a class="small" href="${href}">${more} more</a></li>`}</ul>`
  }</td>`;
}

const chip = (booking: BookingDocument, withSpace: boolean): Html =>
  html`<a class="chip ${statusClass(booking.status)}" href="/console/bookings/${booking.bookingId}" title="${namedText(booking.brandName)}, ${namedText(booking.spaceName)}">${statusIcon(booking.status)}<span class="chip-text"><span class="visually-hidden">${booking.status}, ${hours(booking.startHour, booking.freeFrom)}, </span><span aria-hidden="true">${clock(booking.startHour)} </span>${named(booking.brandName)}${withSpace && html`<span class="chip-space"><span class="chip-comma">, </span>${named(booking.spaceName)}</span>`}</span></a>`;

/** One column per space, one row per hour; a booking spans the hours it occupies. */
function dayTable(spaces: readonly Space[], bookings: readonly BookingDocument[], date: string): Html {
  const first = Math.min(
    ...spaces.map(({ windowStart }) => windowStart),
    ...bookings.map(({ startHour }) => startHour),
  );
  const end = Math.max(
    ...spaces.map(({ windowEnd }) => windowEnd),
    ...bookings.map(({ freeFrom }) => Math.ceil(freeFrom)),
  );
  const rows = Array.from({ length: end - first }, (_, index) => first + index);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Schedule for ${longDate(date)}"><table class="day-table"><caption class="visually-hidden">Schedule for ${longDate(date)}</caption>
<thead><tr><th scope="col"><span class="visually-hidden">Hour</span></th>${spaces.map(
    (space) =>
      html`<th scope="col">${named(space.name)}${!space.active && html` <span class="muted small">(closed)</span>`}</th>`,
  )}</tr></thead>
<tbody>${rows.map(
    (hour) =>
      html`<tr><th scope="row">${clock(hour)}</th>${spaces.map((space) => hourCell(space, bookings, hour))}</tr>`,
  )}</tbody></table></div>`;
}

function hourCell(space: Space, bookings: readonly BookingDocument[], hour: number): Html | undefined {
  const here = bookings.find(
    ({ spaceId, startHour, freeFrom }) => spaceId === space.spaceId && startHour <= hour && hour < freeFrom,
  );
  if (here !== undefined) {
    if (here.startHour < hour) return undefined;
    const span = Math.ceil(here.freeFrom) - here.startHour;
    return html`<td rowspan="${span}" class="held ${statusClass(here.status)}"><a href="/console/bookings/${here.bookingId}">${named(here.brandName)}</a><span class="row">${statusBadge(here.status)}<span class="small nowrap">${hours(here.startHour, here.freeFrom)}</span></span></td>`;
  }
  const within = hour >= space.windowStart && hour < space.windowEnd;
  return within ? html`<td></td>` : html`<td class="shut"><span class="visually-hidden">Closed</span></td>`;
}

const monthOf = (text: string): string | undefined => (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text) ? text : undefined);

const shift = (month: string, by: number): string => Temporal.PlainYearMonth.from(month).add({ months: by }).toString();

/** Every day of the weeks (starting on Monday) that a month touches. */
function daysOf(month: string): PlainDate[] {
  const first = Temporal.PlainDate.from(`${month}-01`);
  const start = first.subtract({ days: first.dayOfWeek - 1 });
  const weeks = Math.ceil((first.dayOfWeek - 1 + first.daysInMonth) / 7);
  return Array.from({ length: weeks * 7 }, (_, index) => toPlainDate(start.add({ days: index })));
}

const weeksOf = (days: readonly PlainDate[]): PlainDate[][] =>
  Array.from({ length: days.length / 7 }, (_, week) => days.slice(week * 7, week * 7 + 7));
