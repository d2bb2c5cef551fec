import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import type { Lease, Leases } from '../document-store/lease.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import type { Attempt, Deliveries, DeliveryDocument, Outcome } from './deliveries.ts';
import { createPermits, type InFlightLimits } from './in-flight.ts';
import type { Receiver, Receivers } from './receivers.ts';
import type { Recipient, Registrations } from './registrations.ts';
import { DISABLE_AFTER_MS, delayBeforeNext, parseRetryAfter } from './schedule.ts';
import { isSuccess, type Sender, type SendResult } from './sending.ts';
import { type Secrets, signatureHeaders } from './signature.ts';

/** Attempts in flight per registration. While its receiver is slow, one at a time. */
const MAX_IN_FLIGHT = 4;
/** Deliveries of a registration read per query. */
const PAGE = 32;
/** How often to look for retries and for deliveries that other processes have added. */
const POLL_INTERVAL_MS = 1_000;

/** How long a result may wait for others to share a commit with. If the process dies meanwhile, the delivery is sent again. */
const MAX_BATCH_DELAY_MS = 50;

const IN_FLIGHT_LIMITS: InFlightLimits = { prompt: 64, slow: 512, slowAfterMs: 500 };

/** Receivers compare `webhook-timestamp` with their own clocks, so `CLOCK_SHIFT` must not move it. */
const realClock = systemClock();

export type Deliverer = {
  start(): void;
  /** Starts no further attempts, waits for those in flight and releases the leases. */
  stop(): Promise<void>;
  /** Call when a registration has something due. Cheap if its lane is already running. */
  wake(webhookId: string): void;
};

export type DelivererDeps = {
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
  readonly leases: Leases;
  readonly receivers: Receivers;
  readonly sender: Sender;
  /** Disables a registration; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; absent for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly inFlight?: InFlightLimits;
  readonly pollIntervalMs?: number;
};

/** The deliveries of one registration, while this process holds its lease. */
type Lane = {
  readonly webhookId: string;
  /** Deliveries being attempted, until their outcome is stored. */
  readonly inFlight: Set<string>;
  /** How many of them are waiting for a response; the outcomes of the others are being stored. */
  sending: number;
  woken: boolean;
  slow: boolean;
  /** An attempt threw or its outcome could not be stored: the lane ends, and the next poll starts a new one. */
  failed: boolean;
  /** The registration is disabled, removed or being disabled: no further attempts start. */
  disabled: boolean;
  changed: PromiseWithResolvers<void>;
};

/**
 * Delivers what is due, each registration in a lane of its own, so that a slow or dead receiver never delays another. Any number
 * of processes may run one; a lane runs in the process that holds its lease.
 */
export function createDeliverer(deps: DelivererDeps): Deliverer {
  const {
    deliveries,
    registrations,
    leases,
    receivers,
    sender,
    clock,
    logger,
    pollIntervalMs = POLL_INTERVAL_MS,
  } = deps;
  const permits = createPermits(deps.inFlight ?? IN_FLIGHT_LIMITS);
  const lanes = new Map<string, Lane>();
  /** Registrations whose receiver still verifies with the secret from before the last rotation, and that secret. */
  const onPreviousSecret = createLruCache<string, string>(10_000);
  const running = new Set<Promise<void>>();
  let started = false;
  let stopping = false;
  let sending = 0;
  let resultBatch: PromiseWithResolvers<void> | undefined;
  let batchTimer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | undefined;
  let pollTimer: NodeJS.Timeout | undefined;

  function wake(webhookId: string): void {
    if (!started || stopping) return;
    const lane = lanes.get(webhookId);
    if (lane !== undefined) {
      lane.woken = true;
      notify(lane);
      return;
    }
    const run = runLane(webhookId).catch((error: unknown) => {
      logger.error({ err: error, webhookId }, 'Processing the deliveries of a webhook failed; retrying');
    });
    running.add(run);
    void run.finally(() => running.delete(run));
  }

  async function runLane(webhookId: string): Promise<void> {
    const lane: Lane = {
      webhookId,
      inFlight: new Set(),
      sending: 0,
      woken: false,
      slow: false,
      failed: false,
      disabled: false,
      changed: Promise.withResolvers(),
    };
    lanes.set(webhookId, lane);
    try {
      const lease = await leases.tryAcquire(webhookId);
      if (lease === undefined) return;
      try {
        await drain(lane, lease, await receivers.open(webhookId));
      } finally {
        await lease.release();
      }
    } finally {
      lanes.delete(webhookId);
    }
    // Another process may have added something just before the lease was released, and left it to the holder.
    if (!lane.failed && (await deliveries.due(webhookId, 1)).length > 0) wake(webhookId);
  }

  async function drain(lane: Lane, lease: Lease, receiver: Receiver): Promise<void> {
    const mayStart = () => !stopping && !lane.failed && !lane.disabled && lease.isHeld();
    let from: Timestamp | undefined;
    while (mayStart()) {
      lane.woken = false;
      // A snapshot from before the query: a delivery that ends meanwhile may still be returned as pending.
      const inFlight = new Set(lane.inFlight);
      const batch = await deliveries.due(lane.webhookId, inFlight.size + PAGE, from);
      const due = batch.filter(({ key }) => !inFlight.has(key));
      for (const delivery of due) {
        while (lane.sending >= (lane.slow ? 1 : MAX_IN_FLIGHT)) await lane.changed.promise;
        const permit = await permits.acquire(lane.slow);
        if (!mayStart()) {
          permit.release();
          break;
        }
        lane.inFlight.add(delivery.key);
        lane.sending += 1;
        sending += 1;
        const sent = () => {
          lane.slow = permit.isSlow();
          lane.sending -= 1;
          sending -= 1;
          permit.release();
          notify(lane);
        };
        void attempt(lane, lease, receiver, delivery, sent)
          .catch((error: unknown) => {
            lane.failed = true;
            logger.error({ err: error, deliveryId: delivery.key }, 'A delivery attempt failed unexpectedly; retrying');
          })
          .finally(() => {
            lane.inFlight.delete(delivery.key);
            notify(lane);
          });
      }
      // Nothing becomes due in the past, so the next query need not read what is in flight again.
      from = due.at(-1)?.document.due;
      if (from !== undefined) continue;
      while (mayStart() && !lane.woken && lane.inFlight.size > 0) await lane.changed.promise;
      if (!lane.woken) break;
    }
    while (lane.inFlight.size > 0) await lane.changed.promise;
  }

  /** @param sent is called as soon as the receiver has responded, so that others can start while the outcome is stored */
  async function attempt(
    lane: Lane,
    lease: Lease,
    receiver: Receiver,
    delivery: Stored<DeliveryDocument>,
    sent: () => void,
  ): Promise<void> {
    const { webhookId } = lane;
    let tried: Awaited<ReturnType<typeof send>>;
    let gone = false;
    try {
      // Right before sending, so that removing or disabling a registration or revoking its key stops deliveries immediately.
      const recipient = await registrations.recipient(webhookId);
      if (stopping || lane.disabled || !lease.isHeld()) return;
      if ('inactive' in recipient) {
        lane.disabled = true;
        await receiver.succeeded();
        return await deliveries.cancelAll(webhookId, recipient.inactive);
      }
      tried = await send(recipient, delivery.document);
      // Before another attempt can start, and only by the first of several.
      gone = tried.result.status === 410 && !lane.disabled;
      if (gone) lane.disabled = true;
    } finally {
      sent();
    }
    const { attempts, result } = tried;
    await joinBatch();
    if (isSuccess(result)) {
      await Promise.all([deliveries.record(delivery, attempts, { state: 'Delivered' }), receiver.succeeded()]);
      return;
    }
    await deliveries.record(delivery, attempts, outcomeOf(delivery.document, result));
    if (gone) {
      await disable(receiver, delivery.document, 'The receiver answered 410 Gone');
    } else if (delivery.document.event !== 'Test' && !lane.disabled) {
      const failingSince = await receiver.failed();
      if (clock() - failingSince < DISABLE_AFTER_MS || lane.disabled) return;
      lane.disabled = true;
      await disable(receiver, delivery.document, 'Every delivery failed for five days');
    }
  }

  /**
   * Resolves when a result may be stored. Results are stored together, so that they share a commit: once no attempt is waiting
   * for a response, or after `MAX_BATCH_DELAY_MS`.
   */
  function joinBatch(): Promise<void> {
    if (resultBatch === undefined) {
      const next = Promise.withResolvers<void>();
      resultBatch = next;
      batchTimer = setTimeout(flushBatch, MAX_BATCH_DELAY_MS);
    }
    const { promise } = resultBatch;
    if (sending === 0) flushBatch();
    return promise;
  }
  function flushBatch(): void {
    clearTimeout(batchTimer);
    resultBatch?.resolve();
    resultBatch = undefined;
  }

  /** Makes one attempt. While two secrets are valid, a receiver that responds with 401 gets it again, signed with the other. */
  async function send({ webhookId, url, secrets }: Recipient, delivery: DeliveryDocument) {
    const [current, previous] = secrets;
    const attempts: Attempt[] = [];
    const post = async (signing: Secrets): Promise<SendResult> => {
      const at = clock();
      const { deliveryId: id, body } = delivery;
      const signature = signatureHeaders(signing, { id, at: realClock(), body });
      const headers = { 'content-type': 'application/json', ...signature };
      const result = await sender.post({ url, headers, body });
      const { retryAfter: _, ...kept } = result;
      attempts.push({ at: toTimestamp(at), url, ...kept, ...(signing[0] === current ? {} : { previousSecret: true }) });
      return result;
    };
    if (previous === undefined) return { result: await post([current]), attempts };

    const usesPrevious = onPreviousSecret.get(webhookId) === previous;
    let result = await post(usesPrevious ? [previous, current] : [current, previous]);
    if (result.status === 401 && !stopping) {
      result = await post(usesPrevious ? [current, previous] : [previous, current]);
      if (isSuccess(result)) {
        if (usesPrevious) onPreviousSecret.delete(webhookId);
        else onPreviousSecret.set(webhookId, previous);
      }
    }
    return { result, attempts };
  }

  function outcomeOf({ event, tries }: DeliveryDocument, result: SendResult): Outcome {
    if (result.status === 410) return { state: 'Failed', reason: 'The receiver answered 410 Gone' };
    const now = clock();
    // A test delivery shows how the receiver responds now; a retry hours later would be of no use.
    const delay =
      event === 'Test' ? undefined : delayBeforeNext(tries + 1, parseRetryAfter(result.retryAfter, now), Math.random());
    return delay === undefined
      ? { state: 'Failed', reason: `The last try failed: ${result.error?.type ?? `status ${result.status}`}` }
      : { state: 'Pending', due: toTimestamp(now + delay) };
  }

  async function disable(
    receiver: Receiver,
    { webhookId, event, eventId }: DeliveryDocument,
    reason: string,
  ): Promise<void> {
    logger.info({ webhookId, reason }, 'Webhook disabled');
    await deps.disable({ webhookId, reason, ...defined({ eventId: event === 'Test' ? undefined : eventId }) });
    // So that it starts with a clean slate once it is enabled again.
    await receiver.succeeded();
  }

  /** Wakes every lane with something due, then schedules the next poll for when something will be. */
  async function poll(): Promise<void> {
    let next = clock() + pollIntervalMs;
    const startedAt = performance.now();
    try {
      for await (const { webhookId, due } of deliveries.waiting()) {
        if (stopping) return;
        const at = Date.parse(due);
        if (at <= clock()) wake(webhookId);
        else next = Math.min(next, at);
      }
    } catch (error) {
      logger.error({ err: error }, 'Looking up due deliveries failed; retrying');
    }
    if (stopping) return;
    // However many registrations have something pending, polling takes at most a fifth of the time.
    const pause = Math.max(10, 4 * (performance.now() - startedAt), Math.min(pollIntervalMs, next - clock()));
    pollTimer = setTimeout(startPoll, pause);
  }
  const startPoll = () => {
    polling = poll();
  };

  return {
    wake,
    start() {
      if (started) return;
      started = true;
      startPoll();
    },
    async stop() {
      stopping = true;
      clearTimeout(pollTimer);
      await polling;
      for (const lane of lanes.values()) notify(lane);
      await Promise.all(running);
    },
  };
}

function notify(lane: Lane): void {
  const { resolve } = lane.changed;
  lane.changed = Promise.withResolvers();
  resolve();
}
