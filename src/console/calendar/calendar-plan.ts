import type { BookingDocument } from '../../../projections/bookings.ts';
import type { ReadableClosure } from '../../../projections/closures.ts';
import type { BookingId, PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { yieldEvery } from '../../event-loop/slices.ts';
import { clock, hours, longDate } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import { statusClass } from '../parts/booking-views.ts';
import { addressOf, ENTER } from '../parts/links.ts';
import { CLOSURES, titleOf } from './closures.ts';
import { type Period, periodsOf, rowsOf, type Scale, scaleOf } from './plan-periods.ts';

type Direction = 'across' | 'down';

/** What the plan of a day shows. */
export type Plan = {
  readonly date: PlainDate;
  readonly spaces: readonly Space[];
  readonly bookings: readonly BookingDocument[];
  readonly closures: readonly ReadableClosure[];
  /** Minutes since midnight by the clocks of the spaces, on this day only. */
  readonly minuteNow: number | undefined;
  /** Whether own events can be entered on this day. */
  readonly takesEvents: boolean;
  /** The booking that is shown beside the plan. */
  readonly opened: BookingId | undefined;
  /** The address of the day with a booking beside the plan. */
  readonly bookingHref: (id: BookingId) => string;
};

/** A plan with spaces as rows and hours across. On a phone it is a list of what is booked, by space (`calendar.css`). */
export async function planOfSpaces(plan: Plan): Promise<Html> {
  const rows = rowsOf(plan.spaces, plan.date, plan.bookings, plan.closures);
  const scale = scaleOf(rows);
  const perHour = 1 / scale.step;
  const headings = hoursOf(scale).map(
    (hour) => html`<th scope="col"${spanning('col', perHour)}${isNow(plan, hour)}>${clock(hour)}</th>`,
  );
  const nextSlice = yieldEvery(1);
  const lines: Html[] = [];
  for (const row of rows) {
    await nextSlice();
    const cells = periodsOf(row, plan.date, scale).map((period) =>
      cell(plan, row.space, period, spanning('col', (period.until - period.from) * perHour)),
    );
    lines.push(html`<tr><th scope="row">${nameOf(row.space)}</th>${cells}</tr>
`);
  }
  return region(
    plan,
    scale,
    'across',
    html`<p class="in-list muted">${
      plan.bookings.length === 0 ? 'Nothing is booked here on this day.' : 'What is booked, by space.'
    } Choose a space to see its day to scale.</p>`,
    html`<table class="plan-table">${captionOf(plan)}
<thead><tr><th scope="col">Space</th>${headings}</tr>${scale.step === 0.5 && ruler(scale)}</thead>
<tbody>${lines}</tbody></table>`,
  );
}

/** A row without height that makes all columns of half hours equally wide: headings span two. */
const ruler = ({ first, end }: Scale): Html =>
  html`<tr class="ruler" aria-hidden="true"><td></td>${Array.from({ length: (end - first) * 2 }, () => html`<td></td>`)}</tr>`;

/** The day of one space, with its hours down, to scale on every screen. */
export function planOfSpace(plan: Plan): Html {
  const [row] = rowsOf(plan.spaces, plan.date, plan.bookings, plan.closures);
  if (row === undefined) return html``;
  const scale = scaleOf([row]);
  const perHour = 1 / scale.step;
  const periods = new Map(periodsOf(row, plan.date, scale).map((period) => [period.from, period]));
  const cellAt = (hour: number): Html | undefined => {
    const period = periods.get(hour);
    return period && cell(plan, row.space, period, spanning('row', (period.until - period.from) * perHour));
  };
  const hourRows = hoursOf(scale).map((hour) => {
    const heading = html`<th scope="row"${spanning('row', perHour)}${isNow(plan, hour)}>${clock(hour)}</th>`;
    return html`<tr>${heading}${cellAt(hour)}</tr>${scale.step === 0.5 && html`<tr>${cellAt(hour + 0.5)}</tr>`}
`;
  });
  return region(
    plan,
    scale,
    'down',
    undefined,
    html`<table class="plan-table${scale.step === 0.5 && ' halves'}">${captionOf(plan)}
<thead class="visually-hidden"><tr><th scope="col">Hour</th><th scope="col">${named(row.space.name)}</th></tr></thead>
<tbody>${hourRows}</tbody></table>`,
  );
}

/** Updates replace only the content of the scrolling element, so its scroll position stays. */
const region = (
  plan: Plan,
  scale: Scale,
  direction: Direction,
  before: Html | undefined,
  table: Html,
): Html => html`<div class="plan ${direction}" id="day" data-live-region
tabindex="0" role="region" aria-label="${aboutOf(plan)}">
${before}<div class="sheet">${hourLines(scale, direction)}${table}${nowLine(plan, scale, direction)}</div></div>`;

const aboutOf = ({ date }: Plan): string => `Schedule for ${longDate(date)}`;

const captionOf = (plan: Plan): Html =>
  html`<caption class="visually-hidden">${aboutOf(plan)}.
A booking opens beside it${plan.takesEvents && ', free hours open the form for a booking'}.</caption>`;

const hoursOf = ({ first, end }: Scale): readonly number[] =>
  Array.from({ length: end - first }, (_, index) => first + index);

const isNow = ({ minuteNow }: Plan, hour: number): Html | false =>
  minuteNow !== undefined && Math.floor(minuteNow / 60) === hour && html` aria-current="time"`;

const spanning = (direction: 'col' | 'row', count: number): Html | undefined => {
  if (count <= 1) return undefined;
  return direction === 'col' ? html` colspan="${count}"` : html` rowspan="${count}"`;
};

/** A line at the current minute, which `plan.js` moves on. */
function nowLine({ minuteNow }: Plan, { first, end }: Scale, direction: Direction): Html | undefined {
  const minutes = (end - first) * 60;
  const at = (minuteNow ?? -1) - first * 60;
  if (at < 0 || at >= minutes) return undefined;
  return overlay('now', minutes, direction, [at]);
}

/** Behind the cells, because free time is one cell. */
const hourLines = ({ first, end }: Scale, direction: Direction): Html =>
  overlay(
    'hours',
    end - first,
    direction,
    Array.from({ length: end - first - 1 }, (_, index) => index + 1),
  );

/** Lines over the hours of a plan, at these places of its length. */
function overlay(name: string, length: number, direction: Direction, places: readonly number[]): Html {
  const [box, lines] =
    direction === 'across'
      ? [`0 0 ${length} 1`, places.map((at) => `M${at} 0v1`)]
      : [`0 0 1 ${length}`, places.map((at) => `M0 ${at}h1`)];
  const path = lines.join('');
  return html`<svg class="overlay ${name}" aria-hidden="true" viewBox="${box}" preserveAspectRatio="none"><path d="${path}"/></svg>`;
}

/** The name of a space, as the link to its own day. */
const nameOf = (space: Space): Html => html`<a href="?space=${space.spaceId}">${named(space.name)}</a>`;

function cell(plan: Plan, space: Space, { from, until, holder }: Period, span: Html | undefined): Html {
  if (holder === undefined) return freeCell(plan, space, from, until, span);
  switch (holder.kind) {
    case 'Booking':
      return bookingCell(plan, holder.booking, span);
    case 'Closure':
      return closureCell(holder.closure, span);
    case 'Shut':
      return html`<td${span} class="shut${!holder.isWholeDay && ' outside'}"><span class="why">${holder.why}</span></td>`;
    default:
      return holder satisfies never;
  }
}

/** Bookings and own events begin on whole hours. */
function freeCell(plan: Plan, space: Space, from: number, until: number, span: Html | undefined): Html {
  const [start, end] = [Math.ceil(from), Math.floor(until)];
  if (!plan.takesEvents || start >= end) return html`<td${span}></td>`;
  const fields = { space: `${space.spaceId}`, date: plan.date, startHour: `${start}`, free: `${end}` };
  return html`<td${span} class="free"><a href="${addressOf(ENTER, fields)}"
aria-label="Free ${hours(start, end)}"></a></td>`;
}

function bookingCell({ bookingHref, opened }: Plan, booking: BookingDocument, span: Html | undefined): Html {
  const { bookingId, brandName, startHour, freeFrom, status } = booking;
  const current = bookingId === opened && html` aria-current="true"`;
  return html`<td${span} class="held ${statusClass(status)}"><a id="b${bookingId}" href="${bookingHref(bookingId)}"${current}>
${named(brandName)} <span class="time">${hours(startHour, freeFrom)}</span> <span class="word">${status}</span></a></td>`;
}

const closureCell = (closure: ReadableClosure, span: Html | undefined): Html => {
  const isWholeDay = closure.start === 0 && closure.until === 24;
  const time = !isWholeDay && html` <span class="time">${hours(closure.start, closure.until)}</span>`;
  return html`<td${span} class="${closure.kind === 'OwnEvent' ? 'own' : 'shut'}">
<a class="why" href="${CLOSURES}/${closure.closureId}">${named(titleOf(closure))}${time}</a></td>`;
};
