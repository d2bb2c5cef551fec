import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import { type CommunityId, communityId, type PlainDate, type SpaceId, spaceId as toSpaceId } from '../domain/ids.ts';
import { isVisibleBooking, rangeOf } from './booking-pages.ts';
import { documentsOf } from './documents.ts';
import type { QueryDeps } from './query-deps.ts';

/** Filter of a community's pending requests: by space and dates. */
export type RequestFilter = DateRange & { readonly spaceId?: SpaceId };

const FROM = '2026-12-01' as PlainDate;
const TO = '2026-12-31' as PlainDate;

const pendingOf = declareQuery(
  bookings,
  (community: CommunityId, { spaceId, ...dates }: RequestFilter): Find<BookingDocument> => ({
    where: { communityId: community, status: 'Pending', ...defined({ spaceId, date: rangeOf(dates) }) },
  }),
  [communityId(1), {}],
  [communityId(1), { spaceId: toSpaceId(1) }],
  [communityId(1), { spaceId: toSpaceId(1), startDate: FROM, endDate: TO }],
);

const onDays = declareQuery(
  bookings,
  (spaces: readonly SpaceId[], dates: readonly PlainDate[]): Find<BookingDocument> => ({
    where: { spaceId: { in: spaces }, date: { in: dates } },
  }),
  [
    [toSpaceId(1), toSpaceId(2)],
    [FROM, TO],
  ],
);

/** Queries for a community that answers many requests: one for all of them instead of one for each. */
export function createRequestQueries({ readModels, personalData }: QueryDeps) {
  return {
    /** Every pending request of a community, unordered. Texts stay sealed. */
    pending: (community: CommunityId, filter: RequestFilter = {}): Promise<BookingDocument[]> =>
      documentsOf(readModels.collection(bookings).find(pendingOf(community, filter))),

    /** The bookings with these ids that the account may see, in this order. Texts stay sealed. */
    async some(account: Account, ids: readonly number[]): Promise<BookingDocument[]> {
      if (ids.length === 0) return [];
      const found = await readModels.collection(bookings).getMany(ids.map(String));
      const byKey = new Map(found.map(({ key, document }) => [key, document]));
      return ids.flatMap((id) => {
        const booking = byKey.get(String(id));
        return booking !== undefined && isVisibleBooking(account, booking) ? [booking] : [];
      });
    },

    /** Opens the texts of bookings. */
    readable: (found: readonly BookingDocument[]): Promise<ReadableBooking[]> => personalData.openBookings(found),

    /** The bookings visible to the account on the days and in the spaces of these bookings, by start hour. Texts stay sealed. */
    async onDaysOf(account: Account, of: readonly BookingDocument[]): Promise<BookingDocument[]> {
      if (of.length === 0) return [];
      const spaces = [...new Set(of.map(({ spaceId }) => spaceId))];
      const dates = [...new Set(of.map(({ date }) => date))];
      const found = await documentsOf(readModels.collection(bookings).find(onDays(spaces, dates)));
      const visible = found.filter((booking) => isVisibleBooking(account, booking));
      return visible.sort((a, b) => a.startHour - b.startHour);
    },
  };
}
