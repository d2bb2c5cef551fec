import type { WebhookId } from '../domain/ids.ts';
import { OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';
import type { DeliveryKind } from './webhook-payload.ts';

/** `Cancelled`: the registration was removed or disabled, or its key revoked, before it could be delivered. */
export const DELIVERY_STATES = ['Pending', 'Delivered', 'Failed', 'Cancelled'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

const AttemptError = Type.Object({
  type: Type.String({ description: 'Why there was no response.' }),
  message: Type.String(),
});

const Attempt = Type.Object({
  at: Timestamp('When, UTC.'),
  url: Type.String({ description: 'Where it was posted to.' }),
  error: Type.Optional(AttemptError),
  status: Type.Optional(Type.Integer({ description: 'The status of the response.' })),
  address: Type.Optional(Type.String({ description: 'IP address of the receiver, if it got that far.' })),
  duration: Type.Number({ description: 'Milliseconds.' }),
  answer: Type.String({ description: 'The first KiB of the response body.' }),
  previousSecret: Type.Optional(
    Type.Literal(true, { description: 'Signed with the secret before the last rotation first.' }),
  ),
});

/** A delivery as an operator sees it: the command line's JSON. */
export const OperatorDelivery = Type.Object({
  deliveryId: Type.String({ description: 'The receiver sees it as webhook-id.' }),
  webhookId: Type.Unsafe<WebhookId>(Type.String({ description: 'The registration it is for.' })),
  account: Type.String({ description: 'The account of the registration, such as Brand:7.' }),
  eventId: Type.String({ description: 'The event it reports.' }),
  event: Type.Unsafe<DeliveryKind>(Type.String({ description: 'The kind of the event, or Test.' })),
  body: Type.String({ description: 'The payload, as sent and signed.' }),
  state: OneOf(DELIVERY_STATES),
  due: Timestamp(
    'Pending: when the next try is due; 1970-01-01T00:00:00.000Z if somebody asked for it. Otherwise: when it ended. UTC.',
  ),
  tries: Type.Integer({ description: 'Tries of the schedule used since it was created or resent.' }),
  attempts: Type.Array(Attempt, { description: 'Each POST and what came of it, oldest first.' }),
  eventAt: Timestamp('When the event happened, UTC.'),
  createdAt: Timestamp('When the delivery was created, UTC.'),
  expiresAt: Timestamp('When the delivery is deleted, UTC.'),
  reason: Type.Optional(Type.String({ description: 'Why it failed or was cancelled.' })),
});

type Attempted = Omit<Static<typeof Attempt>, 'error'> & { readonly error?: Readonly<Static<typeof AttemptError>> };
type Delivery = Omit<Static<typeof OperatorDelivery>, 'attempts'> & { readonly attempts: readonly Attempted[] };

const attemptError = shaped(AttemptError);
const attempt = shaped(Attempt);
const operatorDelivery = shaped(OperatorDelivery);

const toAttempt = (made: Attempted): Static<typeof Attempt> =>
  attempt({ ...made, error: made.error && attemptError(made.error) });

export const toOperatorDelivery = (delivery: Delivery): Static<typeof OperatorDelivery> =>
  operatorDelivery({ ...delivery, attempts: delivery.attempts.map(toAttempt) });
