import type {
  BookingApproved,
  BookingCancelled,
  BookingFacts,
  BrandAdded,
  CommunityAdded,
  EventType,
  Recorded,
} from './events.ts';
import { type Cents, cents, type Timestamp } from './ids.ts';

/**
 * What puts a charge or refund in a month: the date of the event, or the moment at which it was made, which is the approval for a charge
 * and the cancellation for a refund.
 */
export type ChargeBasis = (typeof CHARGE_BASES)[number];
export const CHARGE_BASES = ['event', 'approval'] as const;

/** A charge or a refund (docs/decisions/bookings.md). */
export type Payment = {
  readonly kind: 'charge' | 'refund';
  /** Never negative. */
  readonly amount: Cents;
  /** When the booking was approved, or cancelled. */
  readonly at: Timestamp;
  readonly booking: BookingFacts;
  /** Its event in the log. */
  readonly eventId: string;
};

/** A payment with its community and the local time there. */
export type ListedPayment = Payment & {
  readonly community: CommunityAdded['data'];
  /** Local time of the community, with its offset from UTC. */
  readonly localTime: string;
};

export type ChargesOfMonth = {
  readonly brand: BrandAdded['data'];
  /** Whether the month has ended in every zone, so that the list is final. */
  readonly isOver: boolean;
  /**
   * Reads the log once, oldest first, without keeping what it has read.
   * @param onProgress gets how many approvals and cancellations have been read, of whichever brand, and when the last was made
   */
  read(onProgress?: (progress: { readonly done: number; readonly at: string }) => void): AsyncIterable<ListedPayment>;
};

/** The kinds of events that may hold a charge or refund. */
export const PAYMENT_EVENTS = ['BookingApproved', 'BookingCancelled'] as const satisfies readonly EventType[];

/** The payment of an event. Undefined for the cancellation of an uncharged booking. */
export function paymentOf(event: Recorded<BookingApproved | BookingCancelled>): Payment | undefined {
  const { data: booking, metadata, id: eventId } = event;
  const common = { at: metadata.at, booking, eventId };
  // A free event has a charge of zero.
  if (event.type === 'BookingApproved') return { kind: 'charge', amount: event.data.charge, ...common };
  return event.data.refund > 0 ? { kind: 'refund', amount: event.data.refund, ...common } : undefined;
}

/** Charges and refunds in one currency. Amounts of different currencies are never added. */
export type PaymentTotal = { readonly currency: string; readonly charged: Cents; readonly refunded: Cents };

/** Adds up payments, each currency by itself. */
export function createPaymentTotals() {
  const totals = new Map<string, PaymentTotal>();
  return {
    add({ kind, amount, booking: { currency } }: Payment): void {
      const { charged, refunded } = totals.get(currency) ?? { charged: cents(0), refunded: cents(0) };
      totals.set(
        currency,
        kind === 'charge'
          ? { currency, charged: cents(charged + amount), refunded }
          : { currency, charged, refunded: cents(refunded + amount) },
      );
    },
    /** By currency. */
    all: (): PaymentTotal[] => [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1)),
  };
}
