import type { Actor } from '../domain/account.ts';
import type { HistoryStep } from '../domain/booking-history.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { toAmount } from '../domain/pricing.ts';
import { PublicAccount, toPublicAccount } from './account.ts';
import { publicFacts } from './booking.ts';
import { OneOf, Timestamp } from './scalars.ts';
import { type Static, Type } from './schema.ts';
import { shaped } from './shaped.ts';

const Change = Type.Object({ from: Type.Optional(Type.Unknown()), to: Type.Unknown() });

const PublicActor = Type.Object({
  kind: OneOf<Actor['kind']>(['apiKey', 'client', 'user', 'operator', 'system']),
  id: Type.String(),
  account: Type.Optional(PublicAccount),
});

/** One event of a booking: when, who, and which fields changed. */
export const HistoryEntry = Type.Object(
  {
    event: Type.String({ description: 'What happened.' }),
    at: Timestamp('When, UTC.'),
    actor: PublicActor,
    changes: Type.Record(Type.String(), Change, { description: 'The fields that changed, before and after.' }),
  },
  { title: 'HistoryEntry' },
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
function madeBy(event: HistoryStep['event']): { readonly [field: string]: unknown } {
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

const changesTo = (fields: { readonly [field: string]: unknown }): Entry['changes'] =>
  Object.fromEntries(Object.entries(defined(fields)).map(([field, to]) => [field, { to }]));
