import type { DeliveryState } from '../contract/delivery.ts';
import type { DeliveryKind, Notice, Payload } from '../contract/webhook-payload.ts';
import type { Collection } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { EventTrace } from '../domain/events.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import type { SealedText, SealedTexts } from '../domain/personal-text.ts';
import type { Position } from '../event-store/event-store.ts';
import type { Outcome } from './schedule.ts';
import type { PostResult } from './send/sender.ts';

/** One POST to the receiver and its result. */
export type Attempt = PostResult & {
  readonly at: Timestamp;
  readonly url: string;
  /** `X-Service-Signature` was made with a secret that has been replaced since. */
  readonly previousSecret?: true;
  /**
   * The inputs of its headers, besides the delivery (docs/decisions/webhook-deliveries.md): the time, in milliseconds since the epoch,
   * the marks of the secrets, and the parent id of its trace, which those of earlier releases lack. Absent if nothing was sent.
   */
  readonly signed?: { readonly at: number; readonly with: readonly string[]; readonly parentId?: string };
  /** The sealed answer, if the body had personal texts: `answer` is then empty. */
  readonly sealedAnswer?: SealedText;
};

/** One event for one registration. */
export type DeliveryDocument = {
  /** `eventId:webhookId`; the receiver sees it as `webhook-id`. */
  readonly deliveryId: string;
  readonly webhookId: WebhookId;
  readonly account: AccountKey;
  readonly eventId: string;
  readonly event: DeliveryKind;
  /** Position of the event in the log. Absent from a test delivery. */
  readonly position?: Position;
  /** Deliveries of a registration with the same sequence are sent one at a time, in log order. A booking is a sequence. */
  readonly sequence: string;
  /** Sent and signed byte for byte, the same in every attempt. Texts in `sealed` are put in their places before it is sent. */
  readonly body: string;
  /** The personal texts of the body, sealed. In the body itself they read as erased. */
  readonly sealed?: SealedTexts;
  readonly state: DeliveryState;
  /** Pending: when the next try is due, {@link DUE_NOW} if a user requested it. Otherwise: when it ended. */
  readonly due: Timestamp;
  /** Pending: the delay between its last try and `due`, in milliseconds. */
  readonly delayMs?: number;
  /** Tries of the schedule used since it was created or resent. A try may take several attempts, one per secret. */
  readonly tries: number;
  /** Oldest first; the last {@link MAX_ATTEMPTS}. */
  readonly attempts: readonly Attempt[];
  /** Why it failed or was cancelled. */
  readonly reason?: string;
  /** The trace of the request that led to it. Absent if none did, and from earlier releases. */
  readonly trace?: EventTrace;
  /** When the event happened. */
  readonly eventAt: Timestamp;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
};

export type NewDelivery = Pick<DeliveryDocument, 'webhookId' | 'account' | 'eventId' | 'position'> & Notice;

/** Due time of a delivery that a user requested: before all others, regardless of its receiver's health. */
export const DUE_NOW = toTimestamp(0);

const DAY_MS = 24 * 3_600_000;
/** How long deliveries are kept after they have ended (docs/guides/webhooks.md#retries). */
export const RETENTION_MS = 30 * DAY_MS;
/** Longer than any schedule can run, so that no pending delivery is removed. */
const PENDING_RETENTION_MS = 60 * DAY_MS;
/** Attempts kept with a delivery. */
const MAX_ATTEMPTS = 50;

export const deliveryCollection: Collection<DeliveryDocument> = {
  name: 'webhookDeliveries',
  kind: 'record',
  ttl: 'expiresAt',
  // Finished deliveries stay for a month, and only the index of the listings has them.
  indexes: [
    { fields: ['webhookId', 'due'], where: { state: 'Pending' } },
    { fields: ['webhookId', 'sequence'], where: { state: 'Pending' } },
    { fields: ['createdAt'], where: { state: 'Pending' } },
    { fields: ['webhookId', 'state', 'createdAt'] },
  ],
};

/** The id of the delivery of an event to a registration, so that a redelivered event adds no second one. */
export const deliveryIdOf = (eventId: string, webhookId: string): string => `${eventId}:${webhookId}`;

/** The trace of a delivery. The id of an event that no request led to is a trace id, too, without its hyphens. */
export const traceOf = ({ trace, eventId }: Pick<DeliveryDocument, 'trace' | 'eventId'>): EventTrace =>
  trace ?? { traceId: eventId.replaceAll('-', '') };

const sequenceOf = (payload: Payload, deliveryId: string): string =>
  payload.event === 'Test' ? deliveryId : `booking-${payload.data.bookingId}`;

/** @param now milliseconds since the epoch, here and below */
export function newDelivery(added: NewDelivery, now: number, due = toTimestamp(now)): DeliveryDocument {
  const { webhookId, account, eventId, position, payload, sealed, trace } = added;
  const deliveryId = deliveryIdOf(eventId, webhookId);
  return {
    deliveryId,
    webhookId,
    account,
    eventId,
    event: payload.event,
    ...defined({ position }),
    sequence: sequenceOf(payload, deliveryId),
    body: JSON.stringify(payload),
    ...defined({ sealed, trace }),
    state: 'Pending',
    due,
    tries: 0,
    attempts: [],
    eventAt: payload.timestamp,
    createdAt: toTimestamp(now),
    expiresAt: toTimestamp(now + PENDING_RETENTION_MS),
  };
}

/**
 * A delivery after attempts with this outcome. A success always counts; a failure changes the
 * state only of a delivery that is still pending.
 */
export function afterAttempts(
  delivery: DeliveryDocument,
  attempts: readonly Attempt[],
  outcome: Outcome,
  now: number,
): DeliveryDocument {
  const tries = delivery.tries + 1;
  const attempted = { ...delivery, attempts: [...delivery.attempts, ...attempts].slice(-MAX_ATTEMPTS) };
  if (outcome.state === 'Delivered') return { ...attempted, ...endedAt(now), state: 'Delivered', tries };
  if (delivery.state !== 'Pending') return attempted;
  if (outcome.state === 'Failed') return { ...ended(attempted, outcome, now), tries };
  return { ...attempted, tries, due: toTimestamp(now + outcome.delay), delayMs: outcome.delay };
}

export const ended = (
  delivery: DeliveryDocument,
  { state, reason }: { readonly state: 'Failed' | 'Cancelled'; readonly reason: string },
  now: number,
): DeliveryDocument => ({ ...delivery, ...endedAt(now), state, reason });

const endedAt = (now: number) => ({ due: toTimestamp(now), expiresAt: toTimestamp(now + RETENTION_MS) });

/** A delivery with a full schedule ahead of it, from any state. */
export function restarted(delivery: DeliveryDocument, due: Timestamp, now: number): DeliveryDocument {
  const { reason: _, delayMs: __, ...rest } = delivery;
  return { ...rest, state: 'Pending', due, tries: 0, expiresAt: toTimestamp(now + PENDING_RETENTION_MS) };
}

/** Whether a delivery waits for its first attempt. */
export const isUntried = ({ state, tries }: DeliveryDocument): boolean => state === 'Pending' && tries === 0;
