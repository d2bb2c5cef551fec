import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { bookingId, type CommunityId } from '../../domain/ids.ts';
import { ERASED } from '../../domain/personal-text.ts';
import type { Queries } from '../../queries/queries.ts';
import { type Cursor, inOrder, isFiltered, PER_PAGE, type RequestList } from './request-list.ts';

/** The reads of the inbox: as many requests as a page needs, or all matches if it is filtered or sorted by event. */

/** A request this much older than a page may be new to it, because read models may lag behind the log. */
const LAG_MS = 5_000;

/** Whether an index has the requests of a list in its order. */
const isByIndex = (list: RequestList): boolean => list.sort === 'deadline' && !isFiltered(list);

/**
 * The requests of a list in its order: all, or at least a page to each side of a cursor, or the first ones if there is no cursor.
 * @param orFirst whether to return the first ones if nothing follows the cursor
 */
export async function requestsBeside(
  { requests }: Pick<Queries, 'requests'>,
  community: CommunityId,
  list: RequestList,
  cursor: Cursor | undefined,
  { orFirst = false }: { readonly orFirst?: boolean } = {},
): Promise<BookingDocument[]> {
  if (!isByIndex(list)) return inOrder(list, await requests.pending(community, list));
  const deadline = cursor && { expiresAt: toTimestamp(cursor.at), bookingId: bookingId(cursor.bookingId) };
  return requests.byDeadline(community, deadline, PER_PAGE + 1, { orFirst });
}

/** The requests of a list that came after its page was made. */
export async function newRequests(
  { requests }: Pick<Queries, 'requests'>,
  community: CommunityId,
  list: RequestList,
): Promise<BookingDocument[]> {
  if (list.since === undefined) return [];
  const since = toTimestamp(Math.max(0, list.since - LAG_MS));
  const matching = isByIndex(list)
    ? await requests.since(community, since)
    : (await requests.pending(community, list)).filter(({ createdAt }) => createdAt >= since);
  return inOrder(list, matching).filter(({ bookingId }) => !list.shown.includes(bookingId));
}

/** How many recent cancellations are looked through for reasons. */
const LOOKED_THROUGH = 40;
/** Longer ones were written for one case. */
const MAX_SUGGESTED = { reasons: 6, characters: 120 };

/** Short reasons that the community has given for what it declined or cancelled lately, each once. */
export async function recentReasons(
  { bookings }: Pick<Queries, 'bookings'>,
  account: Extract<Account, { kind: 'Community' }>,
): Promise<readonly string[]> {
  const recent = { status: 'Cancelled', direction: 'descending', limit: LOOKED_THROUGH } as const;
  const { bookings: found } = await bookings.page(account, {
    ...recent,
    holds: ({ cancelledBy }) => cancelledBy === 'Community',
  });
  const reasons = found.flatMap(({ reason }) => (reason === undefined || reason === ERASED ? [] : [reason]));
  const short = reasons.filter((reason) => reason.length <= MAX_SUGGESTED.characters && !reason.includes('\n'));
  return [...new Set(short)].slice(0, MAX_SUGGESTED.reasons);
}

/** How many requests a list has. */
export const countOf = async (
  { bookings }: Pick<Queries, 'bookings'>,
  community: CommunityId,
  list: RequestList,
  found: readonly BookingDocument[],
): Promise<number> =>
  isByIndex(list) ? bookings.count({ kind: 'Community', id: community }, 'Pending') : found.length;
