import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import { expiryOf } from '../../domain/booking-moments.ts';
import type { CommunityId } from '../../domain/ids.ts';
import type { Space } from '../../domain/space.ts';
import { flag, type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { statusBadge } from '../parts/booking-views.ts';
import { csrfField, dateField, field, hasProblems, select, statusOf } from '../parts/fields.ts';
import {
  amount,
  counted,
  duration,
  fromNow,
  hours,
  momentIn,
  shortDate,
  shortened,
  zoneName,
} from '../parts/formats.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { noticeOf, pager } from '../parts/pager.ts';
import { type Answer, missing, type Routes, type Visit } from '../parts/visit.ts';
import { BULK_FORM, decisionForms, type FormPlace, listField } from './decision-forms.ts';
import { countOf, newRequests, requestsBeside } from './reading.ts';
import {
  amongSpaces,
  hasRoomFor,
  inboxPath,
  inboxQuery,
  isFiltered,
  type ListPage,
  pageOf,
  placeBefore,
  type RequestList,
  requestList,
} from './request-list.ts';
import { type LastStep, lastStepOf } from './what-happened.ts';

/** So much of a message is shown in a row, in characters: two lines. The page of the booking has all of it. */
const MESSAGE_SHOWN = 120;
/** The same for names: rows have two lines for them. */
const NAME_SHOWN = 80;

/** A request, and what a row says of it besides. */
type Row = {
  readonly request: ReadableBooking;
  /** What else is booked or asked for in the space on that day. */
  readonly sameDay: readonly BookingDocument[];
  /** What became of it, once it waits no longer. */
  readonly answered: LastStep | undefined;
};

/** A community's pending requests: many of them, answered one after the other or several at once. */
export function inboxPages(routes: Routes, { queries, settings }: PageDeps): void {
  routes.get(
    '/console/inbox',
    async (visit) => {
      const { account } = visit;
      if (account.kind !== 'Community') return missing('page');
      const spaces = await queries.spaces.list(account);
      const list = amongSpaces(requestList(visit.query), spaces);
      const main = hasProblems(list.problems)
        ? html`<p>Correct the filter to see the requests.</p>`
        : await requestsPage(visit, account.id, list);
      // What was on this page has been answered.
      if (main === undefined) return { go: inboxPath({ ...list, after: undefined }) };
      return {
        title: 'Requests',
        section: 'inbox',
        status: statusOf(list.problems),
        flash: noticeOf(visit.query, list),
        main: html`<div class="head"><div><h1>Requests</h1><p class="lead">Approve or decline requests from brands. Unanswered requests expire.</p></div></div>
${filterForm(list, spaces)}${main}`,
      } satisfies Answer;
    },
    'Community',
  );

  async function requestsPage(visit: Visit, community: CommunityId, list: RequestList): Promise<Html | undefined> {
    const isOpen = list.shown.length > 0 || list.since !== undefined;
    const ordered = await requestsBeside(queries, community, list, isOpen ? undefined : list.after);
    const page = pageOf(list, ordered);
    if (!isOpen && page.rows.length === 0 && ordered.length > 0) return undefined;
    const found = isOpen ? await queries.requests.some(visit.account, list.shown) : page.rows;
    const rows = await rowsOf(visit, found);
    const place = { settings, list: inboxQuery(list) };
    const picked = new Set(visit.query.text('picked').split('.'));
    const count = await countOf(queries, community, list, ordered);
    const added = await newRequests(queries, community, list);
    const top = html`<p class="muted" id="request-count" data-live-region>${counted(count, isFiltered(list) ? 'matching request' : 'pending request')}, ${list.sort === 'deadline' ? 'earliest deadline first' : 'earliest event first'}</p>
${bar(visit, list, rows, added)}`;
    if (rows.length === 0) return html`${top}${nothing(visit, list, count)}`;
    return html`${top}
<ol class="requests" id="requests" role="list" data-live-keep="shown" data-live-since="${list.since ?? visit.now}">${rows.map(
      (row) => html`<li>${rowView(visit, row, place, picked.has(String(row.request.bookingId)))}</li>`,
    )}</ol>${isOpen ? onwardsFrom(list, ordered[0]) : pagesBeside(list, page)}`;
  }

  async function rowsOf(visit: Visit, found: readonly BookingDocument[]): Promise<Row[]> {
    const [requests, days] = await Promise.all([
      queries.requests.readable(found),
      queries.requests.onDaysOf(visit.account, found),
    ]);
    return Promise.all(
      requests.map(async (request) => ({
        request,
        sameDay: days.filter((other) => isBeside(request, other)),
        answered: request.status === 'Pending' ? undefined : await lastStepOf(queries, visit, request),
      })),
    );
  }
}

const isBeside = (request: BookingDocument, { bookingId, spaceId, date, status }: BookingDocument): boolean =>
  bookingId !== request.bookingId && spaceId === request.spaceId && date === request.date && status !== 'Cancelled';

/**
 * What stays in sight above the rows: what has come since the page was opened, and the button for those that are selected. The form
 * of the rows' checkboxes and buttons.
 */
function bar(
  visit: Visit,
  list: RequestList,
  rows: readonly { readonly request: BookingDocument }[],
  added: readonly BookingDocument[],
): Html {
  const shown = rows.map(({ request }) => request.bookingId);
  const [first] = added;
  const ids = [...shown, ...added.map(({ bookingId }) => bookingId)];
  const href = hasRoomFor(shown, added.length)
    ? inboxPath(list, { shown: ids })
    : inboxPath({ ...list, after: first && placeBefore(list, first) });
  const keys = html`<button class="button quiet small" type="button" popovertarget="key-help" data-keys hidden>Keys…</button>`;
  return html`<form class="request-bar" id="${BULK_FORM}" method="post" action="/console/inbox/approve">${csrfField(visit)}${listField(inboxQuery(list))}
${rows.length > 0 && html`<button class="button" data-approve-selected>Approve selected</button><label class="select-all" hidden><input type="checkbox" data-select-all> Select all</label>`}
<p id="request-news" data-live-region>${
    first !== undefined &&
    html`<a href="${href}#request-${first.bookingId}">${counted(added.length, 'new request')} – show</a>`
  }</p>${rows.length > 0 && keys}</form>${rows.length > 0 && keyHelp}`;
}

/** Shown by "?" and by its button. Character keys can be switched off (WCAG 2.1.4). */
const keyHelp = html`<div class="key-help" id="key-help" popover aria-labelledby="key-help-title"><h2 id="key-help-title">Keys in this list</h2>
<p>They act on the row that has the focus, and only while the list has it. A row that has just appeared or moved takes no key for a second.</p>
<dl><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous request</dd><dt><kbd>a</kbd></dt><dd>approve</dd><dt><kbd>d</kbd></dt><dd>decline: type a reason, then Enter. Esc closes it</dd><dt><kbd>x</kbd></dt><dd>select</dd><dt><kbd>?</kbd></dt><dd>show these keys</dd></dl>
<label class="row"><input type="checkbox" data-use-keys checked> Use these keys</label>
<button class="button quiet" type="button" popovertarget="key-help" popovertargetaction="hide">Close</button></div>`;

function nothing({ now }: Visit, list: RequestList, waiting: number): Html {
  const keep = html`data-live-keep="shown" data-live-since="${list.since ?? now}"`;
  // A page that was kept open, or its address from another account.
  if (waiting > 0)
    return html`<div class="empty" ${keep}>${icon('inbox')}<h2>Requests are waiting</h2><p>None of them is on this page.</p><a class="button" href="${inboxPath({ ...list, after: undefined })}">Show what is waiting</a></div>`;
  if (isFiltered(list))
    return html`<div class="empty" ${keep}>${icon('inbox')}<h2>No request matches</h2><p>Requests that match appear here automatically.</p><a class="button" href="/console/inbox">Show all requests</a></div>`;
  return html`<div class="empty" ${keep}>${icon('inbox')}<h2>No pending requests</h2><p>New requests appear here automatically. In the meantime, check your calendar or make sure that your spaces are up to date.</p><div class="row"><a class="button" href="/console/calendar">Open calendar</a><a class="button quiet" href="/console/spaces">View your spaces</a></div></div>`;
}

function rowView(visit: Visit, { request, sameDay, answered }: Row, place: FormPlace, isPicked: boolean): Html {
  const { bookingId, timeZone, currency } = request;
  const [id, title] = [`request-${bookingId}`, `request-${bookingId}-brand`];
  const expiry = expiryOf(request);
  const isOpen = answered === undefined;
  return html`<article class="request-row" id="${id}" aria-labelledby="${title}" tabindex="-1" data-live-region data-key="${bookingId}">
<div class="pick">${
    isOpen &&
    expiry > visit.now &&
    html`<label><input type="checkbox" form="${BULK_FORM}" name="id" value="${bookingId}" aria-labelledby="${title}"${flag('checked', isPicked)}></label>`
  }</div>
<div class="who"><h2 id="${title}"><a href="/console/bookings/${bookingId}">${named(shortened(request.brandName, NAME_SHOWN))}</a></h2>${
    request.message && html`<p class="message" dir="auto">${shortened(request.message, MESSAGE_SHOWN)}</p>`
  }</div>
<div class="what"><p><time class="nowrap" datetime="${request.date}">${shortDate(request.date)}</time>, <span class="nowrap">${hours(request.startHour, request.freeFrom)}</span></p><p class="space">${named(shortened(request.spaceName, NAME_SHOWN))}</p>${besides(request, sameDay)}</div>
<div class="terms"><p><strong>${amount(request.eventFee, currency)}</strong> <span class="muted small nowrap">of ${amount(request.totalPrice, currency)}</span></p>${
    isOpen &&
    html`<p class="small">Answer by <span class="nowrap">${momentIn(timeZone, expiry)}</span> <span class="muted nowrap">${zoneName(timeZone)}, ${fromNow(expiry, visit.now)}</span></p>`
  }</div>
${isOpen ? decisionForms(visit, request, place) : html`<div class="decided">${statusBadge(request.status)}<p class="small">${doneBy(answered)}</p><p class="small muted">${answered.at}</p></div>`}
</article>`;
}

const doneBy = ({ verb, by }: LastStep): string => `${verb.charAt(0).toUpperCase()}${verb.slice(1)}${by && ` ${by}`}`;

/** What may speak for or against a request: too little time, and what else there is that day. */
function besides(request: ReadableBooking, sameDay: readonly BookingDocument[]): Html | undefined {
  const { usageHours, durationHours } = request;
  const [other, ...more] = sameDay;
  if (usageHours === undefined && other === undefined) return undefined;
  return html`<p class="small muted">${
    usageHours !== undefined && `Usable for only ${duration(usageHours)} of ${duration(durationHours)}. `
  }${
    other !== undefined &&
    html`That day: ${hours(other.startHour, other.freeFrom)} ${named(shortened(other.brandName))} (${other.status.toLowerCase()})${more.length > 0 && ` and ${more.length} more`}`
  }</p>`;
}

const pathTo = (list: RequestList, { after, first }: NonNullable<ListPage<unknown>['next']>): string =>
  `${inboxPath({ ...list, after })}#request-${first}`;

const pagesBeside = (list: RequestList, { previous, next }: ListPage<unknown>): Html | undefined =>
  pager({ previous: previous && pathTo(list, previous), next: next && pathTo(list, next) });

/** A page that stays open is beside no other. It leads to what still waits. */
const onwardsFrom = (list: RequestList, waiting: BookingDocument | undefined): Html | undefined =>
  pager(
    { next: waiting && pathTo(list, { after: undefined, first: waiting.bookingId }) },
    { next: 'Show what is still waiting' },
  );

/** Works without JavaScript, and is open while something is filtered. */
function filterForm(list: RequestList, spaces: readonly Space[]): Html {
  const { typed, problems } = list;
  const isUsed = isFiltered(list) || list.sort === 'date';
  const options = spaces.map(({ spaceId, name }) => ({ value: String(spaceId), label: namedText(name) }));
  const date = (name: 'from' | 'to', label: string) => dateField({ name, label, value: typed[name], problems });
  const money = (name: 'min' | 'max', label: string) =>
    field({ name, label, value: typed[name], problems, attributes: { inputmode: 'decimal', size: 8 } });
  return html`<details class="request-filter"${flag('open', isUsed)}><summary>Filter and sort</summary>
<form class="fields" method="get" action="/console/inbox"><div class="fields-row">${select({ name: 'space', label: 'Space', value: typed.space, problems, options: [{ value: '', label: 'All spaces' }, ...options] })}${date('from', 'From')}${date('to', 'Until')}${money('min', 'Total of at least')}${money('max', 'Total of at most')}${select(
    {
      name: 'sort',
      label: 'Order',
      value: typed.sort,
      options: [
        { value: '', label: 'By deadline' },
        { value: 'date', label: 'By event' },
      ],
    },
  )}</div><div class="row"><button class="button quiet">Show</button>${isUsed && html`<a href="/console/inbox">Show all requests</a>`}</div></form></details>`;
}
