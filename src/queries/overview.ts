import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import { type CommunityId, type PlainDate, type SpaceId, type Timestamp, spaceId as toSpaceId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import type { QueryDeps } from './query-deps.ts';
import { COMMUNITY, FROM, TO } from './samples.ts';

const BOOKED: readonly BookingStatus[] = ['Approved', 'Completed'];

/** The bookings that come on a day, and those of them whose number of guests is unknown. */
const coming = declareQuery(
  bookings,
  (community: CommunityId, date: PlainDate, limit?: number, open?: 'guests'): Find<BookingDocument> => ({
    where: {
      communityId: community,
      date,
      status: { in: BOOKED },
      ...defined({ guests: open && { exists: false } }),
    },
    sort: [{ field: 'startHour' }, { field: 'bookingId' }],
    ...defined({ limit }),
  }),
  [COMMUNITY.id, FROM],
  [COMMUNITY.id, FROM, 3],
  [COMMUNITY.id, FROM, undefined, 'guests'],
);

const pendingOn = declareQuery(
  bookings,
  (community: CommunityId, date: PlainDate): Find<BookingDocument> => ({
    where: { communityId: community, date, status: 'Pending' },
  }),
  [COMMUNITY.id, FROM],
);

const expiringUntil = declareQuery(
  bookings,
  (community: CommunityId, to: Timestamp): Find<BookingDocument> => ({
    where: { communityId: community, status: 'Pending', expiresAt: { to } },
  }),
  [COMMUNITY.id, toTimestamp(0)],
);

/** The bookings of some spaces between two dates: those that use their whole length, or those that are shorter. */
const booked = declareQuery(
  bookings,
  (
    community: CommunityId,
    spaces: readonly SpaceId[],
    dates: { readonly from: PlainDate; readonly to: PlainDate },
    isShorter: boolean,
  ): Find<BookingDocument> => ({
    where: {
      communityId: community,
      date: dates,
      status: { in: BOOKED },
      spaceId: { in: spaces },
      usageHours: { exists: isShorter },
    },
  }),
  [COMMUNITY.id, [toSpaceId(1), toSpaceId(2)], { from: FROM, to: TO }, false],
  [COMMUNITY.id, [toSpaceId(1), toSpaceId(2)], { from: FROM, to: TO }, true],
);

/** Who comes on a day: the first bookings by hour, how many there are, and what is still open about the day. */
export type ComingOn = {
  readonly first: readonly BookingDocument[];
  readonly count: number;
  readonly pending: number;
  readonly withoutGuests: number;
};

/** What the first page of a community shows. Texts stay sealed. */
export function createOverviewQueries({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);

  return {
    async comingOn(community: CommunityId, date: PlainDate, limit: number): Promise<ComingOn> {
      const [first, count, pending, withoutGuests] = await Promise.all([
        documents.list(coming(community, date, limit)),
        documents.count(coming(community, date)),
        documents.count(pendingOn(community, date)),
        documents.count(coming(community, date, undefined, 'guests')),
      ]);
      return { first, count, pending, withoutGuests };
    },

    /** How many requests expire until a moment. */
    expiring: (community: CommunityId, until: Timestamp): Promise<number> =>
      documents.count(expiringUntil(community, until)),

    /** The hours for which each of these spaces is booked between two dates. */
    async bookedHours(
      community: CommunityId,
      spaces: readonly SpaceId[],
      dates: { readonly from: PlainDate; readonly to: PlainDate },
    ): Promise<ReadonlyMap<SpaceId, number>> {
      const [whole, shorter] = await Promise.all([
        documents.groups(booked(community, spaces, dates, false), ['spaceId'], ['durationHours']),
        documents.groups(booked(community, spaces, dates, true), ['spaceId'], ['usageHours']),
      ]);
      const hours = new Map(whole.map(({ values, sums }) => [values.spaceId, sums.get('durationHours') ?? 0]));
      for (const { values, sums } of shorter)
        hours.set(values.spaceId, (hours.get(values.spaceId) ?? 0) + (sums.get('usageHours') ?? 0));
      return hours;
    },
  };
}
