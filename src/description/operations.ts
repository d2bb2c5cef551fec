import { NOT_REPEATED } from '../domain/booking-details.ts';
/** The operations of the API, in the order in which they are described. */
export type OperationId = keyof typeof OPERATIONS;

type Operation = {
  readonly tag: 'Spaces' | 'Bookings' | 'Customers' | 'Reviews' | 'Webhooks';
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  /** Description of the successful response. */
  readonly success: string;
  /** The cause of a failure, by status, where the error code alone does not explain it. */
  readonly failures?: Readonly<Record<number, string>>;
};

const notRepeated = NOT_REPEATED.map((field) => `\`${field}\``).join(', ');

/** Texts of each operation in the description, besides its schemas. */
export const OPERATIONS = {
  listSpaces: {
    tag: 'Spaces',
    summary: 'List spaces, or search for some',
    description:
      'The spaces with their hours, price and community, by id. A Brand sees those that take bookings, a Community ' +
      'all of its own. All come back in one answer.\n\nWith parameters it is a search: a space must be all that they ' +
      'ask for, and free on one of the days. It returns the first `limit` in the order of `sort`; `offset` continues.',
    success: 'The spaces; an empty array if there are none.',
    failures: {
      400: 'A parameter is unknown or its value is wrong.',
      404: 'There is no such community, or you may not see it.',
    },
  },
  getSpace: {
    tag: 'Spaces',
    summary: 'Get a space',
    description:
      'The hours, the price and the community of a space. A Community sees its own spaces, a Brand all of them, ' +
      'also one that takes no bookings at the moment (`active` is false).',
    success: 'The space.',
    failures: { 400: 'The id is not a number.', 404: 'There is no such space, or you may not see it.' },
  },
  getAvailability: {
    tag: 'Spaces',
    summary: 'Get the availability of a space on a date',
    description:
      'One slot for each start hour, and whether it is open. A Community sees its own spaces, a Brand all of them. ' +
      'A space that takes no bookings has no open slot.',
    success: 'The slots of that day.',
    failures: { 400: 'The date is missing, malformed or past.', 404: 'There is no such space, or you may not see it.' },
  },
  listBookings: {
    tag: 'Bookings',
    summary: 'List bookings',
    description:
      'A Community sees the bookings of its spaces, a Brand its own. All that match come back in one answer, ordered by date, start hour and id.',
    success: 'The bookings that match; an empty array if none does.',
    failures: { 400: 'A date or the status is malformed, `startDate` is after `endDate`, or a parameter is unknown.' },
  },
  createBooking: {
    tag: 'Bookings',
    summary: 'Request a booking',
    description:
      'For Brand accounts. The booking is Pending, and holds its hours, until the community approves or declines ' +
      'it. Send an `Idempotency-Key`, so that you can repeat the request without booking twice.',
    success: 'The booking. Repeating a request with the same key and body is answered with the first booking.',
    failures: {
      400: 'A field is missing or invalid, or the body is not JSON.',
      404: 'There is no such space.',
      422: 'The hour is not open (`SlotUnavailable`: choose another), or the request breaks a rule (`BookingNotAllowed`: another hour does not help).',
    },
  },
  moveBooking: {
    tag: 'Bookings',
    summary: 'Move a booking',
    description:
      'To another date, start hour or space of the same community; what is absent stays. A Brand asks, a Community proposes: ' +
      'the booking keeps its hours, and `move` shows what waits, until the other party accepts in the console or asks for the ' +
      'same, or either declines it. Bookings of customers that a Community looks after move at once. Id and price stay. Accepting a move of a Pending ' +
      'booking approves it.',
    success: 'The booking, which has moved or has a `move` that waits. Repeating the request changes nothing.',
    failures: {
      400: 'A value is invalid, or the body is not JSON.',
      404: 'There is no such booking or space, or you may not see it.',
      422:
        'The hour is not open (`SlotUnavailable`), or a rule forbids the move (`BookingNotAllowed`): the booking is over, cancelled or ' +
        'there already, or the other party has asked for another move.',
    },
  },
  declineMove: {
    tag: 'Bookings',
    summary: 'Decline or withdraw a move',
    description:
      'Ends the `move` of a booking that waits for an answer: the party that was asked declines it, the party that asked ' +
      'withdraws it. The booking stays where it is, the other party gets mail, and the history has the `reason`.',
    success: 'The booking, without a `move`.',
    failures: {
      400: 'The reason is too long, or the body is not JSON.',
      404: 'There is no such booking, or you may not see it.',
      422: 'No move waits any more: it was answered or withdrawn meanwhile, or the booking is over or cancelled (`BookingNotAllowed`).',
    },
  },
  getBooking: {
    tag: 'Bookings',
    summary: 'Get a booking',
    description:
      'A booking as it is now, for example one that a webhook delivery named. A Community sees the bookings of its spaces, a Brand its own.',
    success: 'The booking.',
    failures: { 400: 'The id is not a number.', 404: 'There is no such booking, or you may not see it.' },
  },
  getBookingHistory: {
    tag: 'Bookings',
    summary: 'Get the history of a booking',
    description:
      'What happened to a booking, oldest first: when, who, and which fields it changed. With `asOf` it is what had ' +
      'happened by then. Of your own account, `actor` names the key, app or user; of the other party it names the ' +
      `account alone. Besides the fields of a booking these are ${notRepeated}, \`expiresAt\` (until when the ` +
      'community can answer), `charge`, `refund`, `cancelledBy` and `reason`.',
    success: 'The events of the booking.',
    failures: {
      400: 'The id is not a number, or `asOf` no moment with a time zone.',
      404: 'There is no such booking, or you may not see it.',
    },
  },
  listCustomers: {
    tag: 'Customers',
    summary: 'List or search customers',
    description:
      'The customers of the community by name: those that it looks after, and brands of which it has approved a booking. ' +
      'All come back in one answer.',
    success: 'The customers; an empty array if there are none.',
    failures: { 400: 'The search is too long, or a parameter is unknown.' },
  },
  createCustomer: {
    tag: 'Customers',
    summary: 'Add a customer',
    description:
      'A customer that the community looks after, without an account of its own until a person is invited in the console. ' +
      'No other account sees it.',
    success: 'The customer.',
    failures: {
      400: 'A value is missing or wrong, another customer has the name, or the daily limit of the account is reached.',
    },
  },
  listReviews: {
    tag: 'Reviews',
    summary: 'List the reviews of a community',
    description:
      'A Community can read its own, a Brand those of communities with which it has a completed booking. All come back in one answer.',
    success: 'The reviews, oldest first.',
    failures: { 400: 'The id is not a number.', 404: 'There is no such community, or you may not read its reviews.' },
  },
  listWebhooks: {
    tag: 'Webhooks',
    summary: 'List your webhooks',
    description: 'The registrations of the calling key, or of the OAuth client and account, oldest first.',
    success: 'The registrations, without their secrets.',
  },
  createWebhook: {
    tag: 'Webhooks',
    summary: 'Register a webhook',
    description:
      'From then on the endpoint receives the events that you subscribed to. Keep the `signingSecret`: no later response contains it.',
    success: 'The registration with its secret.',
    failures: { 400: 'The URL or the events are invalid, or there are as many registrations as allowed.' },
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Remove a webhook',
    description: 'Permanent. Deliveries to the endpoint stop.',
    success: 'Removed.',
    failures: {
      400: 'The percent-encoding of the path is broken.',
      404: 'There is no such registration, or another key made it.',
    },
  },
} as const satisfies Readonly<Record<string, Operation>>;
