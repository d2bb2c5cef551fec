import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import type { Find, Range } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import {
  brandId,
  type Cents,
  type CommunityId,
  cents,
  type SpaceId,
  type Timestamp,
  spaceId as toSpaceId,
} from '../domain/ids.ts';
import { MAX_SERIES_DAYS } from '../domain/series.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { type Direction, isVisibleBooking, rangeOf } from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { COMMUNITY, FROM, TO } from './samples.ts';

/** Filter of a community's pending requests. */
export type RequestFilter = DateRange & {
  readonly spaceId?: SpaceId;
  readonly min?: Cents;
  readonly max?: Cents;
  /** Only requests made since. */
  readonly madeSince?: Timestamp;
};

/** By deadline or by event. */
export type RequestOrder = 'deadline' | 'date';

const SORTED_BY = {
  deadline: ['expiresAt', 'bookingId'],
  date: ['date', 'startHour', 'bookingId'],
} as const;

/** The place of a request in an order: its values of the fields that the order sorts by. */
export const placeIn = (
  order: RequestOrder,
  request: Pick<BookingDocument, (typeof SORTED_BY)[RequestOrder][number]>,
): readonly (string | number)[] => SORTED_BY[order].map((field) => request[field]);

/** Whether a request that is read in another way belongs to a list. */
export const isMatching = (
  { spaceId, startDate, endDate, min, max }: RequestFilter,
  request: Pick<BookingDocument, 'spaceId' | 'date' | 'totalPrice'>,
): boolean =>
  (spaceId === undefined || spaceId === request.spaceId) &&
  (startDate === undefined || startDate <= request.date) &&
  (endDate === undefined || request.date <= endDate) &&
  (min === undefined || min <= request.totalPrice) &&
  (max === undefined || request.totalPrice <= max);

type Part = {
  readonly order: RequestOrder;
  /** Default: ascending. */
  readonly direction?: Direction;
  /** Only the requests after this place. */
  readonly after?: readonly (string | number)[] | undefined;
  readonly limit?: number;
};

const SOME: RequestFilter = { spaceId: toSpaceId(1), startDate: FROM, endDate: TO, min: cents(1), max: cents(2) };
const NEW: RequestFilter = { madeSince: toTimestamp(0) };

const pendingOf = declareQuery(
  bookings,
  (
    community: CommunityId,
    { spaceId, min: from, max: to, madeSince, ...dates }: RequestFilter,
    { order, direction = 'ascending', after, limit }: Part,
  ): Find<BookingDocument> => ({
    where: {
      communityId: community,
      status: 'Pending',
      ...defined({ spaceId, date: rangeOf(dates), totalPrice: rangeOrNone({ from, to }) }),
      ...defined({ createdAt: rangeOrNone({ from: madeSince }) }),
    },
    sort: SORTED_BY[order].map((field) => ({ field, direction })),
    ...defined({ after, limit }),
  }),
  [COMMUNITY.id, {}, { order: 'deadline' }],
  [COMMUNITY.id, {}, { order: 'date', limit: 1 }],
  [COMMUNITY.id, {}, { order: 'deadline', direction: 'descending', after: [toTimestamp(0), 1], limit: 1 }],
  [COMMUNITY.id, SOME, { order: 'deadline', limit: 1 }],
  [COMMUNITY.id, SOME, { order: 'date', direction: 'descending', after: [FROM, 1, 1], limit: 1 }],
  [COMMUNITY.id, NEW, { order: 'deadline', limit: 1 }],
  [COMMUNITY.id, { ...SOME, ...NEW }, { order: 'date', limit: 1 }],
);

function rangeOrNone(range: { readonly from: string | number | undefined; readonly to?: number | undefined }) {
  const bounds: Range = defined(range);
  return bounds.from === undefined && bounds.to === undefined ? undefined : bounds;
}

/** What the bookings of a series have in common. */
type SeriesOf = Pick<BookingDocument, 'communityId' | 'brandId' | 'series'>;

/** The first bookings of a series, in the order of lists. */
const inSeries = declareQuery(
  bookings,
  ({ communityId: community, brandId: brand, series = '' }: SeriesOf): Find<BookingDocument> => ({
    where: { isOfSeries: 'yes', communityId: community, brandId: brand, series },
    sort: [{ field: 'date' }, { field: 'startHour' }, { field: 'bookingId' }],
    limit: MAX_SERIES_DAYS,
  }),
  [{ communityId: COMMUNITY.id, brandId: brandId(1), series: '0b5f3c1e-0000-4000-8000-000000000000' }],
);

const HELD: readonly BookingStatus[] = ['Pending', 'Approved', 'Completed'];

/** Not the cancelled ones. */
const heldOn = declareQuery(
  bookings,
  (
    { communityId: community, spaceId, date }: Pick<BookingDocument, 'communityId' | 'spaceId' | 'date'>,
    limit?: number,
  ): Find<BookingDocument> => ({
    where: { communityId: community, spaceId, date, status: { in: HELD } },
    sort: [{ field: 'startHour' }, { field: 'bookingId' }],
    ...defined({ limit }),
  }),
  [{ communityId: COMMUNITY.id, spaceId: toSpaceId(1), date: FROM }],
  [{ communityId: COMMUNITY.id, spaceId: toSpaceId(1), date: FROM }, 2],
);

/** The bookings and requests beside a request, on its day in its space: the first, and how many they are. */
export type Beside = { readonly first: BookingDocument | undefined; readonly count: number };

/** Queries for a community that answers many requests. Texts stay sealed. */
export function createRequestQueries({ readModels, personalData }: QueryDeps) {
  const documents = readModels.collection(bookings);

  /** The first one or two on its day in its space: the request itself may be among them. */
  const firstTwo = (request: BookingDocument) => documents.list(heldOn(request, 2));
  const firstAmong = (onDay: readonly BookingDocument[], request: BookingDocument) =>
    onDay.find(({ bookingId }) => bookingId !== request.bookingId);

  async function beside(request: BookingDocument): Promise<Beside> {
    const onDay = await firstTwo(request);
    const first = firstAmong(onDay, request);
    const total = onDay.length < 2 ? onDay.length : await documents.count(heldOn(request));
    return { first, count: total - (HELD.includes(request.status) ? 1 : 0) };
  }

  return {
    /** Some of the pending requests of a community, in an order. */
    pending: (community: CommunityId, filter: RequestFilter, part: Part): Promise<BookingDocument[]> =>
      documents.list(pendingOf(community, filter, part)),

    count: (community: CommunityId, filter: RequestFilter): Promise<number> =>
      documents.count(pendingOf(community, filter, { order: 'deadline' })),

    /** The bookings with these ids that the account may see, in this order. */
    async some(account: Account, ids: readonly number[]): Promise<BookingDocument[]> {
      if (ids.length === 0) return [];
      const byKey = await documents.getMany(ids.map(String));
      return ids.flatMap((id) => {
        const booking = byKey.get(String(id));
        return booking !== undefined && isVisibleBooking(account, booking) ? [booking] : [];
      });
    },

    /** Opens the texts of bookings. */
    readable: (requests: readonly BookingDocument[]): Promise<ReadableBooking[]> => personalData.openBookings(requests),

    /** What is beside a request. */
    beside,

    /** The first booking or request beside each of these requests, in their order. */
    firstBeside: (requests: readonly BookingDocument[]): Promise<(BookingDocument | undefined)[]> =>
      Promise.all(requests.map(async (request) => firstAmong(await firstTwo(request), request))),

    /** The days of the series of a booking, itself included, at most {@link MAX_SERIES_DAYS}. None if it is of no series. */
    series: async (booking: SeriesOf): Promise<BookingDocument[]> =>
      booking.series === undefined ? [] : documents.list(inSeries(booking)),

    /** The other bookings and requests of a space on the day of a booking, by start hour. */
    async othersOnDay(
      booking: Pick<BookingDocument, 'communityId' | 'spaceId' | 'date' | 'bookingId'>,
    ): Promise<BookingDocument[]> {
      const onDay = await documents.list(heldOn(booking));
      return onDay.filter(({ bookingId }) => bookingId !== booking.bookingId);
    },
  };
}
