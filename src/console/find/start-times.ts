import type { DayTerms } from '../../domain/day-terms.ts';
import type { PlainDate } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { type ClosedKind, horizonOf, type TimeSlot } from '../../domain/time-slots.ts';
import { clock, duration, shortDate } from '../../html/formats.ts';
import { flag, type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { errorText } from '../parts/forms.ts';
import type { Problems } from '../parts/typed-form.ts';

/** The start times of a space on one day. */
export type StartTimes = {
  readonly slots: readonly TimeSlot[];
  /** Why no event can start at an hour. */
  closed(hour: number): ClosedKind | undefined;
  /** The hour from which the space is free after an event that starts at an hour. */
  freeFrom(hour: number): number;
};

type Reason = { readonly short: string; long(space: Space): string };

/** Why an hour is closed: on its tile, and in a sentence. Neither reveals who has booked it. */
export const CLOSED: { readonly [K in ClosedKind]: Reason } = {
  Inactive: { short: 'closed', long: () => 'the space is closed' },
  OutsideWindow: { short: 'closed', long: () => 'the space is not open then' },
  TooFar: { short: 'too far ahead', long: (space) => `bookings are taken for the next ${horizonOf(space)}` },
  TooSoon: { short: 'too soon', long: ({ noticeHours = 0 }) => `it must be requested ${duration(noticeHours)} ahead` },
  Past: { short: 'past', long: () => 'it is in the past' },
  Skipped: { short: 'no such hour', long: () => 'the clocks are changed and skip it' },
  Closed: { short: 'closed', long: () => 'the community has closed it' },
  Booked: { short: 'booked', long: () => 'booked by another brand' },
  Requested: { short: 'requested', long: () => 'requested by another brand, which waits for an answer' },
  BookedByYou: { short: 'your booking', long: () => 'you have booked it' },
  RequestedByYou: { short: 'your request', long: () => 'you have requested it yourself' },
};

/** Hours that are closed because of a booking. */
const HELD: ReadonlySet<ClosedKind | undefined> = new Set(['Booked', 'Requested', 'BookedByYou', 'RequestedByYou']);

export const isFree = ({ slots }: StartTimes, start: number): boolean =>
  slots.some(({ hour, isAvailable }) => hour === start && isAvailable);

/** That no time of a day is free, and why, if there is one reason. Undefined if one is free. */
export function whyNoneFree(space: Space, { slots, closed }: StartTimes): string | undefined {
  if (slots.some(({ isAvailable }) => isAvailable)) return undefined;
  const [kind, ...others] = new Set(slots.map(({ hour }) => closed(hour)));
  const reason = kind !== undefined && others.length === 0 ? `: ${CLOSED[kind].long(space)}` : '';
  return `No time is free on this day${reason}.`;
}

/** Why the hour chosen on an earlier page is not free, and the next day on which it is. */
export function notFreeNotice(
  space: DayTerms,
  { closed }: StartTimes,
  start: number,
  next: { readonly date: PlainDate; readonly href: string } | undefined,
): Html | undefined {
  if (start < 0 || start > 23) return undefined;
  const kind = closed(start);
  const text =
    kind === undefined || (kind === 'OutsideWindow' && !space.isClosedDay)
      ? `${clock(start)} is not a start time of this space.`
      : `${clock(start)} is not free on this day: ${CLOSED[kind].long(space)}.`;
  return html`<div class="flash notice">${icon('info')}
<p>${text} ${next && html`<a href="${next.href}">Next day with ${clock(start)} free: ${shortDate(next.date)}</a>`}</p></div>`;
}

/** The choice of a start time. Belongs to the form `request`. `unchoosable` shows the times only. */
export function startTimeField(
  space: Space,
  times: StartTimes,
  chosen: number | 'unchoosable' | undefined,
  problems: Problems,
): Html {
  const { slots, closed, freeFrom } = times;
  const firstOpen = slots.find(({ isAvailable }) => isAvailable)?.hour;
  const error = errorText('startHour', problems.startHour);
  const tiles = slots.map((slot) =>
    tile(slot, freeFrom(slot.hour), closed(slot.hour), chosen, slot.hour === firstOpen),
  );
  const list = html`<ul class="slots">${tiles}</ul>`;
  const noneFree = whyNoneFree(space, times);
  if (noneFree !== undefined) return html`<p id="startHour">${noneFree} Choose another day above.</p>${list}${error}`;
  const isHeld = slots.some(({ hour }) => HELD.has(closed(hour)));
  return html`<fieldset class="field"><legend>Start time</legend>
${
  isHeld &&
  space.durationHours > 1 &&
  html`<p class="hint">An event of ${duration(space.durationHours)} must end before the next one begins, which closes
the hours before it too.</p>`
}${list}${error}</fieldset>`;
}

/** @param isFirst whether the list of problems links to this tile */
function tile(
  { hour, isAvailable, usageHours }: TimeSlot,
  until: number,
  closed: ClosedKind | undefined,
  chosen: number | 'unchoosable' | undefined,
  isFirst: boolean,
): Html {
  const input = (attributes: Html) =>
    html`<input${isFirst && html` id="startHour"`} form="request" type="radio" name="startHour" value="${hour}" required${attributes}>`;
  const time = html`<span class="time">${clock(hour)}</span>
<span class="small">to ${clock(until)}${usageHours !== undefined && html`<br>only ${usageHours} h`}</span>`;
  if (isAvailable && chosen === 'unchoosable') return html`<li><div class="slot">${time}</div></li>`;
  if (isAvailable) return html`<li><label class="slot">${input(flag('checked', chosen === hour))}${time}</label></li>`;
  const kind = closed === undefined ? '' : ` is-${closed.toLowerCase()}`;
  return html`<li><label class="slot${kind}">${chosen !== 'unchoosable' && input(flag('disabled', true))}
<span class="time"><s>${clock(hour)}</s></span>
<span class="small">${closed === undefined ? 'not free' : CLOSED[closed].short}</span></label></li>`;
}
