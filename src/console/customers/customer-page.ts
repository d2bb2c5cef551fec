import { CUSTOMER_STANDINGS, type CustomerStanding } from '../../domain/admission.ts';
import type { Changes } from '../../domain/changed-values.ts';
import { paidOf, standingOfCustomer } from '../../domain/customer.ts';
import { AGREED_PRICES, type AgreedFee, type AgreedPrices, CUSTOMER_TEXTS } from '../../domain/customer-details.ts';
import { isRefusal } from '../../domain/decision.ts';
import { brandId, cents, spaceId } from '../../domain/ids.ts';
import { EMAIL } from '../../domain/limits.ts';
import { picked } from '../../domain/picked.ts';
import { AMOUNT_RULE, formatAmount, parseAmount } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import { counted, shortDate } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import type { Customer } from '../../queries/customers.ts';
import { done, nothingToDo, type PageContent } from '../parts/answer.ts';
import { editedIn, outdatedProblems, seenField } from '../parts/described-form.ts';
import { choices, controlsOf, field, hasProblems, onceField, postForm, problemOf, select } from '../parts/forms.ts';
import { buttonLink } from '../parts/frame.ts';
import { addressOf, CUSTOMERS, customerPath, ENTER } from '../parts/links.ts';
import { type ConsoleRoutes, type PageDeps, routesAbout } from '../parts/routes.ts';
import { Form, idOf, type Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';
import { marksOf, ratedText, textFields } from './customers.ts';

const LABELS = {
  contact: 'Contact',
  note: 'Note',
  discountPercent: 'Discount in percent',
  fees: 'Agreed fees',
} as const;

/** A customer: what it has booked, what is written down about it, and what was agreed with it. */
export function customerPage({ community }: ConsoleRoutes, { commands, queries, invitations }: PageDeps): void {
  const ofCustomer = routesAbout(community, 'customer', async ({ account }, text) => {
    const id = idOf(text);
    return id === undefined ? undefined : queries.customers.get(account.id, brandId(id));
  });
  const path = customerPath(':id');

  ofCustomer.get(path, 'Viewer', (visit, customer) => page(visit, customer, typedBefore(visit.restored)));

  ofCustomer.post(path, 'Coordinator', async (visit, customer) => {
    const { form, account, context } = visit;
    const current = picked(customer, CUSTOMER_TEXTS);
    const typed = { contact: form.lines('contact') || null, note: form.lines('note') || null };
    const { wanted, outdated } = editedIn(form, { typed, current, fields: CUSTOMER_TEXTS });
    if (outdated.length > 0)
      return { ...(await page(visit, customer, { texts: form }, outdatedProblems(outdated, LABELS))), status: 409 };
    const command = { communityId: account.id, brandId: customer.brandId, wanted, seen: customer };
    const outcome = await commands.customers.describe(command, context);
    if (isRefusal(outcome)) return page(visit, customer, { texts: form }, problemOf(outcome, LABELS));
    return saved(customer, outcome.events.length > 0);
  });

  ofCustomer.post(`${path}/terms`, 'Manager', async (visit, customer) => {
    const { form, account, context } = visit;
    const spaces = await queries.spaces.list(account);
    const standing =
      CUSTOMER_STANDINGS.find((one) => one === form.text('standing')) ?? standingOfCustomer(customer.admission);
    const { typed, problems } = pricesIn(form, spaces);
    const current = picked(customer, AGREED_PRICES);
    const { wanted, outdated } = editedIn(form, { typed, current, fields: AGREED_PRICES });
    const again = (wrong: Problems) => page(visit, customer, { terms: form }, wrong);
    if (outdated.length > 0) return { ...(await again(outdatedProblems(outdated, LABELS))), status: 409 };
    if (hasProblems(problems)) return again(problems);
    const of = { communityId: account.id, brandId: customer.brandId };
    const described = await commands.customers.describe({ ...of, wanted, seen: customer }, context);
    if (isRefusal(described)) return again(problemOf(described, LABELS));
    // A standing that others chose meanwhile stays, unless this user has chosen another one.
    if (standing === form.text('was')) return saved(customer, described.events.length > 0);
    const outcome = await commands.customers.setStanding({ ...of, standing }, context);
    if (isRefusal(outcome)) return again({ '': outcome.details });
    const declined = outcome.cancelled > 0 ? ` ${counted(outcome.cancelled, 'request')} declined.` : '';
    return done(customerPath(customer.brandId), `Saved.${declined}`);
  });

  ofCustomer.post(`${path}/invite`, 'Manager', async (visit, customer) => {
    const { form, context, user } = visit;
    if (!customer.isKept) return page(visit, customer, { invite: form }, { email: 'It has an account of its own.' });
    const account = { kind: 'Brand', id: customer.brandId } as const;
    const invited = await invitations.invite({ account, role: 'Manager', email: form.text('email') }, user, context);
    if (isRefusal(invited)) return page(visit, customer, { invite: form }, { email: invited.details });
    const how = invitations.sendsMail
      ? 'A mail with the link is on its way.'
      : 'The operator of this service prints the link.';
    return done(customerPath(customer.brandId), `${namedText(invited.email)} is invited. ${how}`);
  });

  async function page(
    visit: CommunityVisit,
    customer: Customer,
    typed: TypedForms,
    problems: Problems = {},
  ): Promise<PageContent> {
    const isCoordinator = may(visit, 'Coordinator');
    const isManager = may(visit, 'Manager');
    const [spaces, ratingsOf] = await Promise.all([
      isManager ? queries.spaces.list(visit.account) : [],
      queries.customers.ratings([customer]),
    ]);
    const enter = addressOf(ENTER, { customer: `#${customer.brandId}` });
    return {
      title: namedText(customer.name),
      heading: named(customer.name),
      lead: marksOf(customer) ?? 'A brand that has booked here.',
      back: { href: CUSTOMERS, label: 'Customers' },
      problems,
      ...(isCoordinator && customer.isKept && { actions: buttonLink(enter, 'Enter a booking') }),
      main: html`<div class="split"><div class="stack full">${figuresView(visit, customer, ratedText(ratingsOf(customer)))}
${isCoordinator ? textsForm(visit, customer, typed.texts, problems) : textsView(customer)}</div>
<div class="stack">${isManager && termsForm(visit, customer, spaces, typed.terms, problems)}
${isManager && customer.isKept && inviteForm(visit, customer, typed.invite, problems)}</div></div>`,
    };
  }
}

/** What was typed into one of the forms of the page. */
type TypedForms = { readonly texts?: Form; readonly terms?: Form; readonly invite?: Form };

/** The form that was sent after the session had ended, by its fields. */
function typedBefore(restored: Form | undefined): TypedForms {
  if (restored === undefined) return {};
  if (restored.all('email').length > 0) return { invite: restored };
  return restored.all('standing').length > 0 ? { terms: restored } : { texts: restored };
}

const saved = ({ brandId: id }: Customer, isChanged: boolean) =>
  isChanged ? done(customerPath(id), 'Saved.') : nothingToDo(customerPath(id), 'Nothing has changed.');

function figuresView(
  { settings: { currency }, amount }: CommunityVisit,
  customer: Customer,
  rated: Html | string,
): Html {
  const { name, figures } = customer;
  const facts = [
    ['Booked', counted(figures?.booked ?? 0, 'booking')],
    amount !== undefined && ['Paid', amount(paidOf(figures), currency)],
    ['Cancelled by it', String(figures?.cancelled ?? 0)],
    ['Latest day', figures?.lastDate === undefined ? 'none' : shortDate(figures.lastDate)],
    ['Rated', rated || 'not yet'],
  ] as const;
  const shown = facts.filter((fact) => fact !== false);
  return html`<section class="card"><h2>So far</h2>
<dl class="facts">${shown.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
<p><a href="${addressOf('/console/bookings', { q: name, when: 'all' })}">Its bookings</a></p></section>`;
}

const textsView = ({ contact = '', note = '' }: Customer): Html | undefined =>
  contact + note === ''
    ? undefined
    : html`<section class="card"><dl class="facts">${contact && html`<dt>${LABELS.contact}</dt><dd class="pre">${named(contact)}</dd>`}
${note && html`<dt>${LABELS.note}</dt><dd class="pre">${named(note)}</dd>`}</dl></section>`;

function textsForm(visit: CommunityVisit, customer: Customer, sent: Form | undefined, problems: Problems): Html {
  const current = picked(customer, CUSTOMER_TEXTS);
  const typed = sent ?? new Form({ ...current });
  return postForm(visit, customerPath(customer.brandId), 'card fields')`${seenField(typed, current, CUSTOMER_TEXTS)}
<h2>Written down</h2>${textFields(typed, problems)}
<div><button class="button">Save contact and note</button></div>`;
}

const STANDINGS: { readonly [S in CustomerStanding]: { readonly label: string; readonly hint: string } } = {
  letIn: { label: 'As others', hint: 'Its requests wait for an answer.' },
  trusted: { label: 'Trusted', hint: 'Its requests for free hours are approved at once.' },
  blocked: { label: 'Blocked', hint: 'Its requests are declined, and it can send no others.' },
};

function termsForm(
  visit: CommunityVisit,
  customer: Customer,
  spaces: readonly Space[],
  sent: Form | undefined,
  problems: Problems,
): Html {
  const current = picked(customer, AGREED_PRICES);
  const typed = sent ?? new Form(typedPrices(current));
  const chosen = sent?.text('standing') || standingOfCustomer(customer.admission);
  const list = CUSTOMER_STANDINGS.map((value) => ({ value, ...STANDINGS[value], checked: value === chosen }));
  const nameOf = new Map(spaces.map(({ spaceId: id, name }) => [String(id), name]));
  const agreed = spaces.filter(({ spaceId: id }) => typed.text(feeField(id)) !== '');
  const options = spaces
    .filter((space) => !agreed.includes(space))
    .map(({ spaceId: id, name }) => ({ value: String(id), label: namedText(name) }));
  const control = controlsOf(typed, problems);
  const decimal = { inputmode: 'decimal', autocomplete: 'off' };
  return postForm(
    visit,
    `${customerPath(customer.brandId)}/terms`,
    'card fields',
  )`${seenField(typed, current, AGREED_PRICES)}
<input type="hidden" name="was" value="${sent?.text('was') || standingOfCustomer(customer.admission)}"><h2>What was agreed</h2>
${choices({ name: 'standing', label: 'Requests', problems }, 'radio', list)}
${field({
  ...control('discountPercent', LABELS.discountPercent),
  hint: 'Off the fee of each space',
  attributes: { inputmode: 'numeric', autocomplete: 'off' },
})}
${agreed.map(({ spaceId: id }) =>
  field({
    ...control(feeField(id), `Fee of ${namedText(nameOf.get(String(id)) ?? '')}`),
    hint: 'Empty: no fee of its own',
    attributes: decimal,
  }),
)}
<div class="fields-row">${select({ ...control('feeSpace', 'A fee for'), options: [{ value: '', label: 'no other space' }, ...options] })}
${field({ ...control('newFee', 'Fee'), attributes: decimal })}</div>
<div><button class="button">Save what was agreed</button></div>`;
}

const feeField = (id: number): string => `fee-${id}`;

const typedPrices = ({ discountPercent, fees = [] }: AgreedPrices): Readonly<Record<string, string>> => ({
  discountPercent: String(discountPercent ?? ''),
  ...Object.fromEntries(fees.map(({ spaceId: id, eventFee }) => [feeField(id), formatAmount(eventFee)])),
});

/** What a form says of prices. What is no number becomes NaN, which the rules refuse. */
function pricesIn(form: Form, spaces: readonly Space[]) {
  const problems: Record<string, string> = {};
  const fees: AgreedFee[] = [];
  const read = (name: string, id: number): void => {
    const eventFee = parseAmount(form.text(name));
    if (eventFee === undefined) problems[name] = `The fee ${AMOUNT_RULE}.`;
    fees.push({ spaceId: spaceId(id), eventFee: eventFee ?? cents(0) });
  };
  const other = spaces.find(({ spaceId: id }) => String(id) === form.text('feeSpace'));
  for (const { spaceId: id } of spaces) {
    if (form.text(feeField(id)) !== '') read(feeField(id), id);
    else if (id === other?.spaceId) read('newFee', id);
  }
  const percent = form.text('discountPercent');
  const typed: Changes<AgreedPrices> = {
    discountPercent: percent === '' ? null : (idOf(percent) ?? Number.NaN),
    fees: fees.length === 0 ? null : fees,
  };
  return { typed, problems };
}

function inviteForm(
  visit: CommunityVisit,
  { brandId: id }: Customer,
  sent: Form | undefined,
  problems: Problems,
): Html {
  const control = controlsOf(sent ?? new Form({}), problems);
  return postForm(visit, `${customerPath(id)}/invite`, 'card fields')`${onceField()}<h2>An account of its own</h2>
<p>The person becomes its Manager, and finds its bookings and charges there. You can still enter bookings for it.</p>
${field({ ...control('email', 'Address'), type: 'email', required: true, attributes: { maxlength: EMAIL.max, autocomplete: 'off' } })}
<div><button class="button quiet">Invite</button></div>`;
}
