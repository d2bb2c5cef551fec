import { Type } from 'typebox';
import { MAX_IDEMPOTENCY_KEY, MAX_TEXT } from '../domain/space-day.ts';
import { ERROR_STATUS } from './errors.ts';

/**
 * The resources and bodies of the REST API (docs/specification.md#resources); the same schemas check, serialise and document.
 */

const Hour = (description: string) => Type.Integer({ minimum: 0, maximum: 23, description });
const PlainDate = (description: string) => Type.String({ format: 'date', description });
const Timestamp = (description: string) => Type.String({ format: 'date-time', description });
const Id = (description: string) => Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
const UsageHours = Type.Optional(
  Type.Number({ description: 'Hours of use left inside the booking window; only when the event would pass its end.' }),
);

export const BookingStatus = Type.Enum(['Pending', 'Approved', 'Cancelled', 'Completed'], {
  type: 'string',
  description: 'Pending, Approved, Cancelled or Completed.',
});

export const BookingDto = Type.Object(
  {
    id: Id('Unique booking identifier.'),
    spaceId: Id('The booked space.'),
    spaceName: Type.String({ description: 'Display name of the space.' }),
    date: PlainDate('Booking date.'),
    startHour: Hour('Start, 24-hour clock.'),
    endHour: Hour('End, 24-hour clock.'),
    status: Type.String({ enum: ['Pending', 'Approved', 'Cancelled', 'Completed'] }),
    totalPrice: Type.Number({ description: 'Total amount charged: flat event fee plus brand service fee.' }),
    createdAt: Timestamp('Creation, UTC.'),
    usageHours: UsageHours,
  },
  { title: 'BookingDto' },
);

export const TimeSlot = Type.Object({
  hour: Hour('Starting hour, 24-hour clock.'),
  label: Type.String({ description: '12-hour form with AM/PM.' }),
  isAvailable: Type.Boolean({ description: 'True when the slot is open.' }),
  usageHours: UsageHours,
});

export const AvailabilityResponse = Type.Object(
  {
    spaceId: Id('Space identifier.'),
    spaceName: Type.String({ description: 'Display name.' }),
    date: PlainDate('The queried date.'),
    windowStart: Hour('Earliest hour of the booking window.'),
    windowEnd: Hour('Latest hour of the booking window.'),
    durationHours: Type.Number({ description: 'Fixed event duration set by the community.' }),
    timeSlots: Type.Array(TimeSlot, { description: 'One entry per start hour.' }),
  },
  { title: 'AvailabilityResponse' },
);

export const ReviewDto = Type.Object(
  {
    id: Id('Review identifier.'),
    propertyId: Id('The community (property) the review belongs to.'),
    spaceId: Id('The space reviewed.'),
    rating: Type.Integer({ minimum: 1, maximum: 5, description: 'Star rating.' }),
    title: Type.String({ description: 'Headline.' }),
    content: Type.String({ description: 'Full review text.' }),
    isVerifiedBooking: Type.Boolean({ description: 'Whether the reviewer completed a booking.' }),
    createdAt: Timestamp('Submission, UTC.'),
  },
  { title: 'ReviewDto' },
);

const webhookFields = {
  id: Type.String({ description: 'Registration identifier, wh_ followed by characters.' }),
  url: Type.String({ format: 'uri', description: 'Registered HTTPS endpoint.' }),
  events: Type.Integer({ description: 'Sum of the subscribed event values.' }),
  createdAt: Timestamp('Registration, UTC.'),
};
export const WebhookDto = Type.Object(webhookFields, { title: 'WebhookDto' });
export const WebhookCreatedDto = Type.Object(
  {
    ...webhookFields,
    signingSecret: Type.String({
      description: 'HMAC-SHA256 secret for verifying deliveries. Returned this once only.',
    }),
  },
  { title: 'WebhookCreatedDto' },
);

export const HistoryEntry = Type.Object(
  {
    event: Type.String({ description: 'What happened.' }),
    at: Timestamp('When, UTC.'),
    actor: Type.Object({
      kind: Type.String({ enum: ['apiKey', 'client', 'user', 'operator', 'system'] }),
      id: Type.String(),
      account: Type.Optional(
        Type.Object({ kind: Type.String({ enum: ['Community', 'Brand'] }), id: Id('Account identifier.') }),
      ),
    }),
    changes: Type.Record(Type.String(), Type.Object({ from: Type.Optional(Type.Unknown()), to: Type.Unknown() }), {
      description: 'The fields that changed, before and after.',
    }),
  },
  { title: 'HistoryEntry' },
);

export const SpaceParams = Type.Object({ spaceId: Id('Space identifier.') });
export const BookingParams = Type.Object({ id: Id('Booking identifier.') });
export const CommunityParams = Type.Object({ communityId: Id('Community identifier.') });
export const WebhookParams = Type.Object({ id: Type.String({ description: 'Webhook identifier.' }) });

export const AvailabilityQuery = Type.Object({ date: PlainDate('Today or a future date.') });
export const BookingsQuery = Type.Object({
  startDate: Type.Optional(PlainDate('Only bookings on or after this date.')),
  endDate: Type.Optional(PlainDate('Only bookings on or before this date.')),
  status: Type.Optional(BookingStatus),
});

export const CreateBooking = Type.Object({
  spaceId: Id('The space to book.'),
  startTime: PlainDate('The requested date.'),
  startHour: Hour('Requested start hour.'),
  message: Type.Optional(Type.String({ maxLength: MAX_TEXT, description: 'Note to the community.' })),
});
export const IdempotencyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_IDEMPOTENCY_KEY,
      description: 'The same key and body again answer the first booking instead of making a second.',
    }),
  ),
});

export const CreateWebhook = Type.Object({
  url: Type.String({ description: 'HTTPS endpoint that receives deliveries; must be publicly reachable.' }),
  events: Type.Integer({ description: 'Sum of event values; 15 subscribes to all.' }),
});

const ErrorDto = Type.Object(
  {
    error: Type.String({ enum: Object.keys(ERROR_STATUS), description: 'Machine-readable code.' }),
    details: Type.String({ description: 'Extra context.' }),
  },
  { title: 'Error' },
);

/** The error answers of an operation, for the documentation. */
export const errors = (...statuses: (400 | 401 | 403 | 404 | 422 | 500)[]) =>
  Object.fromEntries(statuses.map((status) => [status, { description: describe(status), ...ErrorDto }]));

const describe = (status: number): string =>
  Object.entries(ERROR_STATUS)
    .filter(([, code]) => code === status)
    .map(([error]) => error)
    .join(' or ');
