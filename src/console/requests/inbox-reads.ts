import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { ERASED } from '../../domain/personal-text.ts';
import type { Queries } from '../../queries/queries.ts';
import { inOrder, type RequestList } from './request-list.ts';

/** The reads of the inbox. */

type Community = Extract<Account, { kind: 'Community' }>;

/** How many recent cancellations are looked through for reasons. */
const LOOKED_THROUGH = 40;
/** Longer ones were written for one case. */
const MAX_SUGGESTED = { reasons: 6, characters: 120 };

/** Every pending request of a list, in its order. */
export const pendingIn = async (
  { requests }: Pick<Queries, 'requests'>,
  { id }: Community,
  list: RequestList,
): Promise<BookingDocument[]> => inOrder(list, await requests.pending(id, list));

/** Short reasons that the community has given for what it declined or cancelled lately, each once. */
export async function recentReasons(
  { bookings }: Pick<Queries, 'bookings'>,
  account: Community,
): Promise<readonly string[]> {
  const recent = await bookings.page(account, {
    status: 'Cancelled',
    direction: 'descending',
    limit: LOOKED_THROUGH,
    holds: ({ cancelledBy }) => cancelledBy === 'Community',
  });
  const reasons = recent.bookings.flatMap(({ reason }) => (reason === undefined || reason === ERASED ? [] : [reason]));
  const short = reasons.filter((reason) => reason.length <= MAX_SUGGESTED.characters && !reason.includes('\n'));
  return [...new Set(short)].slice(0, MAX_SUGGESTED.reasons);
}
