import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { defined } from '../../domain/defined.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { hasLength, NAME } from '../../domain/limits.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../../domain/space-day.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { numberIn, type SearchedPage } from '../../queries/booking-search.ts';
import { addressOf, type Fields } from '../parts/addresses.ts';
import { bookingPager, bookingTable, cursorOf } from '../parts/booking-views.ts';
import { dateField, field, formProblem, hasProblems, type Problems, statusOf } from '../parts/fields.ts';
import { shortDate } from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { noticeOf } from '../parts/pager.ts';
import { tabs } from '../parts/tabs.ts';
import { asPlainDate, readRange } from '../parts/typed-dates.ts';
import type { Form, Routes, Visit } from '../parts/visit.ts';

const PATH = '/console/bookings';
const PER_PAGE = 30;
/** As long as a name may be. */
const TEXT = { min: 0, max: NAME.max };

const WHEN = { upcoming: 'Upcoming', past: 'Past', all: 'All' } as const;
type When = keyof typeof WHEN;

/** What the list is asked for, as it stands in its address. */
type Asked = {
  readonly when: When;
  readonly status: BookingStatus | undefined;
  /** As they were typed. Empty: not asked for. */
  readonly typed: { readonly q: string; readonly from: string; readonly to: string };
};

/** The list of an account's bookings, and the search of it. Everything that is asked for is in the address. */
export function bookingListPages(routes: Routes, { queries }: PageDeps): void {
  routes.get(PATH, async (visit) => {
    const asked = askedIn(visit.query);
    const problems = problemsIn(asked);
    const title = visit.account.kind === 'Community' ? 'Bookings' : 'My bookings';
    return {
      title: asked.typed.q === '' || hasProblems(problems) ? title : `${title}: ${namedText(asked.typed.q)}`,
      section: 'bookings',
      status: statusOf(problems),
      flash: noticeOf(visit.query, cursorOf(visit.query)),
      main: html`<div class="head"><h1>${title}</h1></div>
${formProblem(problems)}
${searchForm(visit, asked, problems)}
${
  !hasProblems(problems) &&
  html`<div class="row apart"><nav aria-label="Period">${tabs(keysOf(WHEN).map((when) => ({ label: WHEN[when], href: address({ ...asked, when }), current: when === asked.when })))}</nav>
<nav aria-label="Status">${tabs(
    [undefined, ...BOOKING_STATUSES].map((status) => ({
      label: status ?? 'Any status',
      href: address({ ...asked, status }),
      current: status === asked.status,
    })),
  )}</nav></div>`
}
<div class="stack full" id="bookings" data-live-region>${
        hasProblems(problems)
          ? html`<div class="empty">${icon('warning')}<h2>Nothing was searched</h2><p>Correct what is marked above, then search again.</p></div>`
          : await list(visit, asked)
      }</div>`,
    };
  });

  async function list(visit: Visit, asked: Asked): Promise<Html> {
    const { account, now, query } = visit;
    const { when, status, typed } = asked;
    const community = account.kind === 'Community' ? await queries.spaces.community(account.id) : undefined;
    const part = {
      ...readRange(typed).dates,
      ...(when !== 'all' && { period: { is: when, now, ...defined({ zone: community?.timeZone }) } }),
      ...defined({ status }),
      direction: isLatestFirst(asked) ? 'descending' : 'ascending',
      limit: PER_PAGE,
      ...cursorOf(query),
    } as const;
    const page: Omit<SearchedPage, 'numbered' | 'isName'> & Partial<Pick<SearchedPage, 'numbered' | 'isName'>> =
      typed.q === ''
        ? await queries.bookings.page(account, part)
        : await queries.bookingSearch.page(account, { ...part, text: typed.q });
    const { bookings, numbered, isName = true, ...beside } = page;
    // Whoever searches for a number wants to see it first.
    const first = numbered?.isAsked && beside.previous === undefined ? [numbered.booking] : [];
    const shown = [...first, ...bookings];
    if (shown.length === 0)
      return isSearch(asked) ? nothingFound(account, asked, numbered?.booking, isName) : empty(account, asked);
    return html`${
      isSearch(asked)
        ? html`<p class="muted">${sentence(account, asked)} <a class="on-screen" href="${PATH}">Clear the search</a></p>`
        : html`<p class="muted on-paper">${sentence(account, asked)}</p>`
    }${bookingTable(shown, account, `${sentenceOf(asked)}, in each space’s local time`)}${bookingPager(PATH, fieldsOf(asked), beside)}`;
  }
}

function askedIn(query: Form): Asked {
  const typed = { q: query.text('q'), from: asPlainDate(query.text('from')), to: asPlainDate(query.text('to')) };
  const when = keysOf(WHEN).find((known) => known === query.text('when'));
  const status = BOOKING_STATUSES.find((known) => known === query.text('status'));
  const isSearched = Object.values(typed).some((text) => text !== '');
  // Whoever searches without saying when may be looking for anything.
  return { typed, status, when: when ?? (isSearched ? 'all' : 'upcoming') };
}

const isSearch = ({ typed }: Asked): boolean => Object.values(typed).some((text) => text !== '');

/** From a first day on, people read forwards; without one, the latest is what they look for. */
const isLatestFirst = ({ when, typed }: Asked): boolean => when === 'past' || (when === 'all' && typed.from === '');

const problemsIn = ({ typed }: Asked): Problems => ({
  ...defined({ q: hasLength(typed.q, TEXT) ? undefined : `Search for at most ${TEXT.max} characters.` }),
  ...readRange(typed).problems,
});

/** The fields of the address. */
const fieldsOf = ({ when, status, typed }: Asked): Fields => ({ ...typed, when, status });

const address = (asked: Asked): string => addressOf(PATH, fieldsOf(asked));

function searchForm(visit: Visit, { status, typed }: Asked, problems: Problems): Html {
  const others = visit.account.kind === 'Community' ? 'brand' : 'community';
  const date = (name: 'from' | 'to', label: string) => dateField({ name, label, value: typed[name], problems });
  const when = visit.query.text('when');
  return html`<form class="search" method="get" action="${PATH}" role="search" aria-label="Bookings">
${field({ name: 'q', label: `Number, ${others} or space`, value: typed.q, problems, attributes: { autocomplete: 'off', spellcheck: 'false' } })}
${date('from', 'First day')}
${date('to', 'Last day')}
${Object.hasOwn(WHEN, when) && html`<input type="hidden" name="when" value="${when}">`}${status && html`<input type="hidden" name="status" value="${status}">`}
<button class="button">${icon('search')} Search</button>
</form>`;
}

/** `Upcoming pending bookings` */
function kindOf({ when, status }: Asked): string {
  const words = [when === 'all' ? undefined : when, status?.toLowerCase(), 'bookings'].filter(Boolean).join(' ');
  return `${words[0]?.toUpperCase()}${words.slice(1)}`;
}

function datesOf({ typed: { from, to } }: Asked): string {
  const [first, last] = [from && shortDate(from), to && shortDate(to)];
  if (first && last) return first === last ? ` on ${first}` : ` from ${first} to ${last}`;
  if (first) return ` from ${first} on`;
  return last ? ` until ${last}` : '';
}

const orderOf = (asked: Asked): string => (isLatestFirst(asked) ? 'latest first' : 'earliest first');

const sentenceOf = (asked: Asked): string => `${kindOf(asked)}${datesOf(asked)}, ${orderOf(asked)}`;

/** What is being shown, in words. */
function sentence(account: Account, asked: Asked): Html {
  const { q } = asked.typed;
  const whose = account.kind === 'Community' ? 'the brand or the space' : 'the space or the community';
  const found = q !== '' && html` with “${named(q)}” as their number or in the name of ${whose}`;
  return html`${kindOf(asked)}${found}${datesOf(asked)}, ${orderOf(asked)}.`;
}

/** Says why there is nothing to show, and what to try instead. */
function nothingFound(account: Account, asked: Asked, numbered: ReadableBooking | undefined, isName: boolean): Html {
  const { q } = asked.typed;
  const wider: Asked = { ...asked, when: 'all', status: undefined };
  const isNarrow = asked.when !== 'all' || asked.status !== undefined;
  return html`<div class="empty">${icon('search')}<h2>Nothing found</h2><p>${reason()}</p>
<div class="row">${numbered && html`<a class="button" href="${PATH}/${numbered.bookingId}">Open booking #${numbered.bookingId}</a>`}${!numbered && isNarrow && isName && html`<a class="button quiet" href="${address(wider)}">Search all bookings</a>`}<a class="button quiet" href="${PATH}">Clear the search</a></div></div>`;

  function reason(): Html {
    const kind = `${kindOf(asked).toLowerCase()}${datesOf(asked)}`;
    if (numbered !== undefined)
      return html`Booking #${numbered.bookingId} is ${numbered.status.toLowerCase()} and takes place on ${shortDate(numbered.date)}: it is not among the ${kind}.`;
    const number = numberIn(q);
    const noNumber = number && `There is no booking #${number.digits} of yours.`;
    if (number?.isMarked) return html`${noNumber}`;
    if (q === '') return html`There are no ${kind}.`;
    if (isName) return html`There are no ${kind} with “${named(q)}” in the name.`;
    return account.kind === 'Community'
      ? html`${noNumber} None of your spaces and no brand has “${named(q)}” in its name.`
      : html`${noNumber} No space and no community has “${named(q)}” in its name.`;
  }
}

function empty(account: Account, asked: Asked): Html {
  const kind = kindOf(asked).toLowerCase();
  return account.kind === 'Community'
    ? html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Bookings appear here as soon as a brand requests one of your spaces.</p><a class="button" href="/console/spaces">View your spaces</a></div>`
    : html`<div class="empty">${icon('list')}<h2>No ${kind}</h2><p>Find a space, choose a date and a start time, and send a request.</p><a class="button" href="/console/find">Find a space</a></div>`;
}
