import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import type { Lease, Leases } from '../document-store/lease.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { inPages } from '../runtime/in-pages.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import {
  afterFailure,
  afterSuccess,
  answered,
  classOf,
  forgiven,
  isReliable,
  type Moment,
  mayTry,
  type ReceiverState,
} from './breaker.ts';
import {
  AT_ONCE,
  type Attempt,
  type Deliveries,
  type DeliveryDocument,
  isDueBelieved,
  type NewDelivery,
  type Outcome,
} from './deliveries.ts';
import { createGathering } from './gathering.ts';
import { createPermits, type InFlightLimits, type Permit } from './in-flight.ts';
import type { Receiver, Receivers } from './receivers.ts';
import type { Recipient, Registrations } from './registrations.ts';
import type { RunningTime } from './running-time.ts';
import { DISABLE_AFTER_MS, delayBeforeNext, GIVE_UP_AFTER_MS, parseRetryAfter } from './schedule.ts';
import { isSuccess, type Sender, type SendResult } from './sending.ts';
import { type Secrets, signatureHeaders } from './signature.ts';
import { createSlowStart, type SlowStart } from './slow-start.ts';
import { createUnstored, type Unstored } from './unstored.ts';

/** Attempts in flight per registration. A receiver that is not known to be prompt gets one at a time. */
const MAX_IN_FLIGHT = 4;
/** With how many of them a lane begins; each round of successes adds one, and each failure halves them. */
const FIRST_IN_FLIGHT = 2;
/** Deliveries of a registration read per query. */
const PAGE = 32;
/** How often to look for retries and for deliveries that other processes have added. */
const POLL_INTERVAL_MS = 1_000;
/** Registrations that a poll looks at together. */
const POLL_PAGE = 100;
/** How often to look for deliveries that a wrong clock made due too far ahead, behind others that are due earlier. */
const CORRECT_EVERY_MS = 60_000;
/** How far a clock has to be set back to look for them at once. */
const SET_BACK_MS = 2_000;

/**
 * How long a delivery may be without an answer and not stored: then it is stored as pending, and its event is done. Counted in
 * turns of a timer, so that a time in which this process was too busy to hear of an answer counts as one turn.
 */
const UNSTORED_TURN_MS = 20;
const MAX_UNSTORED_TURNS = 5;
/**
 * How often a lane that sends what is not stored looks into the store for what others have stored. Without anything to send in the
 * meantime it ends.
 */
const LOOK_EVERY_MS = 50;

/** How long a result may wait for others to share a commit with. If the process dies meanwhile, the delivery is sent again. */
const MAX_GATHERING_MS = 20;

const REPORT_WAITING_EVERY_MS = 60_000;

/** How often the deliveries that wait for an open breaker are searched for those whose time is up. */
const GIVE_UP_EVERY_MS = 15 * 60_000;

const IN_FLIGHT_LIMITS: InFlightLimits = { prompt: 128, unknown: 64, slow: 512, hanging: 256, slowAfterMs: 500 };

/** Receivers compare `webhook-timestamp` with their own clocks, so `CLOCK_SHIFT` must not move it. */
const realClock = systemClock();

export type Deliverer = {
  start(): void;
  /** Starts no further attempts, waits for those in flight and releases the leases. */
  stop(): Promise<void>;
  /**
   * Call when a registration has something due. Cheap if its lane is already running, or its breaker is open.
   * @param isAsked somebody waits for it: an open breaker does not hold it back
   */
  wake(webhookId: string, isAsked?: boolean): void;
  /**
   * Stores a new delivery and sees to it that it is sent. One to a reliable receiver with nothing due is sent first and then stored
   * with its result. Adds nothing if the registration has a delivery for that event.
   * @param earlier the ids of the earlier events of the same booking; if they are not known, it is stored first
   * @returns resolves once it is stored, at the latest about 100 ms later if there is no answer
   */
  deliver(delivery: NewDelivery, earlier: readonly string[] | undefined): Promise<void>;
};

export type DelivererDeps = {
  readonly deliveries: Deliveries;
  readonly registrations: Registrations;
  readonly leases: Leases;
  readonly receivers: Receivers;
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
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly inFlight?: InFlightLimits;
  readonly pollIntervalMs?: number;
};

/** The deliveries of one registration, while this process holds its lease. */
type Lane = {
  readonly webhookId: string;
  /** Deliveries being attempted, until their outcome is stored. */
  readonly inFlight: Set<string>;
  /** Their sequences. */
  readonly sequences: Set<string>;
  /** How many of them are waiting for a response; the outcomes of the others are being stored. */
  sending: number;
  /** How many may be. */
  window: number;
  woken: boolean;
  /** An attempt has taken too long for a lane of a prompt receiver, or the only attempt of another lane has been made. */
  ending: boolean;
  /** An attempt threw or its outcome could not be stored: the lane ends, and the next poll starts a new one. */
  failed: boolean;
  /** The registration is disabled, removed or being disabled: no further attempts start. */
  disabled: boolean;
  changed: PromiseWithResolvers<void>;
  /**
   * Whether it takes deliveries that are not stored yet. `opening`: it may, once it has looked into the store. `over`: it is about
   * to end, and the next lane may.
   */
  door: 'opening' | 'open' | 'shut' | 'over';
  /** How it sends them, while the door is open. */
  sender?: { readonly lease: Lease; readonly receiver: Receiver; readonly mayStart: () => boolean };
  /** Those whose turn it is not yet. They count as in flight. */
  readonly waiting: Set<Unstored>;
  /**
   * Those that were stored instead of sent, since the lane last looked into the store. Until it looks again nothing else of their
   * sequences may start.
   */
  readonly returned: { readonly key: string; readonly sequence: string }[];
  /** Whether it has taken one since it last looked. */
  used: boolean;
  readonly ended: PromiseWithResolvers<void>;
};

/** A delivery that is about to be attempted. */
type Chosen = {
  readonly delivery: Stored<DeliveryDocument>;
  readonly sequence: string;
  readonly isProbe: boolean;
  /** If it is not stored yet. */
  readonly unstored?: Unstored;
};

/**
 * Delivers what is due, each registration in a lane of its own, so that a slow or dead receiver never delays another
 * (docs/decisions/webhook-receivers.md). Any number of processes may run one; a lane runs in the process that holds its lease.
 */
export function createDeliverer(deps: DelivererDeps): Deliverer {
  const {
    deliveries,
    registrations,
    leases,
    receivers,
    runningTime,
    sender,
    clock,
    logger,
    pollIntervalMs = POLL_INTERVAL_MS,
  } = deps;
  const permits = createPermits(deps.inFlight ?? IN_FLIGHT_LIMITS);
  const lanes = new Map<string, Lane>();
  /** Those that are not stored yet, by the key of their delivery. */
  const unstored = new Map<string, Unstored>();
  /** In how many turns each of them had no answer. */
  const turnsOf = new WeakMap<Unstored, number>();
  let unstoredTimer: NodeJS.Timeout | undefined;
  /** Registrations whose receiver still verifies with the secret from before the last rotation, and that secret. */
  const onPreviousSecret = createLruCache<string, string>(10_000);
  const slowStarts = createLruCache<string, SlowStart>(10_000);
  /** Registrations whose deliveries of earlier releases have been adopted. */
  const adopted = createLruCache<string, true>(10_000);
  /** Running time at which deliveries of a registration were last given up. */
  const gaveUp = createLruCache<string, number>(10_000);
  const running = new Set<Promise<void>>();
  let started = false;
  let stopping = false;
  let sending = 0;
  const results = createGathering(MAX_GATHERING_MS, () => sending > 0);
  let polling: Promise<void> | undefined;
  let pollTimer: NodeJS.Timeout | undefined;

  const moment = (): Moment => ({ now: clock(), running: runningTime.now(), random: Math.random() });

  let reportedWaiting = Number.NEGATIVE_INFINITY;
  /** What is only away, such as a read model that is being built, concerns every registration and is reported once a minute. */
  function report(error: unknown, of: { readonly webhookId?: string; readonly deliveryId?: string }, message: string) {
    if (!isUnavailable(error)) return logger.error({ err: error, ...of }, message);
    if (performance.now() - reportedWaiting < REPORT_WAITING_EVERY_MS) return;
    reportedWaiting = performance.now();
    logger.error({ err: error, ...of }, 'Deliveries are waiting for something that is away; retrying');
  }

  function wake(webhookId: string, isAsked = false): void {
    if (!started || stopping) return;
    const lane = lanes.get(webhookId);
    if (lane !== undefined) {
      lane.woken = true;
      notify(lane);
      return;
    }
    const known = receivers.cached(webhookId);
    if (!isAsked && known !== undefined && !mayTry(known, clock())) return;
    startLane(webhookId, isAsked);
  }

  function startLane(webhookId: string, isAsked: boolean): Lane {
    const known = receivers.cached(webhookId);
    const lane: Lane = {
      webhookId,
      inFlight: new Set(),
      sequences: new Set(),
      sending: 0,
      window: FIRST_IN_FLIGHT,
      woken: false,
      ending: false,
      failed: false,
      disabled: false,
      changed: Promise.withResolvers(),
      door: known !== undefined && isReliable(known) ? 'opening' : 'shut',
      waiting: new Set(),
      returned: [],
      used: false,
      ended: Promise.withResolvers(),
    };
    lanes.set(webhookId, lane);
    const run = runLane(lane, isAsked).catch((error: unknown) => {
      report(error, { webhookId }, 'Processing the deliveries of a webhook failed; retrying');
    });
    running.add(run);
    void run.finally(() => running.delete(run));
    return lane;
  }

  async function runLane(lane: Lane, isAsked: boolean): Promise<void> {
    const { webhookId } = lane;
    let isHolder = false;
    try {
      const known = await receivers.get(webhookId);
      if (!isAsked && !mayTry(known, clock())) return;
      // Before the lease: a lane that waits for its turn must not keep the registration from other processes.
      const receiverClass = classOf(known);
      if (!isReliable(known)) shut(lane);
      const permit = receiverClass === 'prompt' ? undefined : await permits.acquire(receiverClass);
      try {
        const lease = stopping ? undefined : await leases.tryAcquire(webhookId);
        if (lease === undefined) return;
        isHolder = true;
        try {
          await drain(lane, lease, await receivers.open(webhookId), permit);
        } finally {
          lane.door = 'over';
          await lease.release();
        }
      } finally {
        permit?.release();
      }
    } finally {
      lanes.delete(webhookId);
      shut(lane);
      lane.ended.resolve();
    }
    if (stopping) return;
    if (!isHolder) {
      // What woke it may have been stored after the holder looked.
      if (lane.woken) wake(webhookId);
      return;
    }
    // Another process may have added something just before the lease was released, and left it to the holder.
    if (lane.failed || !mayTry(await receivers.get(webhookId), clock())) return;
    if ((await deliveries.due(webhookId, 1)).length > 0) wake(webhookId);
  }

  /** @param only the permit for the single attempt of this lane; a lane without one takes a prompt permit for each attempt */
  async function drain(lane: Lane, lease: Lease, receiver: Receiver, only?: Permit): Promise<void> {
    try {
      await sendDue(lane, lease, receiver, only);
    } finally {
      // Until then nobody else may send, also if the store has failed.
      shut(lane);
      for (takeBack(lane); lane.inFlight.size > 0; takeBack(lane)) await lane.changed.promise;
    }
  }

  async function sendDue(lane: Lane, lease: Lease, receiver: Receiver, only?: Permit): Promise<void> {
    const { webhookId, inFlight } = lane;
    const mayStart = () => !stopping && !lane.failed && !lane.disabled && !lane.ending && lease.isHeld();
    if (!adopted.has(webhookId)) {
      await deliveries.adopt(webhookId);
      adopted.set(webhookId, true);
    }
    if (only === undefined) lane.sender = { lease, receiver, mayStart };
    let from: Timestamp | undefined;
    while (mayStart()) {
      lane.woken = false;
      lane.used = false;
      takeBack(lane);
      // A snapshot from before the query: a delivery that ends meanwhile may still be returned as pending.
      const known = new Set(inFlight);
      const batch = await deliveries.due(webhookId, known.size + PAGE, from);
      const due = batch.filter(({ key }) => !known.has(key) && !inFlight.has(key));
      const last = due.at(-1);
      if (last === undefined) {
        if (!(await nothingDue(lane, receiver, mayStart))) break;
        from = undefined;
        continue;
      }
      shut(lane);
      const queues = await deliveries.queues(webhookId, due, known);
      const isDone = await startAll(lane, lease, receiver, queues, mayStart, only);
      // Nothing becomes due in the past, except what somebody asks for; that wakes the lane.
      from = isDone ? last.document.due : undefined;
    }
  }

  /**
   * Waits while nothing in the store is due, and meanwhile sends what is not stored yet.
   * @returns whether to look again; false if the lane has nothing left to do
   */
  async function nothingDue(lane: Lane, receiver: Receiver, mayStart: () => boolean): Promise<boolean> {
    const lookAt = performance.now() + LOOK_EVERY_MS;
    while (mayStart() && !lane.woken) {
      if (lane.sender === undefined || !isReliable(receiver.state())) {
        shut(lane);
        if (lane.inFlight.size === 0) return false;
        await lane.changed.promise;
        continue;
      }
      if (lane.door !== 'open') {
        lane.door = 'open';
        sendWaiting(lane);
      }
      const wait = lookAt - performance.now();
      if (wait > 0) await changedWithin(lane, wait);
      else return lane.used || lane.inFlight.size > 0;
    }
    return mayStart();
  }

  async function deliver(added: NewDelivery, earlier: readonly string[] | undefined): Promise<void> {
    const { webhookId } = added;
    const delivery = deliveries.draft(added);
    const { key } = delivery;
    const same = unstored.get(key);
    if (same !== undefined) return same.stored;
    const one = createUnstored(deliveries, delivery, earlier ?? []);
    unstored.set(key, one);
    unstoredTimer ??= setTimeout(turn, UNSTORED_TURN_MS);
    let lane: Lane | undefined;
    try {
      if (earlier !== undefined) lane = await laneFor(webhookId);
      if (lane !== undefined && !lane.sequences.has(one.sequence)) return await accept(lane, one);
    } finally {
      unstored.delete(key);
    }
    if (await one.keep()) wake(webhookId);
  }

  /** The lane that takes what is not stored yet, if the receiver is one for that. */
  async function laneFor(webhookId: string): Promise<Lane | undefined> {
    while (started && !stopping) {
      const lane = lanes.get(webhookId);
      if (lane?.door === 'over') {
        await lane.ended.promise;
        continue;
      }
      if (lane !== undefined) return lane.door === 'shut' ? undefined : lane;
      const known = receivers.cached(webhookId) ?? (await receivers.get(webhookId));
      if (!isReliable(known)) return undefined;
      if (!lanes.has(webhookId)) startLane(webhookId, false);
    }
    return undefined;
  }

  /** Resolves once it is stored. */
  function accept(lane: Lane, one: Unstored): Promise<void> {
    lane.used = true;
    lane.inFlight.add(one.delivery.key);
    lane.sequences.add(one.sequence);
    lane.waiting.add(one);
    sendWaiting(lane);
    return one.stored;
  }

  /** Starts the attempts whose turn it is. */
  function sendWaiting(lane: Lane): void {
    const { sender, waiting } = lane;
    if (lane.door !== 'open' || sender === undefined) return;
    const { lease, receiver, mayStart } = sender;
    for (const one of waiting) {
      if (lane.sending >= Math.floor(lane.window)) return;
      if (!mayStart() || !isReliable(receiver.state())) {
        shut(lane);
        notify(lane);
        return;
      }
      const permit = permits.tryAcquire('prompt');
      if (permit === undefined) return;
      waiting.delete(one);
      const { delivery, sequence } = one;
      start(lane, lease, receiver, { delivery, sequence, isProbe: false, unstored: one }, permit);
    }
  }

  /** Stores what has been without an answer for too long. */
  function turn(): void {
    for (const one of unstored.values()) {
      const turns = (turnsOf.get(one) ?? 0) + 1;
      turnsOf.set(one, turns);
      if (turns <= MAX_UNSTORED_TURNS) continue;
      const lane = lanes.get(one.delivery.document.webhookId);
      if (lane?.waiting.delete(one)) keep(lane, one);
      // Whoever waits for it hears if that fails.
      else void one.keep().catch(() => {});
    }
    unstoredTimer = unstored.size > 0 ? setTimeout(turn, UNSTORED_TURN_MS) : undefined;
  }

  /** From now on what is new is stored first, and so is what waits. */
  function shut(lane: Lane): void {
    lane.door = 'shut';
    for (const one of lane.waiting) keep(lane, one);
    lane.waiting.clear();
  }

  /** Stores a delivery that was not sent. Whoever waits for it hears if that fails. */
  function keep(lane: Lane, one: Unstored): void {
    const { delivery, sequence } = one;
    const stored = one.keep().catch(() => {});
    void stored.then(() => giveBack(lane, delivery.key, sequence));
  }

  function release(lane: Lane, key: string, sequence: string): void {
    lane.inFlight.delete(key);
    lane.sequences.delete(sequence);
    notifyOfEnd(lane);
  }

  /** Leaves a delivery that was not sent to the store, where its lane finds it when it looks again. */
  function giveBack(lane: Lane, key: string, sequence: string): void {
    lane.returned.push({ key, sequence });
    notify(lane);
    wake(lane.webhookId);
  }

  function takeBack(lane: Lane): void {
    for (const { key, sequence } of lane.returned.splice(0)) release(lane, key, sequence);
  }

  /**
   * Starts an attempt for everything in `queues`, of each queue one at a time.
   * @returns false if it stopped before, because the lane may not go on or something new may be more urgent
   */
  async function startAll(
    lane: Lane,
    lease: Lease,
    receiver: Receiver,
    queues: Map<string, Stored<DeliveryDocument>[]>,
    mayStart: () => boolean,
    only?: Permit,
  ): Promise<boolean> {
    while (mayStart()) {
      const state = receiver.state();
      if (lane.sending >= inFlightLimit(lane, state, only)) {
        await lane.changed.promise;
        continue;
      }
      const wait = state.breaker?.state === 'recovering' ? slowStartOf(lane.webhookId).wait() : 0;
      if (wait > 0) {
        await changedWithin(lane, wait);
        continue;
      }
      const chosen = choose(queues, state, lane.sequences);
      if (chosen === undefined) {
        if (queues.size === 0) return true;
        if (state.breaker?.state === 'open' && lane.inFlight.size === 0) lane.ending = true;
        if (lane.woken || lane.ending) return false;
        await lane.changed.promise;
        continue;
      }
      const permit = only ?? (await permits.acquire('prompt'));
      // Much can have happened while it waited for its permit.
      if (!mayStart() || receiver.state() !== state) {
        if (permit !== only) permit.release();
        continue;
      }
      take(queues, chosen);
      start(lane, lease, receiver, chosen, permit);
      if (only === undefined) continue;
      lane.ending = true;
    }
    return false;
  }

  const inFlightLimit = ({ window }: Lane, { breaker }: ReceiverState, only: Permit | undefined): number =>
    only !== undefined || breaker?.state === 'open' ? 1 : Math.floor(window);

  /** The first delivery whose sequence has none in flight; while the breaker is open, only one that may go as a probe. */
  function choose(
    queues: ReadonlyMap<string, readonly Stored<DeliveryDocument>[]>,
    state: ReceiverState,
    inProgress: ReadonlySet<string>,
  ): Chosen | undefined {
    const isOpen = state.breaker?.state === 'open';
    const isProbe = isOpen && mayTry(state, clock());
    for (const [sequence, queue] of queues) {
      const [delivery] = queue;
      if (delivery === undefined || inProgress.has(sequence)) continue;
      if (isOpen && !isProbe && !queue.some(({ document }) => document.due === AT_ONCE)) continue;
      return { delivery, sequence, isProbe };
    }
    return undefined;
  }

  function start(lane: Lane, lease: Lease, receiver: Receiver, chosen: Chosen, permit: Permit): void {
    const { sequence, unstored } = chosen;
    const { key } = chosen.delivery;
    lane.inFlight.add(key);
    lane.sequences.add(sequence);
    lane.sending += 1;
    sending += 1;
    if (receiver.state().breaker?.state === 'recovering') slowStartOf(lane.webhookId).attempted();
    const sent = () => {
      lane.sending -= 1;
      sending -= 1;
      permit.release();
      sendWaiting(lane);
      notifyOfEnd(lane);
    };
    permit.begin(() => {
      lane.ending = true;
    });
    void attempt(lane, lease, receiver, chosen, permit, sent)
      .catch(async (error: unknown) => {
        lane.failed = true;
        report(error, { deliveryId: key }, 'A delivery attempt failed unexpectedly; retrying');
        await unstored?.keep().catch(() => {});
        return true;
      })
      .then((isSent) => {
        if (isSent) release(lane, key, sequence);
        else giveBack(lane, key, sequence);
      });
  }

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
    try {
      // Right before sending, so that removing or disabling a registration or revoking its key stops deliveries immediately.
      const recipient = await (unstored === undefined
        ? registrations.recipient(webhookId)
        : recipientOfUnstored(webhookId, unstored));
      if (recipient === undefined || stopping || lane.disabled || !lease.isHeld()) {
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
      noted = note(lane, receiver, delivery.document, outcome, permit.isSlow(), isProbe);
      // If it fails, that is noticed below.
      noted.catch(() => {});
    } finally {
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

  function failureOf({ event, tries, triedFrom }: DeliveryDocument, result: SendResult): Outcome {
    if (result.status === 410) return { state: 'Failed', reason: 'The receiver answered 410 Gone' };
    const retryAfter = parseRetryAfter(result.retryAfter, clock());
    // A test delivery shows how the receiver responds now; a retry hours later would be of no use.
    const delay = event === 'Test' ? undefined : delayBeforeNext(tries + 1, retryAfter, Math.random());
    const running = runningTime.now();
    const remaining = GIVE_UP_AFTER_MS - Math.max(0, running - (triedFrom ?? running));
    return delay === undefined || remaining <= 0
      ? { state: 'Failed', reason: `The last try failed: ${result.error?.type ?? `status ${result.status}`}` }
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

  let correctedAt = Number.NEGATIVE_INFINITY;
  /** What the clock said beyond monotonic time at the last poll. */
  let offset = clock() - performance.now();

  /** Whether to look for deliveries that a wrong clock made due too far ahead: now and then, and when the clock was set back. */
  function isTimeToCorrect(): boolean {
    const now = performance.now();
    const before = offset;
    offset = clock() - now;
    if (before - offset < SET_BACK_MS && now - correctedAt < CORRECT_EVERY_MS) return false;
    correctedAt = now;
    return true;
  }

  /** Wakes every lane with something to do, then schedules the next poll for when there will be. */
  async function poll(): Promise<void> {
    let next = clock() + pollIntervalMs;
    const startedAt = performance.now();
    const isCorrecting = isTimeToCorrect();
    try {
      for await (const page of inPages(deliveries.waiting(), POLL_PAGE)) {
        const states = await receivers.getMany(page.map(({ webhookId }) => webhookId));
        for (const delivery of page) {
          if (stopping) return;
          const { webhookId, due } = delivery;
          const isWrong = isCorrecting || !isDueBelieved(delivery, clock());
          // A query for each registration, of which there may be ten thousand: others get their turn in between.
          if (isCorrecting) await nextTurn();
          const corrected = isWrong && (await deliveries.correctDue(webhookId));
          const isAsked = due === AT_ONCE;
          const at = Math.max(corrected ? 0 : Date.parse(due), isAsked ? 0 : mayTryAt(states.get(webhookId)));
          if (at <= clock()) wake(webhookId, isAsked);
          else next = Math.min(next, at);
        }
      }
    } catch (error) {
      logger.error({ err: error }, 'Looking up due deliveries failed; retrying');
    }
    if (stopping) return;
    // However many registrations have something pending, polling takes at most a fifth of the time.
    const pause = Math.max(10, 4 * (performance.now() - startedAt), Math.min(pollIntervalMs, next - clock()));
    pollTimer = setTimeout(startPoll, pause);
  }

  /** When a receiver may be tried: milliseconds since the epoch. */
  const mayTryAt = (state: ReceiverState | undefined): number =>
    state?.breaker === undefined || mayTry(state, clock()) ? 0 : Date.parse(state.breaker.probeAt);

  const startPoll = () => {
    polling = poll();
  };

  return {
    wake,
    deliver,
    start() {
      if (started) return;
      started = true;
      startPoll();
    },
    async stop() {
      stopping = true;
      clearTimeout(pollTimer);
      await polling;
      permits.stop();
      for (const lane of lanes.values()) notify(lane);
      await Promise.all(running);
      clearTimeout(unstoredTimer);
    },
  };
}

function take(queues: Map<string, Stored<DeliveryDocument>[]>, { sequence }: Chosen): void {
  const queue = queues.get(sequence);
  queue?.shift();
  if (queue?.length === 0) queues.delete(sequence);
}

/** Resolves when something has changed in a lane, or after `ms`. */
async function changedWithin(lane: Lane, ms: number): Promise<void> {
  const timer = setTimeout(() => notify(lane), ms);
  await lane.changed.promise;
  clearTimeout(timer);
}

/** An attempt has ended: a lane that sends what is not stored need not hear of it while all is well. */
function notifyOfEnd(lane: Lane): void {
  if (lane.door !== 'open' || lane.failed || lane.disabled || lane.ending) notify(lane);
}

function notify(lane: Lane): void {
  const { resolve } = lane.changed;
  lane.changed = Promise.withResolvers();
  resolve();
}
