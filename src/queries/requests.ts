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
import type { PersonalData } from '../personal-data/personal-data.ts';
import type { ReadModels } from '../read-models/read-models.ts';
import { type Dates, isVisibleBooking, rangeOf, visibleByHour } from './booking-pages.ts';
import { documentsOf } from './documents.ts';

/** Which of a community's pending requests: those of one space, on these dates. */
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

/** A place in the order of deadlines. What shares a deadline is in the order of ids. */
export type Deadline = Pick<BookingDocument, 'expiresAt' | 'bookingId'>;

type Direction = 'ascending' | 'descending';
type Range<T> = { readonly above?: T; readonly below?: T; readonly to?: T };
type Part = {
  readonly expiresAt?: Timestamp | Range<Timestamp>;
  readonly bookingId?: Range<BookingDocument['bookingId']>;
};

/** The requests after a place, and those up to it, itself included. */
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

/** What a community reads to answer many requests together, without a query for each. */
export function createRequestQueries(deps: { readonly readModels: ReadModels; readonly personalData: PersonalData }) {
  const { readModels, personalData } = deps;
  return {
    /**
     * Every request of a community that waits for an answer, in no order. Their texts stay sealed. All are in memory: where only
     * some are shown, `byDeadline` reads no others.
     */
    async pending(community: CommunityId, filter: RequestFilter = {}): Promise<BookingDocument[]> {
      return documentsOf(readModels.collection(bookings).find(pendingOf(community, filter)));
    },

    /**
     * A community's requests that wait for an answer around a place in the order of their deadlines: at most `count` up to the
     * place, itself included, and at most `count` after it. From the beginning without a place, or if none follows it and
     * `orFirst`. Their texts stay sealed.
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

    /** A community's requests that wait for an answer and were made at this moment or since, in no order. Their texts stay sealed. */
    async since(community: CommunityId, since: Timestamp): Promise<BookingDocument[]> {
      return documentsOf(readModels.collection(bookings).find(pendingSince(community, since)));
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
      const found = await documentsOf(readModels.collection(bookings).find(onDays(spaces, dates)));
      return visibleByHour(account, found);
    },
  };
}
