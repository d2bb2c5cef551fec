import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import type { Queries } from '../../queries/queries.ts';
import { csrfField } from '../parts/fields.ts';
import { amount, hours, longDate, shortDate, shortened, zoneName } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import type { Shown, Visit } from '../parts/visit.ts';
import { listFieldsOf } from './decision-forms.ts';
import { requestsBeside } from './reading.ts';
import { following, inboxPath, pageWith, placeOf, type RequestList } from './request-list.ts';

/** What a decision says and leads to. */

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

/** Where the list goes on once a request was answered: at the one that follows it. */
export async function onwards(
  queries: Pick<Queries, 'requests'>,
  { account, form }: Pick<Visit, 'account' | 'form'>,
  list: RequestList,
  answered: BookingDocument,
): Promise<string> {
  // A page that stays open knows itself what comes next.
  if (list.shown.length > 0 || account.kind !== 'Community') return inboxPath(list, list);
  const ordered = await requestsBeside(queries, account.id, list, placeOf(list, answered), { orFirst: true });
  const next = following(list, ordered, answered);
  if (next === undefined) return inboxPath({ ...list, after: undefined });
  // What is selected stays so.
  const picked = form.all('id').filter((id) => id !== String(answered.bookingId));
  return `${inboxPath(pageWith(list, ordered, next), { picked })}#request-${next.bookingId}`;
}

/** Asks once more before a request is approved whose total is above the amount of the setting. */
export function askOnceMore(
  visit: Pick<Visit, 'csrf' | 'form'>,
  request: BookingDocument,
  { approveConfirmAbove }: PageDeps['settings'],
): Shown {
  const price = amount(request.totalPrice, request.currency);
  const back = `/console/bookings/${request.bookingId}`;
  return {
    title: 'Approve this request',
    section: 'inbox',
    main: html`<p class="back"><a href="${back}">${icon('back')} Booking #${request.bookingId}</a></p>
<form class="card fields narrow" method="post" action="${back}/approve">${csrfField(visit)}${listFieldsOf(visit.form)}<input type="hidden" name="confirmed" value="${request.totalPrice}">
<h1>Approve this request for ${price}?</h1>
<p>${named(request.brandName)}, ${named(request.spaceName)}, ${longDate(request.date)}, ${hours(request.startHour, request.freeFrom)} <span class="muted nowrap">${zoneName(request.timeZone)}</span>.</p>
<p>This is above ${amount(approveConfirmAbove ?? 0, request.currency)}, from where on approvals are confirmed. ${price} will be charged to the brand.</p>
<div class="row"><button class="button">Approve for ${price}</button><a class="button quiet" href="${back}">Do not approve yet</a></div>
</form>`,
  };
}
