import { NOT_REPEATED } from '../domain/booking-details.ts';
import type { MovePlace } from '../domain/booking-events.ts';
import type { HistoryStep, NamedStep } from '../domain/booking-history.ts';
import { expiryOf } from '../domain/booking-moments.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { clockTime } from '../domain/hours.ts';
import { picked } from '../domain/picked.ts';
import { toAmount } from '../domain/pricing.ts';
import type { NamedActor } from '../domain/shown-actor.ts';
import { statusAfter } from '../domain/space-day.ts';
import { toPublicAccount } from './account.ts';
import { publicFacts } from './booking.ts';
import type { Changes, HistoryEntry, PublicActor } from './schemas/history-entry.ts';

export const toPublicActor = ({ kind, id, name, account }: NamedActor): PublicActor => ({
  kind,
  ...defined({ id, name, account: account && toPublicAccount(account) }),
});

const historyEntry = ({ event, from, by }: NamedStep): HistoryEntry => ({
  event: event.type,
  at: event.metadata.at,
  actor: toPublicActor(by),
  changes: { ...changedFields(fieldsOfBooking(event), { status: from }), ...changesOfMove(event) },
});

/** The events of a booking in order, as the API shows them. */
export const historyEntries = (steps: readonly NamedStep[]): HistoryEntry[] => steps.map(historyEntry);

export type OperatorHistoryEntry = HistoryEntry & { readonly bookingId: number; readonly revision: number };

/** The same for `--json` on the command line, with the booking and the position in the stream of its space and day. */
export const operatorHistoryEntries = (steps: readonly NamedStep[]): OperatorHistoryEntry[] =>
  steps.map((step) => {
    const { data, revision } = step.event;
    return { bookingId: data.bookingId, revision, ...historyEntry(step) };
  });

export type Fields = { readonly [field: string]: string | number | undefined };

/** The fields that an event adds, under their public names. */
export function fieldsOfBooking(event: HistoryStep['event']): Fields {
  switch (event.type) {
    case 'BookingRequested': {
      const { data } = event;
      const { status, totalPrice, ...facts } = publicFacts(data, statusAfter(event));
      const expiresAt = toTimestamp(expiryOf(data));
      return { status, ...facts, usageHours: data.usageHours, ...picked(data, NOT_REPEATED), totalPrice, expiresAt };
    }
    case 'BookingApproved':
      return { status: statusAfter(event), charge: toAmount(event.data.charge) };
    case 'BookingCancelled': {
      const { cancelledBy, reason, refund } = event.data;
      return { status: statusAfter(event), cancelledBy, reason, refund: refund > 0 ? toAmount(refund) : undefined };
    }
    case 'BookingCompleted':
      return { status: statusAfter(event) };
    case 'BookingMoveAsked':
      return {
        moveTo: placeText(event.data.to),
        askedBy: event.data.askedBy,
        totalPrice: event.data.newPrice && toAmount(event.data.newPrice.totalPrice),
        reason: event.data.reason,
      };
    case 'BookingMoveAgreed':
      return { moveTo: placeText(event.data.to) };
    case 'BookingMoveEnded':
      return { endedBy: event.data.endedBy, reason: event.data.reason };
    case 'BookingMoved':
      return { usageHours: event.data.usageHours, endHour: event.data.endHour };
    default:
      return event satisfies never;
  }
}

/** `Great Hall (space 7), 2026-12-10 at 14:00`. */
const placeText = ({ spaceName, spaceId, date, startHour }: MovePlace): string =>
  `${spaceName} (space ${spaceId}), ${date} at ${clockTime(startHour)}`;

/** What has changed about where and when a booking is. */
function changesOfMove(event: HistoryStep['event']): Changes {
  if (event.type !== 'BookingMoved') return {};
  const { from, ...now } = event.data;
  const fields = (['spaceId', 'spaceName', 'date', 'startHour'] as const).filter((field) => now[field] !== from[field]);
  return changedFields(picked(now, fields), picked(from, fields));
}

/** The new value of each field that has one, with the former value. */
export const changedFields = (now: Fields, before: Fields): Changes =>
  Object.fromEntries(
    Object.entries(now).flatMap(([field, to]) => {
      const from = before[field];
      if (to === undefined) return [];
      return [[field, from === undefined ? { to } : { from, to }]];
    }),
  );
