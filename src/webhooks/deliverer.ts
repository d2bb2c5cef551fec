import type { BaseLogger } from 'pino';
import type { Leases } from '../document-store/lease.ts';
import { createLruCache } from '../runtime/lru-cache.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { mayTry } from './breaker.ts';
import type { Breakers } from './breakers.ts';
import { createDuePoll } from './due-poll.ts';
import { createPermits, IN_FLIGHT, type InFlightLimits } from './permits.ts';
import type { DeliveryQueue } from './queue.ts';
import type { Registrations } from './registrations.ts';
import { createTry } from './send/attempt.ts';
import { EndpointWorker, type WorkerDeps } from './worker.ts';

const REPORT_WAITING_EVERY_MS = 60_000;
/** Endpoints that are remembered for having succeeded. */
const PROVEN = 100_000;

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
  'queue' | 'registrations' | 'permits' | 'perEndpoint' | 'proven' | 'send' | 'isStopping' | 'report'
> &
  Omit<Parameters<typeof createTry>[0], 'isStopping'> & {
    readonly queue: DeliveryQueue;
    readonly registrations: Pick<Registrations, 'recipient' | 'find'>;
    readonly leases: Leases;
    readonly breakers: Breakers;
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
  const { queue, leases, breakers, clock, logger, sender, bodies, inFlight = IN_FLIGHT } = deps;
  const permits = createPermits(inFlight);
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
    perEndpoint: inFlight.perEndpoint,
    proven: createLruCache<string, true>(PROVEN),
    send: createTry({ sender, bodies, clock, isStopping }),
    disable: deps.disable,
    clock,
    isStopping,
    report: (error, deliveryId) => report(error, { deliveryId }, 'A delivery attempt failed unexpectedly; retrying'),
  };
  const poll = createDuePoll({ queue, breakers, wake, clock, logger, pollIntervalMs: deps.pollIntervalMs });

  function wake(webhookId: string, isAsked = false): void {
    if (!started || stopping) return;
    const running = endpoints.get(webhookId);
    if (running?.worker !== undefined) running.worker.wake(isAsked);
    else if (running !== undefined) {
      running.wasWoken = true;
      running.wasAsked ||= isAsked;
    } else {
      const known = breakers.cached(webhookId);
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
    const [breaker, webhook] = await Promise.all([breakers.get(webhookId), deps.registrations.find(webhookId)]);
    if (!isAsked && !mayTry(breaker, clock())) return false;
    // A registration that was removed has no account; its deliveries are cancelled.
    const account = webhook?.account ?? webhookId;
    const lease = stopping ? undefined : await leases.tryAcquire(webhookId);
    // The delivery that woke it may have been stored after the holder read the store.
    if (lease === undefined) return running.wasWoken;
    try {
      const opened = await breakers.open(webhookId);
      running.wasWoken = false;
      running.worker = new EndpointWorker(workerDeps, { webhookId, account, lease, breaker: opened });
      if ((await running.worker.run()) === 'failed') return false;
    } finally {
      running.worker = undefined;
      await lease.release();
    }
    // Another process may have stored a delivery just before this one released the lease.
    if (stopping || !(running.wasAsked || mayTry(await breakers.get(webhookId), clock()))) return false;
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
