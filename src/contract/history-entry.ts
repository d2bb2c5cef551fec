import type { Actor } from '../domain/account.ts';
import type { HistoryStep } from '../domain/booking-history.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { keysOf } from '../domain/keys-of.ts';
import { toAmount } from '../domain/pricing.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { publicFacts } from './booking.ts';
import { OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

/** What a field of a booking may hold. */
const Value = (description: string) => Type.Union([Type.String(), Type.Number()], { description });

const Change = Type.Object(
  { from: Type.Optional(Value('The former value; absent if there was none.')), to: Value('The new value.') },
  { title: 'Change', description: 'What became of a field.' },
);

const PublicActor = Type.Object(
  {
    kind: OneOf<Actor['kind']>(['apiKey', 'client', 'user', 'operator', 'system'], {
      description: 'system: the service itself, by the clock.',
    }),
    id: Type.String({ description: 'The key, client or user.' }),
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
    changes: Type.Record(Type.String(), Change, { description: 'The fields that changed, by name.' }),
  },
  { title: 'HistoryEntry', description: 'One event of a booking: when, who, and which fields changed.' },
);

type Entry = Static<typeof HistoryEntry>;

const publicActor = shaped(PublicActor);
const toPublicActor = ({ kind, id, account }: Actor): Static<typeof PublicActor> =>
  publicActor({ kind, id, account: account && toPublicAccount(account) });

const historyEntry = shaped(HistoryEntry);

/** The events of a booking in order, as the API shows them. */
export const historyEntries = (steps: readonly HistoryStep[]): Entry[] =>
  steps.map(({ event, from, to }) =>
    historyEntry({
      event: event.type,
      at: event.metadata.at,
      actor: toPublicActor(event.metadata.actor),
      changes: {
        status: from === undefined ? { to } : { from, to },
        ...changesTo(madeBy(event)),
      },
    }),
  );

/** The fields that an event adds, under their public names. */
function madeBy(event: HistoryStep['event']): { readonly [field: string]: string | number | undefined } {
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
