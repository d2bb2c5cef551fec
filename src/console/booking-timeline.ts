import type { BookingDocument } from '../../projections/bookings.ts';
import { type Account, type Actor, accountKey } from '../domain/account.ts';
import type { HistoryStep } from '../domain/booking-history.ts';
import { type Html, html } from '../html/html.ts';
import { statusBadge, statusClass } from './booking-views.ts';
import { amount, momentIn, zoneName } from './formats.ts';

/** Who did what when, out of the log, and the state at any moment that has passed. */
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
    ({ event, to }) => html`<li class="${statusClass(to)}"><p><strong>${to}</strong> ${said(event)}</p>
<p class="muted small"><time datetime="${event.metadata.at}">${momentIn(zone, event.metadata.at)}</time>, by ${whoDid(event.metadata.actor, booking, account)}</p></li>`,
  )}</ol>
<form class="fields as-of" method="get" action="#booking-timeline" data-timeline="${steps.map(({ event }) => toInput(event.metadata.at, zone)).join(' ')}">
<div class="field"><label for="at">State at a past moment</label><p class="hint" id="at-hint">On the clock of the space, ${zoneName(zone)}.</p>
<div class="row nowrap"><input id="at" name="at" type="datetime-local" step="1" value="${asked === undefined ? '' : askedFor}" aria-describedby="at-hint" max="9999-12-31T23:59:59"><button class="button quiet">Show</button></div></div>
</form>
<p id="state-then" role="status">${
    asked === undefined
      ? undefined
      : then === undefined
        ? 'Not yet requested at that moment.'
        : html`${statusBadge(then.to)} <span class="muted small">since ${momentIn(zone, then.event.metadata.at)}</span>`
  }</p>`;
}

/** What a step says beyond the state it leads to. */
function said(event: HistoryStep['event']): Html | undefined {
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

const MEANS: Readonly<Record<Actor['kind'], string>> = {
  apiKey: 'with an API key',
  client: 'through an app',
  user: 'in the console',
  operator: 'by the operator',
  system: '',
};

/** Who did it, by account; credentials of the other party are nobody's business. */
function whoDid(actor: Actor, booking: BookingDocument, account: Account): string {
  if (actor.kind === 'system') return 'the service, as time passed';
  if (actor.account === undefined) return 'the operator';
  const ours = accountKey(actor.account) === accountKey(account);
  const name = ours ? 'you' : actor.account.kind === 'Brand' ? booking.brandName : 'the community';
  return `${name}, ${MEANS[actor.kind]}`;
}

/** A moment (ISO 8601) as the date field writes it, on the clock of a zone. */
const toInput = (moment: string, zone: string): string =>
  Temporal.Instant.from(moment).toZonedDateTimeISO(zone).toPlainDateTime().toString({ smallestUnit: 'second' });

/** Milliseconds since the epoch, or undefined when the field holds no moment. A whole second counts to its end. */
function momentOfInput(text: string, zone: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?$/.test(text)) return undefined;
  try {
    return Temporal.PlainDateTime.from(text).toZonedDateTime(zone).epochMilliseconds + 999;
  } catch {
    return undefined;
  }
}
