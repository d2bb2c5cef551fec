import { bookingChanges } from './list-change.ts';

/** When the bookings of each community last changed. */
export const communityChanges = bookingChanges({
  name: 'communityChanges',
  version: 1,
  key: ({ data }) => String(data.communityId),
});
