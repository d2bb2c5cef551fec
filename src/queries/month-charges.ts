import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { daysOfMonth, FIRST_ZONE, LAST_ZONE, toTimestamp, wallDay } from '../domain/calendar.ts';
import { type ChargeTotals, totalsOf } from '../domain/charges.ts';
import type { DateRange } from '../domain/date-range.ts';
import { defined } from '../domain/defined.ts';
import type { Timestamp } from '../domain/ids.ts';
import { inPages } from '../event-loop/in-pages.ts';
import { merged } from '../event-loop/merged.ts';
import {
  type BookingPart,
  createBookingPages,
  type Direction,
  type ListPage,
  ownedBy,
  rangeOf,
  SHOWN_TOGETHER,
  unhurried,
} from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { type PageRequest, readPage } from './read-page.ts';
import { BRAND, COMMUNITY, FROM, TO } from './samples.ts';

/** A charge or a refund, at the moment at which it was made. */
export type Made = { readonly kind: 'charge' | 'refund'; readonly at: Timestamp; readonly booking: BookingDocument };

/** A place in a list of charges and refunds. */
export type MadeCursor = Pick<Made, 'kind' | 'at'> & { readonly bookingId: number };

/** A cursor as text, for addresses: `2026-11-20T10:00:00.000Z_17_charge`. */
export const madeCursorText = ({ at, bookingId, kind }: MadeCursor): string => `${at}_${bookingId}_${kind}`;

/** Undefined if the text is not a cursor. */
export function madeCursorIn(text: string): MadeCursor | undefined {
  const [, at = '', id, kind] = /^(\d{4}-[\dT:.-]+Z)_(\d{1,15})_(charge|refund)$/.exec(text) ?? [];
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return undefined;
  return { at: toTimestamp(ms), bookingId: Number(id), kind: kind === 'charge' ? 'charge' : 'refund' };
}

type MadeQuery = PageRequest<MadeCursor>;

const CHARGED = { charge: { exists: true } } as const;

const charged = declareQuery(
  bookings,
  (account: Account, dates: DateRange, isKept?: 'kept'): Find<BookingDocument> => ({
    where: {
      ...ownedBy(account),
      charge: { exists: true },
      ...defined({ date: rangeOf(dates), refund: isKept && { exists: false } }),
    },
  }),
  [COMMUNITY, { startDate: FROM, endDate: TO }],
  [BRAND, { startDate: FROM, endDate: TO }, 'kept'],
);

type Moments = { readonly from: Timestamp; readonly below: Timestamp };

/** Where to begin, and how many to read. */
type Position = {
  readonly direction: Direction;
  readonly after?: readonly [Timestamp, number];
  /** Default: all. */
  readonly limit?: number;
};

const MOMENTS: Moments = { from: toTimestamp(0), below: toTimestamp(1) };
const FIRST: Position = { direction: 'ascending', limit: 1 };
const LATER: Position = { direction: 'descending', after: [toTimestamp(0), 1], limit: 1 };

/** The bookings with a moment between two others, of all time zones or of one. */
const madeBetween = (at: 'approvedAt' | 'changedAt', where: Find<BookingDocument>['where']) =>
  declareQuery(
    bookings,
    (account: Account, moments: Moments, timeZone?: string, position?: Position): Find<BookingDocument> => ({
      where: { ...ownedBy(account), ...where, [at]: moments, ...defined({ timeZone }) },
      ...(position && {
        sort: ([at, 'bookingId'] as const).map((field) => ({ field, direction: position.direction })),
        ...defined({ after: position.after, limit: position.limit }),
      }),
    }),
    [COMMUNITY, MOMENTS],
    [BRAND, MOMENTS, 'UTC'],
    [COMMUNITY, MOMENTS, 'UTC', FIRST],
    [BRAND, MOMENTS, 'UTC', LATER],
  );

const chargesMade = madeBetween('approvedAt', { wasApproved: 'yes' });
/** The cancellation is the last change of a booking. */
const refundsMade = madeBetween('changedAt', { status: 'Cancelled', refund: { above: 0 } });

/**
 * The charges and refunds of an account in a month (YYYY-MM): of the events of the month, or those made in the month by the clock of
 * each space (docs/decisions/bookings.md). The store adds up and finds the page.
 */
export function createMonthCharges({ readModels }: Pick<QueryDeps, 'readModels'>) {
  const parts = createBookingPages({ readModels });
  const documents = readModels.collection(bookings);

  /** The time zones of the bookings that were charged or refunded in a month. */
  async function zonesOf(account: Account, month: string): Promise<string[]> {
    const { from } = momentsOf(month, FIRST_ZONE);
    const { below } = momentsOf(month, LAST_ZONE);
    const groups = await Promise.all(
      [chargesMade, refundsMade].map((made) => documents.groups(made(account, { from, below }), ['timeZone'])),
    );
    return [...new Set(groups.flat().map(({ values }) => values.timeZone))];
  }

  /** The charges or refunds made in a zone, in order. Reads as many at a time as a page shows, or all over one cursor. */
  async function* madeIn(
    account: Account,
    kind: Made['kind'],
    { zone, month }: { readonly zone: string; readonly month: string },
    { direction, limit, ...position }: Pick<Position, 'direction' | 'limit'> & { readonly after?: MadeCursor },
  ): AsyncGenerator<Made> {
    const query = kind === 'charge' ? chargesMade : refundsMade;
    for (let after = position.after && placeBeside(position.after, kind, direction); ; ) {
      const place = { direction, ...defined({ after, limit }) };
      let count = 0;
      for await (const booking of documents.find(query(account, momentsOf(month, zone), zone, place))) {
        count += 1;
        const at = kind === 'charge' ? booking.approvedAt : booking.changedAt;
        if (at === undefined) continue;
        after = [at, booking.bookingId];
        yield { kind, at, booking };
      }
      if (limit === undefined || count < limit) return;
    }
  }

  /** The charges and refunds made in all zones, in order. */
  async function* madeInAll(
    account: Account,
    month: string,
    position: Parameters<typeof madeIn>[3],
  ): AsyncGenerator<Made> {
    const zones = await zonesOf(account, month);
    const streams = zones.flatMap((zone) =>
      (['charge', 'refund'] as const).map((kind) => madeIn(account, kind, { zone, month }, position)),
    );
    yield* merged(streams, (a, b) => compare(cursorAt(a), cursorAt(b), position.direction));
  }

  async function madePage(account: Account, month: string, query: MadeQuery) {
    const { items, previous, next } = await readPage(query, cursorAt, ({ isBackwards, after, limit }) =>
      madeInAll(account, month, { direction: isBackwards ? 'descending' : 'ascending', limit, ...defined({ after }) }),
    );
    return { made: items, previous, next };
  }

  return {
    ofEvents: {
      /** By currency. */
      async totals(account: Account, month: string): Promise<ChargeTotals[]> {
        const dates = daysOfMonth(month);
        const [all, earning] = await Promise.all([
          documents.groups(charged(account, dates), ['currency'], ['charge', 'refund']),
          documents.groups(charged(account, dates, 'kept'), ['currency'], ['eventFee']),
        ]);
        return totalsOf([
          ...all.map(({ values, sums }) => ({ ...values, charged: sums.get('charge'), refunded: sums.get('refund') })),
          ...earning.map(({ values, sums }) => ({ ...values, earned: sums.get('eventFee') })),
        ]);
      },

      /** A page of the bookings that were charged, in the order of lists. Their texts stay sealed. */
      page: (account: Account, month: string, query: ListPage): Promise<BookingPart> =>
        parts.page(account, { ...query, ...daysOfMonth(month), lists: [CHARGED] }),

      /** All of them, in pages that are read when they are asked for. */
      pages: (account: Account, month: string): AsyncGenerator<BookingDocument[]> =>
        parts.pages(account, { ...daysOfMonth(month), direction: 'ascending', lists: [CHARGED] }),
    },

    made: {
      /** By currency. */
      async totals(account: Account, month: string): Promise<ChargeTotals[]> {
        const zones = await zonesOf(account, month);
        const ofZones = zones.map(async (zone) => {
          const at = momentsOf(month, zone);
          const [charges, refunds] = await Promise.all([
            documents.groups(chargesMade(account, at, zone), ['currency'], ['charge', 'eventFee']),
            documents.groups(refundsMade(account, at, zone), ['currency'], ['refund', 'eventFee']),
          ]);
          return [
            ...charges.map(({ values, sums }) => ({
              ...values,
              charged: sums.get('charge'),
              earned: sums.get('eventFee'),
            })),
            ...refunds.map(({ values, sums }) => ({
              ...values,
              refunded: sums.get('refund'),
              earned: -(sums.get('eventFee') ?? 0),
            })),
          ];
        });
        return totalsOf((await Promise.all(ofZones)).flat());
      },

      /** A page of charges and refunds, oldest first. Texts stay sealed. */
      page: madePage,

      /** All of them, in pages that are read when they are asked for. */
      pages: (account: Account, month: string): AsyncGenerator<Made[]> =>
        unhurried(inPages(madeInAll(account, month, { direction: 'ascending' }), SHOWN_TOGETHER)),
    },
  };
}

/** From the beginning of a month to its end in a zone. */
function momentsOf(month: string, zone: string): Moments {
  const { startDate, endDate } = daysOfMonth(month);
  return { from: toTimestamp(wallDay(startDate, zone).start), below: toTimestamp(wallDay(endDate, zone).end) };
}

const cursorAt = ({ kind, at, booking: { bookingId } }: Made): MadeCursor => ({ kind, at, bookingId });

/** Where the charges or refunds begin that come after a cursor. Of one moment and booking, the charge comes first. */
function placeBeside(cursor: MadeCursor, kind: Made['kind'], direction: Direction): [Timestamp, number] {
  const { at, bookingId } = cursor;
  if (compare(cursor, { ...cursor, kind }, direction) >= 0) return [at, bookingId];
  return [at, bookingId + (direction === 'ascending' ? -1 : 1)];
}

/** Negative if `a` comes first in this direction. */
function compare(a: MadeCursor, b: MadeCursor, direction: Direction): number {
  const order =
    a.at !== b.at
      ? a.at < b.at
        ? -1
        : 1
      : a.bookingId - b.bookingId || (a.kind === b.kind ? 0 : a.kind < b.kind ? -1 : 1);
  return direction === 'ascending' ? order : -order;
}
