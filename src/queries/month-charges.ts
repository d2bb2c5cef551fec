import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import type { Cents, PlainDate } from '../domain/ids.ts';
import { cents } from '../domain/ids.ts';
import { type BookingPart, createBookingPages, type PartQuery } from './booking-pages.ts';
import { byDate } from './bookings.ts';
import type { QueryDeps } from './query-deps.ts';

/** The money of several bookings, in one currency. Currencies are never added. */
export type ChargeTotals = {
  /** ISO 4217. */
  readonly currency: string;
  readonly charged: Cents;
  readonly refunded: Cents;
  /** The event fees of bookings that were not refunded: the community's earnings. */
  readonly earned: Cents;
  /** The total prices of bookings that were not refunded. */
  readonly paid: Cents;
};

type Charged = BookingDocument & { readonly charge: Cents };

/** The charges of an account's bookings in a range of dates (docs/decisions/bookings.md). */
export function createMonthCharges({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const parts = createBookingPages({ readModels });
  return {
    /** The totals of all bookings in the range, by currency. Streams them, so memory stays constant. */
    async totals(account: Account, range: { startDate: PlainDate; endDate: PlainDate }): Promise<ChargeTotals[]> {
      const totals = new Map<string, ChargeTotals>();
      for await (const { document } of readModels.collection(bookings).find(byDate(account, range)))
        if (isCharged(document)) totals.set(document.currency, added(totals.get(document.currency), document));
      return [...totals.values()];
    },

    /** A page of the bookings that were charged, in the order of lists. Their texts stay sealed. */
    async page(account: Account, query: PartQuery): Promise<Omit<BookingPart, 'bookings'> & { bookings: Charged[] }> {
      const part = await parts.page(account, { ...query, holds: isCharged });
      return { ...part, bookings: part.bookings.filter(isCharged) };
    },
  };
}

const isCharged = (booking: BookingDocument): booking is Charged => booking.charge !== undefined;

function added(to: ChargeTotals | undefined, { currency, charge, refund = cents(0), eventFee, totalPrice }: Charged) {
  const isKept = refund === 0;
  return {
    currency,
    charged: cents((to?.charged ?? 0) + charge),
    refunded: cents((to?.refunded ?? 0) + refund),
    earned: cents((to?.earned ?? 0) + (isKept ? eventFee : 0)),
    paid: cents((to?.paid ?? 0) + (isKept ? totalPrice : 0)),
  };
}
