import type { BookingDocument, ReadableBooking } from '../../../projections/bookings.ts';
import type { BrandFacts } from '../../queries/admissions.ts';
import type { Queries } from '../../queries/queries.ts';
import type { Beside } from '../../queries/requests.ts';
import type { CommunityVisit } from '../parts/visit.ts';
import { LET_IN } from './admission-forms.ts';
import type { Entry } from './inbox-entries.ts';
import { DAYS_SHOWN } from './series-views.ts';
import { type LastStep, lastStepOf } from './what-happened.ts';

/** A row of the inbox, as it is shown. */
export type Row = Omit<Entry, 'request'> & {
  readonly request: ReadableBooking;
  /** What is beside a request that stands alone. */
  readonly beside: Beside;
  /** The first one beside each of the first days of a series that wait. */
  readonly firstBeside: readonly (BookingDocument | undefined)[];
  readonly brand: BrandFacts;
  /** The last step of a request that has been answered. */
  readonly answered: LastStep | undefined;
  readonly hasUnread: boolean;
};

const NOTHING_BESIDE: Beside = { first: undefined, count: 0 };

/** Reads what the rows of these entries show. */
export async function rowsOf(
  queries: Queries,
  visit: CommunityVisit,
  entries: readonly Entry[],
): Promise<readonly Row[]> {
  const bookings = entries.map(({ request }) => request);
  const ids = bookings.map(({ brandId }) => brandId);
  const [requests, brands, unread] = await Promise.all([
    queries.requests.readable(bookings),
    queries.admissions.ofBrands(visit.account.id, ids),
    queries.threads.unread(visit.account, visit.user.read ?? {}),
  ]);
  const isUnread = ({ bookingId }: BookingDocument) => unread.includes(bookingId);
  const rowOf = async (request: ReadableBooking, { key, waiting, days }: Entry): Promise<Row> => ({
    key,
    request,
    waiting,
    days,
    beside: waiting.length !== 1 && days.length > 1 ? NOTHING_BESIDE : await queries.requests.beside(request),
    firstBeside: waiting.length > 1 ? await queries.requests.firstBeside(waiting.slice(0, DAYS_SHOWN)) : [],
    brand: brands.get(request.brandId) ?? LET_IN,
    answered: request.status === 'Pending' ? undefined : await lastStepOf(queries, visit, request),
    hasUnread: isUnread(request) || waiting.some(isUnread),
  });
  return Promise.all(
    entries.flatMap((entry, index) => requests.slice(index, index + 1).map((one) => rowOf(one, entry))),
  );
}
