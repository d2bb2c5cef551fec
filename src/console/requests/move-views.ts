import type { BookingDocument } from '../../../projections/bookings.ts';
import { startOf } from '../../domain/booking-moments.ts';
import type { Cents } from '../../domain/ids.ts';
import { isOpen } from '../../domain/space-day.ts';
import { shortDate } from '../../html/formats.ts';
import { EMPTY, type Html, html, named, namedText } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { returnFields, viaField, withVia } from '../parts/back-link.ts';
import { placeText } from '../parts/booking-views.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { type AmountVisit, may, type Visit } from '../parts/visit.ts';

export const movePath = ({ bookingId }: Pick<BookingDocument, 'bookingId'>): string =>
  `/console/bookings/${bookingId}/move`;

/** The link to the form that moves a booking. */
export function moveLink(visit: Visit, booking: BookingDocument): Html | undefined {
  if (!canMove(visit, booking)) return undefined;
  const isProposal = visit.account.kind === 'Community' && booking.status === 'Pending';
  return buttonLink(withVia(visit, movePath(booking)), isProposal ? 'Propose other hours…' : 'Move…', 'quiet');
}

/** Whether to offer moving a booking. The decider checks again. */
export const canMove = ({ now }: Pick<Visit, 'now'>, booking: BookingDocument): boolean =>
  isOpen(booking) && startOf(booking) > now;

/** The move that waits for an answer, with the forms to answer or withdraw it. */
export function waitingMove(visit: Visit, booking: BookingDocument): Html | undefined {
  const { move } = booking;
  if (move === undefined) return undefined;
  const isOwn = move.askedBy === visit.account.kind;
  const who = isOwn
    ? 'You have'
    : visit.account.kind === 'Brand'
      ? 'The community has'
      : html`${named(booking.brandName)} has`;
  const until = isOwn ? 'It keeps its hours until the other party accepts.' : 'It keeps its hours until you accept.';
  return html`<div class="stack tight" id="waiting-move"><p><strong>${who} asked to move this booking to
${placeText(move.to)}.</strong> ${until} ${priceAfter(visit, booking)}</p>${
    may(visit, 'Coordinator') && canMove(visit, booking) && answerForms(visit, booking, viaField(visit) ?? EMPTY)
  }</div>`;
}

/** What a booking costs once it has moved. */
function priceAfter({ amount }: Pick<Visit, 'amount'>, { move, totalPrice, currency }: BookingDocument): Html {
  if (move?.newPrice === undefined) return html`The price stays as agreed.`;
  if (amount === undefined) return html`It then has the price there.`;
  return html`It then costs ${priceChange(amount, totalPrice, move.newPrice.totalPrice, currency)}.`;
}

/** `290.00 EUR, 60.00 EUR more than now` */
export const priceChange = (amount: AmountVisit['amount'], now: Cents, there: Cents, currency: string): Html =>
  html`${amount(there, currency)}, ${amount(Math.abs(there - now), currency)} ${there > now ? 'more' : 'less'} than now`;

/** The buttons that answer a move, or withdraw an own one. */
function answerForms(visit: Visit, booking: BookingDocument, fields: Html): Html {
  const { move, bookingId } = booking;
  if (move === undefined) return EMPTY;
  const name = (word: string) => html` aria-label="${word} the move of booking #${bookingId}"`;
  const button = (answer: string, label: string, classes: string) =>
    html`<button class="button small ${classes}" name="answer" value="${answer}"${name(label)}>${label}</button>`;
  const isOwn = move.askedBy === visit.account.kind;
  return postForm(visit, `${movePath(booking)}/answer`, 'row')`${hiddenField('moveId', move.moveId)}${fields}${
    isOwn ? EMPTY : button('accept', 'Accept', '')
  }${button('no', isOwn ? 'Withdraw' : 'Decline', 'quiet')}`;
}

/** The bookings whose move the account has to answer, above a list of bookings. */
export async function movesToAnswer({ bookings }: Pick<Queries, 'bookings'>, visit: Visit): Promise<Html> {
  const waiting = await bookings.movesToAnswer(visit.account);
  if (waiting.length === 0) return EMPTY;
  const { kind } = visit.account;
  const back = returnFields(kind === 'Brand' ? '/console/bookings' : '/console/inbox');
  const row = (booking: BookingDocument) =>
    html`<li><a href="/console/bookings/${booking.bookingId}">${
      kind === 'Brand' ? namedText(booking.spaceName) : namedText(booking.brandName)
    }, ${shortDate(booking.date)}</a> to ${booking.move && placeText(booking.move.to)}. ${priceAfter(visit, booking)}${
      may(visit, 'Coordinator') && canMove(visit, booking) && answerForms(visit, booking, back)
    }</li>`;
  return html`<section class="card" id="moves" data-live-region><h2>Moves to answer</h2>
<ul class="stack tight">${waiting.map(row)}</ul></section>`;
}
