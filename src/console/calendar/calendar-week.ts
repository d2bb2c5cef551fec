import type { BookingDocument } from '../../../projections/bookings.ts';
import { termsOn } from '../../domain/day-terms.ts';
import type { BookingId, PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { dayAndMonth, hours, longDate, shortened } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { DayClosure } from '../../queries/calendar.ts';
import { statusClass } from '../parts/booking-views.ts';
import { addressOf, ENTER } from '../parts/links.ts';
import { closureEntry, MOST_OF_NAME } from './calendar-month.ts';

export const WEEK = '/console/calendar/week';

/** Spaces on one page of a week: with as many entries as it shows, a page has at most 60 kB. */
export const SPACES_PER_PAGE = 12;
/** Bookings, closed times and own events of a space on one day; the rest are counted. */
const MOST_ENTRIES = 4;

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

/** Spaces as rows and days across; on a phone, a card for each space with the days that hold something. */
export const weekTable = (week: Week): Html => html`<div class="table-box"><table class="table week">
<caption class="visually-hidden">${captionOf(week)}</caption>
<thead><tr><th scope="col">Space</th>${week.days.map(
  (day) =>
    html`<th scope="col"${day === week.today && html` aria-current="date"`}>
<a href="/console/calendar/${day}">${labelOf(day)}</a></th>`,
)}</tr></thead>
<tbody>${week.spaces.map(
  (space) => html`<tr>${nameCell(week, space)}${week.days.map((day) => dayCell(week, space, day))}</tr>
`,
)}</tbody></table></div>`;

const captionOf = ({ days }: Week): string =>
  `Bookings, closed times and own events from ${longDate(days[0] ?? '')} to ${longDate(days.at(-1) ?? '')}`;

/** `Mon 30`. */
const labelOf = (day: PlainDate): string => dayAndMonth(day).split(' ').slice(0, 2).join(' ');

const nameCell = ({ days: [monday] }: Week, { spaceId, name }: Space): Html =>
  html`<th scope="row"><a href="/console/calendar/${monday}?space=${spaceId}">${named(name)}</a></th>`;

function dayCell(week: Week, space: Space, day: PlainDate): Html {
  const { spaceId } = space;
  const bookings = (week.bookings.get(day) ?? []).filter((booking) => booking.spaceId === spaceId);
  const closures = (week.closures.get(day) ?? []).filter(({ spaceIds }) => spaceIds.includes(spaceId));
  const entries = [
    ...closures.map(({ closure }) => closureEntry({ closure, spaceIds: [spaceId] }, [space])),
    ...bookings.map((booking) => bookingEntry(week, booking)),
  ];
  const first = entries.slice(0, MOST_ENTRIES).map((one) => html`<li>${one}</li>`);
  const more = entries.length - MOST_ENTRIES;
  const isShut = !space.active || termsOn(space, day).isClosedDay;
  return html`<td data-label="${labelOf(day)}"${entries.length === 0 && html` class="free"`}><div>${
    entries.length > 0 && html`<ul class="entries">${first}</ul>`
  }${more > 0 && html`<a class="more" href="/console/calendar/${day}?space=${spaceId}">${more} more</a>`}${
    isShut && entries.length === 0 && html`<span class="muted small">closed</span>`
  }${week.takesEntries(day) && !isShut && freeLink(space, day)}</div></td>`;
}

function bookingEntry({ opened, bookingHref }: Week, booking: BookingDocument): Html {
  const { bookingId, status, startHour, freeFrom, brandName } = booking;
  const current = bookingId === opened && html` aria-current="true"`;
  return html`<a class="entry ${statusClass(status)}" id="b${bookingId}" href="${bookingHref(bookingId)}"${current}>
<span class="visually-hidden">${status}, </span>${hours(startHour, freeFrom)}
<span class="what">${named(shortened(brandName, MOST_OF_NAME))}</span></a>`;
}

/** Opens the form of a booking of that day. */
function freeLink({ spaceId, name, windowStart }: Space, day: PlainDate): Html {
  const href = addressOf(ENTER, { space: String(spaceId), date: day, startHour: String(windowStart) });
  const what = html`<span class="visually-hidden">Enter: ${named(shortened(name, MOST_OF_NAME))}, ${dayAndMonth(day)}</span>`;
  return html`<a class="enter small" href="${href}"><span aria-hidden="true">+</span>${what}</a>`;
}
