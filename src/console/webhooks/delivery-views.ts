import type { WebhookDocument } from '../../../projections/webhooks.ts';
import type { DeliveryState } from '../../contract/delivery.ts';
import type { DeliverableEvent } from '../../contract/webhook-payload.ts';
import type { Recorded } from '../../domain/events.ts';
import { bareSecond, counted, fromNow, second } from '../../html/formats.ts';
import { type Html, html } from '../../html/html.ts';
import { type IconName, icon } from '../../html/layout.ts';
import { type Attempt, type DeliveryDocument, DUE_NOW, type RequestHeaders } from '../../webhooks/webhooks.ts';
import type { PageContent } from '../parts/answer.ts';
import { backTo, withVia } from '../parts/back-link.ts';
import { hiddenField, onceField, postForm } from '../parts/forms.ts';
import { addressOf, noticeOf, pager } from '../parts/links.ts';
import type { Visit } from '../parts/visit.ts';

/** How deliveries are displayed. */

export const deliveryHref = ({ webhookId, deliveryId }: Pick<DeliveryDocument, 'webhookId' | 'deliveryId'>): string =>
  `/console/webhooks/${webhookId}/deliveries/${encodeURIComponent(deliveryId)}`;

const STYLE: Readonly<Record<DeliveryState, { readonly icon: IconName; readonly class: string }>> = {
  Pending: { icon: 'pending', class: 'is-pending' },
  Delivered: { icon: 'approved', class: 'is-approved' },
  Failed: { icon: 'warning', class: 'is-cancelled' },
  Cancelled: { icon: 'cancelled', class: 'is-cancelled' },
};

export const deliveryBadge = (state: DeliveryState, label: string = state): Html =>
  html`<span class="status ${STYLE[state].class}">${icon(STYLE[state].icon)}${label}</span>`;

/** The badge of an event of a subscribed kind without a delivery. */
export const NOT_SENT = deliveryBadge('Failed', 'Not sent');

/** The booking that a delivery is about; undefined for a test delivery. */
export function bookingOf({ body }: Pick<DeliveryDocument, 'body'>): number | undefined {
  const { data }: { readonly data?: { readonly bookingId?: number } } = JSON.parse(body);
  return data?.bookingId;
}

/**
 * The reason why a delivery is pending. A resent delivery is due before all others, so there is no time of its next attempt to show.
 */
function waitingFor(visit: Pick<Visit, 'now' | 'zone'>, delivery: DeliveryDocument): Html | undefined {
  const { state, due, tries, attempts } = delivery;
  if (state !== 'Pending') return undefined;
  if (due === DUE_NOW || tries === 0) return html`on its way${attempts.length > 0 && ' again'}`;
  if (Date.parse(due) <= visit.now) return html`waiting for the next attempt`;
  return html`next attempt ${fromNow(due, visit.now)}, at ${bareSecond(visit, due)}`;
}

/** The number of attempts, the last answer and the next step: `7 attempts, last 503, next attempt …` */
export function attemptsOf(visit: Pick<Visit, 'now' | 'zone'>, delivery: DeliveryDocument): Html {
  const { state, attempts } = delivery;
  const last = attempts.at(-1);
  const waiting = waitingFor(visit, delivery);
  if (last === undefined) return waiting ?? html`${state === 'Delivered' ? 'delivered' : 'never sent'}`;
  const response = last.error?.type ?? (last.status === undefined ? 'no response' : String(last.status));
  return html`${counted(attempts.length, 'attempt')}, ${attempts.length > 1 && 'last '}${response}${waiting && html`, ${waiting}`}`;
}

/** Attempts with their responses on one page. A response of 1 KiB may take 6 kB of it once it is escaped. */
const ATTEMPTS_SHOWN = 6;

/** A page of the attempts of a delivery, newest first. */
export function attemptsOnPage(
  { attempts }: DeliveryDocument,
  { query }: Pick<Visit, 'query'>,
): {
  readonly attempts: readonly Attempt[];
  readonly earlier: number;
  /** The cursor of the page: it begins before this attempt. */
  readonly before: Attempt | undefined;
} {
  const index = attempts.findIndex(({ at }) => at === query.text('before'));
  const until = index < 0 ? attempts : attempts.slice(0, index);
  return {
    attempts: until.slice(-ATTEMPTS_SHOWN).reverse(),
    earlier: Math.max(0, until.length - ATTEMPTS_SHOWN),
    before: attempts[index],
  };
}

/** A delivery: its state, every attempt with its request and response, and the payload. */
export function deliveryPage(
  visit: Visit,
  delivery: DeliveryDocument,
  webhook: WebhookDocument,
  headers: readonly RequestHeaders[],
): PageContent {
  const { attempts, event, eventAt, state, body, deliveryId } = delivery;
  const { attempts: page, earlier, before } = attemptsOnPage(delivery, visit);
  const href = deliveryHref(delivery);
  return {
    ...eventHead(visit, webhook, event, bookingOf(delivery), eventAt),
    title: `Delivery of ${event}`,
    actions: sendForm(visit, webhook, withVia(visit, `${href}/resend`), 'Resend'),
    flash: noticeOf(visit.query, { before }),
    main: html`<div id="delivery-state" class="row" role="status" data-live-region>${stateOf(visit, delivery)}</div>
${state === 'Pending' && html`<noscript><p class="small"><a href="${withVia(visit, href)}">Look again</a></p></noscript>`}
<section class="stack full" id="delivery-attempts" data-live-region><h2>${counted(attempts.length, 'attempt')}</h2>${
      page.length === 0
        ? html`<p class="muted">${
            attempts.length === 0
              ? 'None yet. The first one will be made as soon as the endpoint can take it.'
              : 'There are no earlier ones.'
          }</p>`
        : html`<ol class="attempts">${page.map((attempt, index) => attemptItem(visit, attempt, headers[index], webhook))}</ol>`
    }${pager(
      {
        first: before && withVia(visit, href),
        next: earlier > 0 ? addressOf(href, { before: page.at(-1)?.at, via: visit.via }) : undefined,
      },
      { label: 'Attempts', first: 'Newest', next: counted(earlier, 'earlier attempt') },
    )}</section>
<section class="stack full"><h2>Payload</h2>
<p class="muted small">The body that is sent and signed, here with added line breaks. <code>webhook-id</code> is
<code class="break">${deliveryId}</code>.</p><pre tabindex="0" dir="ltr">${pretty(body)}</pre></section>`,
  };
}

/** An event of a booking without a delivery, and the button that creates one. */
export function notSentPage(
  visit: Visit,
  event: Recorded<DeliverableEvent>,
  webhook: WebhookDocument,
  isExpired: boolean,
): PageContent {
  const { bookingId } = event.data;
  const href = deliveryHref({ webhookId: webhook.webhookId, deliveryId: `${event.id}:${webhook.webhookId}` });
  const fields = hiddenField('booking', bookingId);
  return {
    ...eventHead(visit, webhook, event.type, bookingId, event.metadata.at),
    title: `${event.type}, not sent`,
    actions: sendForm(visit, webhook, withVia(visit, `${href}/resend`), 'Send', fields),
    main: html`<div class="row">${isExpired ? deliveryBadge('Cancelled', 'Not kept') : NOT_SENT}<span>${
      isExpired
        ? 'Deliveries are kept for 30 days. Whether this one arrived is no longer known.'
        : 'No delivery was made of this event, because the webhook was disabled or could not be sent anything at the time.'
    }</span></div>`,
  };
}

const eventHead = (
  visit: Visit,
  { webhookId, url }: WebhookDocument,
  event: string,
  bookingId: number | undefined,
  at: string,
) => ({
  back: backTo(visit, { href: `/console/webhooks/${webhookId}`, label: url }),
  heading: event,
  lead: html`${bookingId !== undefined && html`<a href="/console/bookings/${bookingId}">Booking ${bookingId}</a>. `}
Occurred ${second(visit, at)}`,
});

const sendForm = (visit: Visit, webhook: WebhookDocument, action: string, label: string, fields?: Html): Html =>
  webhook.status === 'enabled'
    ? postForm(visit, action)`${onceField()}${fields}<button class="button">${icon('resend')} ${label}</button>`
    : html`<p class="small muted">The webhook is disabled. <a href="/console/webhooks/${webhook.webhookId}">Enable it</a>
to send this.</p>`;

function stateOf(visit: Visit, delivery: DeliveryDocument): Html {
  const { state, due, reason = '', attempts } = delivery;
  const badge = deliveryBadge(state);
  if (state === 'Pending')
    return html`${badge}<span><span class="sentence">${waitingFor(visit, delivery)}</span>.${
      due === DUE_NOW && ' The response appears below as soon as there is one.'
    }</span>`;
  const isDelivered = state === 'Delivered';
  const why = !isDelivered && reason !== '' && `${reason.replace(/\.$/, '')}. `;
  return html`${badge}<span>${why}${isDelivered ? 'Arrived' : 'Ended'} ${second(visit, due)}${
    attempts.length > 1 && `, after ${counted(attempts.length, 'attempt')}`
  }.</span>`;
}

function attemptItem(
  visit: Visit,
  attempt: Attempt,
  headers: RequestHeaders | undefined,
  { url }: WebhookDocument,
): Html {
  const { status, error, at, duration, address, answer } = attempt;
  const heading = error === undefined ? `Response ${status ?? ''}` : error.type;
  const facts = html`${second(visit, at)}, ${Math.round(duration)} ms${address && `, ${address}`}`;
  return html`<li class="card"><div class="row apart"><h3>${heading}</h3><span class="muted small">${facts}</span></div>
${attempt.url !== url && html`<p class="small break">Sent to ${attempt.url}</p>`}${error && html`<p>${error.message}</p>`}
${answer !== '' && html`<pre tabindex="0" dir="ltr" aria-label="Response body">${answer}</pre>`}${headers && requestView(headers)}</li>`;
}

/** The headers of a request, collapsed. They help to debug a receiver. */
const requestView = (headers: RequestHeaders): Html =>
  'unknown' in headers
    ? html`<p class="small muted">Request headers: ${headers.unknown}</p>`
    : html`<details class="request"><summary>Request headers</summary><dl>${headers.sent.map(
        ([name, value]) =>
          html`<dt><code>${name}</code></dt><dd>${
            value === undefined
              ? html`<span class="muted">no longer known</span>`
              : html`<code class="break">${value}</code>`
          }</dd>`,
      )}</dl>${headers.lacking && html`<p class="small muted">${headers.lacking}</p>`}</details>`;

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
