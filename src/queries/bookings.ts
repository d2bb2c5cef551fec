import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import type { CancelledBy } from '../domain/booking-events.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import { type PlainDate, type SpaceId, spaceId as toSpaceId } from '../domain/ids.ts';
import type { BookingStatus } from '../domain/space-day.ts';
import { inPages } from '../event-loop/in-pages.ts';
import type { Page } from '../read-models/reader.ts';
import {
  type BookingList,
  createBookingPages,
  isVisibleBooking,
  ownedBy,
  type PagePlace,
  type PageRange,
  rangeOf,
  type WholeList,
} from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { BRAND, COMMUNITY, FROM, TO } from './samples.ts';

export type BookingFilter = DateRange & { readonly status?: BookingStatus; readonly spaceId?: SpaceId };

/** A part of a long list, with its texts sealed. */
export type BookingRows = Page<BookingDocument> & {
  /** Changes whenever the texts of a subject are erased. What a row was opened to before is out of date then. */
  readonly erasures: number;
};

/** `list`: default all bookings of the account. */
export type PageQuery = PageRange & { readonly list?: BookingList };

export type BookingPage = PagePlace & { readonly bookings: readonly ReadableBooking[] };

/** A brand's bookings at a community, counted by outcome. Pending ones are not counted. */
export type BrandRecord = Awaited<ReturnType<typeof recordOf>>;

/** Moves to answer that are listed together. The others follow once these are answered. */
const MOST_MOVES = 50;

/** Those of an account, in the order of lists. */
export const byDate = declareQuery(
  bookings,
  (account: Account, { status, spaceId, ...dates }: BookingFilter): Find<BookingDocument> => ({
    where: { ...ownedBy(account), ...defined({ status, spaceId, date: rangeOf(dates) }) },
    sort: [{ field: 'date' }, { field: 'startHour' }, { field: 'bookingId' }],
  }),
  [BRAND, {}],
  [COMMUNITY, {}],
  [BRAND, { startDate: FROM, endDate: TO }],
  [COMMUNITY, { startDate: FROM }],
  [COMMUNITY, { status: 'Pending' }],
  [COMMUNITY, { status: 'Pending', startDate: FROM, endDate: TO }],
  [COMMUNITY, { spaceId: toSpaceId(1), startDate: FROM, endDate: TO }],
  [BRAND, { spaceId: toSpaceId(1), startDate: FROM, endDate: FROM }],
);

const inState = declareQuery(
  bookings,
  (account: Account, status: BookingStatus): Find<BookingDocument> => ({ where: { ...ownedBy(account), status } }),
  [BRAND, 'Pending'],
  [COMMUNITY, 'Pending'],
);

const ofBrandAt = declareQuery(
  bookings,
  (
    { brandId: brand, communityId: community }: Pick<BookingDocument, 'brandId' | 'communityId'>,
    status: BookingStatus,
    cancelledBy?: CancelledBy,
  ): Find<BookingDocument> => ({
    where: { brandId: brand, communityId: community, status, ...defined({ cancelledBy }) },
  }),
  [{ brandId: BRAND.id, communityId: COMMUNITY.id }, 'Completed'],
  [{ brandId: BRAND.id, communityId: COMMUNITY.id }, 'Cancelled', 'Brand'],
);

/** Those whose move the account has to answer, in the order of lists. */
const movesOf = declareQuery(
  bookings,
  (account: Account): Find<BookingDocument> => ({
    where: { ...ownedBy(account), moveWaitsFor: account.kind },
    sort: [{ field: 'date' }, { field: 'startHour' }, { field: 'bookingId' }],
    limit: MOST_MOVES,
  }),
  [BRAND],
  [COMMUNITY],
);

/** How long a list that is being read may show texts that have been erased since it began. */
const ERASURES_READ_EVERY_MS = 1_000;

/** Bookings whose texts are opened in one batch. */
const OPENED_TOGETHER = 200;

export function createBookingQueries({ readModels, personalData }: QueryDeps) {
  const parts = createBookingPages({ readModels });

  return {
    /** The booking, or undefined if the account may not see it. */
    async get(account: Account, bookingId: number): Promise<ReadableBooking | undefined> {
      const stored = await readModels.collection(bookings).get(String(bookingId));
      if (stored === undefined || !isVisibleBooking(account, stored)) return undefined;
      const [booking] = await personalData.openBookings([stored]);
      return booking;
    },

    /** Every booking the account may see, in the order of lists, streamed, with its texts opened. */
    async *readableList(account: Account, filter: BookingFilter = {}): AsyncGenerator<ReadableBooking> {
      for await (const page of inPages(this.list(account, filter), OPENED_TOGETHER))
        yield* await personalData.openBookings(page);
    },

    /** The same with texts sealed, for callers that show none. */
    list: (account: Account, filter: BookingFilter = {}): AsyncIterable<BookingDocument> =>
      readModels.collection(bookings).find(byDate(account, filter)),

    /** The same in pages, for long answers (docs/decisions/rest-api.md). */
    async *pages(account: Account, filter: BookingFilter = {}): AsyncGenerator<BookingRows> {
      let erasures = 0;
      let readAt = Number.NEGATIVE_INFINITY;
      for await (const page of readModels.collection(bookings).pages(byDate(account, filter))) {
        if (performance.now() - readAt > ERASURES_READ_EVERY_MS) {
          readAt = performance.now();
          erasures = await personalData.forgottenVersion();
        }
        yield { ...page, erasures };
      }
    },

    /** Opens the texts of bookings that the account may see. */
    open: (documents: readonly BookingDocument[]): Promise<ReadableBooking[]> => personalData.openBookings(documents),

    /** One page of the bookings the account may see, in the order of lists, with their texts opened. */
    async page(account: Account, { list = {}, ...query }: PageQuery): Promise<BookingPage> {
      const part = await parts.page(account, { ...query, lists: [list] });
      return { ...part, bookings: await personalData.openBookings(part.bookings) };
    },

    /** Every booking of such a list, in pages that are read when they are asked for. */
    async *wholeList(account: Account, { list = {}, ...query }: WholeList & Pick<PageQuery, 'list'>) {
      for await (const page of parts.pages(account, { ...query, lists: [list] }))
        yield await personalData.openBookings(page);
    },

    /**
     * The bookings between two days that the account may see, in all spaces or in one, in the order of lists. Texts stay sealed. For a
     * few weeks at most, because all are in memory.
     */
    between: (account: Account, startDate: PlainDate, endDate: PlainDate, spaceId?: SpaceId) =>
      readModels.collection(bookings).list(byDate(account, { startDate, endDate, ...defined({ spaceId }) })),

    /** The first bookings whose move the account has to answer. */
    movesToAnswer: (account: Account): Promise<BookingDocument[]> =>
      readModels.collection(bookings).list(movesOf(account)),

    /** How many of the bookings the account may see are in this state, or `atMost` if there are more. */
    count: (account: Account, status: BookingStatus, atMost: number): Promise<number> =>
      readModels.collection(bookings).count(inState(account, status), atMost),

    /** A brand's record at a community. */
    record: (of: Pick<BookingDocument, 'communityId' | 'brandId'>): Promise<BrandRecord> =>
      recordOf((...which) => readModels.collection(bookings).count(ofBrandAt(of, ...which))),
  };
}

async function recordOf(count: (status: BookingStatus, cancelledBy?: CancelledBy) => Promise<number>) {
  const [completed, approved, byBrand, byCommunity, expired] = await Promise.all([
    count('Completed'),
    // Not over yet.
    count('Approved'),
    // Withdrawn or cancelled by the brand itself.
    count('Cancelled', 'Brand'),
    // Declined or cancelled by the community.
    count('Cancelled', 'Community'),
    // Requests that expired unanswered.
    count('Cancelled', 'System'),
  ]);
  return { completed, approved, byBrand, byCommunity, expired };
}
