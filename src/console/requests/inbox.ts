import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { furtherDetails } from '../../contract/booking.ts';
import { isLetIn } from '../../domain/admission.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import { beginningOf } from '../../domain/cut-text.ts';
import type { Space } from '../../domain/space.ts';
import {
  capitalised,
  counted,
  duration,
  fromNow,
  hours,
  momentIn,
  shortDate,
  shortened,
  zoneName,
} from '../../html/formats.ts';
import { flag, type Html, html, named, namedText } from '../../html/html.ts';
import type { Beside } from '../../queries/requests.ts';
import { statusBadge, unreadMark } from '../parts/booking-views.ts';
import { csrfField, dateField, field, hasProblems, select } from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { noticeOf, pager } from '../parts/links.ts';
import { unreadQuestions } from '../parts/question-links.ts';
import type { ConsoleRoutes, PageDeps } from '../parts/routes.ts';
import type { Problems } from '../parts/typed-form.ts';
import { type CommunityVisit, may, type Visit } from '../parts/visit.ts';
import { admissionForms, brandMarks, leftOutText } from './admission-forms.ts';
import {
  BULK_FORM,
  decisionForms,
  declineForm,
  type FormPage,
  listField,
  reasonSuggestions,
  requestName,
} from './decision-forms.ts';
import { entriesOf } from './inbox-entries.ts';
import { type Added, addedTo, firstOf, type ListPage, type Neighbour, pageOf, recentReasons } from './inbox-reads.ts';
import { type Row, rowsOf } from './inbox-rows.ts';
import { movesToAnswer } from './move-views.ts';
import {
  cursorBefore,
  hasRoomFor,
  inboxPath,
  inboxQuery,
  isFiltered,
  problemsAmong,
  type RequestList,
  requestList,
} from './request-list.ts';
import {
  declineSeries,
  idsOf,
  NAME_SHOWN,
  outcomesText,
  seriesDaysView,
  seriesForms,
  seriesTermsView,
} from './series-views.ts';
import type { LastStep } from './what-happened.ts';

/** Characters of a message in a row: beside the other cells there is room for three or four lines. A longer one expands. */
const MESSAGE_SHOWN = 160;

/** A community's pending requests, which it answers one after the other or several at once. */
export function inboxPages({ community }: ConsoleRoutes, { queries }: PageDeps): void {
  community.get('/console/inbox', 'Viewer', async (visit) => {
    const spaces = await queries.spaces.list(visit.account);
    const list = requestList(visit.query, visit);
    const problems = problemsAmong(list, spaces);
    const [content, unread, moves] = await Promise.all([
      hasProblems(problems)
        ? { main: html`<p>Fix the fields to see the requests.</p>`, isEmpty: false }
        : requestsPage(visit, list, spaces.length > 0),
      unreadQuestions(queries, visit),
      movesToAnswer(queries, visit),
    ]);
    // Every request of this page has been answered.
    if (content === undefined) return { go: inboxPath({ ...list, after: undefined }) };
    return {
      title: 'Requests',
      isCounted: true,
      lead: may(visit, 'Coordinator')
        ? 'Approve or decline requests from brands. Unanswered requests expire.'
        : 'Requests from brands. Unanswered requests expire.',
      problems,
      flash: noticeOf(visit.query, list),
      main: html`<div id="unread-questions" data-live-region>${unread}</div>
${moves}${(!content.isEmpty || isFiltered(list)) && filterForm(visit, list, spaces, problems)}${content.main}`,
    };
  });

  /** The list, and whether it has neither requests nor rows. Undefined if its page is not there any more. */
  async function requestsPage(
    visit: CommunityVisit,
    list: RequestList,
    hasSpaces: boolean,
  ): Promise<{ readonly main: Html; readonly isEmpty: boolean } | undefined> {
    const { account } = visit;
    const isOpen = list.shown.length > 0 || list.since !== undefined;
    const [count, page, opened] = await Promise.all([
      queries.requests.count(account.id, list.filter),
      isOpen ? undefined : pageOf(queries, account, list),
      queries.requests.some(account, list.shown),
    ]);
    if (page?.rows.length === 0 && count > 0) return undefined;
    const entries = page?.rows ?? (await entriesOf(queries, list, opened));
    const [rows, added, first, reasons] = await Promise.all([
      rowsOf(queries, visit, entries),
      addedTo(queries, account, list, entries),
      isOpen ? firstOf(queries, account, list) : undefined,
      recentReasons(queries, account),
    ]);
    const formPage = { list: inboxQuery(list) };
    const picked = new Set(visit.query.text('picked').split('.'));
    const main = html`<p class="muted" id="request-count" data-live-region>
${counted(count, isFiltered(list) ? 'matching request' : 'pending request')},
${list.sort === 'deadline' ? 'earliest deadline first' : 'earliest event first'}.
All times are ${zoneName(visit.accountZone)}.</p>
${bar(visit, list, rows, { added, count })}${
  rows.length === 0
    ? nothing(visit, list, count, hasSpaces)
    : html`<ol class="requests" id="requests" role="list" data-live-keep="shown" data-live-since="${list.since ?? visit.now}">${rows.map(
        (row) => html`<li>${rowView(visit, row, formPage, picked.has(String(row.request.bookingId)))}</li>`,
      )}</ol>${reasonSuggestions(reasons)}${page === undefined ? pendingLink(list, first) : pagesBeside(list, page)}`
}`;
    return { main, isEmpty: count === 0 && rows.length === 0 };
  }
}

/**
 * The bar above the rows, which stays in sight: the number of new requests, and the buttons for the selected ones. It is the form of the
 * rows' checkboxes and Approve buttons.
 */
function bar(
  visit: Visit,
  list: RequestList,
  rows: readonly Row[],
  { added, count }: { readonly added: Added; readonly count: number },
): Html {
  const rowIds = rows.map(({ key }) => key);
  const [first] = added.first;
  const ids = [...rowIds, ...added.first.map(({ bookingId }) => bookingId)];
  const href = hasRoomFor(rowIds, added.first.length)
    ? inboxPath(list, { shown: ids })
    : inboxPath({ ...list, after: first && cursorBefore(list, first) });
  const keys = html`<button class="button quiet small" type="button" popovertarget="key-help" data-keys hidden>Keys…</button>`;
  const target = `${href}#request-${first?.bookingId ?? ''}`;
  const news = html`<a data-does="show new requests" href="${target}">${counted(added.count, 'new request')} – show</a>`;
  if (!may(visit, 'Coordinator'))
    return html`<div class="request-bar"><p id="request-news" data-live-region>${first !== undefined && news}</p></div>`;
  return html`<form class="request-bar" id="${BULK_FORM}" method="post" action="/console/inbox/approve">
${csrfField(visit)}${listField(inboxQuery(list))}
${
  rows.length > 0 &&
  html`<button class="button" data-selected="Approve">Approve selected</button>
<button class="button quiet" form="${BULK_FORM}" formaction="/console/inbox/decline" data-selected="Decline">Decline selected…</button>
${selectAll(rows, count)}`
}
<p id="request-news" data-live-region>${first !== undefined && news}</p>${rows.length > 0 && keys}</form>${rows.length > 0 && keyHelp}`;
}

/** Selects the rows (with JavaScript), or all requests of the list. A page names those before they are decided (`bulk-decisions.ts`). */
function selectAll(rows: readonly Row[], count: number): Html {
  const pending = rows.flatMap(({ waiting: requests }) => requests);
  const waiting = rows.flatMap(({ brand, waiting: requests }) => (isLetIn(brand.standing) ? [] : requests)).length;
  const leftOut = html`<span class="small muted" id="left-out" data-live-region>${
    waiting > 0 && leftOutText(waiting)
  }</span>`;
  if (count <= pending.length)
    return html`<label class="select-all" hidden><input type="checkbox" data-select-all> Select all</label>${leftOut}`;
  return html`<label class="select-all" hidden><input type="checkbox" data-select-all> Select this page</label>
<label class="select-all"><input type="checkbox" name="all" value="yes">
<span id="all-requests" data-live-region>Select all ${count.toLocaleString('en')}</span></label>${leftOut}`;
}

/** Shown by "?" and by its button. Character keys can be switched off (WCAG 2.1.4). */
const keyHelp = html`<div class="key-help" id="key-help" popover role="dialog" aria-labelledby="key-help-title">
<h2 id="key-help-title">Keys in this list</h2>
<p>They act on the row that has the focus; <kbd>j</kbd> and <kbd>k</kbd> go to the list from anywhere on the page. A
row that has just appeared or moved takes no key for a second.</p>
<dl><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous request</dd><dt><kbd>a</kbd></dt><dd>approve</dd>
<dt><kbd>d</kbd></dt><dd>decline: type a reason, then Enter (in Safari twice while it suggests reasons). Esc closes it</dd>
<dt><kbd>x</kbd></dt><dd>select</dd><dt><kbd>?</kbd></dt><dd>show these keys</dd></dl>
<label class="row"><input type="checkbox" data-use-keys checked> Use these keys</label>
<button class="button quiet" type="button" popovertarget="key-help" popovertargetaction="hide">Close</button></div>`;

function nothing(visit: Visit, list: RequestList, pending: number, hasSpaces: boolean): Html {
  return html`<div data-live-keep="shown" data-live-since="${list.since ?? visit.now}">${reason()}</div>`;

  function reason(): Html {
    // A page that was kept open, or its address from another account.
    if (pending > 0) {
      const first = buttonLink(inboxPath({ ...list, after: undefined }), 'Show pending requests');
      return emptyState('inbox', 'There are pending requests', first)`None of them is on this page.`;
    }
    if (isFiltered(list)) {
      const all = buttonLink('/console/inbox', 'Show all requests');
      return emptyState('inbox', 'No requests match', all)`Matching requests appear here automatically.`;
    }
    if (!hasSpaces) {
      const add = may(visit, 'Manager') && buttonLink('/console/spaces/new', 'Add a space');
      const text = add
        ? 'Add your first space, and brands can find and request it.'
        : 'Once a Manager adds a space, brands can find and request it.';
      return emptyState('inbox', 'No requests yet', add)`${text}`;
    }
    const links = html`<div class="row">${buttonLink('/console/calendar', 'Open calendar')}
${buttonLink('/console/spaces', 'View your spaces', 'quiet')}</div>`;
    const meanwhile = may(visit, 'Manager')
      ? 'check your calendar or make sure that your spaces are up to date.'
      : 'check your calendar.';
    const text = `New requests appear here automatically. In the meantime, ${meanwhile}`;
    return emptyState('inbox', 'No pending requests', links)`${text}`;
  }
}

function rowView(visit: Visit, row: Row, formPage: FormPage, isPicked: boolean): Html {
  const { key, request, waiting, brand, answered, hasUnread } = row;
  const [id, title] = [`request-${key}`, `request-${key}-brand`];
  const isPending = answered === undefined;
  const mayAnswer = may(visit, 'Coordinator');
  const details = html`${isPending && brandMarks(brand)}${hasUnread && html`<p class="small">${unreadMark}</p>`}${detailViews(request)}`;
  const isOpen = waiting.some((one) => expiryOf(one) > visit.now);
  const pick =
    isLetIn(brand.standing) &&
    isOpen &&
    html`<label><input type="checkbox" form="${BULK_FORM}" name="id" value="${idsOf(waiting)}"
aria-label="Select ${requestName(request)}${waiting.length > 1 && ' and its series'}"${flag('checked', isPicked)}></label>`;
  return html`<article class="request-row${!mayAnswer && ' is-read'}" id="${id}" aria-labelledby="${title}" tabindex="-1"
data-live-region data-key="${key}">${mayAnswer && html`<div class="pick">${pick}</div>`}
<div class="who"><h2 id="${title}"><a class="whole" href="/console/bookings/${request.bookingId}">
${named(shortened(request.brandName, NAME_SHOWN))}</a></h2>${details}</div>${factsView(visit, row)}${
    isPending ? mayAnswer && formsView(visit, row, formPage) : decidedView(row, answered)
  }</article>`;
}

function factsView(visit: Visit, { request, waiting, days, beside, firstBeside, answered }: Row): Html {
  const { now } = visit;
  if (waiting.length > 1) return html`${seriesDaysView(waiting, firstBeside)}${seriesTermsView(visit, waiting, now)}`;
  const approved = days.filter(({ status }) => status !== 'Cancelled');
  if (answered !== undefined && days.length > 1)
    return html`${seriesDaysView(days, [])}${
      approved.length > 0 ? seriesTermsView(visit, approved, undefined) : html`<div class="terms"></div>`
    }`;
  const terms = termsView(visit, request, answered === undefined ? now : undefined);
  return html`${whatView(request, beside)}${terms}`;
}

function formsView(visit: Visit, { key, request, waiting, brand }: Row, formPage: FormPage): Html {
  const isSeries = waiting.length > 1;
  if (!isLetIn(brand.standing)) {
    const decline = isSeries ? declineSeries(visit, key, waiting, formPage) : declineForm(visit, request, formPage);
    return admissionForms(visit, request, { standing: brand.standing, decline, formPage });
  }
  return isSeries ? seriesForms(visit, key, waiting, formPage) : decisionForms(visit, request, formPage);
}

/** What became of a request, or of the days of a series. */
const decidedView = ({ request, days }: Row, answered: LastStep): Html =>
  html`<div class="decided">${statusBadge(request)}<p class="small">${doneBy(answered)}</p>
<p class="small muted">${days.length > 1 ? `Of ${days.length} days: ${outcomesText(days)}` : answered.at}</p></div>`;

const whatView = (request: ReadableBooking, beside: Beside): Html =>
  html`<div class="what"><p><time class="nowrap" datetime="${request.date}">${shortDate(request.date)}</time>,
<span class="nowrap">${hours(request.startHour, request.freeFrom)}</span></p>${spaceName(request)}${warnings(request, beside)}</div>`;

/** What it earns, and when it expires. @param now undefined for a request that was answered */
function termsView({ amount }: Visit, request: ReadableBooking, now: number | undefined): Html {
  const { eventFee, totalPrice, currency, timeZone } = request;
  const expiry = expiryOf(request);
  return html`<div class="terms">${
    amount &&
    html`<p>You earn <strong>${amount(eventFee, currency)}</strong><br>
<span class="muted small">The brand pays <span class="nowrap">${amount(totalPrice, currency)}</span></span></p>`
  }${
    now !== undefined &&
    html`<p class="small">${
      expiry > now ? html`Expires <strong class="nowrap">${fromNow(expiry, now)}</strong>` : 'Expired'
    } <span class="muted nowrap">${momentIn(timeZone, expiry)}</span></p>`
  }</div>`;
}

const spaceName = (request: ReadableBooking): Html =>
  html`<p class="space">${named(shortened(request.spaceName, NAME_SHOWN))}</p>`;

/** The details of a request that have no cell of their own. All but the message have a label. */
const detailViews = (request: Row['request']): readonly Html[] =>
  furtherDetails(request)
    .filter(({ value }) => value !== '')
    .map(({ field, label, value }) =>
      field === 'message' ? messageView(String(value)) : html`<p class="message">${label}: ${named(String(value))}</p>`,
    );

/** A long message is cut, between words if it has any, and expands in its row. */
function messageView(message: string): Html {
  if (beginningOf(message, MESSAGE_SHOWN) === message) return html`<p class="message" dir="auto">${message}</p>`;
  const start = beginningOf(message, MESSAGE_SHOWN - 1)
    .replace(/\s\S*$/, '')
    .trimEnd();
  const rest = message.slice(start.length).trimStart();
  return html`<details class="message" dir="auto"><summary>${start}<span>…</span></summary><p class="pre">${rest}</p></details>`;
}

const doneBy = ({ verb, by }: LastStep): string => `${capitalised(verb)}${by && ` ${by}`}`;

/** Warnings: too little time, and other bookings that day. */
function warnings(request: ReadableBooking, { first, count }: Beside): Html | undefined {
  const { usageHours, durationHours } = request;
  if (usageHours === undefined && first === undefined) return undefined;
  return html`<p class="small muted">${
    usageHours !== undefined && `Usable for only ${duration(usageHours)} of ${duration(durationHours)}. `
  }${
    first !== undefined &&
    html`That day: ${hours(first.startHour, first.freeFrom)} ${named(shortened(first.brandName))}
(${first.status.toLowerCase()})${count > 1 && ` and ${count - 1} more`}`
  }</p>`;
}

const pathTo = (list: RequestList, { after, first }: Neighbour): string =>
  `${inboxPath({ ...list, after })}#request-${first}`;

const pagesBeside = (list: RequestList, { previous, next }: ListPage): Html | undefined =>
  pager({ previous: previous && pathTo(list, previous), next: next && pathTo(list, next) });

/** The link from a page that stays open to the requests that are still pending. */
const pendingLink = (list: RequestList, pending: BookingDocument | undefined): Html | undefined =>
  pager(
    { next: pending && pathTo(list, { after: undefined, first: pending.bookingId }) },
    { next: 'Show pending requests' },
  );

const ORDERS = [
  { value: '', label: 'By deadline' },
  { value: 'date', label: 'By event' },
];

/** The filter and the order. Open while one of them is set. */
function filterForm({ amount }: Visit, list: RequestList, spaces: readonly Space[], problems: Problems): Html {
  const { typed } = list;
  const isUsed = isFiltered(list) || list.sort === 'date';
  const names = spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(name) }));
  const control = (name: keyof typeof typed, label: string) => ({ name, label, value: typed[name], problems });
  const money = { inputmode: 'decimal', size: 8 };
  return html`<details class="request-filter"${flag('open', isUsed)}><summary>Filter and sort</summary>
<form class="fields" method="get" action="/console/inbox"><div class="fields-row">
${select({ ...control('space', 'Space'), options: [{ value: '', label: 'All spaces' }, ...names] })}
${dateField(control('from', 'From'))}${dateField(control('to', 'Until'))}
${
  amount &&
  html`${field({ ...control('min', 'Minimum total'), attributes: money })}
${field({ ...control('max', 'Maximum total'), attributes: money })}`
}
${select({ ...control('sort', 'Order'), options: ORDERS })}
</div><div class="row"><button class="button quiet">Show</button>${
    isUsed && html`<a href="/console/inbox">Show all requests</a>`
  }</div></form></details>`;
}
