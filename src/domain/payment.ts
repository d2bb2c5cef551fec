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

/** A charge, or what was given back of it (docs/decisions/bookings.md). */
export type Payment = {
  readonly kind: 'charge' | 'refund';
  /** Never negative. */
  readonly amount: Cents;
  /** When the booking was approved, or cancelled. */
  readonly at: Timestamp;
  readonly booking: BookingFacts;
  /** The event in the log that says so. */
  readonly eventId: string;
};

/** A payment with the community that it went to, and when that was there. */
export type ListedPayment = Payment & {
  readonly community: CommunityAdded['data'];
  /** What the clocks of the community showed, with their distance from UTC. */
  readonly localTime: string;
};

export type ChargesOfMonth = {
  readonly brand: BrandAdded['data'];
  /** Whether the month has ended everywhere, so that nothing is added to it. */
  readonly isOver: boolean;
  /**
   * Reads the log once, oldest first, without keeping what it has read.
   * @param onProgress gets how many approvals and cancellations have been read, of whichever brand, and when the last was made
   */
  read(onProgress?: (progress: { readonly done: number; readonly at: string }) => void): AsyncIterable<ListedPayment>;
};

/** The kinds of events that can say that something was charged or given back. */
export const PAYMENT_EVENTS = ['BookingApproved', 'BookingCancelled'] as const satisfies readonly EventType[];

/** What an event says of money. Undefined for the cancellation of a booking that had not been charged. */
export function paymentOf(event: Recorded<BookingApproved | BookingCancelled>): Payment | undefined {
  const { data: booking, metadata, id: eventId } = event;
  const known = { at: metadata.at, booking, eventId };
  // A free event is charged, too: with nothing.
  if (event.type === 'BookingApproved') return { kind: 'charge', amount: event.data.charge, ...known };
  return event.data.refund > 0 ? { kind: 'refund', amount: event.data.refund, ...known } : undefined;
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
