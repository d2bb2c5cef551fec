import { toTimestamp } from '../../domain/calendar.ts';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { createLruCache } from '../../runtime/lru-cache.ts';
import { isUnavailable } from '../../runtime/unavailable.ts';
import type { Attempt, DeliveryDocument } from '../delivery.ts';
import type { Recipient } from '../registrations.ts';
import type { SealedBodies } from './sealed-bodies.ts';
import { CONTENT_TYPE, isSuccess, type Sender, type SendResult } from './sender.ts';
import { markOf, type Secrets, signatureHeaders } from './signature.ts';

/** Receivers compare `webhook-timestamp` with their own clocks, so `CLOCK_SHIFT` must not move it. */
const realClock = systemClock();

/** The POSTs that one try of a delivery took, and the result of the last of them. */
export type Tried = { readonly attempts: readonly Attempt[]; readonly result: SendResult };

/** Makes one try of a delivery: signs it, sends it, and records each POST. */
export type Try = (recipient: Recipient, delivery: DeliveryDocument) => Promise<Tried>;

export function createTry(deps: {
  readonly sender: Pick<Sender, 'post'>;
  readonly bodies: Pick<SealedBodies, 'bodyOf' | 'attemptToStore'>;
  readonly clock: Clock;
  readonly isStopping: () => boolean;
}): Try {
  const { sender, bodies, clock, isStopping } = deps;
  /** Registrations whose receiver still verifies with a replaced secret, and that secret. */
  const onPreviousSecret = createLruCache<string, string>(10_000);

  /** @param signing the secrets to sign with; `current` is the one since the last rotation */
  async function post(delivery: DeliveryDocument, url: string, body: string, signing: Secrets, current: string) {
    const at = toTimestamp(clock());
    const sentAt = realClock();
    const signature = signatureHeaders(signing, { id: delivery.deliveryId, at: sentAt, body });
    const result = await sender.post({ url, headers: { 'content-type': CONTENT_TYPE, ...signature }, body });
    const { retryAfter: _, ...kept } = result;
    const made: Attempt = {
      at,
      url,
      ...kept,
      signed: { at: sentAt, with: signing.map(markOf) },
      ...(signing[0] === current ? {} : { previousSecret: true }),
    };
    return { result, attempt: await bodies.attemptToStore(delivery, made) };
  }

  return async ({ webhookId, url, secrets }, delivery) => {
    const [current] = secrets;
    const body = await bodies.bodyOf(delivery).catch(unreadable);
    if (typeof body !== 'string') return { result: body, attempts: [{ at: toTimestamp(clock()), url, ...body }] };
    const accepted = secrets.find((secret) => secret === onPreviousSecret.get(webhookId)) ?? current;
    const [first, ...others] = eachFirst(secrets, accepted);
    let made = await post(delivery, url, body, first, current);
    const attempts = [made.attempt];
    // While several secrets are valid, a receiver that responds with 401 gets the delivery again, signed with each of the others in turn.
    for (const signing of others) {
      if (made.result.status !== 401 || isStopping()) break;
      made = await post(delivery, url, body, signing, current);
      attempts.push(made.attempt);
      if (!isSuccess(made.result)) continue;
      if (signing[0] === current) onPreviousSecret.delete(webhookId);
      else onPreviousSecret.set(webhookId, signing[0]);
    }
    return { result: made.result, attempts };
  };
}

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
