import type { ReadableBooking } from '../../../projections/bookings.ts';
import type { WebhookDocument } from '../../../projections/webhooks.ts';
import { isRefusal } from '../../domain/decision.ts';
import { html, named } from '../../html/html.ts';
import { type DeliveryDocument, RETENTION_MS } from '../../webhooks/webhooks.ts';
import { missing, notDone } from '../parts/answer.ts';
import { withVia } from '../parts/back-link.ts';
import { addressOf } from '../parts/links.ts';
import { type PageDeps, type Routes, webhookRoutes, withNumber } from '../parts/routes.ts';
import type { Form } from '../parts/typed-form.ts';
import type { Visit } from '../parts/visit.ts';
import { deliveryList } from './delivery-list.ts';
import { attemptsOnPage, deliveryHref, deliveryPage, notSentPage } from './delivery-views.ts';
import { DELIVERIES, WEBHOOKS } from './webhooks.ts';

/** The log of the deliveries to all webhooks of an account, and each delivery. */
export function deliveryPages(routes: Routes, { queries, webhooks }: PageDeps): void {
  const ofWebhook = webhookRoutes(routes, queries);

  routes.get(DELIVERIES, 'Manager', async (visit) => {
    const registered = await queries.webhooks.listOfAccount(visit.account);
    const { main, problems, flash } = await deliveryList({ queries, webhooks }, visit, registered, DELIVERIES);
    return {
      title: 'Deliveries',
      lead: html`What was sent to the webhooks of ${named(visit.accountName)}, and what came of it. A delivery is kept
for 30 days after it has ended.`,
      back: WEBHOOKS,
      problems,
      flash,
      main,
    };
  });

  ofWebhook.get('/console/webhooks/:id/deliveries/:delivery', 'Manager', async (visit, webhook) => {
    const delivery = await deliveryOf(visit, webhook);
    if (delivery === undefined) return notSent(visit, webhook);
    const { attempts } = attemptsOnPage(delivery, visit);
    const headers = await webhooks.requestHeaders(delivery.deliveryId, attempts);
    return deliveryPage(visit, delivery, webhook, headers);
  });

  ofWebhook.post('/console/webhooks/:id/deliveries/:delivery/resend', 'Manager', async (visit, webhook) => {
    const delivery = await deliveryOf(visit, webhook);
    const missed = delivery === undefined ? await bookingOf(visit, visit.form) : undefined;
    if (delivery === undefined && missed === undefined) return missing('delivery');
    const { webhookId } = webhook;
    const deliveryId = visit.params.delivery ?? '';
    const outcome =
      missed === undefined
        ? await webhooks.resend(deliveryId)
        : await webhooks.sendEvent(webhookId, missed, deliveryId.split(':', 1)[0] ?? '');
    // The page of the delivery shows its state and keeps it up to date; a message would soon be wrong.
    if (!isRefusal(outcome)) return { go: withVia(visit, deliveryHref(outcome)) };
    const { via } = visit;
    const page = deliveryHref({ webhookId, deliveryId });
    return notDone(addressOf(page, { booking: missed?.bookingId.toString(), via }), outcome.details);
  });

  async function deliveryOf({ params }: Visit, webhook: WebhookDocument): Promise<DeliveryDocument | undefined> {
    const delivery = await webhooks.getDelivery(params.delivery ?? '');
    return delivery?.webhookId === webhook.webhookId && delivery.account === webhook.account ? delivery : undefined;
  }

  /** The booking that a page or form of an event without a delivery names. */
  const bookingOf = ({ account }: Visit, fields: Form): Promise<ReadableBooking | undefined> =>
    withNumber(queries.bookings.get, account, fields.text('booking'));

  async function notSent(visit: Visit, webhook: WebhookDocument) {
    const booking = await bookingOf(visit, visit.query);
    const events = booking === undefined ? [] : await webhooks.deliveriesOfBooking([webhook], booking);
    const missed = events.find(({ event: { id } }) => `${id}:${webhook.webhookId}` === visit.params.delivery);
    if (missed === undefined) return missing('delivery');
    const isExpired = Date.parse(missed.event.metadata.at) < visit.now - RETENTION_MS;
    return notSentPage(visit, missed.event, webhook, isExpired);
  }
}
