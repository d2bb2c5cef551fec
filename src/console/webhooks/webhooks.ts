import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { daysLater, localDate, toTimestamp } from '../../domain/calendar.ts';
import { isRefusal } from '../../domain/decision.ts';
import { keysOf } from '../../domain/keys-of.ts';
import { WEBHOOK_URL } from '../../domain/limits.ts';
import { WEBHOOK_EVENTS, type WebhookEventName, webhookEventNames } from '../../domain/webhook.ts';
import { counted, fromNow, moment, momentIn, second, zoneName } from '../../html/formats.ts';
import { type Html, html, named, namedText } from '../../html/html.ts';
import { icon } from '../../html/layout.ts';
import type { Breaker } from '../../webhooks/webhooks.ts';
import { type Answer, done, missing, notDone, nothingToDo } from '../parts/answer.ts';
import {
  actionButton,
  choices,
  confirm,
  controlsOf,
  field,
  hiddenField,
  maskOf,
  momentField,
  onceField,
  postForm,
  problemOf,
} from '../parts/forms.ts';
import { buttonLink, emptyState } from '../parts/frame.ts';
import { historyOf, historyOfAll } from '../parts/history-links.ts';
import { readerZone } from '../parts/reader-zone.ts';
import { type PageDeps, type Routes, webhookRoutes } from '../parts/routes.ts';
import { secretPage } from '../parts/secret-page.ts';
import { column, dataTable, rowHeading } from '../parts/tables.ts';
import { readMoment } from '../parts/typed-dates.ts';
import type { Problems } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { deliveryList } from './delivery-list.ts';
import { deliveryBadge, deliveryHref } from './delivery-views.ts';

const PATH = '/console/webhooks';
export const DELIVERIES = `${PATH}/deliveries`;
export const WEBHOOKS = { href: PATH, label: 'Webhooks' };
const webhookHref = ({ webhookId }: Pick<WebhookDocument, 'webhookId'>): string => `${PATH}/${webhookId}`;

/** Names and descriptions of the events. */
const EVENT_LABELS: Readonly<Record<WebhookEventName, { readonly label: string; readonly hint: string }>> = {
  BookingRequested: { label: 'Booking requested', hint: 'BookingRequested' },
  BookingApproved: { label: 'Booking approved', hint: 'BookingApproved' },
  BookingCancelled: { label: 'Booking cancelled', hint: 'BookingCancelled: declined, cancelled or expired' },
  ReviewPosted: { label: 'Review posted', hint: 'ReviewPosted' },
  BookingMoved: { label: 'Booking moved', hint: 'BookingMoved: to another date, hour or space' },
};

const LABELS = { url: 'Endpoint URL', events: 'Events' };
const CHOOSE = { events: { field: 'event', text: 'Choose at least one of the events.' } };
const SECRET_ADVICE =
  'Copy the signing secret now and configure it in your receiver, which needs it to verify deliveries. It will not be shown again.';

/** A registered webhook, and the circuit breaker of its endpoint. */
type Registered = WebhookDocument & { readonly breaker: Breaker };

/** The webhooks of an account. */
export function webhookPages(routes: Routes, deps: PageDeps): void {
  const { commands, queries, webhooks } = deps;
  const ofWebhook = webhookRoutes(routes, queries);

  routes.get(PATH, 'Manager', (visit) => listPage(deps, visit));

  routes.post(PATH, 'Manager', async (visit) => {
    const { account, form, context, user } = visit;
    const events = maskOf(form.all('event'), WEBHOOK_EVENTS);
    const owner = { credential: `user:${user.id}`, account } as const;
    const outcome = await commands.webhooks.register({ owner, url: form.text('url'), events }, context);
    if (isRefusal(outcome)) return listPage(deps, visit, problemOf(outcome, LABELS, CHOOSE));
    const back = { href: webhookHref(outcome), label: 'Webhook' };
    return secretPage({ title: 'Webhook registered', back, secret: outcome.signingSecret, advice: SECRET_ADVICE });
  });

  ofWebhook.get(`${PATH}/:id`, 'Manager', (visit, webhook) => webhookPage(deps, visit, webhook));

  ofWebhook.post(`${PATH}/:id/rotate`, 'Manager', async ({ account, context, zone }, webhook) => {
    const outcome = await commands.webhooks.rotate({ webhookId: webhook.webhookId, by: { account } }, context);
    if (isRefusal(outcome)) {
      return outcome.refused === 'ResourceNotFound'
        ? missing('webhook')
        : notDone(webhookHref(webhook), outcome.details);
    }
    const until = `${momentIn(zone, outcome.previousUntil)} ${zoneName(zone)}`;
    return secretPage({
      title: 'New signing secret',
      back: { href: webhookHref(webhook), label: 'Webhook' },
      secret: outcome.signingSecret,
      advice: [
        `Copy it now; it will not be shown again. Until ${until}, deliveries are signed with the secret before it as well,`,
        'so that you can update your receiver without missing any.',
      ].join(' '),
    });
  });

  const registerChange = (step: 'disable' | 'enable' | 'remove', text: string) =>
    ofWebhook.post(`${PATH}/:id/${step}`, 'Manager', async ({ account, context }, webhook) => {
      // Only disabling records the reason.
      const command = { webhookId: webhook.webhookId, by: { account }, reason: 'Disabled in the console.' };
      const outcome = await commands.webhooks[step](command, context);
      if (isRefusal(outcome)) return missing('webhook');
      return done(step === 'remove' ? PATH : webhookHref(webhook), text);
    });
  registerChange('disable', 'Webhook disabled. Nothing is sent until you enable it again.');
  registerChange('enable', 'Webhook enabled. To send what it missed, use “Recover”.');
  registerChange('remove', 'Webhook removed. Nothing more will be sent to its endpoint.');

  ofWebhook.post(`${PATH}/:id/test`, 'Manager', async (visit, webhook) => {
    const outcome = await webhooks.sendTest(webhook.webhookId, visit.context);
    return isRefusal(outcome) ? notDone(webhookHref(webhook), outcome.details) : { go: deliveryHref(outcome) };
  });

  ofWebhook.post(`${PATH}/:id/recover`, 'Manager', async (visit, webhook) => {
    const read = readMoment(visit.form.text('since'));
    if (read.problem !== undefined) return webhookPage(deps, visit, webhook, { since: read.problem });
    const local = Temporal.PlainDateTime.from(read.time).toZonedDateTime(readerZone(visit.form.text('zone')));
    const outcome = await webhooks.recover(webhook.webhookId, toTimestamp(local.epochMilliseconds));
    if (isRefusal(outcome)) return webhookPage(deps, visit, webhook, { since: outcome.details });
    const href = webhookHref(webhook);
    const { due, from } = outcome;
    const limit =
      from &&
      ` Recovery goes back 30 days: events before ${momentIn(visit.zone, from)} ${zoneName(visit.zone)} were left out.`;
    return due === 0
      ? nothingToDo(href, `Nothing has been missed since then.${limit ?? ''}`)
      : done(href, `${counted(due, 'delivery', 'deliveries')} queued.${limit ?? ''}`);
  });
}

async function listPage({ queries, webhooks }: PageDeps, visit: Visit, problems: Problems = {}): Promise<Answer> {
  const registered = await queries.webhooks.listOfAccount(visit.account);
  const list = await Promise.all(
    registered.map(async (webhook) => ({ ...webhook, breaker: await webhooks.breaker(webhook.webhookId) })),
  );
  return {
    title: 'Webhooks',
    lead: html`Endpoints that receive signed events about the bookings and reviews of ${named(visit.accountName)} as
they happen. <a href="${historyOfAll('webhooks')}">History</a>`,
    problems,
    main: html`${list.length > 0 && findDelivery}<div class="split"><div id="webhooks" data-live-region>${
      list.length === 0
        ? emptyState('webhook', 'No webhooks yet')`Register an endpoint and send it a test delivery.`
        : webhookTable(list)
    }</div>
<div>${newWebhookForm(visit, problems)}</div></div>`,
  };
}

async function webhookPage(
  { queries, webhooks }: PageDeps,
  visit: Visit,
  webhook: WebhookDocument,
  problems: Problems = {},
): Promise<Answer> {
  const { webhookId } = webhook;
  const [breaker, deliveries] = await Promise.all([
    webhooks.breaker(webhookId),
    deliveryList({ queries, webhooks }, visit, [webhook], webhookHref(webhook)),
  ]);
  return {
    title: `Webhook ${namedText(webhook.url)}`,
    heading: named(webhook.url),
    lead: html`${eventNames(webhook.events)}. <a href="${historyOf('webhook', webhookId)}">History</a>`,
    back: WEBHOOKS,
    actions: webhookBadge({ ...webhook, breaker }),
    problems: { ...problems, ...deliveries.problems },
    flash: deliveries.flash,
    main: html`<div id="receiver" data-live-region>${receiverNotice({ ...webhook, breaker }, visit)}</div>
${webhookActions(visit, webhook)}
<h2>Deliveries</h2>
${deliveries.main}
${recoverForm(visit, webhook, problems)}`,
  };
}

const findDelivery = html`<form class="row end find-delivery" method="get" action="${DELIVERIES}" role="search" aria-label="Deliveries">
${field({
  name: 'q',
  label: 'Find a delivery',
  value: '',
  attributes: { maxlength: 120, autocomplete: 'off', spellcheck: 'false', placeholder: 'Booking number or webhook-id' },
})}
<button class="button quiet">${icon('search')} Search</button>
${buttonLink(`${DELIVERIES}?state=Failed`, 'Failed deliveries', 'quiet')}</form>`;

const webhookTable = (list: readonly Registered[]): Html =>
  dataTable('Registered webhooks', list, [
    rowHeading(
      'Endpoint',
      'long',
      (webhook) => html`<a class="whole" href="${webhookHref(webhook)}">${named(webhook.url)}</a>`,
    ),
    column('Events', 'small', ({ events }) => eventNames(events)),
    column('Status', '', webhookBadge),
  ]);

function newWebhookForm(visit: Visit, problems: Problems): Html {
  const { form } = visit;
  const chosen = form.all('event');
  const isNew = form.text('url') === '' && chosen.length === 0;
  const events = keysOf(EVENT_LABELS).map((name) => ({
    value: name,
    ...EVENT_LABELS[name],
    checked: isNew || chosen.includes(name),
  }));
  return postForm(visit, PATH, 'card fields')`${onceField()}<h2>New webhook</h2>
${field({
  ...controlsOf(form, problems)('url', LABELS.url),
  hint: 'An HTTPS URL that is reachable from the internet.',
  type: 'url',
  required: true,
  attributes: { maxlength: WEBHOOK_URL.max, placeholder: 'https://' },
})}
${choices({ name: 'event', label: 'Events', problems }, 'checkbox', events)}
<div><button class="button">Register webhook</button></div>`;
}

function webhookActions(visit: Visit, webhook: WebhookDocument): Html {
  const href = webhookHref(webhook);
  const isEnabled = webhook.status === 'enabled';
  const test = postForm(visit, `${href}/test`)`${onceField()}<button class="button">Send test delivery</button>`;
  const disable = confirm(visit, `${href}/disable`, { open: 'Disable…', submit: 'Disable webhook', small: false });
  const rotation = { open: 'Rotate secret…', submit: 'Rotate secret', small: false, fields: onceField() };
  const rotate = confirm(visit, `${href}/rotate`, rotation);
  const removal = { open: 'Remove…', submit: 'Remove webhook', small: false, removes: true };
  const remove = confirm(visit, `${href}/remove`, removal);
  return html`<div class="row top">${isEnabled && test}${
    isEnabled
      ? disable`Disable this webhook? Nothing is sent until you enable it again. Missed events can be recovered for 30 days.`
      : actionButton(visit, `${href}/enable`, 'Enable')
  }${rotate`Create a new signing secret? Deliveries are signed with the old one, too, for 24 hours. At most three secrets are
valid at a time.`}
${remove`Remove this webhook permanently? Nothing more is sent to it, and its deliveries are no longer shown.`}</div>`;
}

function recoverForm(visit: Visit, webhook: WebhookDocument, problems: Problems): Html {
  const { zone, now, form } = visit;
  const yesterday = `${daysLater(localDate(now, zone), -1)}T00:00`;
  return postForm(visit, `${webhookHref(webhook)}/recover`, 'card fields narrow')`${hiddenField('zone', zone)}
<h2>Recover</h2>
<p>Sends everything that has not arrived since a given time: failed deliveries, and events that occurred while the webhook
was disabled. Goes back up to 30 days.</p>
${momentField({ name: 'since', label: 'Since', hint: zoneName(zone), value: form.text('since') || yesterday, required: true, problems })}
<div><button class="button quiet">Recover</button></div>`;
}

const eventNames = (mask: number): string =>
  webhookEventNames(mask)
    .map((name) => EVENT_LABELS[name].label)
    .join(', ');

function webhookBadge({ status, breaker }: Registered): Html {
  if (status === 'disabled') return deliveryBadge('Cancelled', 'Disabled');
  return breaker.open === undefined ? deliveryBadge('Delivered', 'Enabled') : deliveryBadge('Pending', 'Paused');
}

/** A notice for the owner of a webhook that is disabled or paused. */
function receiverNotice({ status, disabledReason, breaker }: Registered, visit: Visit): Html | undefined {
  if (status === 'disabled')
    return html`<div class="flash notice">${icon('warning')}
<p>Disabled: ${disabledReason === undefined ? 'no reason given.' : named(disabledReason)}</p></div>`;
  const { open, failures } = breaker;
  if (open === undefined) return undefined;
  const since = moment(visit, open.since);
  const next =
    Date.parse(open.probeAt) > visit.now
      ? html`the next attempt is due ${fromNow(open.probeAt, visit.now)}, at ${second(visit, open.probeAt)}`
      : 'the next attempt is made as soon as a delivery is due';
  return html`<div class="flash problem">${icon('warning')}
<p>Paused since ${since}, after ${counted(failures, 'failed attempt')} in a row. One delivery is tried at a time; ${next}.
The others wait without losing any of their attempts. To try now, send a test delivery or resend one.</p></div>`;
}
