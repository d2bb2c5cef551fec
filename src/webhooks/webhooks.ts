import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import { webhooks as registered, type WebhookDocument } from '../../projections/webhooks.ts';
import type { WebhookCommands } from '../commands/webhooks.ts';
import { noticeOf, testPayload } from '../contract/webhook-payload.ts';
import type { Credentials } from '../credentials/credentials.ts';
import type { DocumentStore } from '../document-store/document-store.ts';
import type { Heartbeats } from '../document-store/heartbeats.ts';
import { openLeases } from '../document-store/lease.ts';
import { type AccountKey, DELIVERER } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type Consumer, type EventStore, logEnd, type Position } from '../event-store/event-store.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Link } from '../runtime/link.ts';
import { loadOnce } from '../runtime/load-once.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import type { ReceiverState } from './breaker.ts';
import { createDeliverer } from './deliverer.ts';
import { type ListDeliveries, type Listener, openDeliveries } from './deliveries.ts';
import type { Attempt, DeliveryDocument } from './delivery.ts';
import { openDeliveryNews } from './delivery-news.ts';
import {
  type BookingPlace,
  type EventDelivery,
  type FoundDeliveries,
  openDeliverySearch,
  type SearchDeliveries,
} from './delivery-search.ts';
import { type FailedEvent, openFailedEvents } from './failed-events.ts';
import { startFanOut } from './fan-out.ts';
import { prepareFanOutGroups } from './fan-out-groups.ts';
import type { InFlightLimits } from './in-flight.ts';
import { openReceivers } from './receivers.ts';
import { recoverDeliveries } from './recovery.ts';
import { concerns, createRegistrations, type IsConnected, type Recipient } from './registrations.ts';
import { type RequestHeaders, requestHeaders } from './request-headers.ts';
import { openRunningTime, type RunningTime } from './running-time.ts';
import { createSealedBodies } from './sealed-bodies.ts';
import type { SenderOptions } from './sender.ts';
import type { Sender } from './sending.ts';

export type { ReceiverState } from './breaker.ts';
export type { Attempt, DeliveryDocument } from './delivery.ts';
export { AT_ONCE, RETENTION_MS } from './delivery.ts';
export type { BookingPlace, DeliveryCursor } from './delivery-search.ts';
export type { RequestHeaders } from './request-headers.ts';

export type Webhooks = {
  /** Prepares the log for this release's fan-out. Every process does, whatever its roles, before it answers requests. */
  prepare(): Promise<void>;
  /** Starts the fan-out and the deliverer. Everything below works without it, too: another process then delivers. */
  start(): Promise<void>;
  /** Takes nothing new and finishes what is in flight, within seconds. */
  stop(): Promise<void>;

  listDeliveries(which: ListDeliveries): Promise<DeliveryDocument[]>;
  /** Whether there never was a registration with this id. */
  isUnknown(webhookId: string): Promise<boolean>;
  /** Searches the newest deliveries of some registrations, a part at a time. */
  searchDeliveries(search: SearchDeliveries): Promise<FoundDeliveries>;
  /** What happened to a booking that these registrations are to be sent, with the deliveries of it, newest first. */
  deliveriesOfBooking(registered: readonly WebhookDocument[], booking: BookingPlace): Promise<EventDelivery[]>;
  /** The deliveries of these ids that exist. */
  deliveriesWithIds(deliveryIds: readonly string[]): Promise<DeliveryDocument[]>;
  /** The headers of attempts of a delivery, as they were sent. */
  requestHeaders(deliveryId: string, attempts: readonly Attempt[]): Promise<readonly RequestHeaders[]>;
  /** Sends an event of a booking to a registration that no delivery was made for, or sends the one that was again. */
  sendEvent(webhookId: string, booking: BookingPlace, eventId: string): Promise<DeliveryDocument | Refusal>;
  /** One delivery with its payload and attempts. */
  getDelivery(deliveryId: string): Promise<DeliveryDocument | undefined>;
  /** Sends a delivery again immediately, whatever its state, with a full schedule ahead of it. */
  resend(deliveryId: string): Promise<DeliveryDocument | Refusal>;
  /** Makes everything due that has not reached the registration since then; 30 days back at most. */
  recover(webhookId: string, since: Timestamp): Promise<{ readonly due: number } | Refusal>;
  /** Sends an event of kind `Test`, once. */
  sendTest(webhookId: string): Promise<DeliveryDocument | Refusal>;
  /** What is known of the receiver of a registration, its circuit breaker included. */
  receiver(webhookId: string): Promise<ReceiverState>;
  /** Events that could not be turned into deliveries: the parked ones, then those that are tried again. */
  listFailedEvents(): Promise<FailedEvent[]>;
  countFailedEvents(): Promise<{ readonly parked: number; readonly retrying: number }>;
  /** Makes parked events due, one or all. @returns how many */
  replayParked(eventId?: string): Promise<number>;
  /** Calls `listener` with every delivery that this thread creates or changes. @returns a function that stops it */
  onDelivery(listener: Listener): () => void;
  /**
   * Calls `listener` with the accounts whose deliveries this process creates or changes, each at most every 50 ms.
   * @returns a function that stops it
   */
  onDeliveriesOf(listener: (account: AccountKey) => void): () => void;
};

export type WebhooksDeps = {
  readonly events: EventStore;
  readonly documents: DocumentStore;
  readonly heartbeats: Heartbeats<object>;
  readonly readModels: ReadModels;
  readonly personalData: Pick<PersonalData, 'openTexts' | 'sealText'>;
  readonly config: { readonly secretKey: SecretKey; readonly webhooksAllowPrivate: boolean };
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info' | 'warn' | 'error'>;
  readonly commands: Pick<WebhookCommands, 'disable'>;
  readonly credentials: Pick<Credentials, 'key' | 'webhook'>;
  readonly isConnected: IsConnected;
  readonly sending?: Pick<SenderOptions, 'deadlineMs' | 'resolve' | 'tls'>;
  readonly tuning?: Tuning;
  /** Opened by default. */
  readonly runningTime?: RunningTime;
  /** To the threads of this process that share the store. */
  readonly link?: Link | undefined;
};

/** How deliveries are paced; the defaults suit production. */
type Tuning = {
  readonly inFlight?: InFlightLimits;
  readonly leaseMs?: number;
  readonly pollIntervalMs?: number;
  readonly readModelWaitMs?: number;
  readonly failureDelaysMs?: readonly number[];
};

/** Three times as long as one delivery may take, so that a live process keeps the registrations that it delivers to. */
const LEASE_MS = 15_000;

/**
 * Webhook deliveries (docs/decisions/webhook-deliveries.md): from the log, through delivery documents, to each registered
 * endpoint.
 */
export async function createWebhooks(deps: WebhooksDeps): Promise<Webhooks> {
  const { events, documents, readModels, credentials, config, clock, logger, commands, isConnected, sending, tuning } =
    deps;
  const deliveries = await openDeliveries({ documents, clock });
  const search = await openDeliverySearch({ documents, events });
  const bodies = createSealedBodies(deps.personalData);
  const leases = await openLeases({
    ...{ documents, heartbeats: deps.heartbeats, clock, collection: 'webhookLeases' },
    durationMs: tuning?.leaseMs ?? LEASE_MS,
  });
  const receivers = await openReceivers({ documents, clock });
  const runningTime = deps.runningTime ?? (await openRunningTime({ documents, logger }));
  const failedEvents = await openFailedEvents({ documents, clock, ...defined({ delaysMs: tuning?.failureDelaysMs }) });
  const registrations = createRegistrations({
    readModels,
    credentials,
    secretKey: config.secretKey,
    clock,
    isConnected,
  });
  const delivererNews = openDeliveryNews(deps.link, (webhookId, isAsked) => wake(webhookId, isAsked));
  deliveries.onChange(({ account }) => delivererNews.changed(account));
  const sender = createLazySender({ allowPrivate: config.webhooksAllowPrivate, ...sending });
  const deliverer = createDeliverer({
    deliveries,
    bodies,
    registrations,
    leases,
    receivers,
    runningTime,
    sender,
    disable: ({ webhookId, reason, eventId }) =>
      commands.disable(
        { webhookId, reason },
        defined({ actor: DELIVERER, correlationId: `delivery-${webhookId}`, causationId: eventId }),
      ),
    clock,
    logger,
    ...tuning,
  });
  const { wake, deliver } = deliverer;
  /** Wakes the lane in whichever thread it runs. */
  const wakeAnywhere = (webhookId: string, isAsked = false) => {
    wake(webhookId, isAsked);
    delivererNews.wake(webhookId, isAsked);
  };
  let consumer: Consumer | undefined;
  let starting: Promise<void> | undefined;
  let stopping = false;

  const isUnknown = async (webhookId: string): Promise<boolean> => (await credentials.webhook(webhookId)) === undefined;

  async function activeRecipient(webhookId: string): Promise<Recipient | Refusal> {
    if (await isUnknown(webhookId)) return refuse('ResourceNotFound', `There is no webhook ${webhookId}.`);
    const recipient = await registrations.recipient(webhookId);
    return 'inactive' in recipient ? refuse('ValidationError', `${recipient.inactive}.`) : recipient;
  }

  /**
   * When a process starts, the read models may lag far behind: after a power failure they may have lost their last commits.
   * Deliveries wait for them, because each of them needs its registration.
   */
  async function waitForReadModels(): Promise<void> {
    let end: Position | undefined;
    while (!stopping) {
      try {
        end ??= await logEnd(events);
        if (await readModels.waitFor(end, { projections: [registered], timeoutMs: 1_000 })) return;
      } catch (error) {
        logger.error({ err: error }, 'The log cannot be read; deliveries are waiting for it');
        await sleep(1_000);
      }
    }
  }

  async function readable(delivery: DeliveryDocument | undefined): Promise<DeliveryDocument | undefined> {
    const [opened] = await bodies.opened(delivery === undefined ? [] : [delivery]);
    return opened;
  }

  async function resend(deliveryId: string): Promise<DeliveryDocument | Refusal> {
    const delivery = await deliveries.get(deliveryId);
    if (delivery === undefined) return unknownDelivery(deliveryId);
    const recipient = await activeRecipient(delivery.webhookId);
    if ('refused' in recipient) return recipient;
    const resent = await deliveries.resend(deliveryId);
    if (resent === undefined) return unknownDelivery(deliveryId);
    wakeAnywhere(resent.webhookId, true);
    return (await readable(resent)) ?? unknownDelivery(deliveryId);
  }

  const prepare = () => prepareFanOutGroups({ events });

  return {
    prepare,

    async start() {
      await prepare();
      starting = waitForReadModels().then(async () => {
        await runningTime.start();
        deliverer.start();
      });
      const started = starting;
      consumer = await startFanOut({
        ...{ events, documents, readModels, registrations, deliveries, failedEvents, clock, logger },
        // Until then everything would be stored first.
        deliver: (...delivery) => started.then(() => deliver(...delivery)),
        ...tuning,
      });
      const { parked } = await failedEvents.count();
      if (parked > 0)
        logger.warn({ parked }, 'There are parked events, which no delivery was made of; see `venue parked list`');
    },

    async stop() {
      stopping = true;
      await consumer?.close();
      await starting;
      await deliverer.stop();
      await runningTime.stop();
      await sender.close();
      delivererNews.close();
    },

    isUnknown,
    listDeliveries: async (which) => bodies.opened(await deliveries.list(which)),
    getDelivery: async (deliveryId) => readable(await deliveries.get(deliveryId)),
    onDelivery: deliveries.onChange,
    onDeliveriesOf: delivererNews.onChange,
    receiver: receivers.get,
    listFailedEvents: failedEvents.list,
    countFailedEvents: failedEvents.count,
    replayParked: failedEvents.replay,

    resend,

    searchDeliveries: search.search,
    deliveriesOfBooking: search.ofBooking,
    deliveriesWithIds: search.withIds,

    async requestHeaders(deliveryId, attempts) {
      const delivery = await deliveries.get(deliveryId);
      if (delivery === undefined) return attempts.map(() => ({ unknown: 'The delivery is no longer kept.' }));
      const [body, secrets] = await Promise.all([
        bodies.bodyAsSent(delivery),
        registrations.secrets(delivery.webhookId),
      ]);
      return attempts.map((attempt) => requestHeaders({ attempt, deliveryId, body, secrets }));
    },

    async sendEvent(webhookId, booking, eventId) {
      const recipient = await activeRecipient(webhookId);
      if ('refused' in recipient) return recipient;
      const [webhook, happened] = await Promise.all([registrations.find(webhookId), search.eventsOf(booking)]);
      const event = happened.find(({ id }) => id === eventId);
      if (event === undefined || webhook === undefined || !concerns(webhook, event))
        return refuse('ResourceNotFound', 'This webhook is not sent that event.');
      const { account } = recipient;
      const { position } = event;
      const notice = noticeOf(event);
      const added = await deliveries.add({
        ...{ webhookId: recipient.webhookId, account, eventId, position, ...notice },
        isAsked: true,
      });
      // Made meanwhile, by somebody else or because its event was still on its way.
      if (added === undefined) return resend(`${eventId}:${webhookId}`);
      wakeAnywhere(webhookId, true);
      return (await readable(added)) ?? unknownDelivery(added.deliveryId);
    },

    async recover(webhookId, since) {
      const recipient = await activeRecipient(webhookId);
      if ('refused' in recipient) return recipient;
      const due = await recoverDeliveries({ events, registrations, deliveries, clock }, webhookId, Date.parse(since));
      wakeAnywhere(webhookId);
      return { due };
    },

    async sendTest(webhookId) {
      const recipient = await activeRecipient(webhookId);
      if ('refused' in recipient) return recipient;
      const delivery = await deliveries.add({
        webhookId: recipient.webhookId,
        account: recipient.account,
        eventId: randomUUID(),
        payload: testPayload(recipient.webhookId, toTimestamp(clock())),
        isAsked: true,
      });
      if (delivery === undefined) throw new Error('A new event id is already in use');
      wakeAnywhere(webhookId, true);
      return delivery;
    },
  };
}

const unknownDelivery = (id: string): Refusal => refuse('ResourceNotFound', `There is no delivery ${id}.`);

/** undici is loaded for the first delivery, so that a start does not have to wait for it. */
function createLazySender(options: SenderOptions): Sender {
  const sender = loadOnce(async () => (await import('./sender.ts')).createSender(options));
  return {
    post: async (post) => (await sender()).post(post),
    close: async () => (await sender.loaded())?.close(),
  };
}
