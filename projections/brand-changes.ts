import type { BookingEvent, Recorded } from '../src/domain/events.ts';
import { changedBy, type ListChange } from './list-change.ts';
import { projection } from './projection.ts';

/** What last changed the list of a brand's bookings. */
export type BrandChanges = { readonly bookings: ListChange };

const bookings = (_: BrandChanges | undefined, event: Pick<Recorded, 'id' | 'position'>) => ({
  bookings: changedBy(event),
});

/** When the bookings of each brand last changed, so that a client learns from one document that it has the current list. */
export const brandChanges = projection<BrandChanges, BookingEvent>({
  name: 'brandChanges',
  version: 1,
  indexes: [],
  key: (event) => String(event.data.brandId),
  anew: ['BookingRequested', 'BookingApproved', 'BookingCancelled', 'BookingCompleted'],
  on: {
    BookingRequested: bookings,
    BookingApproved: bookings,
    BookingCancelled: bookings,
    BookingCompleted: bookings,
  },
});
