import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import type { Lease, Leases } from '../document-store/lease.ts';
import type { Timestamp } from '../domain/ids.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { type AttemptsDeps, createAttempts } from './attempts.ts';
import { classOf, isReliable, mayTry, type ReceiverState } from './breaker.ts';
import type { NewDelivery } from './deliveries.ts';
import { AT_ONCE, type DeliveryDocument } from './delivery.ts';
import { createDuePoll } from './due-poll.ts';
import { createPermits, type InFlightLimits, type Permit } from './in-flight.ts';
import {
  type Chosen,
  changedWithin,
  createLane,
  type Lane,
  type LaneSender,
  notify,
  notifyOfEnd,
  release,
  takeBack,
} from './lane.ts';
import { createNewDeliveries } from './new-deliveries.ts';
import type { Receiver, Receivers } from './receivers.ts';

/** Deliveries of a registration read per query. */
const PAGE = 32;
/**
 * How often a lane that sends what is not stored looks into the store for what others have stored. Without anything to send in the
 * meantime it ends.
 */
const LOOK_EVERY_MS = 50;

const REPORT_WAITING_EVERY_MS = 60_000;

const IN_FLIGHT_LIMITS: InFlightLimits = { prompt: 128, unknown: 64, slow: 512, hanging: 256, slowAfterMs: 500 };

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

export type DelivererDeps = Omit<AttemptsDeps, 'isStopping' | 'logger'> & {
  readonly leases: Leases;
  readonly receivers: Receivers;
  readonly logger: Pick<BaseLogger, 'info' | 'error'>;
  readonly inFlight?: InFlightLimits;
  readonly pollIntervalMs?: number;
};

/**
 * Delivers what is due, each registration in a lane of its own, so that a slow or dead receiver never delays another
 * (docs/decisions/webhook-deliveries.md). Any number of processes may run one; a lane runs in the process that holds its lease.
 */
export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { deliveries, leases, receivers, clock, logger } = deps;
  const permits = createPermits(deps.inFlight ?? IN_FLIGHT_LIMITS);
  const lanes = new Map<string, Lane>();
  const running = new Set<Promise<void>>();
  let started = false;
  let stopping = false;
  const attempts = createAttempts({ ...deps, isStopping: () => stopping });
  const poll = createDuePoll({ ...deps, wake });
  const { deliver, sendWaiting, shut, giveBack, ...newDeliveries } = createNewDeliveries({
    ...{ deliveries, receivers, permits, lanes, wake, start },
    startLane: (webhookId) => startLane(webhookId, false),
    isRunning: () => started && !stopping,
  });

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

  function startLane(webhookId: string, isAsked: boolean): void {
    const known = receivers.cached(webhookId);
    const lane = createLane(webhookId, known !== undefined && isReliable(known));
    lanes.set(webhookId, lane);
    const run = runLane(lane, isAsked).catch((error: unknown) => {
      report(error, { webhookId }, 'Processing the deliveries of a webhook failed; retrying');
    });
    running.add(run);
    void run.finally(() => running.delete(run));
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
        lane.queues.clear();
        if (!(await nothingDue(lane, receiver, mayStart))) break;
        from = undefined;
        continue;
      }
      lane.queues = await deliveries.queues(webhookId, due, known);
      if (lane.sender !== undefined && isReliable(receiver.state())) lane.door = 'opening';
      else shut(lane);
      const isDone = await startAll(lane, lease, receiver, mayStart, only);
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

  /**
   * Starts an attempt for everything in the queues of a lane, of each one at a time.
   * @returns false if it stopped before, because the lane may not go on or something new may be more urgent
   */
  async function startAll(
    lane: Lane,
    lease: Lease,
    receiver: Receiver,
    mayStart: () => boolean,
    only?: Permit,
  ): Promise<boolean> {
    const { queues } = lane;
    while (mayStart()) {
      const state = receiver.state();
      if (lane.sending >= inFlightLimit(lane, state, only)) {
        await lane.changed.promise;
        continue;
      }
      const wait = state.breaker?.state === 'recovering' ? attempts.slowStartOf(lane.webhookId).wait() : 0;
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
      start(lane, { lease, receiver }, chosen, permit);
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

  function start(
    lane: Lane,
    { lease, receiver }: Pick<LaneSender, 'lease' | 'receiver'>,
    chosen: Chosen,
    permit: Permit,
  ): void {
    const { sequence, unstored } = chosen;
    const { key } = chosen.delivery;
    lane.inFlight.add(key);
    lane.sequences.add(sequence);
    lane.sending += 1;
    if (receiver.state().breaker?.state === 'recovering') attempts.slowStartOf(lane.webhookId).attempted();
    const sent = () => {
      lane.sending -= 1;
      permit.release();
      sendWaiting(lane);
      notifyOfEnd(lane);
    };
    permit.begin(() => {
      lane.ending = true;
    });
    void attempts
      .attempt(lane, lease, receiver, chosen, permit, sent)
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

  return {
    wake,
    deliver,
    start() {
      if (started) return;
      started = true;
      poll.start();
    },
    async stop() {
      stopping = true;
      await poll.stop();
      permits.stop();
      for (const lane of lanes.values()) notify(lane);
      await Promise.all(running);
      newDeliveries.stop();
    },
  };
}

function take(queues: Map<string, Stored<DeliveryDocument>[]>, { sequence }: Chosen): void {
  const queue = queues.get(sequence);
  queue?.shift();
  if (queue?.length === 0) queues.delete(sequence);
}
