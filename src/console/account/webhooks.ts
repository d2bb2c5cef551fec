import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { daysLater, localDate, toTimestamp } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import type { Timestamp } from '../../domain/ids.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_URL } from '../../domain/limits.ts';
import { WEBHOOK_EVENTS, type WebhookEventName, webhookEventNames } from '../../domain/webhook.ts';
import { type Html, html } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import { named, namedText } from '../../html/names.ts';
import { type DeliveryDocument, RETENTION_MS, type ReceiverHealth } from '../../webhooks/webhooks.ts';
import {
  actionButton,
  choices,
  confirm,
  csrfField,
  field,
  formProblem,
  momentField,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
  statusOf,
} from '../parts/fields.ts';
import { counted, fromNow, momentIn, zoneName } from '../parts/formats.ts';
import { moment, second } from '../parts/moments.ts';
import type { PageDeps } from '../parts/page-deps.ts';
import { readerZone } from '../parts/reader-zone.ts';
import { secretBox } from '../parts/secret.ts';
import { readMoment } from '../parts/typed-dates.ts';
import { type Answer, type Form, idOf, missing, type Routes, type Visit } from '../parts/visit.ts';
import { deliveryList } from './delivery-list.ts';
import { attemptsShown, deliveryBadge, deliveryHref, deliveryPage, notSentPage } from './delivery-views.ts';
import { historyOf, historyOfAll } from './history.ts';

const DELIVERIES = '/console/webhooks/deliveries';

/** Names and descriptions of the events. */
const EVENT_LABELS: Readonly<Record<WebhookEventName, { readonly label: string; readonly hint: string }>> = {
  BookingRequested: { label: 'Booking requested', hint: 'BookingRequested' },
  BookingApproved: { label: 'Booking approved', hint: 'BookingApproved' },
  BookingCancelled: { label: 'Booking cancelled', hint: 'BookingCancelled: declined, cancelled or expired' },
  ReviewPosted: { label: 'Review posted', hint: 'ReviewPosted' },
};

const LABELS = { url: 'Endpoint URL', events: 'Events' };
const CHOOSE = { events: { field: 'event', text: 'Choose at least one of the events.' } };

/** Webhooks, and the log of their deliveries. */
export function webhookPages(routes: Routes, { commands, queries, webhooks }: PageDeps): void {
  routes.get('/console/webhooks', (visit) => listPage(visit));

  routes.post('/console/webhooks', (visit) =>
    visit.once(async () => {
      const { account, form, context, user } = visit;
      const chosen = form.all('event');
      const events = keysOf(WEBHOOK_EVENTS)
        .filter((name) => chosen.includes(name))
        .reduce((mask, name) => mask | WEBHOOK_EVENTS[name], 0);
      const owner = { credential: `user:${user.id}`, account } as const;
      const outcome = await commands.webhooks.register({ owner, url: form.text('url'), events }, context);
      if (isRefusal(outcome)) return listPage(visit, problemOf(outcome, LABELS, CHOOSE));
      return secretPage(
        'Webhook registered',
        outcome.webhookId,
        outcome.signingSecret,
        'Copy the signing secret now and configure it in your receiver, which needs it to verify deliveries. It will not be shown again.',
      );
    }),
  );

  routes.get(DELIVERIES, async (visit) => {
    const registered = await queries.webhooks.listOfAccount(visit.account);
    const { main, problems, flash } = await deliveryList({ queries, webhooks }, visit, registered, DELIVERIES);
    return {
      title: 'Deliveries',
      section: 'webhooks',
      status: statusOf(problems),
      flash,
      main: html`<p class="back"><a href="/console/webhooks">${icon('back')} Webhooks</a></p>
<div class="head"><div><h1>Deliveries</h1><p class="lead">What was sent to the webhooks of ${named(visit.accountName)}, and what came of it. A delivery is kept for 30 days after it has ended.</p></div></div>
<h2 class="visually-hidden">Results</h2>
${main}`,
    };
  });

  routes.get('/console/webhooks/:id', (visit) => withWebhook(visit, (webhook) => webhookPage(visit, webhook)));

  routes.post('/console/webhooks/:id/rotate', (visit) =>
    withWebhook(visit, ({ webhookId }) =>
      visit.once(async () => {
        const outcome = await commands.webhooks.rotate({ webhookId, by: { account: visit.account } }, visit.context);
        if (isRefusal(outcome)) return missing('webhook');
        return secretPage(
          'New signing secret',
          webhookId,
          outcome.signingSecret,
          `Copy it now; it will not be shown again. Until ${momentIn(visit.zone, outcome.previousUntil)} ${zoneName(visit.zone)}, deliveries are signed with the old secret as well, so that you can update your receiver without missing any.`,
        );
      }),
    ),
  );

  routes.post('/console/webhooks/:id/disable', (visit) =>
    withWebhook(visit, async ({ webhookId }) => {
      const command = { webhookId, by: { account: visit.account }, reason: 'Disabled in the console.' };
      const outcome = await commands.webhooks.disable(command, visit.context);
      return isRefusal(outcome)
        ? missing('webhook')
        : toWebhook(webhookId, 'Webhook disabled. Nothing is sent until you enable it again.');
    }),
  );

  routes.post('/console/webhooks/:id/enable', (visit) =>
    withWebhook(visit, async ({ webhookId }) => {
      const outcome = await commands.webhooks.enable({ webhookId, by: { account: visit.account } }, visit.context);
      return isRefusal(outcome)
        ? missing('webhook')
        : toWebhook(webhookId, 'Webhook enabled. To send what it missed, use “Recover”.');
    }),
  );

  routes.post('/console/webhooks/:id/remove', (visit) =>
    withWebhook(visit, async ({ webhookId }) => {
      const outcome = await commands.webhooks.remove({ webhookId, by: { account: visit.account } }, visit.context);
      return isRefusal(outcome)
        ? missing('webhook')
        : {
            go: '/console/webhooks',
            flash: { kind: 'done', text: 'Webhook removed. Nothing more will be sent to its endpoint.' },
          };
    }),
  );

  routes.post('/console/webhooks/:id/test', (visit) =>
    withWebhook(visit, ({ webhookId }) =>
      visit.once(async () => {
        const outcome = await webhooks.sendTest(webhookId);
        return isRefusal(outcome)
          ? { go: `/console/webhooks/${webhookId}`, flash: { kind: 'problem', text: outcome.details } }
          : { go: deliveryHref(outcome) };
      }),
    ),
  );

  routes.post('/console/webhooks/:id/recover', (visit) =>
    withWebhook(visit, async (webhook) => {
      const read = readMoment(visit.form.text('since'));
      if (read.problem !== undefined) return webhookPage(visit, webhook, { since: read.problem });
      const since = sinceOf(read.time, readerZone(visit.form.text('zone')));
      const outcome = await webhooks.recover(webhook.webhookId, since);
      if (isRefusal(outcome)) return webhookPage(visit, webhook, { since: outcome.details });
      return toWebhook(
        webhook.webhookId,
        outcome.due === 0
          ? 'Nothing has been missed since then.'
          : `${counted(outcome.due, 'delivery', 'deliveries')} queued.`,
      );
    }),
  );

  routes.get('/console/webhooks/:id/deliveries/:delivery', (visit) =>
    withWebhook(visit, async (webhook) => {
      const delivery = await deliveryOf(visit, webhook);
      if (delivery === undefined) return notSent(visit, webhook);
      const { shown } = attemptsShown(delivery, visit);
      const headers = await webhooks.requestHeaders(delivery.deliveryId, shown);
      return deliveryPage(visit, delivery, webhook, headers);
    }),
  );

  routes.post('/console/webhooks/:id/deliveries/:delivery/resend', (visit) =>
    withWebhook(visit, async (webhook) => {
      const delivery = await deliveryOf(visit, webhook);
      const missed = delivery === undefined ? await bookingOf(visit, visit.form) : undefined;
      if (delivery === undefined && missed === undefined) return missing('delivery');
      const { webhookId } = webhook;
      const deliveryId = visit.params.delivery ?? '';
      return visit.once(async () => {
        const outcome =
          missed === undefined
            ? await webhooks.resend(deliveryId)
            : await webhooks.sendEvent(webhookId, missed, deliveryId.split(':', 1)[0] ?? '');
        // Its page says how it stands, and goes on saying it; a message would soon be wrong.
        if (!isRefusal(outcome)) return { go: deliveryHref(outcome) };
        const back = deliveryHref({ webhookId, deliveryId });
        const go = missed === undefined ? back : `${back}?booking=${missed.bookingId}`;
        return { go, flash: { kind: 'problem', text: outcome.details } };
      });
    }),
  );

  async function deliveryOf({ params }: Visit, webhook: WebhookDocument): Promise<DeliveryDocument | undefined> {
    const delivery = await webhooks.getDelivery(params.delivery ?? '');
    return delivery?.webhookId === webhook.webhookId && delivery.account === webhook.account ? delivery : undefined;
  }

  /** The booking that a page or form of an event without a delivery names. */
  async function bookingOf({ account }: Visit, fields: Form): Promise<ReadableBooking | undefined> {
    const bookingId = idOf(fields.text('booking'));
    return bookingId === undefined ? undefined : queries.bookings.get(account, bookingId);
  }

  async function notSent(visit: Visit, webhook: WebhookDocument): Promise<Answer> {
    const booking = await bookingOf(visit, visit.query);
    const happened = booking === undefined ? [] : await webhooks.deliveriesOfBooking([webhook], booking);
    const missed = happened.find(({ event: { id } }) => `${id}:${webhook.webhookId}` === visit.params.delivery);
    if (missed === undefined) return missing('delivery');
    const isExpired = Date.parse(missed.event.metadata.at) < visit.now - RETENTION_MS;
    return notSentPage(visit, missed.event, webhook, isExpired);
  }

  async function withWebhook(visit: Visit, then: (webhook: WebhookDocument) => Promise<Answer>): Promise<Answer> {
    const webhook = await queries.webhooks.get(visit.account, visit.params.id ?? '');
    return webhook === undefined ? missing('webhook') : then(webhook);
  }

  async function listPage(visit: Visit, problems: Problems = NO_PROBLEMS): Promise<Answer> {
    const { account, form } = visit;
    const list = await Promise.all(
      (await queries.webhooks.listOfAccount(account)).map(async (webhook) => ({
        ...webhook,
        receiver: await webhooks.receiver(webhook.webhookId),
      })),
    );
    const chosen = form.all('event');
    const first = visit.form.text('url') === '' && chosen.length === 0;
    return {
      title: 'Webhooks',
      section: 'webhooks',
      status: statusOf(problems),
      main: html`<div class="head"><div><h1>Webhooks</h1><p class="lead">Endpoints that receive signed events about the bookings and reviews of ${named(visit.accountName)} as they happen. <a href="${historyOfAll('webhooks')}">History</a></p></div></div>
${
  list.length > 0 &&
  html`<form class="row end find-delivery" method="get" action="${DELIVERIES}" role="search" aria-label="Deliveries">${field({ name: 'q', label: 'Find a delivery', value: '', attributes: { maxlength: 120, autocomplete: 'off', spellcheck: 'false', placeholder: 'Booking number or webhook-id' } })}<button class="button quiet">${icon('search')} Search</button><a class="button quiet" href="${DELIVERIES}?state=Failed">Failed deliveries</a></form>`
}<div class="split"><div id="webhooks" data-live-region>${
        list.length === 0
          ? html`<div class="empty">${icon('webhook')}<h2>No webhooks yet</h2><p>Register an endpoint and send it a test delivery.</p></div>`
          : html`<table class="table webhooks"><caption class="visually-hidden">Registered webhooks</caption><thead><tr><th scope="col">Endpoint</th><th scope="col">Events</th><th scope="col">Status</th></tr></thead><tbody>${list.map(
              (webhook) =>
                html`<tr><th scope="row" data-label="Endpoint" class="long"><a class="whole" href="/console/webhooks/${webhook.webhookId}">${named(webhook.url)}</a></th><td data-label="Events" class="small"><span>${eventNames(webhook.events)}</span></td><td data-label="Status">${webhookBadge(webhook, webhook.receiver)}</td></tr>`,
            )}</tbody></table>`
      }</div>
<div><form class="card fields" method="post" action="/console/webhooks">${csrfField(visit)}${onceField()}<h2>New webhook</h2>${formProblem(problems)}
${field({ name: 'url', label: 'Endpoint URL', hint: 'An HTTPS URL that is reachable from the internet.', type: 'url', value: form.text('url'), required: true, problems, attributes: { maxlength: WEBHOOK_URL.max, placeholder: 'https://' } })}
${choices(
  { name: 'event', label: 'Events', problems },
  'checkbox',
  keysOf(EVENT_LABELS).map((name) => ({
    value: name,
    ...EVENT_LABELS[name],
    checked: first || chosen.includes(name),
  })),
)}
<div><button class="button">Register webhook</button></div></form></div></div>`,
    };
  }

  async function webhookPage(
    visit: Visit,
    webhook: WebhookDocument,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { now, zone } = visit;
    const { webhookId } = webhook;
    const base = `/console/webhooks/${webhookId}`;
    const [receiver, deliveries] = await Promise.all([
      webhooks.receiver(webhookId),
      deliveryList({ queries, webhooks }, visit, [webhook], base),
    ]);
    const yesterday = `${daysLater(localDate(now, zone), -1)}T00:00`;
    return {
      title: `Webhook ${namedText(webhook.url)}`,
      section: 'webhooks',
      status: statusOf({ ...problems, ...deliveries.problems }),
      flash: deliveries.flash,
      main: html`<p class="back"><a href="/console/webhooks">${icon('back')} Webhooks</a></p>
<div class="head" id="webhook-head" data-live-region><div><h1 class="address">${named(webhook.url)}</h1><p class="lead">${eventNames(webhook.events)}. <a href="${historyOf('webhook', webhookId)}">History</a></p></div>${webhookBadge(webhook, receiver)}</div>
<div id="receiver" data-live-region>${
        webhook.status === 'disabled'
          ? html`<div class="flash notice">${icon('warning')}<p>Disabled: ${webhook.disabledReason === undefined ? 'no reason given.' : named(webhook.disabledReason)}</p></div>`
          : receiverNotice(receiver, visit)
      }</div>
<div class="row top">${webhook.status === 'enabled' && html`<form method="post" action="${base}/test">${csrfField(visit)}${onceField()}<button class="button">Send test delivery</button></form>`}${
        webhook.status === 'enabled'
          ? confirm(visit, {
              action: `${base}/disable`,
              open: 'Disable…',
              question:
                'Disable this webhook? Nothing is sent until you enable it again. Missed events can be recovered for 30 days.',
              submit: 'Disable webhook',
              small: false,
            })
          : actionButton(visit, `${base}/enable`, 'Enable')
      }${confirm(visit, { action: `${base}/rotate`, open: 'Rotate secret…', question: 'Create a new signing secret? Deliveries are signed with both for 24 hours, then the old one expires.', submit: 'Rotate secret', fields: onceField(), small: false })}${confirm(visit, { action: `${base}/remove`, open: 'Remove…', question: 'Remove this webhook permanently? Nothing more is sent to it, and its deliveries are no longer shown.', submit: 'Remove webhook', small: false, removes: true })}</div>
<h2>Deliveries</h2>
${deliveries.main}
<form class="card fields narrow" method="post" action="${base}/recover">${csrfField(visit)}<input type="hidden" name="zone" value="${zone}"><h2>Recover</h2><p>Sends everything that has not arrived since a given time: failed deliveries, and events that occurred while the webhook was disabled. Goes back up to 30 days.</p>
${momentField({ name: 'since', label: 'Since', hint: zoneName(zone), value: visit.form.text('since') || yesterday, required: true, problems })}
<div><button class="button quiet">Recover</button></div></form>`,
    };
  }
}

const toWebhook = (webhookId: string, text: string): Answer => ({
  go: `/console/webhooks/${webhookId}`,
  flash: { kind: 'done', text },
});

const secretPage = (title: string, webhookId: string, secret: string, advice: string): Answer => ({
  title,
  section: 'webhooks',
  main: html`<h1>${title}</h1>${secretBox('secret', secret, advice)}<p><a class="button" href="/console/webhooks/${webhookId}">I have copied it</a></p>`,
});

const eventNames = (mask: number): string =>
  webhookEventNames(mask)
    .map((name) => EVENT_LABELS[name].label)
    .join(', ');

function webhookBadge({ status }: WebhookDocument, { breaker }: ReceiverHealth): Html {
  if (status === 'disabled') return deliveryBadge('Cancelled', 'Disabled');
  return breaker?.state === 'open' ? deliveryBadge('Pending', 'Paused') : deliveryBadge('Delivered', 'Enabled');
}

const SHOWN_RECOVERING_MS = 60_000;

/** What the owner should know of a receiver that failed lately. */
function receiverNotice({ breaker, failures }: ReceiverHealth, visit: Visit): Html | undefined {
  if (breaker === undefined) return undefined;
  const { now } = visit;
  const since = moment(visit, breaker.since);
  // It stays in this state until something arrives after the slow start, which may be days later.
  if (breaker.state === 'recovering' && now - Date.parse(breaker.since) > SHOWN_RECOVERING_MS) return undefined;
  if (breaker.state === 'recovering')
    return html`<div class="flash notice">${icon('resend')}<p>The endpoint has been answering again since ${since}. Deliveries start slowly and speed up over ten seconds.</p></div>`;
  const next =
    Date.parse(breaker.probeAt) > now
      ? html`the next attempt is due ${fromNow(breaker.probeAt, now)}, at ${second(visit, breaker.probeAt)}`
      : 'the next attempt is made as soon as a delivery is due';
  return html`<div class="flash problem">${icon('warning')}<p>Paused since ${since}, after ${counted(failures, 'failed attempt')} in a row. One delivery is tried at a time; ${next}. The others wait without losing any of their attempts. To try now, send a test delivery or resend one.</p></div>`;
}

/** A time on the clock of a zone (`2026-11-20T09:30:00`) as a moment. */
const sinceOf = (time: string, zone: string): Timestamp =>
  toTimestamp(Temporal.PlainDateTime.from(time).toZonedDateTime(zone).epochMilliseconds);
