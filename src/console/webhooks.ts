import type { WebhookDocument } from '../../projections/webhooks.ts';
import { accountKey } from '../domain/account.ts';
import { isPlainDate, localDate, toTimestamp } from '../domain/calendar.ts';
import { isRefusal } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { type Timestamp, timestamp } from '../domain/ids.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS, type WebhookEventName, webhookEventNames } from '../domain/webhook.ts';
import { type Html, html } from '../html/html.ts';
import { icon } from '../html/layout.ts';
import { DELIVERY_STATES, type DeliveryDocument, type DeliveryState } from '../webhooks/webhooks.ts';
import { deliveryBadge, deliveryHref, deliveryPage, deliveryTable } from './delivery-views.ts';
import {
  actionButton,
  choices,
  confirm,
  csrfField,
  field,
  formProblem,
  NO_PROBLEMS,
  onceField,
  type Problems,
  problemOf,
} from './fields.ts';
import { addDays, counted, momentIn } from './formats.ts';
import type { PageDeps } from './page-deps.ts';
import { secretBox } from './secret.ts';
import { tabs } from './tabs.ts';
import { type Answer, missing, type Routes, type Visit } from './visit.ts';

const PER_PAGE = 25;

/** Events in plain words. */
const EVENT_WORDS: Readonly<Record<WebhookEventName, { readonly label: string; readonly hint: string }>> = {
  BookingRequested: { label: 'A booking is requested', hint: 'BookingRequested' },
  BookingApproved: { label: 'A booking is approved', hint: 'BookingApproved' },
  BookingCancelled: { label: 'A booking is cancelled', hint: 'BookingCancelled, by either party' },
  ReviewPosted: { label: 'A review is posted', hint: 'ReviewPosted' },
};

/** Addresses that are told about events, and the log of every delivery. */
export function webhookPages(routes: Routes, { commands, queries, webhooks }: PageDeps): void {
  routes.get('/console/webhooks', (visit) => listPage(visit));

  routes.post('/console/webhooks', (visit) =>
    visit.once(async () => {
      const { account, form, context, user } = visit;
      const chosen = form.all('event');
      const events = keysOf(WEBHOOK_EVENTS)
        .filter((name) => chosen.includes(name))
        .reduce((mask, name) => mask | WEBHOOK_EVENTS[name], 0);
      if (events === 0) return listPage(visit, { event: 'Choose at least one.' });
      const owner = { credential: `user:${user.id}`, account } as const;
      const outcome = await commands.webhooks.register({ owner, url: form.text('url'), events }, context);
      if (isRefusal(outcome)) return listPage(visit, problemOf(outcome, { url: 'Address' }));
      return secretPage(
        'The webhook is registered',
        outcome.webhookId,
        outcome.signingSecret,
        'Copy the signing secret now and keep it with the receiver. It is shown this once; with it the receiver knows that a delivery is ours.',
      );
    }),
  );

  routes.get('/console/webhooks/:id', (visit) => withWebhook(visit, (webhook) => webhookPage(visit, webhook)));

  routes.post('/console/webhooks/:id/rotate', (visit) =>
    withWebhook(visit, ({ webhookId }) =>
      visit.once(async () => {
        const outcome = await commands.webhooks.rotate({ webhookId, by: { account: visit.account } }, visit.context);
        if (isRefusal(outcome)) return missing('webhook');
        return secretPage(
          'The new signing secret',
          webhookId,
          outcome.signingSecret,
          `Copy it now; it is shown this once. Until ${momentIn('UTC', outcome.previousUntil)} UTC deliveries carry the signature of the old secret too, so that you can change the receiver without losing one.`,
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
        : said(webhookId, 'Disabled. Nothing is sent until you enable it again.');
    }),
  );

  routes.post('/console/webhooks/:id/enable', (visit) =>
    withWebhook(visit, async ({ webhookId }) => {
      const outcome = await commands.webhooks.enable({ webhookId, by: { account: visit.account } }, visit.context);
      return isRefusal(outcome)
        ? missing('webhook')
        : said(webhookId, 'Enabled. What happened meanwhile can be sent with “Recover”.');
    }),
  );

  routes.post('/console/webhooks/:id/remove', (visit) =>
    withWebhook(visit, async ({ webhookId }) => {
      const outcome = await commands.webhooks.remove({ webhookId, by: { account: visit.account } }, visit.context);
      return isRefusal(outcome)
        ? missing('webhook')
        : {
            go: '/console/webhooks',
            flash: { kind: 'done', text: 'Removed. Nothing is sent to this address any more.' },
          };
    }),
  );

  routes.post('/console/webhooks/:id/test', (visit) =>
    withWebhook(visit, ({ webhookId }) =>
      visit.once(async () => {
        const outcome = await webhooks.sendTest(webhookId);
        return isRefusal(outcome)
          ? { go: `/console/webhooks/${webhookId}`, flash: { kind: 'problem', text: outcome.details } }
          : { go: deliveryHref(outcome), flash: { kind: 'done', text: 'A test delivery is on its way.' } };
      }),
    ),
  );

  routes.post('/console/webhooks/:id/recover', (visit) =>
    withWebhook(visit, async (webhook) => {
      const since = sinceOf(visit.form.text('since'));
      if (since === undefined) return webhookPage(visit, webhook, { since: 'Choose a day and a time.' });
      const outcome = await webhooks.recover(webhook.webhookId, since);
      if (isRefusal(outcome)) return webhookPage(visit, webhook, { since: outcome.details });
      return said(
        webhook.webhookId,
        outcome.due === 0
          ? 'Nothing was missed since then.'
          : `${counted(outcome.due, 'delivery', 'deliveries')} on the way.`,
      );
    }),
  );

  routes.get('/console/webhooks/:id/deliveries/:delivery', (visit) =>
    withDelivery(visit, async (delivery, webhook) => deliveryPage(visit, delivery, webhook)),
  );

  routes.post('/console/webhooks/:id/deliveries/:delivery/resend', (visit) =>
    withDelivery(visit, (delivery) =>
      visit.once(async () => {
        const outcome = await webhooks.resend(delivery.deliveryId);
        return {
          go: deliveryHref(delivery),
          flash: isRefusal(outcome)
            ? { kind: 'problem', text: outcome.details }
            : { kind: 'done', text: 'It is sent again, now.' },
        };
      }),
    ),
  );

  async function withWebhook(visit: Visit, then: (webhook: WebhookDocument) => Promise<Answer>): Promise<Answer> {
    const webhook = await queries.webhooks.get(visit.account, visit.params.id ?? '');
    return webhook === undefined ? missing('webhook') : then(webhook);
  }

  function withDelivery(visit: Visit, then: (delivery: DeliveryDocument, webhook: WebhookDocument) => Promise<Answer>) {
    return withWebhook(visit, async (webhook) => {
      const delivery = await webhooks.getDelivery(visit.params.delivery ?? '');
      const ours = delivery?.webhookId === webhook.webhookId && delivery.account === accountKey(visit.account);
      return delivery !== undefined && ours ? then(delivery, webhook) : missing('delivery');
    });
  }

  async function listPage(visit: Visit, problems: Problems = NO_PROBLEMS): Promise<Answer> {
    const { account, form } = visit;
    const list = await queries.webhooks.listOfAccount(account);
    const chosen = form.all('event');
    const first = visit.form.text('url') === '' && chosen.length === 0;
    return {
      title: 'Webhooks',
      section: 'webhooks',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`<div class="head"><div><h1>Webhooks</h1><p class="lead">We tell these addresses what happens to the bookings of ${visit.accountName}, signed, as it happens.</p></div></div>
<div class="split"><div id="webhooks" data-live-region>${
        list.length === 0
          ? html`<div class="empty">${icon('webhook')}<h2>No webhooks</h2><p>Register the address of a receiver, and send it a test delivery.</p></div>`
          : html`<table class="table"><caption class="visually-hidden">Registered webhooks</caption><thead><tr><th scope="col">Address</th><th scope="col">Told about</th><th scope="col">State</th></tr></thead><tbody>${list.map(
              (webhook) =>
                html`<tr><th scope="row" data-label="Address" class="long"><a href="/console/webhooks/${webhook.webhookId}">${webhook.url}</a></th><td data-label="Told about" class="small"><span>${eventWords(webhook.events)}</span></td><td data-label="State">${webhookBadge(webhook)}</td></tr>`,
            )}</tbody></table>`
      }</div>
<div><form class="card fields" method="post" action="/console/webhooks">${csrfField(visit)}${onceField()}<h2>New webhook</h2>${formProblem(problems)}
${field({ name: 'url', label: 'Address', hint: 'An https address that can be reached from the internet.', type: 'url', value: form.text('url'), required: true, problems, attributes: { maxlength: 2000, placeholder: 'https://' } })}
${choices(
  { name: 'event', label: 'Tell it when', problems },
  'checkbox',
  keysOf(EVENT_WORDS).map((name) => ({
    value: name,
    ...EVENT_WORDS[name],
    checked: first || chosen.includes(name),
  })),
)}
<div><button class="button">Register</button></div></form></div></div>`,
    };
  }

  async function webhookPage(
    visit: Visit,
    webhook: WebhookDocument,
    problems: Problems = NO_PROBLEMS,
  ): Promise<Answer> {
    const { query, now } = visit;
    const { webhookId } = webhook;
    const state = DELIVERY_STATES.find((known) => known === query.text('state'));
    const before = query.text('before');
    const deliveries = await webhooks.listDeliveries({
      webhookId,
      ...defined({ state }),
      ...(isMoment(before) ? { before: timestamp(before) } : {}),
      limit: PER_PAGE + 1,
    });
    const shown = deliveries.slice(0, PER_PAGE);
    const last = shown.at(-1);
    const base = `/console/webhooks/${webhookId}`;
    const withState = (one: DeliveryState | undefined) => (one === undefined ? base : `${base}?state=${one}`);
    const yesterday = `${addDays(localDate(now, 'UTC'), -1)}T00:00`;
    return {
      title: `Webhook ${webhook.url}`,
      section: 'webhooks',
      ...(problems === NO_PROBLEMS ? {} : { status: 422 }),
      main: html`<p class="back"><a href="/console/webhooks">${icon('back')} Webhooks</a></p>
<div class="head" id="webhook-head" data-live-region><div><h1 class="address">${webhook.url}</h1><p class="lead">${eventWords(webhook.events)}</p></div>${webhookBadge(webhook)}</div>
${
  webhook.status === 'disabled' &&
  html`<div class="flash notice">${icon('warning')}<p>Disabled: ${webhook.disabledReason ?? 'no reason was given.'}</p></div>`
}
<div class="row top">${webhook.status === 'enabled' && html`<form method="post" action="${base}/test">${csrfField(visit)}${onceField()}<button class="button">Send a test delivery</button></form>`}${
        webhook.status === 'enabled'
          ? confirm(visit, {
              action: `${base}/disable`,
              open: 'Disable …',
              question:
                'Disable this webhook? Nothing is sent until you enable it again; what happens meanwhile can be recovered for 30 days.',
              doIt: 'Disable it',
              small: false,
            })
          : actionButton(visit, `${base}/enable`, 'Enable again')
      }${confirm(visit, { action: `${base}/rotate`, open: 'New secret …', question: 'Make a new signing secret? Both sign for 24 hours, then the old one ends.', doIt: 'Make a new secret', fields: onceField(), small: false })}${confirm(visit, { action: `${base}/remove`, open: 'Remove …', question: 'Remove this webhook for good? Nothing is sent to it any more, and its deliveries are no longer shown.', doIt: 'Remove it', small: false })}</div>
<section class="stack full" id="deliveries" data-live-region><div class="row apart"><h2>Deliveries</h2><nav aria-label="State">${tabs(
        [
          { label: 'All', href: withState(undefined), current: state === undefined },
          ...DELIVERY_STATES.map((one) => ({ label: one, href: withState(one), current: one === state })),
        ],
      )}</nav></div>
${
  shown.length === 0
    ? html`<div class="empty"><h3>No ${state === undefined ? '' : `${state.toLowerCase()} `}deliveries</h3><p>They appear here as events happen. A test delivery shows whether the receiver answers.</p></div>`
    : deliveryTable(shown, now)
}${
  deliveries.length > PER_PAGE &&
  last &&
  html`<nav class="pager" aria-label="Pages"><a href="${withState(state)}">${icon('back')} Newest</a><a class="button quiet" href="${base}?${state ? `state=${state}&` : ''}before=${encodeURIComponent(last.createdAt)}">Older ${icon('next')}</a></nav>`
}</section>
<form class="card fields narrow" method="post" action="${base}/recover">${csrfField(visit)}<h2>Recover</h2><p>Sends everything that did not arrive since a moment: failed deliveries, and events for which none was made while the webhook was disabled. 30 days back at most.</p>
${field({ name: 'since', label: 'Since', hint: 'UTC', type: 'datetime-local', value: visit.form.text('since') || yesterday, required: true, problems })}
<div><button class="button quiet">Recover</button></div></form>`,
    };
  }
}

const said = (webhookId: string, text: string): Answer => ({
  go: `/console/webhooks/${webhookId}`,
  flash: { kind: 'done', text },
});

const secretPage = (title: string, webhookId: string, secret: string, advice: string): Answer => ({
  title,
  section: 'webhooks',
  main: html`<h1>${title}</h1>${secretBox('secret', secret, advice)}<p><a class="button" href="/console/webhooks/${webhookId}">I have copied it</a></p>`,
});

const eventWords = (mask: number): string =>
  webhookEventNames(mask)
    .map((name) => EVENT_WORDS[name].label)
    .join(', ');

const webhookBadge = ({ status }: WebhookDocument): Html =>
  status === 'enabled' ? deliveryBadge('Delivered', 'Enabled') : deliveryBadge('Cancelled', 'Disabled');

const isMoment = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T[\d:.]{5,12}Z$/.test(text) && !Number.isNaN(Date.parse(text));

/** The moment a `datetime-local` field holds, read as UTC. */
function sinceOf(text: string): Timestamp | undefined {
  const [date = '', time = ''] = text.split('T');
  if (!isPlainDate(date) || !/^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?$/.test(time)) return undefined;
  return toTimestamp(Date.parse(`${text}Z`));
}
