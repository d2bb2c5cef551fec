import type { BookingDocument } from '../../../projections/bookings.ts';
import { isLetIn, type Standing } from '../../domain/admission.ts';
import type { BookingId, BrandId, SpaceId } from '../../domain/ids.ts';
import { questionKey } from '../../domain/question.ts';
import { counted } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import type { BrandFacts } from '../../queries/admissions.ts';
import type { Queries } from '../../queries/queries.ts';
import { csrfField, hiddenField, postForm } from '../parts/forms.ts';
import { addressOf, customerPath } from '../parts/links.ts';
import { may, type Visit } from '../parts/visit.ts';
import { type FormPage, listField, nameOf, type Opener } from './decision-forms.ts';

/** A brand of which nothing is known that matters. */
export const LET_IN: BrandFacts = { standing: 'letIn', isNew: false, isSuspended: false };

/** The page of a brand that a community decides about. */
export const brandPath = (brandId: BrandId, step: 'let-in' | 'turn-away'): string =>
  `/console/brands/${brandId}/${step}`;

/** What a community should know of the brand before it decides. */
export function brandMarks({ standing, isNew, isSuspended }: BrandFacts): Html | undefined {
  const mark = standing === 'turnedAway' ? 'Turned away' : isNew ? 'New brand' : undefined;
  const texts = [mark, isSuspended ? 'Suspended by the operator' : undefined];
  const shown = texts.filter((text) => text !== undefined);
  if (shown.length === 0) return undefined;
  // It changes nothing about how the request is answered.
  if (isLetIn(standing) && !isSuspended) return html`<p class="small">${mark}</p>`;
  return html`<p class="small">${shown.map((text) => html`<span class="status is-pending">${icon('info')}${text}</span> `)}</p>`;
}

/** On the questions of a brand to a community: how it stands there, and what a Manager can decide about it. */
export async function standingOfAsking(
  { admissions, customers }: Pick<Queries, 'admissions' | 'customers'>,
  visit: Visit,
  about: { readonly brandId: BrandId; readonly spaceId: SpaceId },
): Promise<Html | undefined> {
  const { account } = visit;
  const { brandId } = about;
  if (account.kind !== 'Community') return undefined;
  const [brands, customer] = await Promise.all([
    admissions.ofBrands(account.id, [brandId]),
    customers.get(account.id, brandId),
  ]);
  const brand = brands.get(brandId) ?? LET_IN;
  const marks = brandMarks(brand);
  const decide = may(visit, 'Manager') && decisionAbout(visit, about, brand, customer !== undefined);
  return marks || decide ? html`<div class="stack tight">${marks}${decide}</div>` : undefined;
}

function decisionAbout(
  visit: Visit,
  about: { readonly brandId: BrandId; readonly spaceId: SpaceId },
  { standing, isNew }: BrandFacts,
  isCustomer: boolean,
): Html | undefined {
  const { brandId } = about;
  const question = questionKey(about);
  const link = (href: string, label: string) => html`<p class="small"><a href="${href}">${label}</a></p>`;
  if (isCustomer) return link(customerPath(brandId), 'Trust or block this customer');
  if (standing === 'turnedAway')
    return postForm(visit, brandPath(brandId, 'let-in'))`${hiddenField('question', question)}
<button class="button quiet small">Let in</button>`;
  return isNew ? link(addressOf(brandPath(brandId, 'turn-away'), { question }), 'Turn this brand away…') : undefined;
}

/** How many requests a selection leaves out, because their brands have to be let in first. */
export const leftOutText = (count: number): string =>
  `${counted(count, 'request')} of brands that are not let in ${count === 1 ? 'is' : 'are'} left out.`;

/**
 * In place of the forms that decide a request, while its brand has to be let in first: it can be declined, and a Manager decides about the
 * brand. For a brand that was turned away, that finishes what a process that died had begun.
 * @param decline declines the request, or its series
 */
export function admissionForms(
  visit: Visit,
  { brandId, bookingId }: Pick<BookingDocument, 'brandId'> & { readonly bookingId: BookingId },
  {
    standing,
    decline,
    formPage,
  }: { readonly standing: Standing; readonly decline: Opener; readonly formPage: FormPage },
): Html {
  if (!may(visit, 'Manager'))
    return html`<div class="decide"><p class="small">A Manager decides first whether to let this brand in.</p>
${decline.button}</div>${decline.ask}`;
  const { list, fields } = formPage;
  const classes = list === undefined ? '' : 'small';
  // A page of its own answers it, because all rows of the brand change (`requests.js`).
  const letIn = html`<form method="post" action="${brandPath(brandId, 'let-in')}" data-plain="yes">${csrfField(visit)}
${listField(list)}${fields}${hiddenField('booking', bookingId)}<button
class="button ${classes}"${nameOf('Let them in', { bookingId }, formPage)}>Let them in</button></form>`;
  const away = addressOf(brandPath(brandId, 'turn-away'), { booking: String(bookingId), list });
  const label = standing === 'turnedAway' ? 'Decline all of its requests…' : 'Turn this brand away…';
  const turnAway = html`<a class="small about-brand" href="${away}"${nameOf(label, { bookingId }, formPage)}>${label}</a>`;
  return html`<div class="decide">${letIn}${decline.button}${turnAway}</div>${decline.ask}`;
}
