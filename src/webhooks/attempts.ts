import type { BaseLogger } from 'pino';
import type { Lease } from '../document-store/lease.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { afterFailure, afterSuccess, answered, forgiven, type Moment, type ReceiverState } from './breaker.ts';
import type { Deliveries, Outcome } from './deliveries.ts';
import type { Attempt, DeliveryDocument } from './delivery.ts';
import { createGathering } from './gathering.ts';
import type { Permit } from './in-flight.ts';
import type { Chosen, Lane } from './lane.ts';
import type { Receiver } from './receivers.ts';
import type { Recipient, Registrations } from './registrations.ts';
import type { RunningTime } from './running-time.ts';
import { DISABLE_AFTER_MS, delayBeforeNext, GIVE_UP_AFTER_MS, parseRetryAfter } from './schedule.ts';
import type { SealedBodies } from './sealed-bodies.ts';
import { CONTENT_TYPE, isSuccess, type Sender, type SendResult } from './sending.ts';
import { markOf, type Secrets, signatureHeaders } from './signature.ts';
import { createSlowStart, type SlowStart } from './slow-start.ts';
import type { Unstored } from './unstored.ts';

/** The most attempts in flight per registration. */
const MAX_IN_FLIGHT = 4;

/** How long a result may wait for others to share a commit with. If the process dies meanwhile, the delivery is sent again. */
const MAX_GATHERING_MS = 20;

/** How often the deliveries that wait for an open breaker are searched for those whose time is up. */
const GIVE_UP_EVERY_MS = 15 * 60_000;

/** Receivers compare `webhook-timestamp` with their own clocks, so `CLOCK_SHIFT` must not move it. */
const realClock = systemClock();

export type AttemptsDeps = {
  readonly deliveries: Deliveries;
  readonly bodies: Pick<SealedBodies, 'bodyOf' | 'kept'>;
  readonly registrations: Registrations;
  readonly runningTime: Pick<RunningTime, 'now'>;
  readonly sender: Sender;
  /** Disables a registration; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; absent for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Pick<BaseLogger, 'info'>;
  readonly isStopping: () => boolean;
};

/** One attempt of a lane: sending a delivery, and what comes of it for the delivery, its receiver and its registration. */
export function createAttempts(deps: AttemptsDeps) {
  const { deliveries, bodies, registrations, runningTime, sender, clock, logger, isStopping } = deps;
  /** Registrations whose receiver still verifies with the secret from before the last rotation, and that secret. */
  const onPreviousSecret = createLruCache<string, string>(10_000);
  const slowStarts = createLruCache<string, SlowStart>(10_000);
  /** Running time at which deliveries of a registration were last given up. */
  const gaveUp = createLruCache<string, number>(10_000);
  let sending = 0;
  const results = createGathering(MAX_GATHERING_MS, () => sending > 0);

  const moment = (): Moment => ({ now: clock(), running: runningTime.now(), random: Math.random() });

  /**
   * @param sent is called as soon as the receiver has responded, so that others can start while the outcome is stored
   * @returns false if it was stored instead of sent, so that it waits in the store
   */
  async function attempt(
    lane: Lane,
    lease: Lease,
    receiver: Receiver,
    { delivery, isProbe, unstored }: Chosen,
    permit: Permit,
    sent: () => void,
  ): Promise<boolean> {
    const { webhookId } = lane;
    let tried: Awaited<ReturnType<typeof send>>;
    let outcome: Outcome;
    let noted: Promise<ReceiverState>;
    let gone = false;
    sending += 1;
    try {
      // Right before sending, so that removing or disabling a registration or revoking its key stops deliveries immediately.
      const recipient = await (unstored === undefined
        ? registrations.recipient(webhookId)
        : recipientOfUnstored(webhookId, unstored));
      if (recipient === undefined || isStopping() || lane.disabled || !lease.isHeld()) {
        await unstored?.keep();
        return unstored === undefined;
      }
      if ('inactive' in recipient) {
        lane.disabled = true;
        await receiver.change(forgiven);
        await deliveries.cancelAll(webhookId, recipient.inactive);
        return true;
      }
      tried = await send(recipient, delivery.document);
      // Before another attempt can start, and only by the first of several.
      gone = tried.result.status === 410 && !lane.disabled;
      if (gone) lane.disabled = true;
      outcome = isSuccess(tried.result) ? { state: 'Delivered' } : failureOf(delivery.document, tried.result);
      noted =
        tried.result.error?.type === 'Unreadable'
          ? Promise.resolve(receiver.state())
          : note(lane, receiver, delivery.document, outcome, permit.isSlow(), isProbe);
      // If it fails, that is noticed below.
      noted.catch(() => {});
    } finally {
      sending -= 1;
      sent();
    }
    unstored?.answered();
    await results.join();
    const recorded =
      unstored === undefined
        ? deliveries.record(delivery, tried.attempts, outcome)
        : unstored.record(tried.attempts, outcome);
    const [, state] = await Promise.all([recorded, noted]);
    if (gone) {
      await disable(receiver, delivery.document, 'The receiver answered 410 Gone');
    } else if (state.failingMs >= DISABLE_AFTER_MS && !lane.disabled) {
      lane.disabled = true;
      await disable(receiver, delivery.document, 'Every delivery failed for five days');
    } else if (isProbe && outcome.state !== 'Delivered') await giveUpWaiting(webhookId);
    return true;
  }

  /** Undefined if it must not be sent before it is stored: it is there already, or something else comes first. */
  async function recipientOfUnstored(webhookId: string, unstored: Unstored): Promise<Recipient | undefined> {
    const [recipient, standing] = await Promise.all([
      registrations.recipient(webhookId),
      deliveries.standingOf(unstored.delivery, unstored.earlier),
    ]).catch(() => []);
    if (standing === 'stored') unstored.abandon();
    return standing !== 'new' || recipient === undefined || 'inactive' in recipient ? undefined : recipient;
  }

  /** Notes what an attempt says about its receiver; at once for the attempts of this lane that come next. */
  function note(
    lane: Lane,
    receiver: Receiver,
    { event }: DeliveryDocument,
    outcome: Outcome,
    isSlow: boolean,
    isProbe: boolean,
  ): Promise<ReceiverState> {
    const pace = isSlow ? 'slow' : 'prompt';
    if (outcome.state === 'Delivered') {
      lane.window = Math.min(MAX_IN_FLIGHT, lane.window + 1 / lane.window);
      const recovered = slowStarts.get(lane.webhookId)?.isOver() ?? false;
      if (recovered) slowStarts.delete(lane.webhookId);
      return receiver.change((state) => afterSuccess(answered(state, pace, true), recovered, clock()));
    }
    lane.window = Math.max(1, lane.window / 2);
    slowStarts.get(lane.webhookId)?.failed();
    // A test shows how the receiver responds now. That it fails does not count, that it succeeds does.
    if (event === 'Test') return receiver.change((state) => answered(state, pace, false));
    const at = moment();
    const failure = { isProbe, ...(outcome.state === 'Pending' && { nextInMs: outcome.delay }) };
    return receiver.change((state) => {
      const failed = afterFailure(answered(state, pace, false), failure, at);
      if (failed.breaker?.state === 'open') slowStarts.delete(lane.webhookId);
      return failed;
    });
  }

  function slowStartOf(webhookId: string): SlowStart {
    const slowStart = slowStarts.get(webhookId) ?? createSlowStart();
    slowStarts.set(webhookId, slowStart);
    return slowStart;
  }

  /** Fails what has been waiting for an open breaker for too long. */
  async function giveUpWaiting(webhookId: string): Promise<void> {
    const now = runningTime.now();
    if (now - (gaveUp.get(webhookId) ?? Number.NEGATIVE_INFINITY) < GIVE_UP_EVERY_MS) return;
    gaveUp.set(webhookId, now);
    // A little later than the last try of a delivery, so that it is made.
    const triedUntil = now - GIVE_UP_AFTER_MS - GIVE_UP_EVERY_MS;
    await deliveries.giveUp(webhookId, triedUntil, 'No try succeeded within 32 hours');
  }

  /** Makes one attempt. While two secrets are valid, a receiver that responds with 401 gets it again, signed with the other. */
  async function send({ webhookId, url, secrets }: Recipient, delivery: DeliveryDocument) {
    const [current, previous] = secrets;
    const attempts: Attempt[] = [];
    const body = delivery.sealed === undefined ? delivery.body : await bodies.bodyOf(delivery).catch(unreadable);
    if (typeof body !== 'string') {
      attempts.push({ at: toTimestamp(clock()), url, ...body });
      return { result: body, attempts };
    }
    const post = async (signing: Secrets): Promise<SendResult> => {
      const at = clock();
      const { deliveryId: id } = delivery;
      const sentAt = realClock();
      const signature = signatureHeaders(signing, { id, at: sentAt, body });
      const headers = { 'content-type': CONTENT_TYPE, ...signature };
      const result = await sender.post({ url, headers, body });
      const { retryAfter: _, ...kept } = result;
      const made: Attempt = {
        ...{ at: toTimestamp(at), url, ...kept },
        signed: { at: sentAt, with: signing.filter((secret) => secret !== undefined).map(markOf) },
        ...(signing[0] === current ? {} : { previousSecret: true }),
      };
      attempts.push(delivery.sealed === undefined ? made : await bodies.kept(delivery, made));
      return result;
    };
    if (previous === undefined) return { result: await post([current]), attempts };

    const usesPrevious = onPreviousSecret.get(webhookId) === previous;
    let result = await post(usesPrevious ? [previous, current] : [current, previous]);
    if (result.status === 401 && !isStopping()) {
      result = await post(usesPrevious ? [current, previous] : [previous, current]);
      if (isSuccess(result)) {
        if (usesPrevious) onPreviousSecret.delete(webhookId);
        else onPreviousSecret.set(webhookId, previous);
      }
    }
    return { result, attempts };
  }

  function failureOf({ event, tries, triedFrom }: DeliveryDocument, result: SendResult): Outcome {
    if (result.status === 410) return { state: 'Failed', reason: 'The receiver answered 410 Gone' };
    const retryAfter = parseRetryAfter(result.retryAfter, clock());
    // A test delivery shows how the receiver responds now; a retry hours later would be of no use.
    const delay = event === 'Test' ? undefined : delayBeforeNext(tries + 1, retryAfter, Math.random());
    const running = runningTime.now();
    const remaining = GIVE_UP_AFTER_MS - Math.max(0, running - (triedFrom ?? running));
    return delay === undefined || remaining <= 0
      ? { state: 'Failed', reason: `The last attempt failed: ${result.error?.type ?? `status ${result.status}`}` }
      : { state: 'Pending', delay: Math.min(delay, remaining), running };
  }

  async function disable(
    receiver: Receiver,
    { webhookId, event, eventId }: DeliveryDocument,
    reason: string,
  ): Promise<void> {
    logger.info({ webhookId, reason }, 'Webhook disabled');
    await deps.disable({ webhookId, reason, ...defined({ eventId: event === 'Test' ? undefined : eventId }) });
    // So that it starts with a clean slate once it is enabled again.
    await receiver.change(forgiven);
  }

  return { attempt, slowStartOf };
}

/**
 * The result of an attempt that was not made, because a sealed text in the body cannot be opened. It is tried again as after any
 * failure, and others pass. What is only away concerns all of them.
 */
function unreadable(error: unknown): SendResult {
  if (isUnavailable(error) || !(error instanceof Error)) throw error;
  return { error: { type: 'Unreadable', message: error.message }, duration: 0, answer: '' };
}
