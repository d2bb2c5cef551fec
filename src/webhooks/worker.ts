import type { Stored } from '../document-store/document-store.ts';
import type { Lease } from '../document-store/lease.ts';
import { defined } from '../domain/defined.ts';
import type { Clock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { afterAttempt, type Breaker, CLOSED, isLongDead, mayTry } from './breaker.ts';
import type { EndpointBreaker } from './breakers.ts';
import { AT_ONCE, type DeliveryDocument } from './delivery.ts';
import { DueDeliveries } from './due-deliveries.ts';
import type { Permits } from './permits.ts';
import type { DeliveryQueue } from './queue.ts';
import type { Registrations } from './registrations.ts';
import { GONE, outcomeOf } from './schedule.ts';
import type { Tried, Try } from './send/attempt.ts';
import { isSuccess, type SendResult } from './send/sender.ts';

type Delivery = Stored<DeliveryDocument>;

/** Deliveries of a registration per read. */
const PAGE = 128;
/** How often a worker with nothing to send reads what other processes have stored. It ends when it has sent nothing since. */
const READ_EVERY_MS = 50;

export type WorkerDeps = {
  readonly queue: Pick<DeliveryQueue, 'due' | 'complete' | 'cancelAll'>;
  readonly registrations: Pick<Registrations, 'recipient'>;
  readonly permits: Pick<Permits, 'acquire'>;
  /** Attempts in flight to one endpoint. */
  readonly perEndpoint: number;
  /** Endpoints that have succeeded since this process started. */
  readonly proven: { has(webhookId: string): boolean; set(webhookId: string, hasSucceeded: true): unknown };
  readonly send: Try;
  /** Disables a registration; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; absent for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
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
  readonly breaker: EndpointBreaker;
};

/**
 * Why a worker starts no further attempts. `open`: the breaker is open; `failed`: an attempt threw, or its outcome could not be stored;
 * `disabled`: the registration was disabled; `idle`: nothing is due.
 */
type Ending = 'open' | 'failed' | 'disabled' | 'idle';

type Step =
  | { readonly do: 'start'; readonly delivery: Delivery }
  | { readonly do: 'read' }
  /** Wait for a change, `ms` at most. */
  | { readonly do: 'wait'; readonly ms?: number }
  | { readonly do: 'end'; readonly why: Ending };

/** Delivers to one endpoint, while this process holds the lease of its registration (docs/decisions/webhook-deliveries.md). */
export class EndpointWorker {
  readonly #deps: WorkerDeps;
  readonly #endpoint: Endpoint;
  readonly #due = new DueDeliveries();
  /** How many attempts wait for an answer; the outcomes of the others in flight are being stored. */
  #sending = 0;
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
    if (this.#woken === 'at once') return { do: 'read' };
    const { open } = this.#endpoint.breaker.state();
    if (this.#sending >= (open === undefined ? this.#deps.perEndpoint : 1)) return { do: 'wait' };
    const delivery = this.#nextDelivery();
    if (delivery !== undefined) return { do: 'start', delivery };
    if (this.#woken === 'yes') return { do: 'read' };
    if (this.#due.waiting === 0) return this.#hasMore ? { do: 'read' } : this.#idleStep();
    // The queued deliveries wait for the breaker, or for another delivery of their sequence.
    return open !== undefined && this.#due.inFlight === 0 ? { do: 'end', why: 'open' } : { do: 'wait' };
  }

  /** While the breaker is open, only a probe may be sent, or a sequence with a delivery that a user requested. */
  #nextDelivery(): Delivery | undefined {
    if (mayTry(this.#endpoint.breaker.state(), this.#deps.clock())) return this.#due.next();
    return this.#due.next((queue) => queue.some(({ document }) => document.due === AT_ONCE));
  }

  #idleStep(): Step {
    const ms = this.#readAt + READ_EVERY_MS - performance.now();
    if (ms > 0) return { do: 'wait', ms };
    return this.#due.inFlight === 0 && !this.#hasSentSinceRead ? { do: 'end', why: 'idle' } : { do: 'read' };
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
    const { webhookId, account, breaker } = this.#endpoint;
    const release = await this.#deps.permits.acquire(account, !this.#deps.proven.has(webhookId));
    // The state may have changed while it waited for its permit.
    const step = this.#mayStart() ? this.#nextStep() : undefined;
    if (step?.do !== 'start') return release();
    const { delivery } = step;
    const isProbe = breaker.state().open !== undefined && mayTry(breaker.state(), this.#deps.clock());
    this.#due.start(delivery);
    this.#sending += 1;
    this.#hasSentSinceRead = true;
    void this.#attempt(delivery, isProbe, release)
      .catch((error: unknown) => {
        this.#ending = 'failed';
        this.#deps.report(error, delivery.key);
      })
      .finally(() => {
        this.#due.finish(delivery);
        this.#notify();
      });
  }

  /** Tries a delivery, and stores the outcome while the next ones are being sent. */
  async #attempt(delivery: Delivery, isProbe: boolean, release: () => void): Promise<void> {
    const made = await this.#try(delivery.document, isProbe).finally(() => {
      this.#sending -= 1;
      release();
      this.#notify();
    });
    if (made === undefined) return;
    faultPoint('sent, outcome not stored');
    const { attempts, outcome, changed, isGone } = made;
    const [breaker] = await Promise.all([changed, this.#deps.queue.complete(delivery, attempts, outcome)]);
    if (isGone) await this.#disable(delivery.document, GONE);
    else if (isLongDead(breaker) && this.#ending !== 'disabled')
      await this.#disable(delivery.document, 'Every delivery failed for five days');
  }

  /** Sends a delivery and changes the breaker, before the next attempt starts, which it may forbid. @returns undefined if it was not sent */
  async #try(delivery: DeliveryDocument, isProbe: boolean) {
    const tried = await this.#send(delivery);
    if (tried === undefined) return undefined;
    const { result, attempts } = tried;
    const outcome = outcomeOf(delivery, result, { now: this.#deps.clock(), random: Math.random() });
    if (outcome.state === 'Delivered') this.#deps.proven.set(this.#endpoint.webhookId, true);
    // Set before the next await, so that only one of several attempts disables the registration.
    const isGone = result.status === 410 && this.#ending !== 'disabled';
    if (isGone) this.#ending = 'disabled';
    return { attempts, outcome, isGone, changed: this.#changeBreaker(delivery, result, isProbe) };
  }

  /** @returns undefined if it was not sent */
  async #send(delivery: DeliveryDocument): Promise<Tried | undefined> {
    const { registrations, queue, send } = this.#deps;
    const { webhookId, breaker } = this.#endpoint;
    // Checked right before sending, so removing or disabling a registration or revoking its key stops deliveries immediately.
    const recipient = await registrations.recipient(webhookId);
    if (!this.#maySend()) return undefined;
    if (!('inactive' in recipient)) return send(recipient, delivery);
    this.#ending = 'disabled';
    await breaker.change(() => CLOSED);
    await queue.cancelAll(webhookId, recipient.inactive);
    return undefined;
  }

  /** The next attempts of this worker see the change at once. */
  async #changeBreaker({ event }: DeliveryDocument, result: SendResult, isProbe: boolean): Promise<Breaker> {
    const { breaker } = this.#endpoint;
    if (result.error?.type === 'Unreadable') return breaker.state();
    const attempt = { isSuccess: isSuccess(result), isProbe, isTest: event === 'Test' };
    const moment = { now: this.#deps.clock(), random: Math.random() };
    return breaker.change((state) => afterAttempt(state, attempt, moment));
  }

  async #disable({ event, eventId }: DeliveryDocument, reason: string): Promise<void> {
    const { webhookId, breaker } = this.#endpoint;
    this.#ending = 'disabled';
    await this.#deps.disable({ webhookId, reason, ...defined({ eventId: event === 'Test' ? undefined : eventId }) });
    // For when the registration is enabled again.
    await breaker.change(() => CLOSED);
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
