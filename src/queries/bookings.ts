import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Account } from '../domain/account.ts';
import type { PlainDate } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import type { ReadModels } from '../projector/read-models.ts';

export type BookingFilter = {
  /** Inclusive. */
  readonly startDate?: PlainDate;
  /** Inclusive. */
  readonly endDate?: PlainDate;
  readonly status?: BookingStatus;
};

/** A community sees the bookings of its spaces, a brand those it made (SPEC: Visibility rule). */
export const isVisibleBooking = (account: Account, booking: BookingDocument): boolean =>
  account.id === (account.kind === 'Community' ? booking.communityId : booking.brandId);

export function createBookingQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** The booking, or undefined when there is none that the account may see. */
    async get(account: Account, bookingId: number): Promise<BookingDocument | undefined> {
      const found = await readModels.collection(bookings).get(String(bookingId));
      return found && isVisibleBooking(account, found.document) ? found.document : undefined;
    },

    /** Every booking that the account may see, by date and id; streamed. */
    async *list(account: Account, { startDate, endDate, status }: BookingFilter = {}): AsyncGenerator<BookingDocument> {
      const date = { ...(startDate && { from: startDate }), ...(endDate && { to: endDate }) };
      const found = readModels.collection(bookings).find({
        where: {
          ...(account.kind === 'Community' ? { communityId: account.id } : { brandId: account.id }),
          ...(status && { status }),
          ...((startDate ?? endDate) && { date }),
        },
        sort: [{ field: 'date' }, { field: 'bookingId' }],
      });
      for await (const { document } of found) yield document;
    },
  };
}
