import type { Timestamp, WebhookId } from '../domain/ids.ts';
import { picked } from '../domain/picked.ts';
import type { DeliveryKind } from '../domain/webhook.ts';

/** `Cancelled`: the registration was removed or disabled, or its key revoked, before it could be delivered. */
export const DELIVERY_STATES = ['Pending', 'Delivered', 'Failed', 'Cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

type Attempt = {
  readonly at: Timestamp;
  readonly url: string;
  readonly error?: { readonly type: string; readonly message: string };
  /** The status of the response. */
  readonly status?: number;
  /** IP address of the receiver, if the attempt got that far. */
  readonly address?: string;
  /** Milliseconds. */
  readonly duration: number;
  /** The first KiB of the response body. */
  readonly answer: string;
  /** Whether it was signed with the secret before the last rotation first. */
  readonly previousSecret?: true;
};

type Delivery = {
  readonly deliveryId: string;
  readonly webhookId: WebhookId;
  readonly account: string;
  readonly eventId: string;
  readonly event: DeliveryKind;
  readonly body: string;
  readonly state: DeliveryState;
  readonly due: Timestamp;
  readonly tries: number;
  readonly attempts: readonly Attempt[];
  readonly eventAt: Timestamp;
  readonly createdAt: Timestamp;
  readonly expiresAt: Timestamp;
  readonly reason?: string;
};

const toAttempt = (attempt: Attempt) => ({
  ...picked(attempt, ['at', 'url']),
  error: attempt.error && picked(attempt.error, ['type', 'message']),
  ...picked(attempt, ['status', 'address', 'duration', 'answer', 'previousSecret']),
});

/** A delivery as the command line prints it with `--json`. */
export const toOperatorDelivery = (delivery: Delivery) => ({
  ...picked(delivery, ['deliveryId', 'webhookId', 'account', 'eventId', 'event', 'body', 'state', 'due', 'tries']),
  attempts: delivery.attempts.map(toAttempt),
  ...picked(delivery, ['eventAt', 'createdAt', 'expiresAt', 'reason']),
});
