import type { BaseLogger } from 'pino';
import type { Stored } from '../document-store/document-store.ts';
import { createLruCache } from '../event-loop/lru-cache.ts';
import { createPermits, type PermitLimits } from '../outbox/permits.ts';
import { type Poll, startPolling } from '../outbox/poll.ts';
import { isDueTrusted } from '../outbox/progress.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { mayTryAt } from './breaker.ts';
import { type DeliveryDocument, DUE_NOW } from './delivery.ts';
import { Endpoint, type EndpointDeps } from './endpoint.ts';
import type { DeliveryQueue } from './queue.ts';

const REPORT_WAITING_EVERY_MS = 60_000;
type Delivery = Stored<DeliveryDocument>;

/** Limits for the attempts in flight of this process. */
export type InFlightLimits = PermitLimits & { readonly perEndpoint: number };
const IN_FLIGHT: InFlightLimits = { perEndpoint: 4, perAccount: 64, all: 1_024 };

/** Endpoints that are remembered for having succeeded. */
const PROVEN = 100_000;
/** Endpoints that are remembered for verifying with a replaced secret. */
const ON_PREVIOUS_SECRET = 10_000;

export type Deliverer = ReturnType<typeof createDeliverer>;

export type DelivererDeps = Pick<
  EndpointDeps,
  'registrations' | 'bodies' | 'sender' | 'breakers' | 'disable' | 'clock' | 'isActive'
> & {
  readonly queue: DeliveryQueue;
  readonly logger: Pick<BaseLogger, 'error'>;
  readonly inFlight?: InFlightLimits | undefined;
  readonly pollIntervalMs?: number | undefined;
};

/**
 * Delivers due deliveries, each endpoint for itself, so that a slow or dead receiver never delays another
 * (docs/decisions/webhook-deliveries.md). One process at a time runs it.
 */
export function createDeliverer(deps: DelivererDeps) {
  const { queue, breakers, clock, logger, inFlight = IN_FLIGHT, pollIntervalMs: intervalMs } = deps;
  const permits = createPermits(inFlight);
  const endpoints = new Map<string, Endpoint>();
  const work = new Set<Promise<void>>();
  let stopping = false;
  let polling: Poll | undefined;
  const endpointDeps: EndpointDeps = {
    ...deps,
    permits,
    perEndpoint: inFlight.perEndpoint,
    proven: createLruCache<string, true>(PROVEN),
    onPreviousSecret: createLruCache<string, string>(ON_PREVIOUS_SECRET),
    isActive: () => !stopping && deps.isActive(),
    report: createReport(logger),
    track(tracked) {
      work.add(tracked);
      void tracked.then(() => work.delete(tracked));
    },
    onIdle(endpoint) {
      if (endpoints.get(endpoint.webhookId) === endpoint) endpoints.delete(endpoint.webhookId);
    },
  };
  /** Call when the store may hold a due delivery of a registration; see {@link Endpoint.wake}. */
  const wake = (webhookId: string, isRequested = false) => endpointOf(webhookId).wake(isRequested);

  const endpointOf = (webhookId: string): Endpoint =>
    endpoints.getOrInsertComputed(webhookId, () => new Endpoint(webhookId, endpointDeps));

  /** Wakes every endpoint with a due delivery. @returns how long until the next one is due, in milliseconds */
  async function wakeDue(signal: AbortSignal): Promise<number> {
    let next = Number.POSITIVE_INFINITY;
    for await (const delivery of queue.waiting()) {
      if (signal.aborted) break;
      const { webhookId, due } = delivery;
      const isCorrected = !isDueTrusted(delivery, clock()) && (await queue.correctDue(webhookId));
      const isRequested = due === DUE_NOW;
      const dueAt = isCorrected ? 0 : Date.parse(due);
      const now = clock();
      const at = isRequested ? 0 : Math.max(dueAt, mayTryAt(breakers.state(webhookId), now));
      if (at <= now) wake(webhookId, isRequested);
      else next = Math.min(next, at);
    }
    return next - clock();
  }

  return {
    wake,

    /** Takes over a delivery that has just been stored; see {@link Endpoint.add}. */
    add(delivery: Delivery, earlier: readonly Delivery[]): void {
      endpointOf(delivery.document.webhookId).add(delivery, earlier);
    },

    /** Resolves once it is known which endpoints have due deliveries. */
    async start(): Promise<void> {
      polling = await startPolling({ look: wakeDue, what: 'deliveries', logger, intervalMs });
    },

    /** Starts no further attempts and waits for those in flight. */
    async stop(): Promise<void> {
      stopping = true;
      await polling?.stop();
      while (work.size > 0) await Promise.all(work);
    },
  };
}

/** Logs errors. An unavailable store or a read model being rebuilt affects every registration and is logged once a minute. */
function createReport(logger: Pick<BaseLogger, 'error'>): EndpointDeps['report'] {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (error, subject) => {
    const isWaiting = isUnavailable(error);
    if (isWaiting && performance.now() - reportedAt < REPORT_WAITING_EVERY_MS) return;
    if (isWaiting) reportedAt = performance.now();
    const what = isWaiting
      ? 'Deliveries wait for an unavailable store; retrying'
      : 'A delivery failed unexpectedly; retrying';
    logger.error({ err: error, ...subject }, what);
  };
}
