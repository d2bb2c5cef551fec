import { paidOf } from '../../domain/customer.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { CommunityId } from '../../domain/ids.ts';
import { CUSTOMER_CONTACT, CUSTOMER_NOTE, hasLength, NAME, SEARCH } from '../../domain/limits.ts';
import { counted, shortDate } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { type Customer, placeIn, placeText, type RatingsOf } from '../../queries/customers.ts';
import { done, type PageContent } from '../parts/answer.ts';
import { controlsOf, field, hasProblems, onceField, postForm, problemOf, textArea } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, CUSTOMERS, customerPath, ENTER, noticeOf, pager } from '../parts/links.ts';
import { ratingText } from '../parts/review-views.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import { column, dataTable, rowHeading } from '../parts/tables.ts';
import { Form, type Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may } from '../parts/visit.ts';

const PER_PAGE = 50;
const NEW = `${CUSTOMERS}/new`;

/** The customers of a community, and the form that adds one. */
export function customerPages({ community }: ConsoleRoutes, { commands, queries }: PageDeps): void {
  community.get(CUSTOMERS, 'Viewer', async (visit) => {
    const { query, account } = visit;
    const text = query.text('q');
    const problems = hasLength(text, SEARCH) ? {} : { q: `Search for at most ${SEARCH.max} characters.` };
    const after = placeIn(query.text('after'));
    const canAdd = may(visit, 'Coordinator');
    return {
      title: 'Customers',
      lead: 'Those that you look after, and every brand that has booked here.',
      problems,
      flash: noticeOf(query, { after }),
      ...(canAdd && {
        actions: html`<div class="row">${buttonLink(NEW, 'Add a customer', 'quiet')}${buttonLink(ENTER, 'Enter a booking')}</div>`,
      }),
      main: html`${searchForm(text, problems)}${
        !hasProblems(problems) && (await list(visit, account.id, text, after))
      }`,
    };
  });

  async function list(
    visit: CommunityVisit,
    owner: CommunityId,
    text: string,
    after: ReturnType<typeof placeIn>,
  ): Promise<Html> {
    const page = await queries.customers.page(owner, { text, after, limit: PER_PAGE });
    if (page.customers.length === 0 && text !== '')
      return emptyState('search', 'Nothing found')`No customer has ‘${named(text)}’ in its name.`;
    if (page.customers.length === 0)
      return emptyState(
        'people',
        'No customers yet',
      )`Those that you add, and brands whose request you approve, are listed here.`;
    const next = page.next && addressOf(CUSTOMERS, { q: text, after: placeText(page.next) });
    const first = after && addressOf(CUSTOMERS, { q: text });
    return html`${customerTable(visit, page.customers, await queries.customers.ratings(page.customers))}${pager({ first, next })}`;
  }

  community.get(NEW, 'Coordinator', async (visit) => newPage(visit, visit.restored ?? new Form({}), {}));

  community.post(NEW, 'Coordinator', async (visit) => {
    const { account, form, context } = visit;
    const [contact, note] = [form.lines('contact'), form.lines('note')];
    const wanted = { ...(contact && { contact }), ...(note && { note }) };
    const command = { communityId: account.id, name: form.text('name'), wanted };
    const outcome = await commands.customers.add(command, context);
    if (isRefusal(outcome)) return newPage(visit, form, problemOf(outcome, LABELS));
    return done(customerPath(outcome.brandId), `${namedText(outcome.name)} is a customer now.`);
  });
}

const LABELS = { name: 'Name', contact: 'Contact', note: 'Note' } as const;

const searchForm = (text: string, problems: Problems): Html =>
  html`<form class="search short" method="get" action="${CUSTOMERS}" role="search" aria-label="Customers">
${field({ name: 'q', label: 'Name contains', value: text, problems, attributes: { autocomplete: 'off' } })}
<button class="button quiet">${icon('search')} Search</button></form>`;

const customerTable = (
  { settings: { currency }, amount }: CommunityVisit,
  customers: readonly Customer[],
  ratingsOf: RatingsOf,
): Html =>
  dataTable('Customers, by name', customers, [
    rowHeading(
      'Name',
      'long',
      (customer) =>
        html`<a class="whole" href="${customerPath(customer.brandId)}">${named(customer.name)}</a>${marksOf(customer)}`,
    ),
    column('Booked', 'number', ({ figures }) => counted(figures?.booked ?? 0, 'booking')),
    amount !== undefined && column('Paid', 'number', ({ figures }) => amount(paidOf(figures), currency)),
    column('Cancelled', 'number', ({ figures }) => String(figures?.cancelled ?? 0)),
    column('Latest', '', ({ figures }) => (figures?.lastDate === undefined ? '' : shortDate(figures.lastDate))),
    column('Rated', '', (customer) => ratedText(ratingsOf(customer))),
  ]);

export const ratedText = (ratings: ReturnType<RatingsOf>): Html | string =>
  ratings === undefined ? '' : ratingText({ average: ratings.stars / ratings.count, count: ratings.count });

const MARKS = { trusted: 'Trusted', turnedAway: 'Blocked', admitted: undefined } as const;

/** Whether the community looks after the customer, trusts or blocks it. */
export function marksOf({ isKept, admission }: Customer): Html | undefined {
  const mark = admission && MARKS[admission];
  const texts = [isKept && 'looked after by you', mark].filter((text) => text !== undefined);
  return texts.length === 0 ? undefined : html`<br><span class="muted small">${texts.join(', ')}</span>`;
}

function newPage(visit: CommunityVisit, typed: Form, problems: Problems): PageContent {
  const control = controlsOf(typed, problems);
  return {
    title: 'Add a customer',
    lead: 'For bookings by telephone or mail. Only you see it. It has no account of its own until you invite a person.',
    back: { href: CUSTOMERS, label: 'Customers' },
    problems,
    main: postForm(visit, NEW, 'card fields narrow')`${onceField()}
${field({ ...control('name', LABELS.name), required: true, attributes: { maxlength: NAME.max, autocomplete: 'off', autofocus: '' } })}
${textFields(typed, problems)}
<div><button class="button">Add</button></div>`,
  };
}

/** Contact and note, which the community alone reads. */
export function textFields(typed: Form, problems: Problems): Html {
  const control = controlsOf(typed, problems);
  return html`${textArea({
    ...control('contact', LABELS.contact),
    value: typed.lines('contact'),
    hint: 'Who calls, and how to reach them.',
    attributes: { maxlength: CUSTOMER_CONTACT.max, rows: 2 },
  })}
${textArea({
  ...control('note', LABELS.note),
  value: typed.lines('note'),
  hint: 'The customer never sees it.',
  attributes: { maxlength: CUSTOMER_NOTE.max, rows: 4 },
})}`;
}
