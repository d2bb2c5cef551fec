import { type Static, Type } from 'typebox';
import type { HistoryStep } from '../../domain/booking-history.ts';
import { keysOf } from '../../domain/keys-of.ts';
import type { NamedActor } from '../../domain/shown-actor.ts';
import { PublicAccount } from './account.ts';
import { OneOf, Timestamp } from './scalars.ts';

/** Published without a type: with a choice of two, several generators make clients that fail on every history. */
const Value = (description: string) =>
  Type.Unsafe<string | number>({ description: `${description} A text or a number.` });

const Change = Type.Object(
  { from: Type.Optional(Value('The former value; absent if there was none.')), to: Value('The new value.') },
  { title: 'Change', description: 'The value of a field before and after.' },
);

const Changes = Type.Record(Type.String(), Change, { description: 'The fields that changed, by name.' });
export type Changes = Static<typeof Changes>;

/** An actor, as shown to the reader (docs/decisions/accounts.md). */
const PublicActor = Type.Object(
  {
    kind: OneOf<NamedActor['kind']>(['apiKey', 'client', 'user', 'account', 'operator', 'system'], {
      description:
        '`account`: a member, key or app of the other party, which is not named. `operator`: the operator of the ' +
        'service. `system`: the service itself, when a time has passed.',
    }),
    id: Type.Optional(
      Type.String({ description: 'The key, client or user of your own account. Absent for the other party.' }),
    ),
    name: Type.Optional(
      Type.String({
        description:
          'The label of the key, the name of the app or the e-mail address of the user; for the other party the ' +
          'name of its account. Absent if it is no longer known, for example after a user was removed.',
      }),
    ),
    account: Type.Optional(PublicAccount),
  },
  { title: 'Actor', description: 'Who did it, and for which account.' },
);
export type PublicActor = Static<typeof PublicActor>;

/** Every event of a booking. Exhaustive: a new kind does not compile without its line. */
const EVENTS = {
  BookingRequested: true,
  BookingApproved: true,
  BookingCancelled: true,
  BookingCompleted: true,
  BookingMoveAsked: true,
  BookingMoveAgreed: true,
  BookingMoveEnded: true,
  BookingMoved: true,
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
export type HistoryEntry = Static<typeof HistoryEntry>;

export const HistoryQuery = Type.Object({
  asOf: Type.Optional(Timestamp('Only what had happened by then. A plus sign in a URL is written %2B.')),
});
