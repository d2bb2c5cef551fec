import { bookingChanges } from './list-change.ts';

/** When the bookings of each brand last changed. */
export const brandChanges = bookingChanges({
  name: 'brandChanges',
  version: 1,
  key: ({ data }) => String(data.brandId),
});
