import type { BookingEvent, Recorded } from '../src/domain/events.ts';
import { changedBy, type ListChange } from './list-change.ts';
import { projection } from './projection.ts';

/** What last changed the list of a community's bookings. */
export type CommunityChanges = { readonly bookings: ListChange };

const bookings = (_: CommunityChanges | undefined, event: Pick<Recorded, 'id' | 'position'>) => ({
  bookings: changedBy(event),
});

/** When the bookings of each community last changed, so that a client learns from one document that it has the current list. */
export const communityChanges = projection<CommunityChanges, BookingEvent>({
  name: 'communityChanges',
  version: 1,
  indexes: [],
  key: (event) => String(event.data.communityId),
  anew: ['BookingRequested', 'BookingApproved', 'BookingCancelled', 'BookingCompleted'],
  on: {
    BookingRequested: bookings,
    BookingApproved: bookings,
    BookingCancelled: bookings,
    BookingCompleted: bookings,
  },
});
