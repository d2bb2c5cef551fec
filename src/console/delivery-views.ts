import type { WebhookDocument } from '../../projections/webhooks.ts';
import { type Html, html } from '../html/html.ts';
import { type IconName, icon } from '../html/layout.ts';
import type { Attempt, DeliveryDocument, DeliveryState } from '../webhooks/webhooks.ts';
import { csrfField, onceField } from './fields.ts';
import { counted, fromNow, momentIn } from './formats.ts';
import type { Shown, Visit } from './visit.ts';

/** How deliveries look. */

export const deliveryHref = ({ webhookId, deliveryId }: Pick<DeliveryDocument, 'webhookId' | 'deliveryId'>): string =>
  `/console/webhooks/${webhookId}/deliveries/${encodeURIComponent(deliveryId)}`;

const LOOK: Readonly<Record<DeliveryState, { readonly icon: IconName; readonly class: string }>> = {
  Pending: { icon: 'pending', class: 'is-pending' },
  Delivered: { icon: 'approved', class: 'is-approved' },
  Failed: { icon: 'warning', class: 'is-cancelled' },
  Cancelled: { icon: 'cancelled', class: 'is-cancelled' },
};

export const deliveryBadge = (state: DeliveryState, word: string = state): Html =>
  html`<span class="status ${LOOK[state].class}">${icon(LOOK[state].icon)}${word}</span>`;

export const deliveryTable = (list: readonly DeliveryDocument[], now: number): Html =>
  html`<table class="table"><caption class="visually-hidden">Deliveries, newest first</caption><thead><tr><th scope="col">Event</th><th scope="col">Made (UTC)</th><th scope="col">State</th><th scope="col">Attempts</th><th scope="col">Last answer</th></tr></thead><tbody>${list.map(
    (delivery) =>
      html`<tr><th scope="row" data-label="Event"><a href="${deliveryHref(delivery)}">${delivery.event}</a></th><td data-label="Made (UTC)"><span>${momentIn('UTC', delivery.createdAt)}</span></td><td data-label="State"><span>${deliveryBadge(delivery.state)}${nextTry(delivery, now)}</span></td><td data-label="Attempts">${delivery.attempts.length}</td><td data-label="Last answer">${answered(delivery.attempts.at(-1))}</td></tr>`,
  )}</tbody></table>`;

const nextTry = ({ state, due, tries }: DeliveryDocument, now: number): Html | undefined =>
  state === 'Pending' && tries > 0 ? html` <span class="small muted">again ${fromNow(due, now)}</span>` : undefined;

const answered = (attempt: Attempt | undefined): string => {
  if (attempt === undefined) return 'not tried yet';
  if (attempt.error !== undefined) return attempt.error.type;
  return attempt.status === undefined ? 'no answer' : String(attempt.status);
};

/** One delivery: what was sent, every attempt, what came back. */
export function deliveryPage(visit: Visit, delivery: DeliveryDocument, webhook: WebhookDocument): Shown {
  const base = `/console/webhooks/${webhook.webhookId}`;
  const action = `${deliveryHref(delivery)}/resend`;
  return {
    title: `Delivery of ${delivery.event}`,
    section: 'webhooks',
    main: html`<p class="back"><a href="${base}">${icon('back')} ${webhook.url}</a></p>
<div class="stack full" id="delivery" data-live-region><div class="head"><div><h1>${delivery.event}</h1><p class="lead">Happened ${momentIn('UTC', delivery.eventAt)} UTC</p></div>${deliveryBadge(delivery.state)}</div>
${delivery.reason && html`<div class="flash problem">${icon('warning')}<p>${delivery.reason}</p></div>`}
<form method="post" action="${action}">${csrfField(visit)}${onceField()}<button class="button quiet">${icon('resend')} Send it again</button></form>
<section class="stack full"><h2>${counted(delivery.attempts.length, 'attempt')}</h2>${
      delivery.attempts.length === 0
        ? html`<p class="muted">None yet. The first goes out at once.</p>`
        : html`<ol class="attempts">${delivery.attempts.map(attemptItem).reverse()}</ol>`
    }</section>
<section class="stack full"><h2>Payload</h2><p class="muted small">The body as it is sent and signed; line breaks are added here. <code>webhook-id</code> is <code>${delivery.deliveryId}</code>.</p><pre tabindex="0">${pretty(delivery.body)}</pre></section></div>`,
  };
}

const attemptItem = (
  attempt: Attempt,
): Html => html`<li class="card"><div class="row apart"><strong>${attempt.error === undefined ? `Answered ${attempt.status ?? ''}` : attempt.error.type}</strong><span class="muted small"><time datetime="${attempt.at}">${momentIn('UTC', attempt.at)} UTC</time>, ${Math.round(attempt.duration)} ms${attempt.address && `, ${attempt.address}`}</span></div>
${attempt.error && html`<p>${attempt.error.message}</p>`}${attempt.answer !== '' && html`<pre tabindex="0">${attempt.answer}</pre>`}</li>`;

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
