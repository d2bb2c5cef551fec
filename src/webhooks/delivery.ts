import type { DeliveryState } from '../contract/delivery.ts';
import type { DeliveryKind, Notice, Payload } from '../contract/webhook-payload.ts';
import type { Collection } from '../document-store/document-store.ts';
import type { AccountKey } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import type { EventTrace } from '../domain/event-trace.ts';
import type { Timestamp, WebhookId } from '../domain/ids.ts';
import type { SealedText, SealedTexts } from '../domain/personal-text.ts';
import type { Position } from '../event-store/event-store.ts';
import { type Progress, untried } from '../outbox/progress.ts';
import type { PostResult } from './send/sender.ts';

/** One POST to the receiver and its result. */
export type Attempt = PostResult & {
  readonly at: Timestamp;
  readonly url: string;
  /** `X-Service-Signature` was made with a secret that has been replaced since. */
  readonly previousSecret?: true;
  /**
   * The inputs of its headers, besides the delivery (docs/decisions/webhook-deliveries.md): the time, in milliseconds since the epoch,
   * the marks of the secrets, and the parent id of its trace. Absent if nothing was sent.
   */
  readonly signed?: { readonly at: number; readonly with: readonly string[]; readonly parentId: string };
  /** The sealed answer, if the body had personal texts: `answer` is then empty. */
  readonly sealedAnswer?: SealedText;
};

/** One event for one registration. A try may take several attempts, one per secret. */
export type DeliveryDocument = Progress<DeliveryState, Attempt> & {
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
  /** The trace of the request that led to it. Absent if none did. */
  readonly trace?: EventTrace;
  /** When the event happened. */
  readonly eventAt: Timestamp;
};

export type NewDelivery = Pick<DeliveryDocument, 'webhookId' | 'account' | 'eventId' | 'position'> & Notice;

/** Due time of a delivery that a user requested: before all others, regardless of its receiver's health. */
export const DUE_NOW = toTimestamp(0);

const DAY_MS = 24 * 3_600_000;
/** Longer than any schedule can run, so that no pending delivery is removed. */
export const PENDING_RETENTION_MS = 60 * DAY_MS;

/** Whether a delivery that waits is kept for less than that by more than a day. */
export const isToBeProlonged = (expiresAt: Timestamp, now: number): boolean =>
  Date.parse(expiresAt) - now < PENDING_RETENTION_MS - DAY_MS;

/** Attempts kept with a delivery. */
export const MAX_ATTEMPTS = 50;

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

/** @param now milliseconds since the epoch */
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
    ...untried(now, PENDING_RETENTION_MS),
    due,
    eventAt: payload.timestamp,
  };
}

/** Whether a delivery waits for its first attempt. */
export const isUntried = ({ state, tries }: DeliveryDocument): boolean => state === 'Pending' && tries === 0;
