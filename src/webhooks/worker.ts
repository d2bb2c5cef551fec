import type { Stored } from '../document-store/document-store.ts';
import type { Lease } from '../document-store/lease.ts';
import { defined } from '../domain/defined.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { AT_ONCE, type DeliveryDocument } from './delivery.ts';
import { DueDeliveries } from './due-deliveries.ts';
import type { Permit, Permits } from './in-flight.ts';
import type { DeliveryQueue } from './queue.ts';
import {
  afterAttempt,
  FIRST_WINDOW,
  inFlightLimit,
  mayTry,
  nextWindow,
  type ReceiverHealth,
  slowStartWait,
  withoutFailures,
} from './receiver-health.ts';
import type { Receiver } from './receivers.ts';
import type { Registrations } from './registrations.ts';
import type { RunningTime } from './running-time.ts';
import { DISABLE_AFTER_MS, GONE, type Outcome, outcomeOf } from './schedule.ts';
import type { Tried, Try } from './send/attempt.ts';

type Delivery = Stored<DeliveryDocument>;

/** Deliveries of a registration per read. */
const PAGE = 128;
/** How often a worker with nothing to send reads what other processes have stored. It ends when it has sent nothing since. */
const READ_EVERY_MS = 50;

export type WorkerDeps = {
  readonly queue: Pick<DeliveryQueue, 'due' | 'complete' | 'cancelAll'>;
  readonly registrations: Pick<Registrations, 'recipient'>;
  readonly permits: Pick<Permits, 'acquire'>;
  readonly send: Try;
  readonly runningTime: Pick<RunningTime, 'now'>;
  /** Disables a registration; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; absent for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
  /** Fails what has been waiting for an open breaker for too long. */
  readonly giveUp: (webhookId: string) => Promise<void>;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
  /** Reports an attempt that threw. */
  readonly report: (error: unknown, deliveryId: string) => void;
};

export type Endpoint = {
  readonly webhookId: string;
  /** The account that the permits of this worker count against, however many registrations it has. */
  readonly account: string;
  readonly lease: Lease;
  readonly receiver: Receiver;
  /**
   * The permit for the single attempt of this worker, if the receiver is not known to be prompt. Without it, each attempt takes a permit
   * for prompt receivers.
   */
  readonly singlePermit: Permit | undefined;
};

/**
 * Why a worker starts no further attempts. `once`: it had a permit for one attempt; `slow`: the receiver is no longer prompt; `open`: its
 * breaker is open; `failed`: an attempt threw, or its outcome could not be stored; `disabled`: the registration was disabled; `idle`: nothing
 * is due.
 */
type Ending = 'once' | 'slow' | 'open' | 'failed' | 'disabled' | 'idle';

type Step =
  | { readonly do: 'start'; readonly delivery: Delivery }
  | { readonly do: 'read' }
  /** The longest time to wait for a change. */
  | { readonly do: 'wait'; readonly ms?: number }
  | { readonly do: 'end'; readonly why: Ending };

/** Delivers to one endpoint, while this process holds the lease of its registration (docs/decisions/webhook-deliveries.md). */
export class EndpointWorker {
  readonly #deps: WorkerDeps;
  readonly #endpoint: Endpoint;
  readonly #due = new DueDeliveries();
  /** How many attempts wait for an answer; the outcomes of the others in flight are being stored. */
  #sending = 0;
  #window = FIRST_WINDOW;
  /** When the last attempt began, in milliseconds since the epoch. */
  #attemptedAt = Number.NEGATIVE_INFINITY;
  /** Whether the store may hold due deliveries beyond the page that was read last. */
  #hasMore = true;
  /** Whether to read the store again: once the queue is exhausted, or at once. */
  #woken: 'no' | 'yes' | 'at once' = 'no';
  /** In monotonic milliseconds. */
  #readAt = Number.NEGATIVE_INFINITY;
  #hasSentSinceRead = false;
  #ending: Ending | undefined;
  #changed = Promise.withResolvers<void>();

  constructor(deps: WorkerDeps, endpoint: Endpoint) {
    this.#deps = deps;
    this.#endpoint = endpoint;
  }

  /**
   * Call when the store may hold a due delivery.
   * @param isAsked a user waits for it, so it goes first
   */
  wake(isAsked = false): void {
    if (this.#woken !== 'at once') this.#woken = isAsked ? 'at once' : 'yes';
    this.#notify();
  }

  /** Call when the process is about to stop. */
  stop(): void {
    this.#notify();
  }

  /** Ends, with no attempt in flight, when nothing is due or no further attempt may start. */
  async run(): Promise<Ending> {
    try {
      while (this.#mayStart()) {
        const step = this.#nextStep();
        if (step.do === 'start') await this.#startNext();
        else if (step.do === 'read') await this.#read();
        else if (step.do === 'wait') await this.#changedWithin(step.ms);
        else this.#ending = step.why;
      }
    } finally {
      // The lease must outlast the attempts in flight, even if the store has failed.
      while (this.#due.inFlight > 0) await this.#changed.promise;
    }
    return this.#ending ?? 'idle';
  }

  #mayStart(): boolean {
    return this.#ending === undefined && this.#maySend();
  }

  /** Whether an attempt that has been started may still be sent. */
  #maySend(): boolean {
    return this.#ending !== 'disabled' && !this.#deps.isStopping() && this.#endpoint.lease.isHeld();
  }

  #nextStep(): Step {
    const { receiver, singlePermit } = this.#endpoint;
    if (this.#woken === 'at once') return { do: 'read' };
    const health = receiver.health();
    if (this.#sending >= (singlePermit === undefined ? inFlightLimit(health, this.#window) : 1)) return { do: 'wait' };
    const ms = slowStartWait(health, this.#attemptedAt, this.#deps.clock());
    if (ms > 0) return { do: 'wait', ms };
    const delivery = this.#nextDelivery(health);
    if (delivery !== undefined) return { do: 'start', delivery };
    if (this.#woken === 'yes') return { do: 'read' };
    if (this.#due.waiting === 0) return this.#hasMore ? { do: 'read' } : this.#idleStep();
    // The queued deliveries wait for the breaker, or for another delivery of their sequence.
    return health.breaker?.state === 'open' && this.#due.inFlight === 0 ? { do: 'end', why: 'open' } : { do: 'wait' };
  }

  /** While the breaker is open, only a probe may be sent, or a sequence with a delivery that a user requested. */
  #nextDelivery(health: ReceiverHealth): Delivery | undefined {
    if (mayTry(health, this.#deps.clock())) return this.#due.next();
    return this.#due.next((queue) => queue.some(({ document }) => document.due === AT_ONCE));
  }

  #idleStep(): Step {
    const ms = this.#readAt + READ_EVERY_MS - performance.now();
    const isIdle = this.#due.inFlight === 0 && !this.#hasSentSinceRead;
    if (this.#endpoint.singlePermit !== undefined) return { do: 'end', why: 'idle' };
    if (ms > 0) return { do: 'wait', ms };
    return isIdle ? { do: 'end', why: 'idle' } : { do: 'read' };
  }

  async #read(): Promise<void> {
    this.#woken = 'no';
    this.#hasSentSinceRead = false;
    // The next read finds these again, after more urgent ones.
    this.#due.clear();
    // A snapshot from before the query: a delivery that ends meanwhile may still be found as pending.
    const { found, hasMore } = await this.#deps.queue.due(this.#endpoint.webhookId, PAGE, this.#due.inFlightKeys());
    for (const delivery of found) this.#due.add(delivery);
    this.#hasMore = hasMore;
    this.#readAt = performance.now();
  }

  async #startNext(): Promise<void> {
    const { account, singlePermit } = this.#endpoint;
    const permit = singlePermit ?? (await this.#deps.permits.acquire('prompt', account));
    // The state may have changed while it waited for its permit.
    const step = this.#mayStart() ? this.#nextStep() : undefined;
    if (step?.do !== 'start') {
      if (singlePermit === undefined) permit.release();
      return;
    }
    const { delivery } = step;
    const now = this.#deps.clock();
    const health = this.#endpoint.receiver.health();
    const isProbe = health.breaker?.state === 'open' && mayTry(health, now);
    this.#due.start(delivery);
    this.#sending += 1;
    this.#attemptedAt = now;
    this.#hasSentSinceRead = true;
    if (singlePermit !== undefined) this.#ending = 'once';
    permit.begin(() => {
      this.#ending ??= 'slow';
    });
    void this.#attempt(delivery, permit, isProbe)
      .catch((error: unknown) => {
        this.#ending = 'failed';
        this.#deps.report(error, delivery.key);
      })
      .finally(() => {
        this.#due.finish(delivery);
        this.#notify();
      });
  }

  /** Sends a delivery, and stores the outcome while the next ones are being sent. */
  async #attempt(delivery: Delivery, permit: Permit, isProbe: boolean): Promise<void> {
    const { queue, runningTime, clock } = this.#deps;
    let tried: Tried | undefined;
    let outcome: Outcome;
    let noted: Promise<ReceiverHealth>;
    let isGone: boolean;
    try {
      tried = await this.#send(delivery.document);
      if (tried === undefined) return;
      const moment = { now: clock(), running: runningTime.now(), random: Math.random() };
      outcome = outcomeOf(delivery.document, tried.result, moment);
      // Set before the next await, so that only one of several attempts disables the registration.
      isGone = tried.result.status === 410 && this.#ending !== 'disabled';
      if (isGone) this.#ending = 'disabled';
      noted = this.#note(delivery.document, tried, outcome, { isSlow: permit.isSlow(), isProbe });
    } finally {
      this.#sending -= 1;
      permit.release();
      this.#notify();
    }
    faultPoint('sent, outcome not stored');
    const [health] = await Promise.all([noted, queue.complete(delivery, tried.attempts, outcome)]);
    if (isGone) await this.#disable(delivery.document, GONE);
    else if (health.failingMs >= DISABLE_AFTER_MS && this.#ending !== 'disabled')
      await this.#disable(delivery.document, 'Every delivery failed for five days');
    else if (isProbe && outcome.state !== 'Delivered') await this.#deps.giveUp(this.#endpoint.webhookId);
  }

  /** @returns undefined if it was not sent */
  async #send(delivery: DeliveryDocument): Promise<Tried | undefined> {
    const { registrations, queue, send } = this.#deps;
    const { webhookId, receiver } = this.#endpoint;
    // Checked right before sending, so removing or disabling a registration or revoking its key stops deliveries immediately.
    const recipient = await registrations.recipient(webhookId);
    if (!this.#maySend()) return undefined;
    if (!('inactive' in recipient)) return send(recipient, delivery);
    this.#ending = 'disabled';
    await receiver.change(withoutFailures);
    await queue.cancelAll(webhookId, recipient.inactive);
    return undefined;
  }

  /** Updates the health of the receiver after an attempt. The next attempts of this worker see it at once. */
  async #note(
    { event }: DeliveryDocument,
    { result }: Tried,
    outcome: Outcome,
    { isSlow, isProbe }: { readonly isSlow: boolean; readonly isProbe: boolean },
  ): Promise<ReceiverHealth> {
    const { receiver } = this.#endpoint;
    if (result.error?.type === 'Unreadable') return receiver.health();
    const isSuccess = outcome.state === 'Delivered';
    this.#window = nextWindow(this.#window, isSuccess);
    const attempt = {
      isSuccess,
      pace: isSlow ? 'slow' : 'prompt',
      isProbe,
      isTest: event === 'Test',
      ...(outcome.state === 'Pending' && { nextInMs: outcome.delay }),
    } as const;
    const moment = { now: this.#deps.clock(), running: this.#deps.runningTime.now(), random: Math.random() };
    return receiver.change((health) => afterAttempt(health, attempt, moment));
  }

  async #disable({ event, eventId }: DeliveryDocument, reason: string): Promise<void> {
    const { webhookId, receiver } = this.#endpoint;
    this.#ending = 'disabled';
    await this.#deps.disable({ webhookId, reason, ...defined({ eventId: event === 'Test' ? undefined : eventId }) });
    // Reset the health for when the registration is enabled again.
    await receiver.change(withoutFailures);
  }

  async #changedWithin(ms: number | undefined): Promise<void> {
    const timer = ms === undefined ? undefined : setTimeout(() => this.#notify(), ms);
    await this.#changed.promise;
    clearTimeout(timer);
  }

  #notify(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}
