import type { WebhookDocument } from '../../projections/webhooks.ts';
import type { DeliveryState } from '../contract/delivery.ts';
import { type Html, html } from '../html/html.ts';
import { type IconName, icon } from '../html/layout.ts';
import { named } from '../html/names.ts';
import type { Attempt, DeliveryDocument } from '../webhooks/webhooks.ts';
import { csrfField, onceField } from './fields.ts';
import { counted, fromNow, momentIn } from './formats.ts';
import type { Shown, Visit } from './visit.ts';

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

export const deliveryTable = (list: readonly DeliveryDocument[], now: number): Html =>
  html`<table class="table"><caption class="visually-hidden">Deliveries, newest first</caption><thead><tr><th scope="col">Event</th><th scope="col">Created (UTC)</th><th scope="col">Status</th><th scope="col">Attempts</th><th scope="col">Last response</th></tr></thead><tbody>${list.map(
    (delivery) =>
      html`<tr><th scope="row" data-label="Event"><a href="${deliveryHref(delivery)}">${delivery.event}</a></th><td data-label="Created (UTC)"><span>${momentIn('UTC', delivery.createdAt)}</span></td><td data-label="Status"><span>${deliveryBadge(delivery.state)}${nextAttempt(delivery, now)}</span></td><td data-label="Attempts">${delivery.attempts.length}</td><td data-label="Last response">${responseTo(delivery.attempts.at(-1))}</td></tr>`,
  )}</tbody></table>`;

const nextAttempt = ({ state, due, tries }: DeliveryDocument, now: number): Html | undefined =>
  state === 'Pending' && tries > 0
    ? html` <span class="small muted">${Date.parse(due) > now ? `next attempt ${fromNow(due, now)}` : 'waiting for its next attempt'}</span>`
    : undefined;

const responseTo = (attempt: Attempt | undefined): string => {
  if (attempt === undefined) return 'not attempted yet';
  if (attempt.error !== undefined) return attempt.error.type;
  return attempt.status === undefined ? 'no response' : String(attempt.status);
};

/** A delivery: its payload, and every attempt with the response. */
export function deliveryPage(visit: Visit, delivery: DeliveryDocument, webhook: WebhookDocument): Shown {
  const base = `/console/webhooks/${webhook.webhookId}`;
  const action = `${deliveryHref(delivery)}/resend`;
  return {
    title: `Delivery of ${delivery.event}`,
    section: 'webhooks',
    main: html`<p class="back"><a href="${base}">${icon('back')} ${named(webhook.url)}</a></p>
<div class="stack full" id="delivery" data-live-region><div class="head"><div><h1>${delivery.event}</h1><p class="lead">Occurred ${momentIn('UTC', delivery.eventAt)} UTC</p></div>${deliveryBadge(delivery.state)}</div>
${delivery.reason && html`<div class="flash problem">${icon('warning')}<p>${named(delivery.reason)}</p></div>`}
<form method="post" action="${action}">${csrfField(visit)}${onceField()}<button class="button quiet">${icon('resend')} Resend</button></form>
<section class="stack full"><h2>${counted(delivery.attempts.length, 'attempt')}</h2>${
      delivery.attempts.length === 0
        ? html`<p class="muted">None yet. The first one will be made as soon as the endpoint can take it.</p>`
        : html`<ol class="attempts">${delivery.attempts.map(attemptItem).reverse()}</ol>`
    }</section>
<section class="stack full"><h2>Payload</h2><p class="muted small">The body that is sent and signed, here with added line breaks. <code>webhook-id</code> is <code>${delivery.deliveryId}</code>.</p><pre tabindex="0" dir="ltr">${pretty(delivery.body)}</pre></section></div>`,
  };
}

const attemptItem = (
  attempt: Attempt,
): Html => html`<li class="card"><div class="row apart"><strong>${attempt.error === undefined ? `Response ${attempt.status ?? ''}` : attempt.error.type}</strong><span class="muted small"><time datetime="${attempt.at}">${momentIn('UTC', attempt.at)} UTC</time>, ${Math.round(attempt.duration)} ms${attempt.address && `, ${attempt.address}`}</span></div>
${attempt.error && html`<p>${named(attempt.error.message)}</p>`}${attempt.answer !== '' && html`<pre tabindex="0" dir="ltr">${attempt.answer}</pre>`}</li>`;

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
