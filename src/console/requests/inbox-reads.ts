import type { BookingDocument } from '../../../projections/bookings.ts';
import type { Account } from '../../domain/account.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { bookingId } from '../../domain/ids.ts';
import { ERASED } from '../../domain/personal-text.ts';
import type { Queries } from '../../queries/queries.ts';
import { type Cursor, inOrder, isFiltered, PER_PAGE, type RequestList } from './request-list.ts';

/** The reads of the inbox: as many requests as a page needs, or all matches if it is filtered or sorted by event. */

/** A request this much older than a page may be new to it, because read models may lag behind the log. */
const LAG_MS = 5_000;

/** Whether an index has the requests of a list in its order. */
const isByIndex = (list: RequestList): boolean => list.sort === 'deadline' && !isFiltered(list);

/** How many recent cancellations are looked through for reasons. */
const LOOKED_THROUGH = 40;
/** Longer ones were written for one case. */
const MAX_SUGGESTED = { reasons: 6, characters: 120 };

export const inboxReads = (
  { requests, bookings }: Pick<Queries, 'requests' | 'bookings'>,
  account: Extract<Account, { kind: 'Community' }>,
) => ({
  /**
   * The requests of a list in its order: all, or at least a page to each side of a cursor, or the first ones if there is no cursor.
   * @param orFirst whether to return the first ones if nothing follows the cursor
   */
  async beside(list: RequestList, cursor: Cursor | undefined, orFirst = false): Promise<BookingDocument[]> {
    if (!isByIndex(list)) return inOrder(list, await requests.pending(account.id, list));
    const deadline = cursor && { expiresAt: toTimestamp(cursor.at), bookingId: bookingId(cursor.bookingId) };
    return requests.byDeadline(account.id, deadline, PER_PAGE + 1, { orFirst });
  },

  /** The requests of a list that came after its page was made. */
  async added(list: RequestList): Promise<BookingDocument[]> {
    if (list.since === undefined) return [];
    const since = toTimestamp(Math.max(0, list.since - LAG_MS));
    const matching = isByIndex(list)
      ? await requests.since(account.id, since)
      : (await requests.pending(account.id, list)).filter(({ createdAt }) => createdAt >= since);
    return inOrder(list, matching).filter(({ bookingId }) => !list.shown.includes(bookingId));
  },

  /** How many requests a list has. */
  count: async (list: RequestList, found: readonly BookingDocument[]): Promise<number> =>
    isByIndex(list) ? bookings.count(account, 'Pending') : found.length,

  /** Short reasons that the community has given for what it declined or cancelled lately, each once. */
  async recentReasons(): Promise<readonly string[]> {
    const recent = await bookings.page(account, {
      status: 'Cancelled',
      direction: 'descending',
      limit: LOOKED_THROUGH,
      holds: ({ cancelledBy }) => cancelledBy === 'Community',
    });
    const reasons = recent.bookings.flatMap(({ reason }) =>
      reason === undefined || reason === ERASED ? [] : [reason],
    );
    const short = reasons.filter((reason) => reason.length <= MAX_SUGGESTED.characters && !reason.includes('\n'));
    return [...new Set(short)].slice(0, MAX_SUGGESTED.reasons);
  },
});
