import type { BookingDocument } from '../../../projections/bookings.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import type { BookingId } from '../../domain/ids.ts';
import { REASON } from '../../domain/limits.ts';
import { EMPTY, type Html, html } from '../../html/html.ts';
import { amount } from '../parts/formats.ts';
import { postForm } from '../parts/forms.ts';
import type { Form, PageDeps, Visit } from '../parts/visit.ts';

type Asked = { readonly bookingId: BookingId } & Pick<BookingDocument, 'totalPrice' | 'currency'> &
  Parameters<typeof expiryOf>[0];

/** The page that the forms are on. */
export type FormPlace = {
  readonly settings: Pick<PageDeps['settings'], 'approveConfirmAbove'>;
  /** In the inbox: the query of the list, to which the forms lead back. */
  readonly list?: string;
};

/** The form of the inbox that the checkboxes and the Approve buttons of its rows belong to. */
export const BULK_FORM = 'bulk';

/** Whether an approval must be confirmed. */
export const needsConfirmation = (
  { approveConfirmAbove }: FormPlace['settings'],
  { totalPrice }: Pick<BookingDocument, 'totalPrice'>,
): boolean => approveConfirmAbove !== undefined && totalPrice > approveConfirmAbove;

/** Approve, until the deadline, or decline with a reason. Both open inside the row, and work without JavaScript. */
export const decisionForms = (visit: Pick<Visit, 'csrf' | 'now'>, request: Asked, place: FormPlace): Html =>
  html`<div class="decide">${
    expiryOf(request) > visit.now
      ? approveForm(visit, request, place)
      : html`<p class="small">The time to answer is over. The request is being cancelled.</p>`
  }${declineForm(visit, request, place)}</div>`;

function approveForm(visit: Pick<Visit, 'csrf'>, request: Asked, { settings, list }: FormPlace): Html {
  const action = `/console/bookings/${request.bookingId}/approve`;
  const price = amount(request.totalPrice, request.currency);
  // The rows of a list share one form, which knows what is selected.
  const owner = list === undefined ? EMPTY : html` form="${BULK_FORM}" formaction="${action}"`;
  const form = (button: Html) => (list === undefined ? postForm(visit, action, '', button) : button);
  const look = list === undefined ? '' : 'small quiet';
  if (!needsConfirmation(settings, request)) return form(html`<button class="button ${look}"${owner}>Approve</button>`);
  return html`<details class="approve"><summary class="button ${look}">Approve…</summary><div class="ask"><p>${price} will be charged to the brand.</p>${form(
    html`<button class="button small" name="confirmed" value="${request.totalPrice}"${owner}>Approve for ${price}</button>`,
  )}</div></details>`;
}

function declineForm(visit: Pick<Visit, 'csrf'>, { bookingId }: Asked, { list }: FormPlace): Html {
  const id = `reason-${bookingId}`;
  const content = html`${listField(list)}<label for="${id}">Reason</label><input id="${id}" name="reason" required maxlength="${REASON.max}" autocomplete="off" aria-describedby="${id}-hint"><p class="hint" id="${id}-hint">The brand will see it. Declining is final.</p><button class="button quiet small">Decline request</button>`;
  return html`<details class="decline"><summary class="button quiet${list !== undefined && ' small'}">Decline…</summary>${postForm(visit, `/console/bookings/${bookingId}/decline`, 'ask', content)}</details>`;
}

/** Says that a form was sent from a list, and from which. */
export const listField = (list: string | undefined): Html | undefined =>
  list === undefined ? undefined : html`<input type="hidden" name="list" value="${list}">`;

/** The same for a form that confirms another: the list that the first one was sent from, and the rows open there. */
export const listFieldsOf = (form: Form): Html =>
  html`${listField(form.all('list')[0])}<input type="hidden" name="shown" value="${form.text('shown')}">`;
