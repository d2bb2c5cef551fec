const DAY_MS = 24 * 3_600_000;
/** Hourly slots of a space per day. */
const SLOTS_PER_DAY = 23;

/** The date this many days from now, in UTC. */
export const dateIn = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);

export type Places = { readonly spaceIds: readonly number[]; nextDay: number };

/** At least so many bookings, hour by hour, because concurrent callers rarely want the same space on the same day. */
export const bookingRequests = (venue: Places, count: number) =>
  bookingRequestsByHour(venue, count / SLOTS_PER_DAY).flat();

/** For each hour at least so many bookings, all of different spaces or days. */
export function bookingRequestsByHour(venue: Places, perHour: number) {
  const days = Math.ceil(perHour / venue.spaceIds.length);
  const first = venue.nextDay;
  venue.nextDay += days;
  return Array.from({ length: SLOTS_PER_DAY }, (_, startHour) =>
    Array.from({ length: days }, (_, i) =>
      venue.spaceIds.map((spaceId) => ({
        path: '/api/v1/bookings',
        body: { spaceId, startTime: dateIn(first + i), startHour },
      })),
    ).flat(),
  );
}

/** Reads of the availability of a fortnight. */
export const availabilityRequests = ({ spaceIds }: Places) =>
  Array.from({ length: 56 }, (_, i) => ({
    path: `/api/v1/spaces/${spaceIds[i % spaceIds.length]}/availability?date=${dateIn(1 + (i % 14))}`,
  }));
