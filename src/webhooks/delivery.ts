import type { DeliveryState } from '../contract/delivery.ts';
import type { DeliveryKind, Payload } from '../contract/webhook-payload.ts';
import type { Collection } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import type { SealedText, SealedTexts } from '../domain/personal-text.ts';
import type { Position } from '../event-store/event-store.ts';
import type { SendResult } from './sending.ts';

/** One POST to the receiver and what came of it. */
export type Attempt = Omit<SendResult, 'retryAfter'> & {
  readonly at: Timestamp;
  readonly url: string;
  /** `X-Service-Signature` was made with the secret before the last rotation. */
  readonly previousSecret?: true;
  /**
   * What its headers were made of, besides the delivery (docs/decisions/webhook-deliveries.md): when, in milliseconds since the
   * epoch, and the marks of the secrets. Absent where nothing was sent.
   */
  readonly signed?: { readonly at: number; readonly with: readonly string[] };
  /** The answer, if the body had personal texts: `answer` is then empty. */
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
  /** Those of one registration with the same sequence are sent one at a time, in the order of the log: all of one booking. */
  readonly sequence: string;
  /** Sent and signed byte for byte, the same in every attempt. Where `sealed` has a text, that takes its place when it is sent. */
  readonly body: string;
  /** The personal texts in the data of the body, which itself says that they were erased. */
  readonly sealed?: SealedTexts;
  readonly state: DeliveryState;
  /** Pending: when the next try is due, {@link AT_ONCE} if somebody is waiting for it. Otherwise: when it ended. */
  readonly due: Timestamp;
  /** Pending: how long after its last try it is due, in milliseconds. */
  readonly delayMs?: number;
  /** Tries of the schedule used since it was created or resent. */
  readonly tries: number;
  /** {@link RunningTime} of the first of these tries, in milliseconds. */
  readonly triedFrom?: number;
  /** Oldest first; the last {@link MAX_ATTEMPTS}. */
  readonly attempts: readonly Attempt[];
  /** Why it failed or was cancelled. */
  readonly reason?: string;
  /** When the event happened. */
  readonly eventAt: Timestamp;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
};

/** When a delivery that somebody asked for is due: before all others, and whatever the state of its receiver. */
export const AT_ONCE = toTimestamp(0);

const DAY_MS = 24 * 3_600_000;
/** How long deliveries are kept after they have ended (docs/decisions/webhook-deliveries.md). */
export const RETENTION_MS = 30 * DAY_MS;
/** Longer than any schedule can run, so that no pending delivery is removed. */
export const PENDING_RETENTION_MS = 60 * DAY_MS;
/** Attempts kept with a delivery. */
export const MAX_ATTEMPTS = 50;

export const deliveryCollection: Collection<DeliveryDocument> = {
  name: 'webhookDeliveries',
  kind: 'record',
  ttl: 'expiresAt',
  // Those that have ended stay for a month, and are in the index of the listings alone.
  indexes: [
    { fields: ['webhookId', 'due'], where: { state: 'Pending' } },
    { fields: ['webhookId', 'sequence'], where: { state: 'Pending' } },
    { fields: ['webhookId', 'state', 'createdAt'] },
  ],
};

/** Those of one registration with the same sequence are sent one at a time: all of one booking. */
export const sequenceOf = (payload: Payload, deliveryId: string): string =>
  payload.event === 'Test' ? deliveryId : `booking-${payload.data.bookingId}`;

/** How far the clocks of two processes may differ before anybody minds. */
export const CLOCK_SLACK_MS = 1_000;

/**
 * Whether the moment at which a delivery is due can be right: not further ahead than its planned delay, which is none before the
 * first try.
 */
export const isDueBelieved = ({ due, delayMs = 0 }: DeliveryDocument, now: number): boolean =>
  Date.parse(due) - now <= delayMs + CLOCK_SLACK_MS;
