import { setTimeout as sleep } from 'node:timers/promises';
import { webhooks as registered } from '../../projections/webhooks.ts';
import type { WebhookCommands } from '../commands/webhooks.ts';
import { isDeliverable } from '../contract/webhook-payload.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { DELIVERER } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { keysOf } from '../domain/keys-of.ts';
import { WEBHOOK_EVENTS } from '../domain/webhook.ts';
import { loadOnce } from '../event-loop/load-once.ts';
import { logEnd, type Position } from '../event-store/event-store.ts';
import type { OutboxTuning } from '../outbox/follow-kinds.ts';
import { prepareMarks } from '../outbox/marks.ts';
import { type OutboxDeps, openOutbox, type Sending } from '../outbox/outbox.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import type { SecretKey } from '../secrets/secret-key.ts';
import { openBreakers } from './breakers.ts';
import { createDeliverer, type Deliverer, type DelivererDeps, type InFlightLimits } from './deliverer.ts';
import { type Attempt, type DeliveryDocument, deliveryIdOf } from './delivery.ts';
import { FAN_OUT_GROUPS } from './fan-out/groups.ts';
import { storeDeliveries } from './fan-out/store-deliveries.ts';
import { createOnRequest } from './inspect/on-request.ts';
import { type RequestHeaders, requestHeaders } from './inspect/request-headers.ts';
import { type ListDeliveries, openDeliverySearch } from './inspect/search.ts';
import { DeliveryQueue } from './queue.ts';
import { createRegistrations, type IsConnected } from './registrations.ts';
import type { SenderOptions } from './send/http-sender.ts';
import { createSealedBodies } from './send/sealed-bodies.ts';
import { isSuccess, type Sender } from './send/sender.ts';

export { RETENTION_MS } from '../outbox/progress.ts';
export type { Breaker } from './breaker.ts';
export type { Attempt, DeliveryDocument } from './delivery.ts';
export { DUE_NOW } from './delivery.ts';
export type { RequestHeaders } from './inspect/request-headers.ts';
export type { BookingReference, DeliveryCursor } from './inspect/search.ts';

export type WebhooksDeps = OutboxDeps & {
  readonly readModels: ReadModels;
  readonly personalData: Pick<PersonalData, 'openTexts' | 'sealText'>;
  readonly config: { readonly secretKey: SecretKey; readonly webhooksAllowPrivate: boolean };
  readonly commands: Pick<WebhookCommands, 'disable' | 'load'>;
  readonly credentials: Pick<Credentials, 'isEnded' | 'isSuspended'>;
  readonly isConnected: IsConnected;
  /** Called after every POST. @param outcome `2xx` to `5xx`, or why there was no answer */
  readonly onAttempt?: (outcome: string) => void;
  readonly sending?: Pick<SenderOptions, 'deadlineMs' | 'resolve' | 'tls'>;
  readonly tuning?: Tuning;
};

/** Timing of deliveries; the defaults suit production. */
type Tuning = OutboxTuning & { readonly inFlight?: InFlightLimits };

/** The kinds of events that this release sends. */
const KINDS = keysOf(WEBHOOK_EVENTS);

/** Deliveries of a webhook that are searched for its last error, newest first, if no delivery of an event led to its end. */
const SEARCHED = 20;

export type Webhooks = Awaited<ReturnType<typeof createWebhooks>>;

/**
 * Webhook deliveries (docs/decisions/webhook-deliveries.md): from the log, through delivery documents, to each registered
 * endpoint.
 */
export async function createWebhooks(deps: WebhooksDeps) {
  const { events, documents, readModels, clock, logger, tuning = {} } = deps;
  const { queue, search, bodies, breakers, registrations, sender, disable } = await openParts(deps);
  const stopping = new AbortController();
  let deliverer: Deliverer | undefined;
  let starting: Promise<void> | undefined;
  const { failedEvents, ...outbox } = await openOutbox(deps, 'webhooks');

  async function deliver(isActive: () => boolean): Promise<Sending> {
    const { inFlight, pollIntervalMs } = tuning;
    const current = createDeliverer({
      queue,
      registrations,
      bodies,
      sender,
      disable,
      clock,
      logger,
      inFlight,
      pollIntervalMs,
      isActive,
      breakers: await breakers.load(),
    });
    return {
      async start() {
        await current.start();
        deliverer = current;
      },
      async handle(event) {
        if (isDeliverable(event))
          await storeDeliveries({ events, readModels, registrations, queue, deliverer: current, clock }, event);
      },
      async stop() {
        deliverer = undefined;
        await current.stop();
      },
    };
  }

  /** Adds the marks of this release. A process with any role calls this before it answers requests. */
  const prepare = (): Promise<void> =>
    prepareMarks({
      events,
      documents,
      role: 'webhooks',
      kinds: KINDS,
      beginning: 'start',
      // So that the first start ends with a line about a missing right, instead of trying again and again.
      beforeFirst: () => events.checkGroupRights(),
    });

  return {
    ...createOnRequest({
      events,
      registrations,
      queue,
      search,
      bodies,
      clock,
      load: deps.commands.load,
      wake: (webhookId, isRequested) => deliverer?.wake(webhookId, isRequested),
    }),
    prepare,

    /**
     * Takes the role once no other process has it, then fans out and delivers. The other methods also work without it; another process
     * then delivers.
     */
    async start(): Promise<void> {
      await prepare();
      const what = {
        kinds: KINDS,
        groups: FAN_OUT_GROUPS,
        // Once past an event, it has every registration made before the event; one made after the event has a later position.
        reads: [registered],
        ping: registrations.ping,
      };
      starting = waitForReadModels({ events, readModels, logger, signal: stopping.signal }).then(() =>
        outbox.start(what, deliver),
      );
      const { parked } = await failedEvents.count();
      if (parked > 0)
        logger.warn({ parked }, 'There are parked events, which no delivery was made of; see `venue parked list`');
    },

    /** Starts nothing new, finishes the attempts in flight, within seconds, and gives up the role. */
    async stop(): Promise<void> {
      stopping.abort();
      await starting;
      await outbox.stop();
      await sender.close();
    },

    listDeliveries: async (which: ListDeliveries) => bodies.opened(await search.list(which)),
    searchDeliveries: search.search,
    deliveriesOfBooking: search.ofBooking,
    deliveriesWithIds: search.withIds,

    /** One delivery with its payload and attempts. */
    async getDelivery(deliveryId: string): Promise<DeliveryDocument | undefined> {
      const delivery = await queue.get(deliveryId);
      return delivery && (await bodies.opened([delivery]))[0];
    },

    /** Why the last attempt failed: of the delivery of an event, or of the newest deliveries. Undefined if it did not. */
    async lastError(webhookId: string, eventId: string | undefined): Promise<string | undefined> {
      const delivery = eventId === undefined ? undefined : await queue.get(deliveryIdOf(eventId, webhookId));
      const deliveries = delivery ? [delivery] : await search.list({ webhookId, limit: SEARCHED });
      const [last] = deliveries.flatMap(({ attempts }) => attempts.slice(-1)).sort((a, b) => (a.at < b.at ? 1 : -1));
      if (last === undefined || isSuccess(last)) return undefined;
      return last.error?.message ?? `The endpoint answered with status ${last.status}.`;
    },

    /** The headers of attempts of a delivery, as they were sent. */
    async requestHeaders(deliveryId: string, attempts: readonly Attempt[]): Promise<readonly RequestHeaders[]> {
      const delivery = await queue.get(deliveryId);
      if (delivery === undefined) return attempts.map(() => ({ unknown: 'The delivery is no longer kept.' }));
      const [body, secrets] = await Promise.all([
        bodies.bodyAsSent(delivery),
        registrations.secrets(delivery.webhookId),
      ]);
      return attempts.map((attempt) => requestHeaders({ attempt, delivery, body, secrets }));
    },

    /** The circuit breaker of the endpoint of a registration. */
    breaker: breakers.get,
    countOpenBreakers: breakers.countOpen,
    /** When the delivery was created that has waited longest to reach its receiver. */
    oldestPendingDelivery: async (): Promise<Timestamp | undefined> => (await queue.oldest())?.createdAt,
    listFailedEvents: failedEvents.list,
    countFailedEvents: failedEvents.count,
    replayParked: failedEvents.replay,
    /** Calls `listener` with every delivery that this process creates or changes. @returns a function that stops it */
    onDelivery: (listener: (delivery: DeliveryDocument) => void) => queue.onChange(listener),
  };
}

/** Opens the parts of the delivery pipeline, which also answer requests while another process delivers. */
async function openParts(deps: WebhooksDeps) {
  const { events, documents, readModels, credentials, config, clock, logger, isConnected } = deps;
  const queue = await DeliveryQueue.open({ documents, clock });
  const search = await openDeliverySearch({ documents, events });
  const breakers = await openBreakers({ documents, clock });
  const { secretKey } = config;
  const { load } = deps.commands;
  const registrations = createRegistrations({ readModels, credentials, load, secretKey, clock, isConnected });
  const bodies = createSealedBodies(deps.personalData);
  const sender = createLazySender(
    {
      allowPrivate: config.webhooksAllowPrivate,
      onForbidden: (refused) => logger.info(refused, 'A webhook endpoint has an address that is not public'),
      ...deps.sending,
    },
    deps.onAttempt,
  );
  const disable: DelivererDeps['disable'] = async ({ webhookId, reason, eventId }) => {
    logger.info({ webhookId, reason }, 'Webhook disabled');
    const context = { actor: DELIVERER, correlationId: `delivery-${webhookId}`, causationId: eventId };
    await deps.commands.disable({ webhookId, reason }, defined(context));
  };
  return { queue, search, breakers, registrations, bodies, sender, disable };
}

/**
 * When a process starts, the read models may lag far behind, for example after a power failure. Deliveries wait for them, because each
 * needs its registration.
 */
async function waitForReadModels({
  events,
  readModels,
  logger,
  signal,
}: Pick<WebhooksDeps, 'events' | 'readModels' | 'logger'> & { readonly signal: AbortSignal }): Promise<void> {
  let end: Position | undefined;
  while (!signal.aborted) {
    try {
      end ??= await logEnd(events);
      if (await readModels.waitFor(end, { projections: [registered], timeoutMs: 1_000 })) return;
    } catch (error) {
      logger.error({ err: error }, 'The log cannot be read; deliveries are waiting for it');
      await sleep(1_000);
    }
  }
}

/** undici is loaded for the first delivery, so that a start does not have to wait for it. */
function createLazySender(options: SenderOptions, onAttempt: WebhooksDeps['onAttempt']): Sender {
  const sender = loadOnce(async () => (await import('./send/http-sender.ts')).createSender(options));
  return {
    async post(post) {
      const result = await (await sender()).post(post);
      onAttempt?.(result.error?.type ?? `${String(result.status).slice(0, 1)}xx`);
      return result;
    },
    close: async () => (await sender.loaded())?.close(),
  };
}
