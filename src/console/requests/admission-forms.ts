import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Standing } from '../../domain/admission.ts';
import type { BookingId, BrandId } from '../../domain/ids.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import type { BrandFacts } from '../../queries/admissions.ts';
import { csrfField, hiddenField } from '../parts/forms.ts';
import { addressOf } from '../parts/links.ts';
import { may, type Visit } from '../parts/visit.ts';
import { declineForm, type FormPage, listField, nameOf } from './decision-forms.ts';

/** A brand of which nothing is known that matters. */
export const LET_IN: BrandFacts = { standing: 'letIn', isSuspended: false };

/** The page of a brand that a community decides about. */
export const brandPath = (brandId: BrandId, step: 'let-in' | 'turn-away'): string =>
  `/console/brands/${brandId}/${step}`;

const MARKS: Readonly<Record<Standing, string | undefined>> = {
  letIn: undefined,
  waits: 'New brand',
  turnedAway: 'Turned away',
};

/** What a community should know of the brand before it decides. */
export function brandMarks({ standing, isSuspended }: BrandFacts): Html | undefined {
  const texts = [MARKS[standing], isSuspended ? 'Suspended by the operator' : undefined];
  const shown = texts.filter((text) => text !== undefined);
  if (shown.length === 0) return undefined;
  return html`<p class="small">${shown.map((text) => html`<span class="status is-pending">${icon('info')}${text}</span> `)}</p>`;
}

type Request = Pick<BookingDocument, 'brandId' | 'totalPrice' | 'currency'> & {
  readonly bookingId: BookingId;
} & Parameters<typeof declineForm>[1];

/** In place of the forms that decide a request, while its brand has to be let in first: a Manager decides about the brand, others can decline. */
export function admissionForms(visit: Visit, request: Request, standing: Standing, formPage: FormPage): Html {
  const { brandId, bookingId } = request;
  const decline = declineForm(visit, request, formPage);
  if (!may(visit, 'Manager'))
    return html`<div class="decide"><p class="small">A Manager decides first whether to let this brand in.</p>
${decline.button}</div>${decline.ask}`;
  const { list, fields } = formPage;
  const classes = list === undefined ? '' : 'small';
  // A page of its own answers it, because all rows of the brand change (`requests.js`).
  const letIn = html`<form method="post" action="${brandPath(brandId, 'let-in')}" data-plain="yes">${csrfField(visit)}
${listField(list)}${fields}${hiddenField('booking', bookingId)}<button
class="button ${classes}"${nameOf('Let them in', request, formPage)}>Let them in</button></form>`;
  if (standing === 'turnedAway') return html`<div class="decide">${letIn}${decline.button}</div>${decline.ask}`;
  const no = addressOf(brandPath(brandId, 'turn-away'), { booking: String(bookingId), list });
  return html`<div class="decide">${letIn}<a class="button quiet ${classes}" href="${no}"${nameOf('No…', request, formPage)}>No…</a></div>`;
}
