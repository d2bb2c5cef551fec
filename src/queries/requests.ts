import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { type CommunityId, communityId, type PlainDate, type SpaceId, spaceId as toSpaceId } from '../domain/ids.ts';
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { isVisibleBooking } from './booking-pages.ts';

/** Which of a community's pending requests: those of one space, on these dates, both inclusive. */
export type RequestFilter = {
  readonly spaceId?: SpaceId;
  readonly startDate?: PlainDate;
  readonly endDate?: PlainDate;
};

const FROM = '2026-12-01' as PlainDate;
const TO = '2026-12-31' as PlainDate;

const pendingOf = declareQuery(
  bookings,
  (community: CommunityId, { spaceId, startDate, endDate }: RequestFilter): Find<BookingDocument> => {
    const range = (startDate ?? endDate) === undefined ? undefined : defined({ from: startDate, to: endDate });
    return { where: { communityId: community, status: 'Pending', ...defined({ spaceId, date: range }) } };
  },
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

/** What a community reads to answer requests, many at once: no query for each of them. */
export function createRequestQueries(deps: { readonly readModels: ReadModels; readonly personalData: PersonalData }) {
  const { readModels, personalData } = deps;
  return {
    /**
     * Every request of a community that waits for an answer, in no order. Their texts stay sealed. As requests expire unanswered,
     * they are few, however many bookings there are.
     */
    async pending(community: CommunityId, filter: RequestFilter = {}): Promise<BookingDocument[]> {
      const found = readModels.collection(bookings).find(pendingOf(community, filter));
      return Array.fromAsync(found, ({ document }) => document);
    },

    /** Those of these bookings that the account may see, in the order of the ids. Their texts stay sealed. */
    async some(account: Account, ids: readonly number[]): Promise<BookingDocument[]> {
      if (ids.length === 0) return [];
      const found = await readModels.collection(bookings).getMany(ids.map(String));
      const byKey = new Map(found.map(({ key, document }) => [key, document]));
      return ids.flatMap((id) => {
        const booking = byKey.get(String(id));
        return booking !== undefined && isVisibleBooking(account, booking) ? [booking] : [];
      });
    },

    /** The same bookings, with their texts opened. */
    readable: (found: readonly BookingDocument[]): Promise<ReadableBooking[]> => personalData.openBookings(found),

    /** What the account may see of the days and spaces of these bookings, by start hour. Texts stay sealed. */
    async onDaysOf(account: Account, of: readonly BookingDocument[]): Promise<BookingDocument[]> {
      if (of.length === 0) return [];
      const spaces = [...new Set(of.map(({ spaceId }) => spaceId))];
      const dates = [...new Set(of.map(({ date }) => date))];
      const found = await Array.fromAsync(
        readModels.collection(bookings).find(onDays(spaces, dates)),
        ({ document }) => document,
      );
      const visible = found.filter((booking) => isVisibleBooking(account, booking));
      return visible.sort((a, b) => a.startHour - b.startHour);
    },
  };
}
