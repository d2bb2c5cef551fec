import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import type { Queries } from '../../queries/queries.ts';
import { amount, hours, longDate, shortDate, shortened, zoneName } from '../parts/formats.ts';
import { hiddenField, postForm } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import type { Shown, Visit } from '../parts/visit.ts';
import { keeping, viaField } from '../parts/way-back.ts';
import { listFieldsOf } from './decision-forms.ts';
import { requestsBeside } from './reading.ts';
import { cursorOf, following, inboxPath, pageWith, type RequestList } from './request-list.ts';

/** A booking in a message to an account: the other party, space, date and hours. */
export function briefly(
  booking: Pick<BookingDocument, 'brandName' | 'spaceName' | 'date' | 'startHour' | 'freeFrom'>,
  { kind }: Account,
): string {
  const names = kind === 'Community' ? [booking.brandName, booking.spaceName] : [booking.spaceName];
  const named = names.map((name) => namedText(shortened(name)));
  return [...named, shortDate(booking.date), hours(booking.startHour, booking.freeFrom)].join(', ');
}

export const refunded = (
  { totalPrice, currency }: Pick<BookingDocument, 'totalPrice' | 'currency'>,
  account: Account,
  verb: 'was' | 'will be',
): string => `${amount(totalPrice, currency)} ${verb} refunded to ${account.kind === 'Brand' ? 'you' : 'the brand'}.`;

/** The page of the list to show after a request was answered: at the next request. */
export async function onwards(
  queries: Pick<Queries, 'requests'>,
  { account, form }: Pick<Visit, 'account' | 'form'>,
  list: RequestList,
  answered: BookingDocument,
): Promise<string> {
  // An open page finds the next request itself.
  if (list.shown.length > 0 || account.kind !== 'Community') return inboxPath(list, list);
  const ordered = await requestsBeside(queries, account.id, list, cursorOf(list, answered), { orFirst: true });
  const next = following(list, ordered, answered);
  if (next === undefined) return inboxPath({ ...list, after: undefined });
  // Keeps the selection.
  const picked = form.all('id').filter((id) => id !== String(answered.bookingId));
  return `${inboxPath(pageWith(list, ordered, next), { picked })}#request-${next.bookingId}`;
}

/** Asks for confirmation before approving a request whose total is above the amount of the setting. */
export function confirmApproval(
  visit: Pick<Visit, 'csrf' | 'form' | 'via' | 'settings'>,
  request: BookingDocument,
): Shown {
  const { bookingId, totalPrice, currency } = request;
  const price = amount(totalPrice, currency);
  const path = `/console/bookings/${bookingId}`;
  const back = { href: keeping(visit, path), label: `Booking #${bookingId}` };
  const content = html`${listFieldsOf(visit.form)}${viaField(visit)}${hiddenField('confirmed', totalPrice)}
${summaryOf(request, request.brandName, request.spaceName)}
<p>This is above ${amount(visit.settings.approveConfirmAbove ?? 0, currency)}, so the approval must be confirmed. ${price} will be charged to the brand.</p>
<div class="row"><button class="button">Approve for ${price}</button>${buttonLink(back.href, 'Do not approve yet', 'quiet')}</div>`;
  return {
    title: 'Approve this request',
    heading: `Approve this request for ${price}?`,
    back,
    main: postForm(visit, `${path}/approve`, 'card fields narrow', content),
  };
}

/** The booking that a question is about. */
export const summaryOf = (booking: BookingDocument, ...names: readonly string[]): Html =>
  html`<p>${names.map((name) => html`${named(name)}, `)}${longDate(booking.date)}, ${hours(booking.startHour, booking.freeFrom)} <span class="muted nowrap">${zoneName(booking.timeZone)}</span>.</p>`;
