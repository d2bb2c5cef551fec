import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import { type Closure, concerns } from '../domain/closure.ts';
import { defined } from '../domain/defined.ts';
import { type CommunityId, communityId, type PlainDate, type SpaceId, spaceId as toSpaceId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { overlaps } from '../domain/time-slots.ts';
import { documentsOf } from './documents.ts';
import type { QueryDeps } from './query-deps.ts';

/** How many bookings of a day or space wait for an answer, and how many are approved or completed. */
export type BookingCounts = { readonly pending: number; readonly booked: number };

export const NO_BOOKINGS: BookingCounts = { pending: 0, booked: 0 };

type ClosedHours = Pick<Closure, 'communityId' | 'spaceIds' | 'from' | 'to' | 'weekdays' | 'start' | 'until'>;

const BOOKED: readonly BookingStatus[] = ['Approved', 'Completed'];
const HELD: readonly BookingStatus[] = ['Pending', ...BOOKED];

const FROM = '2026-12-01' as PlainDate;
const TO = '2026-12-31' as PlainDate;
const SPACES: readonly SpaceId[] = [toSpaceId(1), toSpaceId(2)];

const heldBetween = declareQuery(
  bookings,
  (community: CommunityId, from: PlainDate, to: PlainDate, spaceId?: SpaceId): Find<BookingDocument> => ({
    where: { communityId: community, status: { in: HELD }, date: { from, to }, ...defined({ spaceId }) },
  }),
  [communityId(1), FROM, TO],
  [communityId(1), FROM, TO, toSpaceId(1)],
);

const ofDay = declareQuery(
  bookings,
  (
    community: CommunityId,
    date: PlainDate,
    statuses: readonly BookingStatus[],
    spaces?: readonly SpaceId[],
    limit?: number,
  ): Find<BookingDocument> => ({
    where: {
      communityId: community,
      date,
      status: { in: statuses },
      ...defined({ spaceId: spaces && { in: spaces } }),
    },
    sort: [{ field: 'startHour' }, { field: 'bookingId' }],
    ...defined({ limit }),
  }),
  [communityId(1), FROM, HELD],
  [communityId(1), FROM, ['Pending'], undefined, 3],
  [communityId(1), FROM, BOOKED, SPACES, 3],
);

/** The bookings of a community by day. Texts stay sealed. */
export function createCalendarQueries({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const documents = readModels.collection(bookings);

  /** The counts of the bookings of some days, by one of their fields. */
  async function counts<F extends 'date' | 'spaceId'>(
    query: ReturnType<typeof heldBetween>,
    field: F,
  ): Promise<ReadonlyMap<BookingDocument[F], BookingCounts>> {
    const totals = new Map<BookingDocument[F], BookingCounts>();
    for (const { values, count } of await documents.groups<F | 'status'>(query, [field, 'status'])) {
      const { pending, booked } = totals.get(values[field]) ?? NO_BOOKINGS;
      const isPending = values.status === 'Pending';
      totals.set(values[field], {
        pending: pending + (isPending ? count : 0),
        booked: booked + (isPending ? 0 : count),
      });
    }
    return totals;
  }

  return {
    /** By date, for dates that have bookings; of all spaces or of one. */
    byDate: (community: CommunityId, from: PlainDate, to: PlainDate, spaceId?: SpaceId) =>
      counts(heldBetween(community, from, to, spaceId), 'date'),

    /** By space, for spaces that have bookings on a day. */
    bySpace: (community: CommunityId, date: PlainDate) => counts(heldBetween(community, date, date), 'spaceId'),

    /** The first bookings of a day, of all spaces or of one: pending ones, then by hour. */
    async firstOn(
      community: CommunityId,
      date: PlainDate,
      { pending, booked }: BookingCounts,
      { limit, spaceId }: { readonly limit: number; readonly spaceId?: SpaceId | undefined },
    ): Promise<BookingDocument[]> {
      const spaces = spaceId && [spaceId];
      const find = (statuses: readonly BookingStatus[], most: number) =>
        most <= 0 ? [] : documentsOf(documents.find(ofDay(community, date, statuses, spaces, most)));
      const pages = await Promise.all([
        find(['Pending'], Math.min(limit, pending)),
        find(BOOKED, Math.min(limit - pending, booked)),
      ]);
      return pages.flat();
    },

    /** The bookings of some spaces on a day, by start hour. */
    heldOn: (community: CommunityId, date: PlainDate, spaces: readonly SpaceId[]): Promise<BookingDocument[]> =>
      documentsOf(documents.find(ofDay(community, date, HELD, spaces))),

    /** The first held bookings inside the hours of a closed time, and how many there are. */
    async inside(closure: ClosedHours, limit: number) {
      const first: BookingDocument[] = [];
      let count = 0;
      for await (const { document } of documents.find(heldBetween(closure.communityId, closure.from, closure.to))) {
        const { startHour, freeFrom } = document;
        if (!concerns(closure, document) || !overlaps({ start: startHour, until: freeFrom }, closure)) continue;
        count += 1;
        if (first.length < limit) first.push(document);
      }
      return { first, count };
    },

    /** The first bookings of some spaces on a day that were declined, withdrawn or cancelled or expired, and how many there are. */
    async cancelledOn(community: CommunityId, date: PlainDate, spaces: readonly SpaceId[], limit: number) {
      const [first, count] = await Promise.all([
        documentsOf(documents.find(ofDay(community, date, ['Cancelled'], spaces, limit))),
        documents.count(ofDay(community, date, ['Cancelled'], spaces)),
      ]);
      return { first, count };
    },
  };
}
