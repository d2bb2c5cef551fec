import type { BookingDocument } from '../../../projections/bookings.ts';
import { toTimestamp } from '../../domain/calendar.ts';
import { ERASED } from '../../domain/personal-text.ts';
import type { Queries } from '../../queries/queries.ts';
import { placeIn } from '../../queries/requests.ts';
import type { AccountOf } from '../parts/visit.ts';
import { type Entry, entriesFrom } from './inbox-entries.ts';
import { type Cursor, MAX_SHOWN, type RequestList } from './request-list.ts';

/** The reads of the inbox. */

type Community = AccountOf<'Community'>;
type Requests = Pick<Queries, 'requests'>;

/** Requests on one page. With the longest names and messages the page is still less than 60 kB. */
const PER_PAGE = 12;
/** How many of the community's latest cancellations are searched for reasons. */
const MAX_SEARCHED = 24;
/** Longer reasons are left out, because they were written for one case. */
const MAX_SUGGESTED = { reasons: 6, characters: 120 };
/** A request this much older than a page may be new to it, because read models may lag behind the log. */
const LAG_MS = 5_000;

export type ListPage = {
  readonly rows: readonly Entry[];
  readonly previous: Neighbour | undefined;
  readonly next: Neighbour | undefined;
};

/** A page beside this one: its cursor (undefined: the beginning of the list), and its first request. */
export type Neighbour = { readonly after: Cursor | undefined; readonly first: number };

/** The first request of a list. */
export const firstOf = async ({ requests }: Requests, { id }: Community, { filter, sort }: RequestList) =>
  (await requests.pending(id, filter, { order: sort, limit: 1 }))[0];

/** The first request of the row that follows one that was answered. */
export const following = async (queries: Requests, account: Community, list: RequestList, answered: BookingDocument) =>
  (await entriesFrom(queries, account, list, { after: placeIn(list.sort, answered), limit: 1 }))[0]?.request;

/** The page of a list that its cursor names. */
export async function pageOf(queries: Requests, account: Community, list: RequestList): Promise<ListPage> {
  const entries = await entriesFrom(queries, account, list, { after: list.after, limit: PER_PAGE + 1 });
  const rows = entries.slice(0, PER_PAGE);
  const [first, last, onNext] = [rows[0], rows.at(-1), entries[PER_PAGE]];
  return {
    rows,
    previous: list.after && first && (await pageBefore(queries, account, list, first.request)),
    next: onNext && last && { after: placeIn(list.sort, last.request), first: onNext.key },
  };
}

/** The page that ends before a request. Undefined if the list begins with it. */
async function pageBefore(
  queries: Requests,
  account: Community,
  list: RequestList,
  request: BookingDocument,
): Promise<Neighbour | undefined> {
  const after = placeIn(list.sort, request);
  const before = await entriesFrom(queries, account, list, { after, limit: PER_PAGE + 1, direction: 'descending' });
  const [first, beforeFirst] = [before.slice(0, PER_PAGE).at(-1), before[PER_PAGE]];
  return first && { after: beforeFirst && placeIn(list.sort, beforeFirst.request), first: first.key };
}

/** Requests that are new to an open page: how many, and the first ones, of each series one. */
export type Added = { readonly count: number; readonly first: readonly BookingDocument[] };

/** The requests of a list that have arrived since an open page was made. @param rows of the page */
export async function addedTo(
  { requests }: Requests,
  { id }: Community,
  { filter, sort, since }: RequestList,
  rows: readonly Entry[],
): Promise<Added> {
  if (since === undefined) return { count: 0, first: [] };
  const arrived = { ...filter, madeSince: toTimestamp(since - LAG_MS) };
  const shown = rows.flatMap(({ waiting }) => waiting);
  // Enough for all of them, or for more than the page has room for.
  const limit = MAX_SHOWN + shown.length + 1;
  const matching = await requests.pending(id, arrived, { order: sort, limit });
  const isNew = ({ bookingId }: BookingDocument) => !shown.some((one) => one.bookingId === bookingId);
  const added = matching.filter(isNew);
  const rowOf = ({ bookingId, brandId, series }: BookingDocument) =>
    series === undefined ? bookingId : `${brandId} ${series}`;
  const first = [...Map.groupBy(added, rowOf).values()].flatMap((of) => of.slice(0, 1));
  if (matching.length < limit) return { count: added.length, first };
  const counted = shown.filter(({ createdAt }) => createdAt >= arrived.madeSince);
  return { count: (await requests.count(id, arrived)) - counted.length, first };
}

/** The latest short reasons that the community gave when it declined or cancelled, each once. */
export async function recentReasons(
  { bookings }: Pick<Queries, 'bookings'>,
  account: Community,
): Promise<readonly string[]> {
  const list = { status: 'Cancelled', cancelledBy: 'Community' } as const;
  const recent = await bookings.page(account, { list, direction: 'descending', limit: MAX_SEARCHED });
  const reasons = recent.bookings.flatMap(({ reason }) => (reason === undefined || reason === ERASED ? [] : [reason]));
  const short = reasons.filter((reason) => reason.length <= MAX_SUGGESTED.characters && !reason.includes('\n'));
  return [...new Set(short)].slice(0, MAX_SUGGESTED.reasons);
}
