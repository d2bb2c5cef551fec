import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { toTimestamp } from '../domain/calendar.ts';
import { defined } from '../domain/defined.ts';
import {
  type CommunityId,
  communityId,
  type PlainDate,
  type SpaceId,
  type Timestamp,
  bookingId as toBookingId,
  spaceId as toSpaceId,
} from '../domain/ids.ts';
import { type Dates, isVisibleBooking, rangeOf, visibleByHour } from './booking-pages.ts';
import { documentsOf } from './documents.ts';
import type { QueryDeps } from './query-deps.ts';

/** Filter of a community's pending requests: by space and dates. */
export type RequestFilter = Dates & { readonly spaceId?: SpaceId };

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

/** A cursor in the order of deadlines, then ids. */
export type Deadline = Pick<BookingDocument, 'expiresAt' | 'bookingId'>;

type Direction = 'ascending' | 'descending';
type Range<T> = { readonly above?: T; readonly below?: T; readonly to?: T };
type Part = {
  readonly expiresAt?: Timestamp | Range<Timestamp>;
  readonly bookingId?: Range<BookingDocument['bookingId']>;
};

/** The requests after a cursor, and those up to and including it. */
const partsBeside = ({ expiresAt, bookingId }: Deadline): Readonly<Record<Direction, readonly Part[]>> => ({
  ascending: [{ expiresAt, bookingId: { above: bookingId } }, { expiresAt: { above: expiresAt } }],
  descending: [{ expiresAt, bookingId: { to: bookingId } }, { expiresAt: { below: expiresAt } }],
});

const PLACE: Deadline = { expiresAt: toTimestamp(0), bookingId: toBookingId(7) };
const BESIDE = partsBeside(PLACE);

const inOrderOfDeadlines = declareQuery(
  bookings,
  (community: CommunityId, part: Part, direction: Direction, limit: number): Find<BookingDocument> => ({
    where: { communityId: community, status: 'Pending', ...part },
    sort: [
      { field: 'expiresAt', direction },
      { field: 'bookingId', direction },
    ],
    limit,
  }),
  [communityId(1), {}, 'ascending', 1],
  ...(['ascending', 'descending'] as const).flatMap((direction) =>
    BESIDE[direction].map((part): [CommunityId, Part, Direction, number] => [communityId(1), part, direction, 1]),
  ),
);

const pendingSince = declareQuery(
  bookings,
  (community: CommunityId, since: Timestamp): Find<BookingDocument> => ({
    where: { communityId: community, status: 'Pending', createdAt: { from: since } },
  }),
  [communityId(1), toTimestamp(0)],
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

/** Reads for a community that answers many requests, without a query for each. */
export function createRequestQueries({ readModels, personalData }: QueryDeps) {
  return {
    /** Every pending request of a community, unordered. Texts stay sealed. All are in memory; to show only some, use `byDeadline`. */
    pending: (community: CommunityId, filter: RequestFilter = {}): Promise<BookingDocument[]> =>
      documentsOf(readModels.collection(bookings).find(pendingOf(community, filter))),

    /**
     * A community's pending requests around a cursor in the order of deadlines: at most `count` up to and including it, and at most
     * `count` after it. Starts at the beginning without a cursor, or if none follows it and `orFirst`. Texts stay sealed.
     */
    async byDeadline(
      community: CommunityId,
      place: Deadline | undefined,
      count: number,
      { orFirst = false }: { readonly orFirst?: boolean } = {},
    ): Promise<BookingDocument[]> {
      const read = (part: Part, direction: Direction) =>
        documentsOf(readModels.collection(bookings).find(inOrderOfDeadlines(community, part, direction, count)));
      if (place === undefined) return read({}, 'ascending');
      const beside = async (direction: Direction) => {
        const parts = await Promise.all(partsBeside(place)[direction].map((part) => read(part, direction)));
        return parts.flat().slice(0, count);
      };
      const [before, after] = await Promise.all([beside('descending'), beside('ascending')]);
      return orFirst && after.length === 0 ? read({}, 'ascending') : [...before.reverse(), ...after];
    },

    /** A community's pending requests made at this moment or later, unordered. Texts stay sealed. */
    since: (community: CommunityId, since: Timestamp): Promise<BookingDocument[]> =>
      documentsOf(readModels.collection(bookings).find(pendingSince(community, since))),

    /** These bookings, as far as the account may see them, in the order of the ids. Texts stay sealed. */
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

    /** The bookings visible to the account on the days and in the spaces of these bookings, by start hour. Texts stay sealed. */
    async onDaysOf(account: Account, of: readonly BookingDocument[]): Promise<BookingDocument[]> {
      if (of.length === 0) return [];
      const spaces = [...new Set(of.map(({ spaceId }) => spaceId))];
      const dates = [...new Set(of.map(({ date }) => date))];
      const found = await documentsOf(readModels.collection(bookings).find(onDays(spaces, dates)));
      return visibleByHour(account, found);
    },
  };
}
