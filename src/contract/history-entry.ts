import type { HistoryStep, NamedStep } from '../domain/booking-history.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { BookingId, SpaceId } from '../domain/ids.ts';
import { keysOf } from '../domain/keys-of.ts';
import { toAmount } from '../domain/pricing.ts';
import type { NamedActor } from '../domain/shown-actor.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { OperatorBooking, publicFacts } from './booking.ts';
import { Id, OneOf, PlainDate, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** What a field of a booking may hold. */
const Value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });

const Change = Type.Object(
  { from: Type.Optional(Value('The former value; absent if there was none.')), to: Value('The new value.') },
  { title: 'Change', description: 'What became of a field.' },
);

const ActorKind = OneOf<NamedActor['kind']>(['apiKey', 'client', 'user', 'account', 'operator', 'system'], {
  description:
    '`account`: somebody of the other party. `operator`: who runs the service. `system`: the service itself, by the clock.',
});

export const Changes = Type.Record(Type.String(), Change, { description: 'The fields that changed, by name.' });

/** Who did something, as far as the reader may know it (docs/decisions/accounts.md). */
export const PublicActor = Type.Object(
  {
    kind: ActorKind,
    id: Type.Optional(
      Type.String({ description: 'The key, client or user of your own account. Absent for the other party.' }),
    ),
    name: Type.Optional(
      Type.String({
        description:
          'The label of the key, the name of the app or the e-mail address of the user; for the other party the name of its account. Absent if it is not known any more, as of a user who was removed.',
      }),
    ),
    account: Type.Optional(PublicAccount),
  },
  { title: 'Actor', description: 'Who did it, and for which account.' },
);

/** Every event of a booking. Exhaustive: a new kind does not compile without its line. */
const EVENTS = {
  BookingRequested: true,
  BookingApproved: true,
  BookingCancelled: true,
  BookingCompleted: true,
} as const satisfies { readonly [T in HistoryStep['event']['type']]: true };

/** One event of a booking: when, who, and which fields changed. */
export const HistoryEntry = Type.Object(
  {
    event: OneOf(keysOf(EVENTS), { title: 'BookingEvent', description: 'What happened to a booking.' }),
    at: Timestamp('When, UTC.'),
    actor: PublicActor,
    changes: Changes,
  },
  { title: 'HistoryEntry', description: 'One event of a booking: when, who, and which fields changed.' },
);

/** What the history of a booking is asked for. */
export const HistoryQuery = Type.Object({
  asOf: Type.Optional(Timestamp('Only what had happened by then. A plus sign in a URL is written %2B.')),
});

type Entry = Static<typeof HistoryEntry>;

/** The same for an operator: also which booking, and where in the stream of its space and day. */
export const OperatorHistoryEntry = Type.Object({
  bookingId: Id<BookingId>('Booking identifier.'),
  revision: Type.Integer({ minimum: 0, description: 'Where the event is in the stream of the space and day.' }),
  ...HistoryEntry.properties,
});

/** What happened to a booking up to some point: the command line's JSON. */
export const OperatorBookingHistory = Type.Object({
  booking: Type.Union([OperatorBooking, Type.Null()], {
    description: 'The booking as the events leave it; null if it had not been requested.',
  }),
  events: Type.Array(OperatorHistoryEntry, { description: 'In the order of the log.' }),
});

/** What happened to a space on a day up to some point: the command line's JSON. */
export const OperatorDayHistory = Type.Object({
  spaceId: Id<SpaceId>('The space.'),
  date: PlainDate('The day.'),
  bookings: Type.Array(OperatorBooking, { description: 'The bookings as the events leave them, by start hour.' }),
  events: Type.Array(OperatorHistoryEntry, { description: 'In the order of the log.' }),
});

const publicActor = shaped(PublicActor);
export const toPublicActor = ({ kind, id, name, account }: NamedActor): Static<typeof PublicActor> =>
  publicActor({ kind, id, name, account: account && toPublicAccount(account) });

const historyEntry = shaped(HistoryEntry);
const operatorEntry = shaped(OperatorHistoryEntry);

const publicEntry = ({ event, from, to, by }: NamedStep) => ({
  event: event.type,
  at: event.metadata.at,
  actor: toPublicActor(by),
  changes: {
    status: from === undefined ? { to } : { from, to },
    ...changesTo(fieldsOfBooking(event)),
  },
});

/** The events of a booking in order, as the API shows them. */
export const historyEntries = (steps: readonly NamedStep[]): Entry[] =>
  steps.map((step) => historyEntry(publicEntry(step)));

/** The same for an operator. */
export const operatorHistoryEntries = (steps: readonly NamedStep[]): Static<typeof OperatorHistoryEntry>[] =>
  steps.map((step) => {
    const { data, revision } = step.event;
    return operatorEntry({ ...publicEntry(step), bookingId: data.bookingId, revision });
  });

/** The fields that an event adds, under their public names. */
export function fieldsOfBooking(event: HistoryStep['event']): {
  readonly [field: string]: string | number | undefined;
} {
  switch (event.type) {
    case 'BookingRequested':
      return { ...publicFacts(event.data), expiresAt: toTimestamp(expiryOf(event.data)) };
    case 'BookingApproved':
      return { charge: toAmount(event.data.charge) };
    case 'BookingCancelled': {
      const { cancelledBy, reason, refund } = event.data;
      return { cancelledBy, reason, refund: refund > 0 ? toAmount(refund) : undefined };
    }
    case 'BookingCompleted':
      return {};
    default:
      return event satisfies never;
  }
}

const changesTo = (fields: { readonly [field: string]: string | number | undefined }): Entry['changes'] =>
  Object.fromEntries(Object.entries(fields).flatMap(([field, to]) => (to === undefined ? [] : [[field, { to }]])));
