import type { Stored } from '../document-store/document-store.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { newParentId, traceparentOf } from '../http/trace.ts';
import type { Permits } from '../outbox/permits.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { faultPoint } from '../runtime/fault-point.ts';
import { isUnavailable } from '../runtime/unavailable.ts';
import { afterAttempt, type Breaker, CLOSED, DISABLE_AFTER_PROBES, isLongDead, mayTry } from './breaker.ts';
import type { LoadedBreakers } from './breakers.ts';
import { type Attempt, type DeliveryDocument, DUE_NOW, isToBeProlonged, traceOf } from './delivery.ts';
import { DueDeliveries } from './due-deliveries.ts';
import { GONE, outcomeOf } from './outcome.ts';
import type { DeliveryQueue } from './queue.ts';
import type { Recipient, Registrations } from './registrations.ts';
import type { SealedBodies } from './send/sealed-bodies.ts';
import { CONTENT_TYPE, isSuccess, type Sender, type SendResult } from './send/sender.ts';
import { markOf, type Secrets, signatureHeaders } from './send/signature.ts';

type Delivery = Stored<DeliveryDocument>;

/** Deliveries of an endpoint in memory, and per read of the store. */
const PAGE = 128;
/** Receivers compare `webhook-timestamp` with their own clocks, so `CLOCK_SHIFT` must not move it. */
const realClock = systemClock();

export type EndpointDeps = {
  readonly queue: Pick<DeliveryQueue, 'due' | 'complete' | 'cancelAll' | 'prolong'>;
  readonly registrations: Pick<Registrations, 'recipient'>;
  readonly bodies: Pick<SealedBodies, 'bodyOf' | 'attemptToStore'>;
  readonly sender: Pick<Sender, 'post'>;
  readonly breakers: LoadedBreakers;
  readonly permits: Pick<Permits, 'acquire'>;
  /** Attempts in flight to one endpoint. */
  readonly perEndpoint: number;
  /** Endpoints that have succeeded since this process took the role. */
  readonly proven: Cache<true>;
  /** Endpoints whose receiver still verifies with a replaced secret, and that secret. */
  readonly onPreviousSecret: Cache<string> & { delete(webhookId: string): unknown };
  /** Disables a registration; `reason` is shown to its owner. */
  readonly disable: (disabled: {
    readonly webhookId: string;
    readonly reason: string;
    /** The event whose delivery led to it; absent for a test delivery. */
    readonly eventId?: string;
  }) => Promise<unknown>;
  readonly clock: Clock;
  /** Whether this process may start an attempt. */
  readonly isActive: () => boolean;
  /** Receives all work that a stop waits for. It never rejects. */
  readonly track: (work: Promise<void>) => void;
  /** Reports what failed. */
  readonly report: (error: unknown, subject: { readonly webhookId: string; readonly deliveryId?: string }) => void;
  /** Called when nothing is due, so that the endpoint can be forgotten. */
  readonly onIdle: (endpoint: Endpoint) => void;
};

type Cache<V> = { get(webhookId: string): V | undefined; set(webhookId: string, value: V): unknown };

/**
 * Which due deliveries the store may hold that are not in memory.
 *
 * | State     | Which                                            | They are read                         |
 * |-----------|--------------------------------------------------|---------------------------------------|
 * | `none`    | none                                             |                                       |
 * | `more`    | those for which memory had no room               | once none waits in memory             |
 * | `some`    | added by another process, or dropped from memory | once none in memory may be sent       |
 * | `first`   | the same, and a user waits for one of them       | before any other is sent              |
 * | `reading` | those that the read under way returns            | now; then the state is `none`, `more` |
 */
type Unread = 'none' | 'more' | 'some' | 'first' | 'reading';

/** Delivers to one endpoint: load → check the registration → sign → send → record (docs/decisions/webhook-deliveries.md). */
export class Endpoint {
  readonly webhookId: string;
  readonly #deps: EndpointDeps;
  readonly #due = new DueDeliveries();
  #unread: Unread = 'none';
  /** Whether it waits for a read or a permit. */
  #isWaiting = false;
  /** How many attempts wait for an answer; the outcomes of the others in flight are being stored. */
  #sending = 0;
  /**
   * Why no attempt may start: the registration is being disabled; or something failed, or the account is suspended, and it is tried again at the
   * next {@link wake}.
   */
  #paused: 'disabling' | 'untilWoken' | undefined;

  constructor(webhookId: string, deps: EndpointDeps) {
    this.webhookId = webhookId;
    this.#deps = deps;
  }

  /**
   * Takes over a delivery that has just been stored. If there is no room in memory, it is read from the store later.
   * @param earlier stored deliveries of the same booking that go first
   */
  add(delivery: Delivery, earlier: readonly Delivery[]): void {
    if (this.#unread === 'reading') this.#unread = 'some';
    else if (this.#unread === 'none') {
      if (!earlier.every((each) => this.#due.has(each))) this.#unread = 'some';
      else if (this.#due.waiting < PAGE && this.#mayTry()) this.#due.add(delivery);
      else this.#unread = 'more';
    }
    this.#next();
  }

  /**
   * Call when the store may hold a due delivery that {@link add} did not get.
   * @param isRequested a user waits for it, so it goes first, and an open breaker does not delay it
   */
  wake(isRequested: boolean): void {
    if (this.#paused === 'untilWoken') this.#paused = undefined;
    if (this.#unread !== 'first') this.#unread = isRequested ? 'first' : 'some';
    this.#next();
  }

  /** Starts what may start now. Called after every change. */
  #next(): void {
    if (this.#isWaiting || this.#paused !== undefined || !this.#deps.isActive()) return;
    if (this.#unread === 'first') this.#load();
    else if (this.#hasRoom()) {
      const delivery = this.#nextDelivery();
      if (delivery !== undefined) this.#requestPermit(delivery.document.account);
      else if (this.#mayTry() && this.#isReadDue()) this.#load();
      else if (this.#due.inFlight === 0) this.#rest();
    }
  }

  #hasRoom(): boolean {
    return this.#sending < (this.#breaker().open === undefined ? this.#deps.perEndpoint : 1);
  }

  #isReadDue(): boolean {
    return this.#unread === 'some' || (this.#unread === 'more' && this.#due.waiting === 0);
  }

  /** While the breaker is open, only a probe may be sent, or a sequence with a delivery that a user requested. */
  #nextDelivery(): Delivery | undefined {
    if (this.#mayTry()) return this.#due.next();
    return this.#due.next((queue) => queue.some(({ document }) => document.due === DUE_NOW));
  }

  /** Nothing may be sent. What waits for the breaker is read again then. */
  #rest(): void {
    if (this.#due.waiting > 0) this.#dropWaiting();
    if (this.#unread === 'none') this.#deps.onIdle(this);
  }

  #dropWaiting(): void {
    this.#due.clear();
    if (this.#unread !== 'first') this.#unread = 'some';
  }

  #load(): void {
    this.#isWaiting = true;
    this.#unread = 'reading';
    // The read finds these again, after more urgent ones.
    this.#due.clear();
    this.#run(() => this.#read());
  }

  async #read(): Promise<void> {
    try {
      // A snapshot from before the query: a delivery that ends meanwhile may still be found as pending.
      const { deliveries, hasMore } = await this.#deps.queue.due(this.webhookId, PAGE, this.#due.inFlightKeys());
      for (const delivery of deliveries) this.#due.add(delivery);
      if (this.#unread === 'reading') this.#unread = hasMore ? 'more' : 'none';
    } finally {
      this.#isWaiting = false;
    }
  }

  #requestPermit(account: string): void {
    this.#isWaiting = true;
    const isUnproven = this.#deps.proven.get(this.webhookId) === undefined;
    void this.#deps.permits.acquire(account, isUnproven).then((release) => {
      this.#isWaiting = false;
      // The state may have changed meanwhile.
      const mayStart = this.#paused === undefined && this.#deps.isActive() && this.#unread !== 'first';
      const delivery = mayStart && this.#hasRoom() ? this.#nextDelivery() : undefined;
      if (delivery === undefined) release();
      else this.#start(delivery, release);
      this.#next();
    });
  }

  #start(delivery: Delivery, release: () => void): void {
    const isProbe = this.#breaker().open !== undefined && this.#mayTry();
    this.#due.start(delivery);
    this.#sending += 1;
    this.#run(() => this.#deliver(delivery, isProbe, release), delivery);
  }

  async #deliver(delivery: Delivery, isProbe: boolean, release: () => void): Promise<void> {
    const result = await this.#checkAndSend(delivery.document).finally(() => {
      this.#sending -= 1;
      release();
    });
    if (result !== undefined) await this.#record(delivery, result, isProbe);
  }

  /** @returns undefined if it was not sent */
  async #checkAndSend(delivery: DeliveryDocument): Promise<TryResult | undefined> {
    const { registrations, queue, isActive } = this.#deps;
    // Checked right before sending, so removing or disabling a registration or revoking its key stops deliveries immediately.
    const recipient = await registrations.recipient(this.webhookId);
    if (!isActive() || this.#paused !== undefined) return undefined;
    if ('waiting' in recipient) return this.#wait(delivery);
    if (!('inactive' in recipient)) return this.#signAndSend(recipient, delivery);
    await this.#disabling(() => queue.cancelAll(this.webhookId, recipient.inactive));
    return undefined;
  }

  /** The deliveries wait for as long as the account is suspended. */
  async #wait({ expiresAt }: DeliveryDocument): Promise<undefined> {
    this.#paused = 'untilWoken';
    this.#dropWaiting();
    if (isToBeProlonged(expiresAt, this.#deps.clock())) await this.#deps.queue.prolong(this.webhookId);
  }

  async #signAndSend({ webhookId, url, secrets }: Recipient, delivery: DeliveryDocument): Promise<TryResult> {
    const { bodies, clock, isActive, onPreviousSecret } = this.#deps;
    const [current] = secrets;
    const body = await bodies.bodyOf(delivery).catch(unreadable);
    if (typeof body !== 'string') return { result: body, attempts: [{ at: toTimestamp(clock()), url, ...body }] };
    const accepted = secrets.find((secret) => secret === onPreviousSecret.get(webhookId)) ?? current;
    const [first, ...others] = eachFirst(secrets, accepted);
    let last = await this.#post(delivery, url, body, first, current);
    const attempts = [last.attempt];
    // While several secrets are valid, a receiver that responds with 401 gets the delivery again, signed with each of the others in turn.
    for (const signing of others) {
      if (last.result.status !== 401 || !isActive()) break;
      last = await this.#post(delivery, url, body, signing, current);
      attempts.push(last.attempt);
      if (!isSuccess(last.result)) continue;
      if (signing[0] === current) onPreviousSecret.delete(webhookId);
      else onPreviousSecret.set(webhookId, signing[0]);
    }
    return { result: last.result, attempts };
  }

  /** @param signing the secrets to sign with; `current` is the one since the last rotation */
  async #post(delivery: DeliveryDocument, url: string, body: string, signing: Secrets, current: string) {
    const { bodies, clock, sender } = this.#deps;
    const at = toTimestamp(clock());
    const sentAt = realClock();
    const signature = signatureHeaders(signing, { id: delivery.deliveryId, at: sentAt, body });
    const parentId = newParentId();
    const traceparent = traceparentOf(traceOf(delivery), parentId);
    const headers = { 'content-type': CONTENT_TYPE, ...signature, traceparent };
    const result = await sender.post({ url, headers, body });
    const { retryAfter: _, ...posted } = result;
    const attempt: Attempt = {
      at,
      url,
      ...posted,
      signed: { at: sentAt, with: signing.map(markOf), parentId },
      ...(signing[0] === current ? {} : { previousSecret: true }),
    };
    return { result, attempt: await bodies.attemptToStore(delivery, attempt) };
  }

  /** Changes the breaker, which may forbid the next attempt, and stores the outcome while the next ones are being sent. */
  async #record(delivery: Delivery, { attempts, result }: TryResult, isProbe: boolean): Promise<void> {
    faultPoint('sent, outcome not stored');
    const { queue, clock, proven } = this.#deps;
    const outcome = outcomeOf(delivery.document, result, { now: clock(), random: Math.random() });
    if (outcome.state === 'Delivered') proven.set(this.webhookId, true);
    const changed = this.#changeBreaker(delivery.document, result, isProbe);
    const stored = Promise.all([changed, queue.complete(delivery, attempts, outcome)]);
    const reason = result.status === 410 ? GONE : this.#longDead();
    if (reason === undefined || this.#paused === 'disabling') {
      this.#next();
      await stored;
    } else await this.#disable(delivery.document, reason, stored);
  }

  async #changeBreaker({ event }: DeliveryDocument, result: SendResult, isProbe: boolean): Promise<void> {
    if (result.error?.type === 'Unreadable') return;
    const attempt = { isSuccess: isSuccess(result), isProbe, isTest: event === 'Test' };
    const moment = { now: this.#deps.clock(), random: Math.random() };
    await this.#deps.breakers.change(this.webhookId, (breaker) => afterAttempt(breaker, attempt, moment));
  }

  #longDead(): string | undefined {
    return isLongDead(this.#breaker()) ? `${DISABLE_AFTER_PROBES} attempts in a row failed` : undefined;
  }

  async #disable({ event, eventId }: DeliveryDocument, reason: string, stored: Promise<unknown>): Promise<void> {
    const cause = defined({ eventId: event === 'Test' ? undefined : eventId });
    await this.#disabling(async () => {
      await stored;
      await this.#deps.disable({ webhookId: this.webhookId, reason, ...cause });
    });
  }

  /** Starts no attempt while `work` disables the registration or cancels its deliveries. */
  async #disabling(work: () => Promise<unknown>): Promise<void> {
    this.#paused = 'disabling';
    try {
      await work();
      // For when the registration is enabled again.
      await this.#deps.breakers.change(this.webhookId, () => CLOSED);
      this.#paused = undefined;
    } catch (error) {
      this.#paused = 'untilWoken';
      throw error;
    } finally {
      this.#dropWaiting();
    }
  }

  /** Runs work that a stop waits for, then starts what may start. @param delivery the one that ends with it */
  #run(work: () => Promise<void>, delivery?: Delivery): void {
    const run = work()
      .catch((error: unknown) => {
        this.#paused ??= 'untilWoken';
        this.#dropWaiting();
        this.#deps.report(error, { webhookId: this.webhookId, ...defined({ deliveryId: delivery?.key }) });
      })
      .then(() => {
        if (delivery !== undefined) this.#due.finish(delivery);
        this.#next();
      });
    this.#deps.track(run);
  }

  #breaker(): Breaker {
    return this.#deps.breakers.state(this.webhookId);
  }

  #mayTry(): boolean {
    return mayTry(this.#breaker(), this.#deps.clock());
  }
}

/** The POSTs that one try of a delivery took, and the result of the last of them. */
type TryResult = { readonly attempts: readonly Attempt[]; readonly result: SendResult };

/** The secrets in several orders: each of them first once, beginning with `accepted`. */
function eachFirst(secrets: Secrets, accepted: string): readonly [Secrets, ...Secrets[]] {
  const beginningWith = (first: string): Secrets => [first, ...secrets.filter((secret) => secret !== first)];
  const [, ...others] = beginningWith(accepted);
  return [beginningWith(accepted), ...others.map(beginningWith)];
}

/**
 * The result of a try that was not sent, because a sealed text in the body cannot be opened. It is retried like any failure, and other
 * deliveries pass. An unavailable store affects all deliveries, so that error is thrown.
 */
function unreadable(error: unknown): SendResult {
  if (isUnavailable(error) || !(error instanceof Error)) throw error;
  return { error: { type: 'Unreadable', message: error.message }, duration: 0, answer: '' };
}
