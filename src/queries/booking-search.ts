import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import { defined } from '../domain/defined.ts';
import { brandId, communityId, spaceId } from '../domain/ids.ts';
import { folded, isCalled, wordsOf } from '../domain/searched-text.ts';
import { BOOKING_STATUSES, type BookingStatus } from '../domain/space-day.ts';
import { brandsById } from './accounts.ts';
import {
  type BookingList,
  type BookingPart,
  createBookingPages,
  isSearched,
  isVisibleBooking,
  type PartQuery,
} from './booking-pages.ts';
import type { QueryDeps } from './query-deps.ts';
import { communitiesById, spacesById } from './spaces.ts';

export type SearchQuery = PartQuery & {
  readonly status?: BookingStatus;
  /** The number of a booking, with or without `#`, or words in the names of a space and of the other party. */
  readonly text: string;
};

export type SearchedPage = Omit<BookingPart, 'bookings'> & {
  /** The results, except the booking with that number. */
  readonly bookings: readonly ReadableBooking[];
  /** The booking with that number, and whether it matches status, dates and period. */
  readonly numbered: { readonly booking: ReadableBooking; readonly isAsked: boolean } | undefined;
  /** Whether a space or account visible to this account has that name. */
  readonly isName: boolean;
};

/** A space or an account, with all its names, folded. */
type Named = { readonly id: number; readonly names: readonly string[]; readonly communityId?: number };

/**
 * The number that a text may mean, without leading zeros. Full-width digits count, which Japanese keyboards write. `isMarked`: `#` marks
 * it as a number.
 */
export function numberIn(text: string): { readonly digits: string; readonly isMarked: boolean } | undefined {
  const [, mark, digits] = /^(#?)\s*0*(\d+)$/.exec(text.normalize('NFKC')) ?? [];
  return digits === undefined ? undefined : { digits, isMarked: mark !== '' };
}

/** Above this number of lists the engine scans the bookings of the account instead. */
const MAX_LISTS = 24;

/**
 * Finds bookings by number or by name (docs/decisions/bookings.md). Looks names up in the read models of spaces, brands and communities,
 * then bookings by those ids, under any name they ever had.
 */
export function createBookingSearch({ readModels, personalData }: QueryDeps) {
  const parts = createBookingPages({ readModels });

  /** The spaces and counterparties that the account's bookings may have. */
  async function named(account: Account): Promise<Found> {
    const own = account.kind === 'Community' ? account.id : undefined;
    const [ownSpaces, others] = await Promise.all([
      Array.fromAsync(readModels.collection(spaces).find(spacesById(own)), ({ document }) => ({
        id: document.spaceId,
        communityId: document.communityId,
        names: [document.name, ...(document.formerNames ?? [])].map(folded),
      })),
      account.kind === 'Community'
        ? Array.fromAsync(readModels.collection(brands).find(brandsById()), ({ document }) => ({
            id: document.brandId,
            names: [folded(document.name)],
          }))
        : Array.fromAsync(readModels.collection(communities).find(communitiesById()), ({ document }) => ({
            id: document.communityId,
            names: [folded(document.name)],
          })),
    ]);
    return { spaces: ownSpaces, others };
  }

  async function byNumber(account: Account, text: string): Promise<BookingDocument | undefined> {
    const number = numberIn(text);
    if (number === undefined) return undefined;
    const found = (await readModels.collection(bookings).get(number.digits))?.document;
    return found && isVisibleBooking(account, found) ? found : undefined;
  }

  return {
    /** One page of the bookings that the account may see and that a text finds. */
    async page(account: Account, { text, status, holds = () => true, ...query }: SearchQuery): Promise<SearchedPage> {
      const words = numberIn(text)?.isMarked ? [] : [...new Set(wordsOf(text))];
      const [numbered, names] = await Promise.all([
        byNumber(account, text),
        words.length === 0 ? { spaces: [], others: [] } : named(account),
      ]);
      const found = resolved(account, words, names, status);
      const part = await parts.page(account, found.lists, {
        ...query,
        holds: (booking) => booking.bookingId !== numbered?.bookingId && found.holds(booking) && holds(booking),
      });
      const [first, ...rest] = await personalData.openBookings([...(numbered ? [numbered] : []), ...part.bookings]);
      const shown = numbered || first === undefined ? rest : [first, ...rest];
      const isAsked =
        numbered !== undefined &&
        isSearched(query, numbered) &&
        (status ?? numbered.status) === numbered.status &&
        holds(numbered);
      return {
        ...part,
        bookings: shown,
        numbered: numbered && first && { booking: first, isAsked },
        isName: found.isName,
      };
    },
  };
}

type Resolved = {
  readonly lists: readonly BookingList[];
  readonly holds: (booking: BookingDocument) => boolean;
  readonly isName: boolean;
};

/** Above this number all words must be in one name: a bit mask records which words a name has. */
const MAX_MIXED_WORDS = 30;

/**
 * The lists whose bookings have every word in the name of the space or of the counterparty. A list with all words needs no further check;
 * in the others, each name must have some of the words.
 */
function resolved(
  account: Account,
  words: readonly string[],
  { spaces, others }: Found,
  status: BookingStatus | undefined,
): Resolved {
  const wholly = ({ names }: Named) => isCalled(names, words);
  const found = { spaces: spaces.filter(wholly), others: others.filter(wholly) };
  const lists = narrowLists(account, found, status) ?? broadLists(account, found, status);
  const isName = found.spaces.length + found.others.length > 0;
  if (words.length < 2 || words.length > MAX_MIXED_WORDS) return { lists, holds: () => true, isName };

  // Some words in one name, the rest in the other.
  const all = 2 ** words.length - 1;
  const bitsOf = ({ names }: Named) =>
    words.reduce((bits, word, index) => (isCalled(names, [word]) ? bits | (1 << index) : bits), 0);
  const bits = (list: readonly Named[]) => new Map(list.map((one) => [one.id, bitsOf(one)]));
  const [bitsOfSpaces, bitsOfOthers] = [bits(spaces), bits(others)];
  const [spaceMasks, otherMasks] = [new Set(bitsOfSpaces.values()), new Set(bitsOfOthers.values())];
  const partner = (mine: number, theirs: ReadonlySet<number>) =>
    mine !== 0 && mine !== all && [...theirs].some((other) => other !== all && (mine | other) === all);
  const mixed = {
    spaces: spaces.filter(({ id }) => partner(bitsOfSpaces.get(id) ?? 0, otherMasks)),
    others: others.filter(({ id }) => partner(bitsOfOthers.get(id) ?? 0, spaceMasks)),
  };
  if (mixed.spaces.length === 0) return { lists, holds: () => true, isName };
  return {
    lists: [...lists, { ...broad(account, mixed.others, status), spaceId: { in: idsOf(mixed.spaces) } }],
    holds: ({ spaceId: space, brandId: brand, communityId: community }) =>
      ((bitsOfSpaces.get(space) ?? 0) | (bitsOfOthers.get(account.kind === 'Community' ? brand : community) ?? 0)) ===
      all,
    isName: true,
  };
}

type Found = { readonly spaces: readonly Named[]; readonly others: readonly Named[] };

const idsOf = (list: readonly Named[]): number[] => list.map(({ id }) => id);

/** One list per space and account. Undefined if there are too many. */
function narrowLists(account: Account, found: Found, status: BookingStatus | undefined): BookingList[] | undefined {
  const statuses = status === undefined ? BOOKING_STATUSES : [status];
  const isCommunity = account.kind === 'Community';
  const listsPerSpace = isCommunity ? 1 : statuses.length;
  if (found.spaces.length * listsPerSpace + found.others.length * statuses.length > MAX_LISTS) return undefined;
  const between = (one: Named): BookingList =>
    isCommunity
      ? { brandId: brandId(one.id), communityId: account.id }
      : { brandId: account.id, communityId: communityId(one.communityId ?? one.id) };
  const withStatus = (list: BookingList): BookingList[] => statuses.map((each) => ({ ...list, status: each }));
  return [
    ...found.others.flatMap((other) => withStatus(between(other))),
    ...found.spaces.flatMap((space): BookingList[] =>
      isCommunity
        ? [{ spaceId: spaceId(space.id), ...defined({ status }) }]
        : withStatus({ ...between(space), spaceId: spaceId(space.id) }),
    ),
  ];
}

/** The bookings of the account, filtered by id in the engine. */
function broadLists(account: Account, found: Found, status: BookingStatus | undefined): BookingList[] {
  return [
    ...(found.others.length > 0 ? [broad(account, found.others, status)] : []),
    ...(found.spaces.length > 0
      ? [{ ...broad(account, undefined, status), spaceId: { in: idsOf(found.spaces) } }]
      : []),
  ];
}

function broad(account: Account, others: readonly Named[] | undefined, status: BookingStatus | undefined): BookingList {
  const among = others && { in: idsOf(others) };
  return account.kind === 'Community'
    ? { communityId: account.id, ...defined({ brandId: among, status }) }
    : { brandId: account.id, ...defined({ communityId: among, status }) };
}
