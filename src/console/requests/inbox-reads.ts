import type { BookingDocument } from '../../../projections/bookings.ts';
import { ERASED } from '../../domain/personal-text.ts';
import type { Queries } from '../../queries/queries.ts';
import type { AccountOf } from '../parts/visit.ts';
import { inOrder, type RequestList } from './request-list.ts';

/** The reads of the inbox. */

type Community = AccountOf<'Community'>;

/** How many of the community's latest cancellations are searched for reasons. */
const MAX_SEARCHED = 40;
/** Longer reasons are left out, because they were written for one case. */
const MAX_SUGGESTED = { reasons: 6, characters: 120 };

/** Every pending request of a list, in its order. */
export const pendingIn = async (
  { requests }: Pick<Queries, 'requests'>,
  { id }: Community,
  list: RequestList,
): Promise<BookingDocument[]> => inOrder(list, await requests.pending(id, list));

/** The latest short reasons that the community gave when it declined or cancelled, each once. */
export async function recentReasons(
  { bookings }: Pick<Queries, 'bookings'>,
  account: Community,
): Promise<readonly string[]> {
  const recent = await bookings.page(account, {
    status: 'Cancelled',
    direction: 'descending',
    limit: MAX_SEARCHED,
    holds: ({ cancelledBy }) => cancelledBy === 'Community',
  });
  const reasons = recent.bookings.flatMap(({ reason }) => (reason === undefined || reason === ERASED ? [] : [reason]));
  const short = reasons.filter((reason) => reason.length <= MAX_SUGGESTED.characters && !reason.includes('\n'));
  return [...new Set(short)].slice(0, MAX_SUGGESTED.reasons);
}
