import type { BaseLogger } from 'pino';
import type { Leases } from '../document-store/lease.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { createDuePoll } from './due-poll.ts';
import { createPermits, type InFlightLimits } from './in-flight.ts';
import type { DeliveryQueue } from './queue.ts';
import { classOf, mayTry } from './receiver-health.ts';
import type { Receivers } from './receivers.ts';
import type { Registrations } from './registrations.ts';
import type { RunningTime } from './running-time.ts';
import { GIVE_UP_AFTER_HOURS, GIVE_UP_AFTER_MS } from './schedule.ts';
import { createTry } from './send/attempt.ts';
import { EndpointWorker, type WorkerDeps } from './worker.ts';

const IN_FLIGHT_LIMITS: InFlightLimits = { prompt: 128, unknown: 64, slow: 512, hanging: 256, slowAfterMs: 500 };
const REPORT_WAITING_EVERY_MS = 60_000;
/** How often deliveries behind an open breaker are checked for their deadline. */
const GIVE_UP_EVERY_MS = 15 * 60_000;

export type Deliverer = {
  start(): void;
  /** Starts no further attempts, waits for those in flight and releases the leases. */
  stop(): Promise<void>;
  /**
   * Call when a registration may have a due delivery. Only a hint: stored deliveries are sent in any case.
   * @param isAsked a user waits for it: an open breaker does not delay it
   */
  wake(webhookId: string, isAsked?: boolean): void;
};

export type DelivererDeps = Omit<
  WorkerDeps,
  'queue' | 'registrations' | 'permits' | 'send' | 'giveUp' | 'isStopping' | 'report'
> &
  Omit<Parameters<typeof createTry>[0], 'isStopping'> & {
    readonly queue: DeliveryQueue;
    readonly registrations: Pick<Registrations, 'recipient' | 'find'>;
    readonly leases: Leases;
    readonly receivers: Receivers;
    readonly logger: Pick<BaseLogger, 'error'>;
    readonly inFlight?: InFlightLimits | undefined;
    readonly pollIntervalMs?: number | undefined;
  };

/** A registration that this process delivers to, or is about to. */
type Running = { worker?: EndpointWorker | undefined; wasWoken: boolean; wasAsked: boolean };

/**
 * Delivers due deliveries with one worker per registration, so that a slow or dead receiver never delays another
 * (docs/decisions/webhook-deliveries.md). Any number of processes may run one; a worker runs in the process that holds the lease.
 */
export function createDeliverer(deps: DelivererDeps): Deliverer {
  const { queue, leases, receivers, clock, logger, sender, bodies } = deps;
  const permits = createPermits(deps.inFlight ?? IN_FLIGHT_LIMITS);
  const endpoints = new Map<string, Running>();
  const runs = new Set<Promise<void>>();
  let started = false;
  let stopping = false;
  const isStopping = () => stopping;
  const report = createReport(logger);
  const workerDeps: WorkerDeps = {
    queue,
    registrations: deps.registrations,
    permits,
    send: createTry({ sender, bodies, clock, isStopping }),
    runningTime: deps.runningTime,
    disable: deps.disable,
    giveUp: createGiveUp(queue, deps.runningTime),
    clock,
    isStopping,
    report: (error, deliveryId) => report(error, { deliveryId }, 'A delivery attempt failed unexpectedly; retrying'),
  };
  const poll = createDuePoll({ queue, receivers, wake, clock, logger, pollIntervalMs: deps.pollIntervalMs });

  function wake(webhookId: string, isAsked = false): void {
    if (!started || stopping) return;
    const running = endpoints.get(webhookId);
    if (running?.worker !== undefined) running.worker.wake(isAsked);
    else if (running !== undefined) {
      running.wasWoken = true;
      running.wasAsked ||= isAsked;
    } else {
      const known = receivers.cached(webhookId);
      if (isAsked || known === undefined || mayTry(known, clock())) start(webhookId, isAsked);
    }
  }

  function start(webhookId: string, isAsked: boolean): void {
    const running: Running = { wasWoken: false, wasAsked: false };
    endpoints.set(webhookId, running);
    const run = deliver(webhookId, running, isAsked)
      .catch((error: unknown) => {
        report(error, { webhookId }, 'Processing the deliveries of a webhook failed; retrying');
        return false;
      })
      .then((isMoreDue) => {
        endpoints.delete(webhookId);
        runs.delete(run);
        if (isMoreDue) wake(webhookId, running.wasAsked);
      });
    runs.add(run);
  }

  /** @returns whether more is due that this process should try to deliver at once */
  async function deliver(webhookId: string, running: Running, isAsked: boolean): Promise<boolean> {
    const [health, webhook] = await Promise.all([receivers.get(webhookId), deps.registrations.find(webhookId)]);
    if (!isAsked && !mayTry(health, clock())) return false;
    // A registration that was removed has no account; its deliveries are cancelled.
    const account = webhook?.account ?? webhookId;
    // Wait before taking the lease: a waiting worker must not keep the registration from other processes.
    const receiverClass = classOf(health);
    const singlePermit = receiverClass === 'prompt' ? undefined : await permits.acquire(receiverClass, account);
    try {
      const lease = stopping ? undefined : await leases.tryAcquire(webhookId);
      // The delivery that woke it may have been stored after the holder read the store.
      if (lease === undefined) return running.wasWoken;
      try {
        const receiver = await receivers.open(webhookId);
        running.wasWoken = false;
        running.worker = new EndpointWorker(workerDeps, { webhookId, account, lease, receiver, singlePermit });
        if ((await running.worker.run()) === 'failed') return false;
      } finally {
        running.worker = undefined;
        await lease.release();
      }
    } finally {
      singlePermit?.release();
    }
    // Another process may have stored a delivery just before this one released the lease.
    if (stopping || !(running.wasAsked || mayTry(await receivers.get(webhookId), clock()))) return false;
    return running.wasWoken || queue.isAnyDue(webhookId);
  }

  return {
    wake,
    start() {
      if (started) return;
      started = true;
      poll.start();
    },
    async stop() {
      stopping = true;
      await poll.stop();
      permits.stop();
      for (const { worker } of endpoints.values()) worker?.stop();
      await Promise.all(runs);
    },
  };
}

type Subject = { readonly webhookId?: string; readonly deliveryId?: string };

/** Logs errors. An unavailable store or a read model being rebuilt affects every registration and is logged once a minute. */
function createReport(logger: Pick<BaseLogger, 'error'>) {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown, subject: Subject, message: string): void => {
    const storeIsUnavailable = isUnavailable(error);
    if (storeIsUnavailable && performance.now() - reportedAt < REPORT_WAITING_EVERY_MS) return;
    if (storeIsUnavailable) reportedAt = performance.now();
    const what = storeIsUnavailable ? 'Deliveries wait for an unavailable store; retrying' : message;
    logger.error({ err: error, ...subject }, what);
  };
}

/** Fails what has been waiting for an open breaker for too long. */
function createGiveUp(queue: Pick<DeliveryQueue, 'giveUp'>, runningTime: Pick<RunningTime, 'now'>) {
  /** Running time at which deliveries of a registration were last given up. */
  const gaveUpAt = createLruCache<string, number>(10_000);
  return async (webhookId: string): Promise<void> => {
    const now = runningTime.now();
    if (now - (gaveUpAt.get(webhookId) ?? Number.NEGATIVE_INFINITY) < GIVE_UP_EVERY_MS) return;
    gaveUpAt.set(webhookId, now);
    // Slightly later than the last scheduled try, so that it is made.
    const triedUntil = now - GIVE_UP_AFTER_MS - GIVE_UP_EVERY_MS;
    await queue.giveUp(webhookId, triedUntil, `No try succeeded within ${GIVE_UP_AFTER_HOURS} hours`);
  };
}
