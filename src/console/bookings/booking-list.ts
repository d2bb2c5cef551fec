import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { DETAIL_LABELS, FURTHER_DETAILS } from '../../contract/booking.ts';
import type { Account } from '../../domain/account.ts';
import { localDate } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { hasLength, SEARCH } from '../../domain/limits.ts';
import { formatAmount } from '../../domain/pricing.ts';
import { capitalised, counted, shortDate } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { numberIn, type SearchedPage } from '../../queries/booking-search.ts';
import type { BookingPage } from '../../queries/bookings.ts';
import type { Answer } from '../parts/answer.ts';
import {
  type BookingState,
  bookingPager,
  bookingTable,
  cursorsOf,
  listIn,
  STATES,
  stateOf,
} from '../parts/booking-views.ts';
import { type CsvColumn, csvOf, downloadLink } from '../parts/csv-file.ts';
import { dateField, field, hasProblems, hiddenField } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { addressOf, type Fields, noticeOf, tabs } from '../parts/links.ts';
import { otherPartyOf } from '../parts/other-party.ts';
import { QUESTIONS, unreadQuestions } from '../parts/question-links.ts';
import type { PageDeps, Routes } from '../parts/routes.ts';
import { asPlainDate, readRange } from '../parts/typed-dates.ts';
import type { Form, Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { movesToAnswer } from '../requests/move-views.ts';
import { bookingColumns, type WithParty, withParties } from './csv-export.ts';

const PATH = '/console/bookings';
const CSV_PATH = '/console/bookings.csv';
const PER_PAGE = 30;

const WHEN = { upcoming: 'Upcoming', past: 'Past', all: 'All' } as const;
type When = keyof typeof WHEN;

/** The filter in the address. */
type ListFilter = {
  readonly when: When;
  readonly state: BookingState | undefined;
  /** The fields as they were typed, dates as YYYY-MM-DD where possible. Empty if not asked for. */
  readonly typed: { readonly q: string; readonly from: string; readonly to: string };
};

/** The list of an account's bookings, its search, and the same as a file. The address holds the whole filter. */
export function bookingListPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, 'Viewer', listPage);

  routes.get(CSV_PATH, 'Viewer', async (visit) => {
    const filter = filterIn(visit.query);
    return hasProblems(problemsIn(filter)) ? listPage(visit) : csvFile(visit, filter);
  });

  async function listPage(visit: Visit): Promise<Answer> {
    const filter = filterIn(visit.query);
    const problems = problemsIn(filter);
    const heading = visit.account.kind === 'Community' ? 'Bookings' : 'My bookings';
    const isWrong = hasProblems(problems);
    return {
      title: filter.typed.q === '' || isWrong ? heading : `${heading}: ${namedText(filter.typed.q)}`,
      heading,
      problems,
      actions: buttonLink(QUESTIONS, 'Questions', 'quiet'),
      flash: noticeOf(visit.query, cursorsOf(visit.query)),
      main: html`${visit.account.kind === 'Brand' && (await movesToAnswer(queries, visit))}
${isFirstView(visit.query) && (await unreadMessages(visit))}${searchForm(visit, filter, problems)}
${!isWrong && filterTabs(filter)}
<div class="stack full" id="bookings" data-live-region>${
        isWrong
          ? emptyState('warning', 'No search yet')`Fix the fields above, then search again.`
          : await list(visit, filter)
      }</div>`,
    };
  }

  /** The bookings with an unread message, of any day and state, and the link to such questions. */
  async function unreadMessages(visit: Visit): Promise<Html> {
    const {
      account,
      user: { read = {} },
    } = visit;
    const ids = await queries.threads.unread(account, read);
    const unread = await queries.requests.some(account, ids.slice(0, PER_PAGE));
    const party = await otherPartyOf(queries, account, unread);
    return html`<div id="unread-messages" class="stack full" data-live-region>${
      unread.length > 0 &&
      html`<h2>Unread messages</h2>${bookingTable(visit, unread, party, 'Bookings with unread messages')}`
    }${await unreadQuestions(queries, visit)}</div>`;
  }

  async function list(visit: Visit, filter: ListFilter): Promise<Html> {
    const { account, query } = visit;
    const { typed } = filter;
    const part = {
      ...wholeListOf(visit, filter),
      isCounted: isSearch(filter),
      limit: PER_PAGE,
      ...cursorsOf(query),
    };
    const page: BookingPage & Partial<Pick<SearchedPage, 'numbered' | 'isName'>> =
      typed.q === ''
        ? await queries.bookings.page(account, part)
        : await queries.bookingSearch.page(account, { ...part, text: typed.q });
    const { bookings, numbered, isName = true, count, ...beside } = page;
    // A booking whose number was searched for comes first.
    const first = numbered?.isAsked && beside.previous === undefined ? [numbered.booking] : [];
    const rows = [...first, ...bookings];
    if (rows.length === 0)
      return isSearch(filter) ? nothingFound(account, filter, numbered?.booking, isName) : empty(account, filter);
    const summary = isSearch(filter)
      ? html`<p class="muted">${
          count !== undefined && `${counted(count + (numbered?.isAsked ? 1 : 0), 'booking')}. `
        }${resultsText(filter)} <a class="on-screen" href="${PATH}">Clear the search</a></p>`
      : html`<p class="muted on-paper">${resultsText(filter)}</p>`;
    const party = await otherPartyOf(queries, account, rows);
    const caption = `${kindOf(filter)}${datesOf(filter)}, ${orderOf(filter)}, in each space’s local time`;
    return html`${summary}${bookingTable(visit, rows, party, caption)}${bookingPager(PATH, fieldsOf(filter), beside)}
${downloadLink(addressOf(CSV_PATH, fieldsOf(filter)))}`;
  }

  function csvFile(visit: Visit, filter: ListFilter): Answer {
    const { account, now, accountZone, amount } = visit;
    const { when, typed } = filter;
    const whole = wholeListOf(visit, filter);
    const days = [typed.from && `from-${typed.from}`, typed.to && `to-${typed.to}`].filter(Boolean);
    const pages =
      typed.q === ''
        ? queries.bookings.wholeList(account, whole)
        : queries.bookingSearch.wholeList(account, { ...whole, text: typed.q });
    return csvOf<WithParty<ReadableBooking>>({
      name: ['bookings', ...(days.length > 0 ? days : [when, localDate(now, accountZone)])].join('-'),
      pages: withParties(queries, account, pages, (booking) => booking),
      columns: [
        ...bookingColumns<WithParty<ReadableBooking>>(account, (booking) => booking),
        { label: 'Status', cell: stateOf },
        ...(amount === undefined ? [] : AMOUNT_COLUMNS),
        ...FURTHER_DETAILS.map((field) => ({
          label: DETAIL_LABELS[field] ?? field,
          cell: (booking: ReadableBooking) => booking[field],
        })),
      ],
      rowName: 'booking',
    });
  }
}

const AMOUNT_COLUMNS: readonly CsvColumn<
  Pick<BookingDocument, 'eventFee' | 'serviceFee' | 'totalPrice' | 'currency'>
>[] = [
  { label: 'Event fee', cell: ({ eventFee }) => formatAmount(eventFee) },
  { label: 'Service fee', cell: ({ serviceFee }) => formatAmount(serviceFee) },
  { label: 'Total', cell: ({ totalPrice }) => formatAmount(totalPrice) },
  { label: 'Currency', cell: ({ currency }) => currency },
];

/** All bookings of a filter, in the order of its page. */
function wholeListOf({ now }: Visit, filter: ListFilter) {
  const { when, state, typed } = filter;
  return {
    ...readRange(typed).dates,
    ...(when !== 'all' && { period: { is: when, now } }),
    ...(state !== undefined && { list: listIn(state) }),
    direction: isLatestFirst(filter) ? 'descending' : 'ascending',
  } as const;
}

const filterTabs = (filter: ListFilter): Html =>
  html`<div class="row apart">${tabs(
    'Period',
    keysOf(WHEN).map((when) => ({
      label: WHEN[when],
      href: address({ ...filter, when }),
      current: when === filter.when,
    })),
  )}${tabs(
    'Status',
    [undefined, ...STATES].map((state) => ({
      label: state ?? 'Any status',
      href: address({ ...filter, state }),
      current: state === filter.state,
    })),
  )}</div>`;

function filterIn(query: Form): ListFilter {
  const { q, from, to } = query.texts(['q', 'from', 'to']);
  const typed = { q, from: asPlainDate(from), to: asPlainDate(to) };
  const when = keysOf(WHEN).find((one) => one === query.text('when'));
  const state = STATES.find((one) => one === query.text('status'));
  // A search without a period is a search of all bookings.
  return { typed, state, when: when ?? (isSearch({ typed }) ? 'all' : 'upcoming') };
}

const isSearch = ({ typed }: Pick<ListFilter, 'typed'>): boolean => Object.values(typed).some((text) => text !== '');

/** With a first day the list is read forwards; without one, latest first. */
const isLatestFirst = ({ when, typed }: ListFilter): boolean =>
  when === 'past' || (when === 'all' && typed.from === '');

const problemsIn = ({ typed }: ListFilter): Problems => ({
  ...defined({ q: hasLength(typed.q, SEARCH) ? undefined : `Search for at most ${SEARCH.max} characters.` }),
  ...readRange(typed).problems,
});

/** The fields of the address. */
const fieldsOf = ({ when, state, typed }: ListFilter): Fields => ({ ...typed, when, status: state });

/** Whether neither a filter nor a page was asked for. */
const isFirstView = (query: Form): boolean =>
  ['q', 'from', 'to', 'when', 'status', 'after', 'before'].every((name) => query.text(name) === '');

const address = (filter: ListFilter): string => addressOf(PATH, fieldsOf(filter));

function searchForm(visit: Visit, { state, typed }: ListFilter, problems: Problems): Html {
  const others = visit.account.kind === 'Community' ? 'brand' : 'community';
  const date = (name: 'from' | 'to', label: string) => dateField({ name, label, value: typed[name], problems });
  const when = visit.query.text('when');
  return html`<form class="search" method="get" action="${PATH}" role="search" aria-label="Bookings">
${field({
  name: 'q',
  label: `Number, ${others} or space`,
  value: typed.q,
  problems,
  attributes: { autocomplete: 'off', spellcheck: 'false' },
})}
${date('from', 'First day')}
${date('to', 'Last day')}
${Object.hasOwn(WHEN, when) && hiddenField('when', when)}${state && hiddenField('status', state)}
<button class="button">${icon('search')} Search</button>
</form>`;
}

/** `Upcoming pending bookings` */
const kindOf = ({ when, state }: ListFilter): string =>
  capitalised([when === 'all' ? undefined : when, state?.toLowerCase(), 'bookings'].filter(Boolean).join(' '));

function datesOf({ typed: { from, to } }: ListFilter): string {
  const [first, last] = [from && shortDate(from), to && shortDate(to)];
  if (first && last) return first === last ? ` on ${first}` : ` from ${first} to ${last}`;
  if (first) return ` from ${first} on`;
  return last ? ` until ${last}` : '';
}

const orderOf = (filter: ListFilter): string => (isLatestFirst(filter) ? 'latest first' : 'earliest first');

/** The filter in words. */
function resultsText(filter: ListFilter): Html {
  const { q } = filter.typed;
  const kind = `${kindOf(filter)}${datesOf(filter)}, ${orderOf(filter)}.`;
  return q === '' ? html`${kind}` : html`Results for ‘${named(q)}’. ${kind}`;
}

/** Explains an empty list, and suggests what to try instead. */
function nothingFound(
  account: Account,
  filter: ListFilter,
  numbered: ReadableBooking | undefined,
  isName: boolean,
): Html {
  const isNarrow = filter.when !== 'all' || filter.state !== undefined;
  const all = address({ ...filter, when: 'all', state: undefined });
  const next = numbered
    ? buttonLink(`${PATH}/${numbered.bookingId}`, `Open booking #${numbered.bookingId}`)
    : isNarrow && isName && buttonLink(all, 'Search all bookings', 'quiet');
  const clear = buttonLink(PATH, 'Clear the search', 'quiet');
  const reason = whyNothing(account, filter, numbered, isName);
  return emptyState('search', 'Nothing found', html`<div class="row">${next}${clear}</div>`)`${reason}`;
}

function whyNothing(
  account: Account,
  filter: ListFilter,
  numbered: ReadableBooking | undefined,
  isName: boolean,
): Html {
  const { q } = filter.typed;
  const kind = `${kindOf(filter).toLowerCase()}${datesOf(filter)}`;
  if (numbered !== undefined) {
    const [state, date] = [stateOf(numbered).toLowerCase(), shortDate(numbered.date)];
    return html`Booking #${numbered.bookingId} is ${state} and takes place on ${date}: it is not among the ${kind}.`;
  }
  const number = numberIn(q);
  const noNumber = number && `There is no booking #${number.digits} of yours.`;
  if (number?.isMarked) return html`${noNumber}`;
  if (q === '') return html`There are no ${kind}.`;
  if (isName) return html`There are no ${kind} that match ‘${named(q)}’.`;
  return html`${noNumber} No spaces or ${account.kind === 'Community' ? 'brands' : 'communities'} match ‘${named(q)}’.`;
}

function empty({ kind }: Account, filter: ListFilter): Html {
  const [text, href, label] =
    kind === 'Community'
      ? ['Bookings appear here as soon as a brand requests one of your spaces.', '/console/spaces', 'View your spaces']
      : ['Find a space, choose a date and a start time, and send a request.', '/console/find', 'Find a space'];
  return emptyState('list', `No ${kindOf(filter).toLowerCase()}`, buttonLink(href, label))`${text}`;
}
