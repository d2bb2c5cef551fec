import { randomUUID } from 'node:crypto';
import type { WebhookCommands } from '../../commands/webhooks.ts';
import { noticeOf, testPayload } from '../../contract/webhook-payload.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { type Refusal, refuse } from '../../domain/decision.ts';
import { defined } from '../../domain/defined.ts';
import { type EventTrace, traceIn } from '../../domain/event-trace.ts';
import type { Timestamp } from '../../domain/ids.ts';
import type { EventStore } from '../../event-store/event-store.ts';
import type { Clock } from '../../runtime/clock.ts';
import { type DeliveryDocument, DUE_NOW, deliveryIdOf, type NewDelivery } from '../delivery.ts';
import type { DeliveryQueue } from '../queue.ts';
import { isMeantFor, type Recipient, type Registrations } from '../registrations.ts';
import type { SealedBodies } from '../send/sealed-bodies.ts';
import { type Recovery, recoverDeliveries } from './recovery.ts';
import type { BookingReference, DeliverySearch } from './search.ts';

type Deps = {
  readonly events: Pick<EventStore, 'readAll'>;
  readonly load: WebhookCommands['load'];
  readonly registrations: Pick<Registrations, 'recipient' | 'find'>;
  readonly queue: Pick<DeliveryQueue, 'get' | 'add' | 'resend' | 'revive'>;
  readonly search: Pick<DeliverySearch, 'eventsOf'>;
  readonly bodies: Pick<SealedBodies, 'opened'>;
  /** Wakes the endpoint of a registration, if this process delivers. Otherwise the process that does finds the delivery by polling. */
  readonly wake: (webhookId: string, isRequested?: boolean) => void;
  readonly clock: Clock;
};

/** Deliveries that a user requests. */
export function createOnRequest(deps: Deps) {
  const { load, registrations, queue, search, bodies, wake, clock } = deps;

  /** Whether this registration id never existed. */
  const isUnknown = async (webhookId: string): Promise<boolean> =>
    (await registrations.find(webhookId)) === undefined && (await load(webhookId)) === undefined;

  async function activeRecipient(webhookId: string): Promise<Recipient | Refusal> {
    if (await isUnknown(webhookId)) return refuse('ResourceNotFound', `There is no webhook ${webhookId}.`);
    const recipient = await registrations.recipient(webhookId);
    if ('inactive' in recipient) return refuse('ValidationError', `${recipient.inactive}.`);
    return 'waiting' in recipient ? refuse('ValidationError', `${recipient.waiting}.`) : recipient;
  }

  /** The delivery with its texts opened, after waking its endpoint. */
  async function sent(delivery: DeliveryDocument | undefined, deliveryId: string): Promise<DeliveryDocument | Refusal> {
    if (delivery === undefined) return unknownDelivery(deliveryId);
    wake(delivery.webhookId, true);
    const [opened] = await bodies.opened([delivery]);
    return opened ?? unknownDelivery(deliveryId);
  }

  /** Sends a delivery again immediately, from any state, with a full schedule ahead of it. */
  async function resend(deliveryId: string): Promise<DeliveryDocument | Refusal> {
    const delivery = await queue.get(deliveryId);
    if (delivery === undefined) return unknownDelivery(deliveryId);
    const recipient = await activeRecipient(delivery.webhookId);
    if ('refused' in recipient) return recipient;
    return sent(await queue.resend(deliveryId), deliveryId);
  }

  /** Stores a delivery, and wakes its endpoint. @returns undefined if the event already has a delivery */
  async function send(added: NewDelivery): Promise<DeliveryDocument | Refusal | undefined> {
    const stored = await queue.add(added, DUE_NOW);
    return stored && sent(stored.document, stored.key);
  }

  /** Sends an event of a booking to a registration: creates the delivery, or resends it. */
  async function sendEvent(
    webhookId: string,
    booking: BookingReference,
    eventId: string,
  ): Promise<DeliveryDocument | Refusal> {
    const recipient = await activeRecipient(webhookId);
    if ('refused' in recipient) return recipient;
    const { account } = recipient;
    const [webhook, events] = await Promise.all([registrations.find(webhookId), search.eventsOf(booking)]);
    const event = events.find(({ id }) => id === eventId);
    if (event === undefined || webhook === undefined || !isMeantFor(event, webhook))
      return refuse('ResourceNotFound', 'This webhook is not sent that event.');
    const { position } = event;
    const delivery = await send({ webhookId: recipient.webhookId, account, eventId, position, ...noticeOf(event) });
    // Another request or fan-out may have created it meanwhile.
    return delivery ?? resend(deliveryIdOf(eventId, webhookId));
  }

  /** Makes everything due that has not reached the registration since the given time, at most 30 days back. */
  async function recover(webhookId: string, since: Timestamp): Promise<Recovery | Refusal> {
    const recipient = await activeRecipient(webhookId);
    if ('refused' in recipient) return recipient;
    const recovery = await recoverDeliveries(deps, webhookId, Date.parse(since));
    wake(webhookId);
    return recovery;
  }

  /** Sends an event of kind `Test`, once. @param context with the trace of the request for it */
  async function sendTest(webhookId: string, context: Partial<EventTrace> = {}): Promise<DeliveryDocument | Refusal> {
    const recipient = await activeRecipient(webhookId);
    if ('refused' in recipient) return recipient;
    const { account } = recipient;
    const payload = testPayload(recipient.webhookId, toTimestamp(clock()));
    const eventId = randomUUID();
    const trace = defined({ trace: traceIn(context) });
    const delivery = await send({ webhookId: recipient.webhookId, account, eventId, payload, ...trace });
    return delivery ?? unknownDelivery(deliveryIdOf(eventId, webhookId));
  }

  return { isUnknown, resend, sendEvent, recover, sendTest };
}

const unknownDelivery = (id: string): Refusal => refuse('ResourceNotFound', `There is no delivery ${id}.`);
