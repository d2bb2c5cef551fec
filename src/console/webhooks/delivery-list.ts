import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { DELIVERY_STATES, type DeliveryState } from '../../contract/delivery.ts';
import type { DeliveryKind } from '../../contract/webhook-payload.ts';
import { momentOf, toTimestamp } from '../../domain/calendar.ts';
import { defined } from '../../domain/defined.ts';
import type { WebhookId } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts';
import { bareSecond, zoneName } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { type Flash, icon } from '../../html/layout.ts';
import type { Queries } from '../../queries/queries.ts';
import type { DeliveryCursor, DeliveryDocument, Webhooks } from '../../webhooks/webhooks.ts';
import { field, hasProblems, select } from '../parts/forms.ts';
import { emptyState } from '../parts/frame.ts';
import { addressOf, type Fields, noticeOf, pager } from '../parts/links.ts';
import { column, dataTable, rowHeading } from '../parts/tables.ts';
import { type Form, idOf, type Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { attemptsOf, bookingOf, deliveryBadge, deliveryHref, NOT_SENT } from './delivery-views.ts';

/** Finds deliveries: the newest of one webhook or of all, those of a booking, and those with an id. */

const PER_PAGE = 25;

const KINDS: readonly DeliveryKind[] = [...keysOf(WEBHOOK_EVENTS), 'Test'];

/** The search. */
type Wanted =
  | { readonly bookingId: number }
  /** A `webhook-id`, or only the event id that it begins with. */
  | { readonly id: string };

type Filter = {
  readonly text: string;
  readonly wanted: Wanted | 'nothing' | 'unclear';
  readonly webhookId: string | undefined;
  readonly event: DeliveryKind | undefined;
  readonly state: DeliveryState | undefined;
  readonly after: DeliveryCursor | undefined;
  readonly before: DeliveryCursor | undefined;
  /** How many rows of a booking are on the pages before. Undefined on the first page. */
  readonly skip: number | undefined;
};

/** A delivery in a list, or an event without one. */
type Row = {
  readonly webhookId: WebhookId;
  readonly event: DeliveryKind;
  readonly bookingId: number | undefined;
  readonly at: string;
  readonly href: string;
  readonly delivery: DeliveryDocument | undefined;
};

type DeliveryPage = {
  readonly rows: readonly Row[];
  /** The cursor of the next page, as fields of its address. */
  readonly next?: Fields;
  /** The same for the previous page. */
  readonly previous?: Fields;
  /** The time at which the search stopped before it filled a page. */
  readonly lookedBackTo?: string;
};

export type DeliveryListDeps = {
  readonly queries: Pick<Queries, 'bookings'>;
  readonly webhooks: Pick<Webhooks, 'searchDeliveries' | 'deliveriesOfBooking' | 'deliveriesWithIds'>;
};

/**
 * The form to search deliveries, and the results.
 * @param registered the webhooks whose deliveries are searched
 * @param path the page, to which the form leads again
 */
export async function deliveryList(
  { queries, webhooks }: DeliveryListDeps,
  visit: Visit,
  registered: readonly WebhookDocument[],
  path: string,
): Promise<{ readonly main: Html; readonly problems: Problems; readonly flash: readonly Flash[] }> {
  const filter = filterOf(visit.query);
  const { wanted, webhookId } = filter;
  const searched =
    webhookId === undefined ? registered : registered.filter((webhook) => webhook.webhookId === webhookId);
  const isUnknown = registered.length > 1 && searched.length === 0;
  const problems = defined({
    q: wanted === 'unclear' ? UNCLEAR : undefined,
    webhook: isUnknown ? NO_SUCH_WEBHOOK : undefined,
  });
  const page = wanted === 'unclear' || isUnknown ? { rows: [] } : await find(wanted);
  return {
    main: html`${searchForm(filter, registered, problems, path)}${results(visit, filter, registered, page, path, hasProblems(problems))}`,
    problems,
    // The addresses name cursors by time, the filter by the order of the list, which is newest first.
    flash: noticeOf(visit.query, { before: filter.after, after: filter.before, skip: filter.skip }),
  };

  async function find(wanted: Wanted | 'nothing'): Promise<DeliveryPage> {
    if (wanted === 'nothing') return newest();
    return 'id' in wanted ? withId(wanted.id) : ofBooking(wanted.bookingId);
  }

  async function newest(): Promise<DeliveryPage> {
    const { event, state, after, before } = filter;
    const { deliveries, next, previous } = await webhooks.searchDeliveries({
      webhookIds: searched.map((webhook) => webhook.webhookId),
      limit: PER_PAGE,
      ...defined({ event, state, after, before }),
    });
    return {
      rows: deliveries.map(rowOf),
      ...(next && { next: { before: next.createdAt, id: next.deliveryId } }),
      ...(previous && { previous: { after: previous.createdAt, id: previous.deliveryId } }),
      ...(next && deliveries.length < PER_PAGE && { lookedBackTo: next.createdAt }),
    };
  }

  /** Finds nothing for a booking that the account may not see. */
  async function ofBooking(bookingId: number): Promise<DeliveryPage> {
    const booking = await queries.bookings.get(visit.account, bookingId);
    if (booking === undefined) return { rows: [] };
    const all = await webhooks.deliveriesOfBooking(searched, booking);
    const rows = all
      .map(({ webhook, event: { id, type, metadata }, delivery }): Row => {
        if (delivery !== undefined) return rowOf(delivery);
        const { webhookId } = webhook;
        const href = deliveryHref({ webhookId, deliveryId: `${id}:${webhookId}` });
        return { webhookId, event: type, bookingId, at: metadata.at, href: `${href}?booking=${bookingId}`, delivery };
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

  async function withId(id: string): Promise<DeliveryPage> {
    const ids = searched.map((webhook) => `${id.split(':', 1)[0]}:${webhook.webhookId}`);
    const deliveries = await webhooks.deliveriesWithIds(id.includes(':') ? ids.filter((each) => each === id) : ids);
    const rows = deliveries.map(rowOf).filter((row) => matches(row, filter));
    return { rows: rows.slice(0, PER_PAGE) };
  }
}

/** The fields of a list's address, without its cursor. */
const fieldsOf = ({ text, webhookId, event, state }: Filter): Fields => ({ q: text, webhook: webhookId, event, state });

const isNarrowed = (filter: Filter): boolean => Object.values(fieldsOf(filter)).some(Boolean);

function searchForm(filter: Filter, registered: readonly WebhookDocument[], problems: Problems, path: string): Html {
  const { text, webhookId, event, state } = filter;
  const urls = registered.map((webhook) => ({ value: webhook.webhookId, label: webhook.url }));
  return html`<form class="card fields-row end delivery-search" method="get" action="${path}" role="search" aria-label="Deliveries">
${field({
  name: 'q',
  label: 'Booking or webhook-id',
  value: text,
  problems,
  attributes: { maxlength: 120, autocomplete: 'off', spellcheck: 'false', placeholder: 'Booking number' },
})}
${urls.length > 1 && select({ name: 'webhook', label: 'Webhook', value: webhookId ?? '', problems, options: [ALL, ...urls] })}
${select({ name: 'event', label: 'Event', value: event ?? '', options: [ALL, ...KINDS.map(asOption)] })}
${select({ name: 'state', label: 'Outcome', value: state ?? '', options: [ALL, ...DELIVERY_STATES.map(asOption)] })}
<div class="row"><button class="button quiet">${icon('search')} Search</button>${
    isNarrowed(filter) && html`<a href="${path}">Show all</a>`
  }</div></form>`;
}

function results(
  visit: Visit,
  filter: Filter,
  registered: readonly WebhookDocument[],
  { rows, next, previous, lookedBackTo }: DeliveryPage,
  path: string,
  isWrong: boolean,
): Html {
  const hrefWith = (more: Fields) => addressOf(path, { ...fieldsOf(filter), ...more });
  const isLater = previous !== undefined || filter.after !== undefined || filter.skip !== undefined;
  const beside = {
    first: isLater ? hrefWith({}) : undefined,
    previous: previous && hrefWith(previous),
    next: next && hrefWith(next),
  };
  const older = lookedBackTo === undefined ? 'Older' : 'Look further back';
  return html`<section class="stack full" id="deliveries" aria-label="Deliveries" data-live-region>${
    rows.length > 0 ? table(visit, rows, registered) : !isWrong && nothing(filter, isLater, lookedBackTo)
  }${
    rows.length > 0 &&
    lookedBackTo !== undefined &&
    html`<p class="muted small">Looked back as far as ${bareSecond(visit, lookedBackTo)} ${zoneName(visit.zone)}. There
may be earlier ones.</p>`
  }${pager(beside, { first: 'Newest', previous: 'Newer', next: older })}</section>`;
}

const UNCLEAR = 'Enter the number of a booking, such as 1042, or the webhook-id from the headers of a request.';

const NO_SUCH_WEBHOOK = 'There is no such webhook any more. Choose another one, or all of them.';

const ALL = { value: '', label: 'All' };
const asOption = (value: string) => ({ value, label: value });

function filterOf(query: Form): Filter {
  const text = query.text('q').slice(0, 200);
  const deliveryId = query.text('id');
  const cursorAt = (text: string): DeliveryCursor | undefined => {
    const moment = momentOf(text);
    return moment === undefined ? undefined : { createdAt: toTimestamp(moment), deliveryId };
  };
  const webhookId = query.text('webhook') || undefined;
  return {
    text,
    wanted: wantedIn(text),
    webhookId,
    event: KINDS.find((kind) => kind === query.text('event')),
    state: DELIVERY_STATES.find((state) => state === query.text('state')),
    // What is before a delivery in time is after it in the list.
    after: cursorAt(query.text('before')),
    before: cursorAt(query.text('after')),
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

/** Explains an empty list. */
function nothing(filter: Filter, isLater: boolean, lookedBackTo: string | undefined): Html {
  const { wanted, state, event } = filter;
  const kind = `${state === undefined ? '' : `${state.toLowerCase()} `}deliveries${event === undefined ? '' : ` of ${event}`}`;
  const empty = (heading: string, text: string) => emptyState('webhook', heading)`${text}`;
  if (isLater && lookedBackTo === undefined) return empty(`No more ${kind}`, 'There is nothing further back.');
  if (typeof wanted === 'object') {
    const which = 'id' in wanted ? 'with this webhook-id' : `for booking ${wanted.bookingId}`;
    const reason =
      state !== undefined || event !== undefined
        ? 'Choose “All” as event and outcome to see everything, including events that were never sent.'
        : 'id' in wanted
          ? 'A delivery is kept for 30 days after it has ended, and shown only to the account whose webhook it was sent to.'
          : 'This account has no such booking, or nothing has happened to it since a webhook was registered for such events.';
    return empty(`No ${kind} ${which}`, reason);
  }
  if (lookedBackTo !== undefined)
    return empty(`No ${kind} so far`, 'Only the newest deliveries have been searched, not yet all of them.');
  return isNarrowed(filter)
    ? empty(`No ${kind}`, 'No delivery of the last 30 days matches all of these.')
    : empty(`No ${kind}`, 'Deliveries appear here as events happen. Send a test delivery to check your receiver.');
}

/** @param registered with more than one, each row names its webhook */
function table(visit: Visit, rows: readonly Row[], registered: readonly WebhookDocument[]): Html {
  const urls = new Map(registered.map(({ webhookId, url }) => [webhookId, url]));
  return dataTable({ caption: 'Deliveries, newest first', classes: 'deliveries' }, rows, [
    rowHeading(
      'Event',
      '',
      ({ href, event, bookingId }) =>
        html`<a class="whole" href="${href}">${event}</a>${
          bookingId !== undefined && html` <span class="small muted">Booking ${bookingId}</span>`
        }`,
    ),
    urls.size > 1 && column('Webhook', 'where small', ({ webhookId }) => urls.get(webhookId)),
    column(`Created (${zoneName(visit.zone)})`, 'when', ({ at }) => bareSecond(visit, at)),
    column('Outcome', 'outcome', ({ delivery }) => (delivery ? deliveryBadge(delivery.state) : NOT_SENT)),
    column('Attempts', 'attempted small', ({ delivery }) => (delivery ? attemptsOf(visit, delivery) : 'never sent')),
  ]);
}
