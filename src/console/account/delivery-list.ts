import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../contract/delivery.ts';
import type { DeliveryKind } from '../../contract/webhook-payload.ts';
import { defined } from '../../domain/defined.ts';
import { timestamp, type WebhookId } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { type Html, html } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import type { Queries } from '../../queries/queries.ts';
import type { DeliveryCursor, DeliveryDocument, Webhooks } from '../../webhooks/webhooks.ts';
import { addressOf, type Fields } from '../parts/addresses.ts';
import { field, hasProblems, type Problems, select } from '../parts/fields.ts';
import { zoneName } from '../parts/formats.ts';
import { bareSecond } from '../parts/moments.ts';
import { noticeOf, pager } from '../parts/pager.ts';
import { type Form, idOf, type Visit } from '../parts/visit.ts';
import { attemptsOf, bookingOf, deliveryBadge, deliveryHref, NOT_SENT } from './delivery-views.ts';

/** Finding deliveries: the newest of one webhook or of all, those of a booking, and the one with a known id. */

const PER_PAGE = 25;

const KINDS: readonly DeliveryKind[] = [...keysOf(WEBHOOK_EVENTS), 'Test'];

/** What somebody looks for. */
type Wanted =
  | { readonly bookingId: number }
  /** A `webhook-id`, or the event in it. */
  | { readonly id: string };

type Filter = {
  readonly text: string;
  readonly wanted: Wanted | 'nothing' | 'unclear';
  readonly webhookId: string | undefined;
  readonly event: DeliveryKind | undefined;
  readonly state: DeliveryState | undefined;
  readonly after: DeliveryCursor | undefined;
  readonly before: DeliveryCursor | undefined;
  /** How many rows of a booking come before. Undefined on the first page. */
  readonly skip: number | undefined;
};

/** A delivery in a list, or an event of which there is none. */
type Row = {
  readonly webhookId: WebhookId;
  readonly event: DeliveryKind;
  readonly bookingId: number | undefined;
  readonly at: string;
  readonly href: string;
  readonly delivery: DeliveryDocument | undefined;
};

type Found = {
  readonly rows: readonly Row[];
  /** Where the next part begins. */
  readonly next?: Fields;
  /** Where the part before begins. */
  readonly previous?: Fields;
  /** It stopped before it had found a page, at this moment. */
  readonly lookedBackTo?: string;
};

export type DeliveryListDeps = {
  readonly queries: Pick<Queries, 'bookings'>;
  readonly webhooks: Pick<Webhooks, 'searchDeliveries' | 'deliveriesOfBooking' | 'deliveriesWithIds'>;
};

/**
 * The form to search deliveries with, and what it finds.
 * @param registered the webhooks whose deliveries are searched
 * @param path of the page, which the form leads to again
 */
export async function deliveryList(
  { queries, webhooks }: DeliveryListDeps,
  visit: Visit,
  registered: readonly WebhookDocument[],
  path: string,
): Promise<{ readonly main: Html; readonly problems: Problems; readonly flash: readonly Flash[] }> {
  const filter = filterOf(visit.query);
  const { text, event, state, wanted } = filter;
  const searched =
    filter.webhookId === undefined ? registered : registered.filter(({ webhookId }) => webhookId === filter.webhookId);
  const hasSeveral = registered.length > 1;
  const problems: Problems = defined({
    q: wanted === 'unclear' ? UNCLEAR : undefined,
    webhook: hasSeveral && searched.length === 0 ? NO_SUCH_WEBHOOK : undefined,
  });
  const found = wanted === 'unclear' || hasProblems(problems) ? { rows: [] } : await find(filter, wanted, searched);
  const chosen = { q: text, webhook: filter.webhookId, event, state };
  const hrefWith = (more: Fields) => addressOf(path, { ...chosen, ...more });
  const isNarrowed = Object.values(chosen).some(Boolean);
  const form = html`<form class="card fields-row end delivery-search" method="get" action="${path}" role="search" aria-label="Deliveries">
${field({ name: 'q', label: 'Booking or webhook-id', value: text, problems, attributes: { maxlength: 120, autocomplete: 'off', spellcheck: 'false', placeholder: 'Booking number' } })}
${
  hasSeveral &&
  select({
    ...{ name: 'webhook', label: 'Webhook', value: filter.webhookId ?? '', problems },
    options: [ALL, ...registered.map(({ webhookId, url }) => ({ value: webhookId, label: url }))],
  })
}
${select({ name: 'event', label: 'Event', value: event ?? '', options: [ALL, ...KINDS.map(asOption)] })}
${select({ name: 'state', label: 'Outcome', value: state ?? '', options: [ALL, ...DELIVERY_STATES.map(asOption)] })}
<div class="row"><button class="button quiet">${icon('search')} Search</button>${isNarrowed && html`<a href="${path}">Show all</a>`}</div></form>`;
  const isLater = found.previous !== undefined || filter.after !== undefined || filter.skip !== undefined;
  const main = html`${form}<section class="stack full" id="deliveries" aria-label="Deliveries" data-live-region>${
    found.rows.length === 0
      ? !hasProblems(problems) && nothing(filter, { isNarrowed, isLater }, found)
      : table(visit, found.rows, hasSeveral ? registered : undefined)
  }${
    found.rows.length > 0 &&
    found.lookedBackTo !== undefined &&
    html`<p class="muted small">Looked back as far as ${bareSecond(visit, found.lookedBackTo)} ${zoneName(visit.zone)}. There may be earlier ones.</p>`
  }${pager(
    {
      first: isLater ? hrefWith({}) : undefined,
      previous: found.previous && hrefWith(found.previous),
      next: found.next && hrefWith(found.next),
    },
    { first: 'Newest', previous: 'Newer', next: found.lookedBackTo === undefined ? 'Older' : 'Look further back' },
  )}</section>`;
  // What is before it in time is after it in the list.
  const flash = noticeOf(visit.query, { before: filter.after, after: filter.before, skip: filter.skip });
  return { main, problems, flash };

  async function find(
    filter: Filter,
    wanted: Wanted | 'nothing',
    searched: readonly WebhookDocument[],
  ): Promise<Found> {
    if (wanted === 'nothing') return newest(filter, searched);
    return 'id' in wanted ? withId(wanted.id, filter, searched) : ofBooking(wanted.bookingId, filter, searched);
  }

  async function newest({ event, state, after, before }: Filter, searched: readonly WebhookDocument[]): Promise<Found> {
    const webhookIds = searched.map(({ webhookId }) => webhookId);
    const { deliveries, next, previous } = await webhooks.searchDeliveries({
      ...{ webhookIds, limit: PER_PAGE },
      ...defined({ event, state, after, before }),
    });
    return {
      rows: deliveries.map(rowOf),
      ...(next && { next: { before: next.createdAt, id: next.deliveryId } }),
      ...(previous && { previous: { after: previous.createdAt, id: previous.deliveryId } }),
      ...(next && deliveries.length < PER_PAGE && { lookedBackTo: next.createdAt }),
    };
  }

  /** Nobody learns here of a booking that is not the account's: the registrations searched are, and only see its own. */
  async function ofBooking(bookingId: number, filter: Filter, searched: readonly WebhookDocument[]): Promise<Found> {
    const booking = await queries.bookings.get(visit.account, bookingId);
    if (booking === undefined) return { rows: [] };
    const all = await webhooks.deliveriesOfBooking(searched, booking);
    const rows = all
      .map(({ webhook: { webhookId }, event: { id, type, metadata }, delivery }): Row => {
        if (delivery !== undefined) return rowOf(delivery);
        const href = `${deliveryHref({ webhookId, deliveryId: `${id}:${webhookId}` })}?booking=${bookingId}`;
        return { webhookId, event: type, bookingId, at: metadata.at, href, delivery };
      })
      .filter((row) => matches(row, filter));
    const { skip = 0 } = filter;
    const until = skip + PER_PAGE;
    return {
      rows: rows.slice(skip, until),
      ...(rows.length > until && { next: { skip: String(until) } }),
      ...(skip > 0 && { previous: { skip: skip > PER_PAGE ? String(skip - PER_PAGE) : undefined } }),
    };
  }

  async function withId(id: string, filter: Filter, searched: readonly WebhookDocument[]): Promise<Found> {
    const ids = searched.map(({ webhookId }) => `${id.split(':', 1)[0]}:${webhookId}`);
    const found = await webhooks.deliveriesWithIds(id.includes(':') ? ids.filter((each) => each === id) : ids);
    return {
      rows: found
        .map(rowOf)
        .filter((row) => matches(row, filter))
        .slice(0, PER_PAGE),
    };
  }
}

const UNCLEAR = 'Enter the number of a booking, such as 1042, or the webhook-id from the headers of a request.';

const NO_SUCH_WEBHOOK = 'There is no such webhook any more. Choose another one, or all of them.';

const ALL = { value: '', label: 'All' };
const asOption = (value: string) => ({ value, label: value });

function filterOf(query: Form): Filter {
  const text = query.text('q').slice(0, 200);
  const deliveryId = query.text('id');
  const placeAt = (moment: string): DeliveryCursor | undefined =>
    isMoment(moment) ? { createdAt: timestamp(moment), deliveryId } : undefined;
  const webhookId = query.text('webhook') || undefined;
  return {
    text,
    wanted: wantedIn(text),
    webhookId,
    event: KINDS.find((kind) => kind === query.text('event')),
    state: DELIVERY_STATES.find((state) => state === query.text('state')),
    // What is before it in time is after it in the list.
    after: placeAt(query.text('before')),
    before: placeAt(query.text('after')),
    skip: idOf(query.text('skip')),
  };
}

function wantedIn(text: string): Filter['wanted'] {
  if (text === '') return 'nothing';
  const bookingId = idOf(/^(?:booking\s+)?#?(\d+)$/i.exec(text)?.[1]);
  if (bookingId !== undefined) return { bookingId };
  const id = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(:wh_[\w-]{1,64})?$/i.exec(text);
  return id === null ? 'unclear' : { id: `${id[1]?.toLowerCase()}${id[2] ?? ''}` };
}

const isMoment = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T[\d:.]{5,12}Z$/.test(text) && !Number.isNaN(Date.parse(text));

const rowOf = (delivery: DeliveryDocument): Row => ({
  webhookId: delivery.webhookId,
  event: delivery.event,
  bookingId: bookingOf(delivery),
  at: delivery.createdAt,
  href: deliveryHref(delivery),
  delivery,
});

const matches = ({ event, delivery }: Row, filter: Filter): boolean =>
  (filter.event === undefined || event === filter.event) &&
  (filter.state === undefined || delivery?.state === filter.state);

function nothing(
  { wanted, state, event }: Filter,
  { isNarrowed, isLater }: { readonly isNarrowed: boolean; readonly isLater: boolean },
  { lookedBackTo }: Found,
): Html {
  const kind = `${state === undefined ? '' : `${state.toLowerCase()} `}deliveries${event === undefined ? '' : ` of ${event}`}`;
  if (isLater && lookedBackTo === undefined)
    return html`<div class="empty"><h3>No more ${kind}</h3><p>There is nothing further back.</p></div>`;
  if (typeof wanted === 'object') {
    const of = 'id' in wanted ? 'with this webhook-id' : `for booking ${wanted.bookingId}`;
    return html`<div class="empty"><h3>No ${kind} ${of}</h3><p>${
      state !== undefined || event !== undefined
        ? 'Choose “All” as event and outcome to see everything, also what was never sent.'
        : 'id' in wanted
          ? 'A delivery is kept for 30 days after it has ended, and shown only to the account whose webhook it was sent to.'
          : 'This account has no such booking, or nothing has happened to it since a webhook was registered for such events.'
    }</p></div>`;
  }
  if (lookedBackTo !== undefined)
    return html`<div class="empty"><h3>No ${kind} so far</h3><p>Only the newest deliveries have been searched, not yet all of them.</p></div>`;
  return html`<div class="empty"><h3>No ${kind}</h3><p>${isNarrowed ? 'No delivery of the last 30 days matches all of these.' : 'Deliveries appear here as events happen. Send a test delivery to check your receiver.'}</p></div>`;
}

/** Rows are links as a whole, and cards of three lines on narrow screens (`deliveries.css`). */
function table(visit: Visit, rows: readonly Row[], registered: readonly WebhookDocument[] | undefined): Html {
  const urls = new Map(registered?.map(({ webhookId, url }) => [webhookId, url]));
  return html`<table class="table deliveries"><caption class="visually-hidden">Deliveries, newest first</caption><thead><tr><th scope="col">Event</th>${registered && html`<th scope="col">Webhook</th>`}<th scope="col">Created (${zoneName(visit.zone)})</th><th scope="col">Outcome</th><th scope="col">Attempts</th></tr></thead><tbody>${rows.map(
    (row) =>
      html`<tr><th scope="row"><a class="whole" href="${row.href}">${row.event}</a>${row.bookingId !== undefined && html` <span class="small muted">Booking ${row.bookingId}</span>`}</th>${registered && html`<td class="where small">${urls.get(row.webhookId)}</td>`}<td class="when">${bareSecond(visit, row.at)}</td><td class="outcome">${row.delivery === undefined ? NOT_SENT : deliveryBadge(row.delivery.state)}</td><td class="attempted small">${row.delivery === undefined ? 'never sent' : attemptsOf(visit, row.delivery)}</td></tr>`,
  )}</tbody></table>`;
}
