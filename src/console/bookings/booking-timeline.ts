import type { BookingDocument } from '../../../projections/bookings.ts';
import type { HistoryStep, NamedStep } from '../../domain/booking-history.ts';
import { defined } from '../../domain/defined.ts';
import { capitalised, momentIn, zoneName } from '../../html/formats.ts';
import { type Html, html, named } from '../../html/html.ts';
import type { BookingHistory } from '../../queries/booking-history.ts';
import { actorText } from '../parts/actor-view.ts';
import { viaField } from '../parts/back-link.ts';
import { placeText, statusBadge, statusClass } from '../parts/booking-views.ts';
import { hasProblems, momentField } from '../parts/forms.ts';
import { momentInField, readMoment } from '../parts/typed-dates.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { verbOf } from '../requests/what-happened.ts';

/**
 * The steps of a booking with actors and times, from the log, and the booking at an earlier time.
 * @param then the booking at that time; undefined if none was asked for
 */
export function timeline(
  visit: Pick<Visit, 'via' | 'amount'>,
  steps: readonly NamedStep[],
  { timeZone: zone }: Pick<BookingDocument, 'timeZone'>,
  askedFor: string,
  then: BookingHistory | undefined,
): Html {
  const read = readMoment(askedFor);
  const problems: Problems = defined({ at: askedFor === '' ? undefined : read.problem });
  return html`<ol class="timeline">${steps.map(
    (
      step,
      index,
    ) => html`<li class="${statusClass(step.to)}${then !== undefined && index >= then.steps.length && ' later'}"
data-state="${step.to === 'Cancelled' ? wordOf(step) : step.to}" data-at="${toInput(step.event.metadata.at, zone)}">
<p><strong>${wordOf(step)}</strong>${stepDetails(step.event, visit.amount)}</p>
<p class="muted small"><time datetime="${step.event.metadata.at}">${momentIn(zone, step.event.metadata.at)}</time>,
by ${actorText(step.by)}</p></li>`,
  )}</ol>
<form class="fields as-of" method="get" action="#booking-timeline">${viaField(visit)}
<div class="row end nowrap">${momentField({
    name: 'at',
    label: 'View at an earlier time',
    hint: `In the space’s local time (${zoneName(zone)}).`,
    value: then === undefined && !hasProblems(problems) ? '' : askedFor,
    problems,
  })}<div><button class="button quiet">Show</button></div></div>
</form>
<p id="state-then" role="status">${then !== undefined && stateThen(then, zone, visit.amount)}</p>`;
}

function stateThen({ steps, booking }: BookingHistory, zone: string, amount: Visit['amount']): Html {
  const last = steps.at(-1);
  if (booking === undefined || last === undefined) return html`It was not requested yet at that time.`;
  const { charge = 0, refund = 0, currency } = booking;
  return html`${statusBadge(booking)} <span class="muted small">since ${momentIn(zone, last.event.metadata.at)}${
    amount && charge > 0 && html`, charged ${amount(charge, currency)}`
  }${amount && refund > 0 && html`, refunded ${amount(refund, currency)}`}</span>`;
}

/** `Requested`, `Approved`, `Declined` */
const wordOf = (step: NamedStep): string => capitalised(verbOf(step));

/** The details of a step, which follow its word. */
function stepDetails(event: HistoryStep['event'], amount: Visit['amount']): Html | undefined {
  switch (event.type) {
    case 'BookingRequested':
      return amount && html` for ${amount(event.data.totalPrice, event.data.currency)}`;
    case 'BookingApproved':
      return amount && html` and charged ${amount(event.data.charge, event.data.currency)}`;
    case 'BookingCancelled':
      return html`${
        amount && event.data.refund > 0 && html` and refunded ${amount(event.data.refund, event.data.currency)}`
      }${event.data.reason && html`: ${named(event.data.reason)}`}`;
    case 'BookingMoveAsked':
      return html` to ${placeText(event.data.to)}${
        amount && event.data.newPrice && html` for ${amount(event.data.newPrice.totalPrice, event.data.currency)}`
      }${event.data.reason && html`: ${named(event.data.reason)}`}`;
    case 'BookingMoved':
      return html` from ${placeText(event.data.from)} to ${placeText(event.data)}`;
    case 'BookingMoveEnded':
      return event.data.reason === undefined ? undefined : html`: ${named(event.data.reason)}`;
    case 'BookingMoveAgreed':
    case 'BookingCompleted':
      return undefined;
    default:
      return event satisfies never;
  }
}

/** A moment (ISO 8601) as the field shows it, in a time zone. */
function toInput(moment: string, zone: string): string {
  const local = Temporal.Instant.from(moment).toZonedDateTimeISO(zone).toPlainDateTime();
  return momentInField(local.toString({ smallestUnit: 'second' }));
}

/** Reverses {@link toInput}, up to the end of that second, in milliseconds since the epoch. Undefined if the field is invalid. */
export function momentOfInput(text: string, zone: string): number | undefined {
  const read = readMoment(text);
  if (read.time === undefined) return undefined;
  return Temporal.PlainDateTime.from(read.time).toZonedDateTime(zone).epochMilliseconds + 999;
}
