import type { BookingDocument } from '../../../projections/bookings.ts';
import { daysLater, isPlainDate, toPlainDate } from '../../domain/calendar.ts';
import { termsOn } from '../../domain/day-terms.ts';
import type { BookingId, PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { dayAndMonth, hours, longDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { DayClosure } from '../../queries/calendar.ts';
import { statusClass } from '../parts/booking-views.ts';
import { addressOf, ENTER } from '../parts/links.ts';
import { type Column, column, dataTable, rowHeading } from '../parts/tables.ts';
import { closureEntry } from './calendar-month.ts';

export const WEEK = '/console/calendar/week';

/** Spaces on one page of a week: with as many entries as it shows, a page has at most 60 kB. */
export const SPACES_PER_PAGE = 12;
/** Bookings, closed times and own events of a space on one day; the rest are counted. */
const MOST_ENTRIES = 4;

/** Monday to Sunday of the week of a date. */
export function weekOf(date: PlainDate): readonly PlainDate[] {
  const day = Temporal.PlainDate.from(date);
  const monday = toPlainDate(day.subtract({ days: day.dayOfWeek - 1 }));
  // The calendar ends with the year 9999, in the middle of a week.
  return Array.from({ length: 7 }, (_, index) => daysLater(monday, index)).filter(isPlainDate);
}

/** What a week shows of some spaces. */
export type Week = {
  readonly days: readonly PlainDate[];
  readonly today: PlainDate;
  readonly spaces: readonly Space[];
  readonly bookings: ReadonlyMap<PlainDate, readonly BookingDocument[]>;
  readonly closures: ReadonlyMap<PlainDate, readonly DayClosure[]>;
  /** Whether bookings can be entered on a day. */
  readonly takesEntries: (date: PlainDate) => boolean;
  /** The booking that is shown beside the week. */
  readonly opened: BookingId | undefined;
  /** The address of the week with a booking beside it. */
  readonly bookingHref: (id: BookingId) => string;
};

/** Spaces as rows and days across; on a phone, a card for each space. */
export const weekTable = (week: Week): Html =>
  dataTable({ caption: captionOf(week), classes: 'week' }, week.spaces, [
    rowHeading('Space', 'long', ({ spaceId, name }) => {
      const [monday] = week.days;
      return html`<a href="/console/calendar/${monday}?space=${spaceId}">${named(name)}</a>`;
    }),
    ...week.days.map((day) => dayColumn(week, day)),
  ]);

const captionOf = ({ days }: Week): string =>
  `Bookings, closed times and own events from ${longDate(days[0] ?? '')} to ${longDate(days.at(-1) ?? '')}`;

function dayColumn(week: Week, day: PlainDate): Column<Space> {
  const [weekday, date] = dayAndMonth(day).split(' ');
  const label = html`<a href="/console/calendar/${day}">${weekday} ${date}</a>`;
  const isToday = day === week.today;
  return { ...column<Space>(label, isToday ? 'today' : '', (space) => dayCell(week, space, day)), isLabelled: true };
}

function dayCell(week: Week, space: Space, day: PlainDate): Html {
  const { spaceId } = space;
  const bookings = (week.bookings.get(day) ?? []).filter((booking) => booking.spaceId === spaceId);
  const closures = (week.closures.get(day) ?? []).filter(({ spaceIds }) => spaceIds.includes(spaceId));
  const entries = [
    ...closures.map(({ closure }) => closureEntry({ closure, spaceIds: [spaceId] }, [space])),
    ...bookings.map((booking) => bookingEntry(week, booking)),
  ];
  const href = `/console/calendar/${day}?space=${spaceId}`;
  const more = entries.length - MOST_ENTRIES;
  const isShut = !space.active || termsOn(space, day).isClosedDay;
  const free = week.takesEntries(day) && !isShut && freeLink(space, day);
  return html`${
    entries.length > 0 &&
    html`<ul class="entries">${entries.slice(0, MOST_ENTRIES).map((one) => html`<li>${one}</li>`)}</ul>`
  }${more > 0 && html`<a class="more" href="${href}">${more} more</a>`}${
    isShut && entries.length === 0 && html`<span class="muted small">closed</span>`
  }${free}`;
}

function bookingEntry({ opened, bookingHref }: Week, booking: BookingDocument): Html {
  const { bookingId, status, startHour, freeFrom, brandName } = booking;
  const current = bookingId === opened && html` aria-current="true"`;
  return html`<a class="entry ${statusClass(status)}" id="b${bookingId}" href="${bookingHref(bookingId)}"${current}>
<span class="visually-hidden">${status}, </span>${hours(startHour, freeFrom)} <span class="what">${named(brandName)}</span></a>`;
}

/** Opens the form of a booking of that day. */
function freeLink({ spaceId, name, windowStart }: Space, day: PlainDate): Html {
  const href = addressOf(ENTER, { space: String(spaceId), date: day, startHour: String(windowStart) });
  const what = html`<span class="visually-hidden">Enter a booking of ${named(name)}, ${longDate(day)}</span>`;
  return html`<a class="enter small" href="${href}"><span aria-hidden="true">+</span>${what}</a>`;
}
