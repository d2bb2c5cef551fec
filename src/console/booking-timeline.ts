import type { BookingDocument } from '../../projections/bookings.ts';
import { type Account, type Actor, accountKey } from '../domain/account.ts';
import type { HistoryStep } from '../domain/booking-history.ts';
import { type Html, html } from '../html/html.ts';
import { statusBadge, statusClass } from './booking-views.ts';
import { amount, momentIn, zoneName } from './formats.ts';

/** Who did what and when, taken from the log, and the status at any time in the past. */
export function timeline(
  steps: readonly HistoryStep[],
  booking: BookingDocument,
  account: Account,
  askedFor: string,
): Html {
  const zone = booking.timeZone;
  const asked = momentOfInput(askedFor, zone);
  const then = asked === undefined ? undefined : steps.findLast(({ event }) => Date.parse(event.metadata.at) <= asked);
  return html`<ol class="timeline">${steps.map(
    ({ event, to }) => html`<li class="${statusClass(to)}"><p><strong>${to}</strong> ${stepDetails(event)}</p>
<p class="muted small"><time datetime="${event.metadata.at}">${momentIn(zone, event.metadata.at)}</time>, by ${actorName(event.metadata.actor, booking, account)}</p></li>`,
  )}</ol>
<form class="fields as-of" method="get" action="#booking-timeline" data-timeline="${steps.map(({ event }) => toInput(event.metadata.at, zone)).join(' ')}">
<div class="field"><label for="at">Status at a past time</label><p class="hint" id="at-hint">In the space’s local time (${zoneName(zone)}).</p>
<div class="row nowrap"><input id="at" name="at" type="datetime-local" step="1" value="${asked === undefined ? '' : askedFor}" aria-describedby="at-hint" max="9999-12-31T23:59:59"><button class="button quiet">Show</button></div></div>
</form>
<p id="state-then" role="status">${
    asked === undefined
      ? undefined
      : then === undefined
        ? 'Not yet requested at that time.'
        : html`${statusBadge(then.to)} <span class="muted small">since ${momentIn(zone, then.event.metadata.at)}</span>`
  }</p>`;
}

/** What a step adds to the status it leads to. */
function stepDetails(event: HistoryStep['event']): Html | undefined {
  switch (event.type) {
    case 'BookingRequested':
      return html`for ${amount(event.data.totalPrice, event.data.currency)}`;
    case 'BookingApproved':
      return html`and charged ${amount(event.data.charge, event.data.currency)}`;
    case 'BookingCancelled':
      return html`${event.data.refund > 0 && html`and refunded ${amount(event.data.refund, event.data.currency)}`}${event.data.reason && html`: ${event.data.reason}`}`;
    case 'BookingCompleted':
      return undefined;
    default:
      return event satisfies never;
  }
}

const VIA: Readonly<Record<Actor['kind'], string>> = {
  apiKey: 'with an API key',
  client: 'through an app',
  user: 'in the console',
  operator: 'through the operator',
  system: '',
};

/** Names the actor by account. Credentials of the other party are not disclosed. */
function actorName(actor: Actor, booking: BookingDocument, account: Account): string {
  if (actor.kind === 'system') return 'the service';
  if (actor.account === undefined) return 'the operator';
  const ours = accountKey(actor.account) === accountKey(account);
  const name = ours ? 'you' : actor.account.kind === 'Brand' ? booking.brandName : 'the community';
  return `${name}, ${VIA[actor.kind]}`;
}

/** A moment (ISO 8601) as the value of a `datetime-local` field, in a time zone. */
const toInput = (moment: string, zone: string): string =>
  Temporal.Instant.from(moment).toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'second' });

/** Reverses {@link toInput}, up to the end of that second, in milliseconds since the epoch. Undefined if the field is invalid. */
function momentOfInput(text: string, zone: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/.test(text)) return undefined;
  try {
    return Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds + 999;
  } catch {
    return undefined;
  }
}
