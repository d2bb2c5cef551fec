import type { BookingDocument } from '../../../projections/bookings.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import type { BookingId } from '../../domain/ids.ts';
import { REASON, wrongText } from '../../domain/limits.ts';
import { EMPTY, type Html, html } from '../../html/html.ts';
import { counter, type Field, field, hasProblems, hiddenField, postForm, problemOf, textArea } from '../parts/forms.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { AmountFormat, Settings, Visit } from '../parts/visit.ts';
import { listIn } from './request-list.ts';

type PendingRequest = { readonly bookingId: BookingId } & Pick<
  BookingDocument,
  'totalPrice' | 'eventFee' | 'currency'
> &
  Parameters<typeof expiryOf>[0];

/** The parts of a visit that the forms need. */
type DecisionVisit = Pick<Visit, 'csrf' | 'now' | 'amount'> & {
  readonly settings: Pick<Settings, 'approveConfirmAbove'>;
};

/** The page that the forms are on. */
export type FormPage = {
  /** In the inbox: the query of the list, to which the forms lead back. */
  readonly list?: string;
  /** Fields that the forms carry besides. */
  readonly fields?: Html | undefined;
};

/** The id of the form in the inbox that the checkboxes and the Approve buttons of its rows belong to. */
export const BULK_FORM = 'bulk';
/** The id of the suggestions for a reason (`reasonSuggestions`). */
const REASONS = 'reasons';

/** Whether an approval must be confirmed. */
export const needsConfirmation = (
  { settings: { approveConfirmAbove } }: Pick<DecisionVisit, 'settings'>,
  { totalPrice }: Pick<BookingDocument, 'totalPrice'>,
): boolean => approveConfirmAbove !== undefined && totalPrice > approveConfirmAbove;

/** Whether a member sees enough to approve: who does not see amounts cannot confirm one. */
export const mayApprove = (
  visit: Pick<DecisionVisit, 'settings' | 'amount'>,
  request: Pick<BookingDocument, 'totalPrice'>,
): boolean => visit.amount !== undefined || !needsConfirmation(visit, request);

export const NEEDS_AMOUNTS = 'A member who sees amounts has to approve it, because the amount must be confirmed.';

/** Distinguishes the controls of each row for screen readers and voice control. The row is named after the brand. */
export const requestName = ({ bookingId }: Pick<PendingRequest, 'bookingId'>): string => `request #${bookingId}`;

/**
 * The forms to approve a request (until its deadline) and to decline it with a reason. A form opens below the buttons, without JavaScript:
 * the buttons are summaries, whose state shows the form after them (`requests.css`).
 */
export const decisionForms = (visit: DecisionVisit, request: PendingRequest, formPage: FormPage): Html => {
  const approve =
    expiryOf(request) > visit.now
      ? approveForm(visit, request, formPage)
      : { button: html`<p class="small">The time to answer is over. The request is being cancelled.</p>`, ask: EMPTY };
  const decline = declineForm(visit, request, formPage);
  const isOpen = expiryOf(request) > visit.now;
  const { amount } = visit;
  const lower = formPage.list === undefined && isOpen && amount && lowerForm({ ...visit, amount }, request, formPage);
  return html`<div class="decide">${approve.button}${decline.button}</div>${approve.ask}${decline.ask}${lower}`;
};

/** A button in a row, and the form that it opens. */
export type Opener = { readonly button: Html; readonly ask: Html };

export const nameOf = (word: string, request: Pick<PendingRequest, 'bookingId'>, { list }: FormPage): Html =>
  list === undefined ? EMPTY : html` aria-label="${word} ${requestName(request)}"`;

function approveForm(visit: DecisionVisit, request: PendingRequest, formPage: FormPage): Opener {
  const { list, fields } = formPage;
  const action = `/console/bookings/${request.bookingId}/approve`;
  // The rows of a list share one form, which also sends the selection.
  const owner = list === undefined ? EMPTY : html` form="${BULK_FORM}" formaction="${action}"`;
  const form = (button: Html) => (list === undefined ? postForm(visit, action)`${fields}${button}` : button);
  const classes = list === undefined ? '' : 'small quiet';
  if (!needsConfirmation(visit, request))
    return {
      button: form(
        html`<button class="button ${classes}"${owner}${nameOf('Approve', request, formPage)}>Approve</button>`,
      ),
      ask: EMPTY,
    };
  if (visit.amount === undefined) return { button: html`<p class="small">${NEEDS_AMOUNTS}</p>`, ask: EMPTY };
  const price = visit.amount(request.totalPrice, request.currency);
  return {
    button: html`<details class="approve">
<summary class="button ${classes}"${nameOf('Approve…', request, formPage)}>Approve…</summary></details>`,
    ask: html`<div class="ask to-approve"><p>${price} will be charged to the brand.</p><div class="row">${form(
      html`<button class="button small" name="confirmed" value="${request.totalPrice}"${owner}>Approve for ${price}</button>`,
    )}${COLLAPSE}</div></div>`,
  };
}

/** Approves a request for less than was asked at the request. On the page of the booking alone. */
function lowerForm(
  visit: DecisionVisit & { readonly amount: AmountFormat },
  request: PendingRequest,
  { fields }: FormPage,
): Html {
  const action = `/console/bookings/${request.bookingId}/approve`;
  return html`<details class="also"><summary class="button quiet small">Approve for less…</summary>
${postForm(visit, action, 'fields')`${fields}${hiddenField('confirmed', request.totalPrice)}${field({
  name: 'eventFee',
  label: 'You earn',
  hint: `At most ${visit.amount(request.eventFee, request.currency)}. The service fee is added.`,
  required: true,
  attributes: { inputmode: 'decimal', autocomplete: 'off' },
})}<div><button class="button small">Approve for this price</button></div>`}</details>`;
}

export function declineForm(visit: Pick<Visit, 'csrf'>, request: PendingRequest, formPage: FormPage): Opener {
  const { list, fields } = formPage;
  const id = `reason-${request.bookingId}`;
  const content = html`${listField(list)}${fields}<label for="${id}">Reason</label><input id="${id}" name="reason" required
maxlength="${REASON.max}" list="${REASONS}" autocomplete="off" aria-describedby="${id}-hint">
<p class="hint" id="${id}-hint">The brand will see it. Declining is final.</p>${counter(id, REASON.max)}
<div class="row"><button class="button danger small"${nameOf('Decline', request, formPage)}>Decline request</button>${COLLAPSE}</div>`;
  return {
    button: html`<details class="decline">
<summary class="button quiet${list !== undefined && ' small'}"${nameOf('Decline…', request, formPage)}>Decline…</summary></details>`,
    ask: postForm(visit, `/console/bookings/${request.bookingId}/decline`, 'ask to-decline')`${content}`,
  };
}

/** Closes the open form. Without JavaScript, the button that opened it closes it. */
const COLLAPSE = html`<button type="button" class="button quiet small" data-collapse>Cancel</button>`;

/** Reasons that were given before, to choose from while typing. */
export const reasonSuggestions = (reasons: readonly string[]): Html =>
  html`<datalist id="${REASONS}">${reasons.map((reason) => html`<option dir="auto" value="${reason}"></option>`)}</datalist>`;

/** The reason that a page asks for before it ends a booking or request. */
export const reasonField = (
  { form }: Pick<Visit, 'form'>,
  { isFocused = false, ...field }: Pick<Field, 'label' | 'hint' | 'required' | 'problems'> & { isFocused?: boolean },
) =>
  textArea({
    name: 'reason',
    value: form.text('reason'),
    // Problems have the focus.
    attributes: {
      maxlength: REASON.max,
      rows: 3,
      autofocus: isFocused && !hasProblems(field.problems ?? {}) ? '' : undefined,
    },
    ...field,
  });

/** What is wrong with the reason that ends several bookings or requests; empty if nothing is. */
export function problemsOfReason(reason: string): Problems {
  if (reason === '') return { reason: 'Give a reason. The brands will see it.' };
  const wrong = wrongText('reason', reason, REASON);
  return wrong === undefined ? {} : problemOf(wrong, { reason: 'Reason' });
}

/** Marks a form as sent from a list, with the list. */
export const listField = (list: string | undefined): Html | undefined =>
  list === undefined ? undefined : hiddenField('list', list);

/** The same for a form that confirms another: the list that the first one was sent from, and the rows open there. */
export const listFieldsOf = (form: Form): Html =>
  html`${listField(listIn(form))}${hiddenField('shown', form.text('shown'))}`;
