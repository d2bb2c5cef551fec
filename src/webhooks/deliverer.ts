import { LRUCache } from 'lru-cache';
import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import type { Lease, Leases } from '../document-store/lease.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import type { Attempt, Deliveries, DeliveryDocument, Outcome } from './deliveries.ts';
import { createInFlight, type InFlightLimits } from './in-flight.ts';
import type { Receiver, Receivers } from './receivers.ts';
import type { Recipient, Registrations } from './registrations.ts';
import { DISABLE_AFTER_MS, delayBeforeNext, parseRetryAfter } from './schedule.ts';
import { isSuccess, type Sender, type SendResult } from './sending.ts';
import { type Secrets, signatureHeaders } from './signature.ts';

/** Attempts under way for one registration. A slow one gets one at a time. */
const PER_REGISTRATION = 4;
/** Deliveries of one registration that are read at once. */
const BATCH = 32;
/** Another process's deliveries, and retries, are found at least so often, in milliseconds. */
const POLL_EVERY_MS = 1_000;

/** The longest a result waits to be written down, in milliseconds. After a crash its delivery is sent again. */
const GATHER_MS = 50;

const IN_FLIGHT: InFlightLimits = { prompt: 64, slow: 512, slowAfter: 500 };

/** Receivers compare `webhook-timestamp` with their own clock, so `CLOCK_SHIFT` does not move it. */
const receiversClock = systemClock();

export type Deliverer = {
  start(): void;
  /** Starts nothing new, waits for what is under way, gives the leases back. */
  stop(): Promise<void>;
  /** Something of the registration is due. Costs nothing when it is being looked after already. */
  wake(webhookId: string): void;
};

export type DelivererDeps = {
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
  readonly leases: Leases;
  readonly receivers: Receivers;
  readonly sender: Sender;
  /** Disables a registration for good; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; none for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly inFlight?: InFlightLimits;
  /** Milliseconds. */
  readonly pollEvery?: number;
};

/** The deliveries of one registration, while this process holds its lease. */
type Lane = {
  readonly webhookId: string;
  /** Deliveries that are being attempted. */
  readonly underWay: Set<string>;
  /** How many of them wait for an answer; the others are being written down. */
  sending: number;
  woken: boolean;
  slow: boolean;
  /** An attempt could not be written down: the registration is left alone until the next look. */
  broken: boolean;
  /** The registration is disabled, or gone, or is being disabled: nothing more starts. */
  disabled: boolean;
  changed: PromiseWithResolvers<void>;
};

/**
 * Delivers what is due, each registration in a lane of its own: a slow or dead receiver never delays another. Any number of
 * processes may run one; a lane belongs to the process that holds its lease.
 */
export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { deliveries, registrations, leases, receivers, sender, clock, logger, pollEvery = POLL_EVERY_MS } = deps;
  const inFlight = createInFlight(deps.inFlight ?? IN_FLIGHT);
  const lanes = new Map<string, Lane>();
  /** Receivers found to verify with the secret before the last rotation, and that secret. */
  const behind = new LRUCache<string, string>({ max: 10_000 });
  const running = new Set<Promise<void>>();
  let started = false;
  let stopping = false;
  let sending = 0;
  let gathering: PromiseWithResolvers<void> | undefined;
  let gatherTimer: NodeJS.Timeout | undefined;
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
      logger.error({ err: error, webhookId }, 'Deliveries of a webhook could not be looked at; trying again');
    });
    running.add(run);
    void run.finally(() => running.delete(run));
  }

  async function runLane(webhookId: string): Promise<void> {
    const lane: Lane = {
      webhookId,
      underWay: new Set(),
      sending: 0,
      woken: false,
      slow: false,
      broken: false,
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
    // What another process added, and left to the holder of the lease, just before it was given back.
    if (!lane.broken && (await deliveries.due(webhookId, 1)).length > 0) wake(webhookId);
  }

  async function drain(lane: Lane, lease: Lease, receiver: Receiver): Promise<void> {
    const mayStart = () => !stopping && !lane.broken && !lane.disabled && lease.isHeld();
    let from: Timestamp | undefined;
    while (mayStart()) {
      lane.woken = false;
      // As they were when the question was asked: one that ends meanwhile may still come back as pending.
      const underWay = new Set(lane.underWay);
      const batch = await deliveries.due(lane.webhookId, underWay.size + BATCH, from);
      const due = batch.filter(({ key }) => !underWay.has(key));
      for (const delivery of due) {
        while (lane.sending >= (lane.slow ? 1 : PER_REGISTRATION)) await lane.changed.promise;
        const permit = await inFlight.take(lane.slow);
        if (!mayStart()) {
          permit.free();
          break;
        }
        lane.underWay.add(delivery.key);
        lane.sending += 1;
        sending += 1;
        const sent = () => {
          lane.slow = permit.isSlow();
          lane.sending -= 1;
          sending -= 1;
          permit.free();
          notify(lane);
        };
        void attempt(lane, lease, receiver, delivery, sent)
          .catch((error: unknown) => {
            lane.broken = true;
            logger.error({ err: error, deliveryId: delivery.key }, 'A delivery could not be attempted; trying again');
          })
          .finally(() => {
            lane.underWay.delete(delivery.key);
            notify(lane);
          });
      }
      // Nothing becomes due in the past: what comes next is not looked for among what is under way.
      from = due.at(-1)?.document.due;
      if (from !== undefined) continue;
      while (mayStart() && !lane.woken && lane.underWay.size > 0) await lane.changed.promise;
      if (!lane.woken) break;
    }
    while (lane.underWay.size > 0) await lane.changed.promise;
  }

  /** @param sent is called as soon as the receiver has answered: others may start while this one is written down */
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
      // Right before sending, so that a removed or disabled registration, or a revoked key, stops its deliveries at once.
      const recipient = await registrations.recipient(webhookId);
      if (stopping || lane.disabled || !lease.isHeld()) return;
      if ('inactive' in recipient) {
        lane.disabled = true;
        await receiver.succeeded();
        return await deliveries.cancelAll(webhookId, recipient.inactive);
      }
      tried = await send(recipient, delivery.document);
      // Before anything else can start, and by the first of several that say so.
      gone = tried.result.status === 410 && !lane.disabled;
      if (gone) lane.disabled = true;
    } finally {
      sent();
    }
    const { attempts, result } = tried;
    await gather();
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

  /** Results are written down together, so that they share a commit: once nothing is on its way, or after a moment. */
  function gather(): Promise<void> {
    if (gathering === undefined) {
      const next = Promise.withResolvers<void>();
      gathering = next;
      gatherTimer = setTimeout(writeGathered, GATHER_MS);
    }
    const { promise } = gathering;
    if (sending === 0) writeGathered();
    return promise;
  }
  function writeGathered(): void {
    clearTimeout(gatherTimer);
    gathering?.resolve();
    gathering = undefined;
  }

  /** One attempt. While two secrets are valid a receiver that says 401 gets it a second time, signed with the other one. */
  async function send({ webhookId, url, secrets }: Recipient, delivery: DeliveryDocument) {
    const [current, previous] = secrets;
    const attempts: Attempt[] = [];
    const post = async (signing: Secrets): Promise<SendResult> => {
      const at = clock();
      const { deliveryId: id, body } = delivery;
      const signature = signatureHeaders(signing, { id, at: receiversClock(), body });
      const headers = { 'content-type': 'application/json', ...signature };
      const result = await sender.post({ url, headers, body });
      const { retryAfter: _, ...kept } = result;
      attempts.push({ at: toTimestamp(at), url, ...kept, ...(signing[0] === current ? {} : { previousSecret: true }) });
      return result;
    };
    if (previous === undefined) return { result: await post([current]), attempts };

    const isBehind = behind.get(webhookId) === previous;
    let result = await post(isBehind ? [previous, current] : [current, previous]);
    if (result.status === 401 && !stopping) {
      result = await post(isBehind ? [current, previous] : [previous, current]);
      if (isSuccess(result)) {
        if (isBehind) behind.delete(webhookId);
        else behind.set(webhookId, previous);
      }
    }
    return { result, attempts };
  }

  function outcomeOf({ event, tries }: DeliveryDocument, result: SendResult): Outcome {
    if (result.status === 410) return { state: 'Failed', reason: 'The receiver answered 410 Gone' };
    const now = clock();
    // A test delivery shows how the receiver answers; nobody waits for it hours later.
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
    await deps.disable({ webhookId, reason, ...(event !== 'Test' && { eventId }) });
    // Enabled again, it starts with a clean sheet.
    await receiver.succeeded();
  }

  /** Wakes every lane with something due, then waits for the next moment something is. */
  async function poll(): Promise<void> {
    let next = clock() + pollEvery;
    const began = performance.now();
    try {
      for await (const { webhookId, due } of deliveries.waiting()) {
        if (stopping) return;
        const at = Date.parse(due);
        if (at <= clock()) wake(webhookId);
        else next = Math.min(next, at);
      }
    } catch (error) {
      logger.error({ err: error }, 'Due deliveries could not be looked up; trying again');
    }
    if (stopping) return;
    // However many registrations wait, looking at them takes a fifth of the time at most.
    const pause = Math.max(10, 4 * (performance.now() - began), Math.min(pollEvery, next - clock()));
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
