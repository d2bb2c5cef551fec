import type { Static } from 'typebox';
import type { HistoryStep } from '../domain/booking-history.ts';
import { toAmount } from '../domain/pricing.ts';
import type { HistoryEntry } from './schemas.ts';

type Entry = Static<typeof HistoryEntry>;
type Changes = Entry['changes'];

/** The events of a booking as the API shows them: when, who, and which fields changed from what to what. */
export const historyEntries = (steps: readonly HistoryStep[]): Entry[] =>
  steps.map(({ event, from, to }) => ({
    event: event.type,
    at: event.metadata.at,
    actor: { ...event.metadata.actor },
    changes: {
      status: from === undefined ? { to } : { from, to },
      ...otherChanges(event),
    },
  }));

function otherChanges(event: HistoryStep['event']): Changes {
  switch (event.type) {
    case 'BookingRequested': {
      const { spaceId, spaceName, date, startHour, endHour, usageHours, message } = event.data;
      return {
        ...becoming({ spaceId, spaceName, date, startHour, endHour, usageHours, message }),
        totalPrice: { to: toAmount(event.data.totalPrice) },
        expiresAt: { to: event.data.expiresAt },
      };
    }
    case 'BookingApproved':
      return { charge: { to: toAmount(event.data.charge) } };
    case 'BookingCancelled': {
      const { cancelledBy, reason, refund } = event.data;
      return { ...becoming({ cancelledBy, reason }), ...(refund > 0 ? { refund: { to: toAmount(refund) } } : {}) };
    }
    case 'BookingCompleted':
      return {};
    default:
      return event satisfies never;
  }
}

const becoming = (fields: Readonly<Record<string, unknown>>): Changes =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([field, to]) => [field, { to }]),
  );
