import type { Rating } from '../../projections/space-ratings.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { defined } from '../domain/defined.ts';
import { createFirstValues } from '../domain/first-values.ts';
import type { Cents, CommunityId, PlainDate } from '../domain/ids.ts';
import { priceOf } from '../domain/pricing.ts';
import type { NamedSpace, Space } from '../domain/space.ts';
import {
  hoursOf,
  matcherOf,
  orderOf,
  type Ranked,
  type SpaceFilter,
  type SpaceOrder,
  searchedDays,
  wrongSearch,
} from '../domain/space-search.ts';
import { hoursInTime } from '../domain/time-slots.ts';
import { yieldEvery } from '../event-loop/slices.ts';
import type { QueryDeps } from './query-deps.ts';
import { readableCommunities } from './reviews.ts';
import type { Searcher } from './search-turns.ts';
import { createSpaceIndex, type SpaceIndex } from './space-index.ts';
import type { IndexedDay, IndexedSpace } from './space-table.ts';
import { createSpaceQueries, isPublished, isVisibleSpace } from './spaces.ts';

export type SpaceSearch = {
  /** People without an account find what is published. */
  readonly by: Searcher;
  readonly filter: SpaceFilter;
  readonly serviceFeePercent: number;
  /** Default: fit. */
  readonly sort?: SpaceOrder;
  /** Whether to find spaces that take no bookings at the moment, too. */
  readonly includeInactive?: boolean;
  /** Whether to find spaces that are free on none of the days, too, after the others. */
  readonly includeTaken?: boolean;
  /** Results to leave out at the beginning. Default 0. */
  readonly offset?: number;
  readonly limit: number;
};

/** A day on which a space is free, with its price. */
type FreeDay = { readonly date: PlainDate; readonly openHours: readonly number[]; readonly price: Cents };

export type FoundSpace = NamedSpace & {
  /** The lowest on the days on which it is free; without those, of the first day; without days, of the space. */
  readonly price: Cents;
  readonly km?: number;
  /** Absent if it has none that the account may read, and in lists by id. */
  readonly rating?: Rating;
  /** Absent if the search has no days. */
  readonly freeDays?: readonly FreeDay[];
};

/** `blockedBy`: the communities that take no requests of the account, whose spaces are not offered to it. */
type Search = SpaceSearch & { readonly blockedBy: ReadonlySet<CommunityId> | undefined };

export type SpaceResults = {
  /** How many there are, and how many of them are free on one of the days. */
  readonly total: number;
  readonly free: number;
  /** The first day on which one of them is free. */
  readonly firstFree: PlainDate | undefined;
  readonly spaces: readonly FoundSpace[];
};

type Candidate = Ranked & {
  /** Its place in the index. */
  readonly at: number;
};

/**
 * The search for spaces, for REST, MCP and the console: those that an account may see and that are what a filter asks for. Refuses wrong
 * filters (`ValidationError`) and a community that the account may not see (`ResourceNotFound`).
 */
export function createSpaceSearch(deps: QueryDeps) {
  const { clock, readModels } = deps;
  const withIndex = createSpaceIndex(deps);
  const { communityOf, communitiesBlocking } = createSpaceQueries(deps);

  /** The communities whose reviews the account may read, among those of rated spaces. */
  async function readable(by: Searcher, spaces: readonly IndexedSpace[]): Promise<ReadonlySet<CommunityId>> {
    const rated = new Set<CommunityId>();
    for (const { space, rating } of spaces) if (rating !== undefined) rated.add(space.communityId);
    // A public page has the reviews of its space.
    return by.kind === 'Stranger' ? rated : readableCommunities({ readModels }, by, rated);
  }

  return async (search: SpaceSearch): Promise<SpaceResults | Refusal> => {
    const { by, filter, sort = 'fit' } = search;
    const now = clock();
    const wrong = wrongSearch(filter, { sort, now, isPublic: by.kind === 'Stranger' });
    if (wrong !== undefined) return wrong;
    const { communityId } = filter;
    if (communityId !== undefined && by.kind !== 'Stranger' && (await communityOf(by, communityId)) === undefined)
      return refuse('ResourceNotFound', `There is no community ${communityId}.`);
    const days = searchedDays(filter, now);
    const blockedBy = by.kind === 'Stranger' ? undefined : await communitiesBlocking(by);
    return withIndex(by, days ?? [], (index) => resultsIn(index, { ...search, blockedBy }, days, now));
  };

  /** Compares all spaces of the index. */
  async function resultsIn(
    index: SpaceIndex,
    search: Search,
    days: readonly PlainDate[] | undefined,
    now: number,
  ): Promise<SpaceResults> {
    const { by, sort = 'fit', offset = 0, limit } = search;
    const compared = comparing(index, search, days, now);
    const ranking = sort === 'rating' ? await readable(by, index.spaces) : NONE;
    const { page, ...counts } = await candidatesOf(index, search, compared, ranking);
    const shown = page.slice(offset, offset + limit);
    const entries = shown.flatMap(({ at }) => index.spaces[at] ?? []);
    // A list by id works also while the bookings, which say whose reviews the account may read, are not readable.
    const rated = sort === 'rating' || sort === 'id' ? ranking : await readable(by, entries);
    const nextSlice = yieldEvery(1);
    const found: FoundSpace[] = [];
    for (const { at, space, price, km } of shown) {
      await nextSlice();
      const entry = index.spaces[at];
      const rating = rated.has(space.communityId) ? entry?.rating : undefined;
      const { communityName = '', house } = entry ?? {};
      const freeDays = compared.freeDays(space, at);
      found.push({ space, communityName, price, ...defined({ house, km, rating, freeDays }) });
    }
    return { ...counts, spaces: found };
  }
}

/** When a space is free, and its price. */
type Offer = Pick<Candidate, 'isFree' | 'price'> & { readonly firstFree: PlainDate | undefined };

/** A search at a moment, with the days of the index. */
function comparing(
  { days: indexed, spaces }: SpaceIndex,
  { filter, serviceFeePercent }: SpaceSearch,
  dates: readonly PlainDate[] | undefined,
  now: number,
) {
  const days = (dates ?? []).map((date) => indexed.get(date) ?? NO_DAY);
  const wanted = filter.hour === undefined ? ANY_HOUR : 1 << filter.hour;
  const { maxPrice } = filter;
  const prices = new Map<Cents, Cents>();
  const times = new Map<string, readonly number[]>();
  const openHours = new Map<number, readonly number[]>();

  /** Whether spaces cost the same on all days. */
  const areFeesOfSpaces = days.every(({ fees }) => fees.size === 0);

  /** Most spaces have one of a few fees. */
  const priceOfFee = (fee: Cents): Cents =>
    prices.get(fee) ?? prices.getOrInsert(fee, priceOf(fee, serviceFeePercent).totalPrice);
  const isTooMuch = (fee: Cents): boolean => maxPrice !== undefined && priceOfFee(fee) > maxPrice;

  /** The hours of each day that can be requested now. Most spaces have one of a few zones and notices. */
  const timesOf = (space: Space, at: number): readonly number[] =>
    times.getOrInsertComputed(spaces[at]?.timeTerms ?? '', () =>
      (dates ?? []).map((date) => hoursInTime(space, date, now)),
    );

  /** The days on which a space is free, by their places among all, until `onDay` says that it has seen enough. */
  function eachFree(space: Space, at: number, onDay: (index: number, hours: number, fee: Cents) => boolean): void {
    if (!space.active) return;
    const time = timesOf(space, at);
    for (let index = 0; index < days.length; index += 1) {
      const day = days[index] ?? NO_DAY;
      const hours = (day.hours[at] ?? 0) & (time[index] ?? 0);
      if ((hours & wanted) === 0) continue;
      const fee = feeOn(day, at, space);
      if (!isTooMuch(fee) && onDay(index, hours, fee)) return;
    }
  }

  return {
    /** Whether a space is free on one of the days, from when, and its price. Undefined if that is too high. */
    offer(space: Space, at: number): Offer | undefined {
      if (areFeesOfSpaces && isTooMuch(space.eventFee)) return undefined;
      let first = -1;
      let least = space.eventFee;
      eachFree(space, at, (index, _, fee) => {
        if (first === -1 || fee < least) least = fee;
        if (first === -1) first = index;
        // Nearly always, so that a search of a month looks at one day of most spaces.
        return areFeesOfSpaces;
      });
      if (first !== -1) return { isFree: true, firstFree: dates?.[first], price: priceOfFee(least) };
      const fee = feeOn(days[0] ?? NO_DAY, at, space);
      return isTooMuch(fee) ? undefined : { isFree: dates === undefined, firstFree: undefined, price: priceOfFee(fee) };
    },

    freeDays(space: Space, at: number): readonly FreeDay[] | undefined {
      const free: FreeDay[] = [];
      eachFree(space, at, (index, hours, fee) => {
        const date = dates?.[index];
        if (date !== undefined)
          free.push({ date, openHours: openHours.getOrInsertComputed(hours, hoursOf), price: priceOfFee(fee) });
        return false;
      });
      return dates && free;
    },
  };
}

const isFoundBy = (by: Searcher, space: Space): boolean =>
  by.kind === 'Stranger' ? isPublished(space) : isVisibleSpace(by, space);

type Candidates = Pick<SpaceResults, 'total' | 'free' | 'firstFree'> & {
  /** The first ones in the order of the search, up to the end of the page. */
  readonly page: readonly Candidate[];
};

/**
 * The spaces that are what the filter asks for.
 * @param rated the communities whose ratings the order depends on
 */
async function candidatesOf(
  { spaces }: SpaceIndex,
  { by, filter, sort = 'fit', offset = 0, limit, blockedBy, includeInactive = false, includeTaken = false }: Search,
  { offer }: ReturnType<typeof comparing>,
  rated: ReadonlySet<CommunityId>,
): Promise<Candidates> {
  const nextSlice = yieldEvery(1);
  const matches = matcherOf(filter);
  const page = createFirstValues<Candidate>(orderOf(sort, filter), offset + limit);
  let total = 0;
  let free = 0;
  let earliest: PlainDate | undefined;
  for (const [at, { space, searched, rating: ofSpace }] of spaces.entries()) {
    if (at % STEP === 0) await nextSlice();
    if (!isFoundBy(by, space) || !(space.active || includeInactive)) continue;
    if (blockedBy?.has(space.communityId)) continue;
    const match = matches(searched);
    const offered = match && offer(space, at);
    if (offered === undefined || !(offered.isFree || includeTaken)) continue;
    const { isFree, firstFree, price } = offered;
    total += 1;
    if (isFree) free += 1;
    if (firstFree !== undefined && (earliest === undefined || firstFree < earliest)) earliest = firstFree;
    const rating = rated.has(space.communityId) ? ofSpace : undefined;
    // One by one, because copying objects takes longer than the rest.
    page.add({ at, space, capacity: searched.capacity, isFree, price, km: match?.km, rating });
  }
  return { total, free, firstFree: earliest, page: page.values() };
}

/** Spaces that are compared between two looks at the time. */
const STEP = 64;
const ANY_HOUR = -1;
/** Nearly always, no day has a fee of its own. */
const feeOn = ({ fees }: IndexedDay, at: number, { eventFee }: Space): Cents =>
  fees.size === 0 ? eventFee : (fees.get(at) ?? eventFee);

const NONE: ReadonlySet<CommunityId> = new Set();
const NO_DAY: IndexedDay = { hours: [], fees: new Map() };
