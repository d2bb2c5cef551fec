import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { clock } from '../../html/formats.ts';
import type { CsvColumn } from '../parts/csv-file.ts';
import { otherPartyOf } from '../parts/other-party.ts';
import type { PageDeps } from '../parts/routes.ts';

/** A row with the name of the other party of its booking. */
export type WithParty<T> = T & { readonly party: string };

/** The same rows with those names, which are read once for each page. */
export async function* withParties<T extends object>(
  queries: PageDeps['queries'],
  account: Account,
  pages: AsyncIterable<readonly T[]>,
  bookingOf: (row: T) => BookingDocument,
): AsyncGenerator<readonly WithParty<T>[]> {
  for await (const page of pages) {
    const { nameOf } = await otherPartyOf(queries, account, page.map(bookingOf));
    yield page.map((row) => ({ ...row, party: nameOf(bookingOf(row)) }));
  }
}

/** What every file says of a booking: number, date and hours by the clock of its space, and the names of space and other party. */
export const bookingColumns = <T extends { readonly party: string }>(
  { kind }: Account,
  bookingOf: (row: T) => BookingDocument,
): readonly CsvColumn<T>[] => [
  { label: 'Booking', cell: (row) => bookingOf(row).bookingId },
  { label: 'Date', cell: (row) => bookingOf(row).date },
  { label: 'Start', cell: (row) => clock(bookingOf(row).startHour) },
  { label: 'End', cell: (row) => clock(bookingOf(row).freeFrom) },
  { label: 'Time zone', cell: (row) => bookingOf(row).timeZone },
  { label: 'Space', cell: (row) => bookingOf(row).spaceName },
  { label: kind === 'Community' ? 'Brand' : 'Community', cell: ({ party }) => party },
];
