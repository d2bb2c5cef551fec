import { type BookingDocument, bookings, type ReadableBooking } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import { folded, isCalled, wordsOf } from '../domain/searched-text.ts';
import { brandsById } from './accounts.ts';
import {
  type BookingList,
  createBookingPages,
  isListed,
  isSearched,
  isVisibleBooking,
  type PagePlace,
  type WholeList,
} from './booking-pages.ts';
import type { PageQuery } from './bookings.ts';
import type { QueryDeps } from './query-deps.ts';
import { communitiesById, spacesSeenBy } from './spaces.ts';

export type SearchQuery = PageQuery & {
  /** The number of a booking, with or without `#`, or words in the names of a space and of the other party. */
  readonly text: string;
};

type ListQuery = WholeList & Pick<SearchQuery, 'text' | 'list'>;

export type SearchedPage = PagePlace & {
  /** The results, except the booking with that number. */
  readonly bookings: readonly ReadableBooking[];
  /** The booking with that number, and whether it is in the list that was asked for, and in its dates and period. */
  readonly numbered: { readonly booking: ReadableBooking; readonly isAsked: boolean } | undefined;
  /** Whether each word is in the name of a space or account visible to this account. */
  readonly isName: boolean;
};

/** All names of each space or account, folded for comparison, by its id. */
type Names = ReadonlyMap<number, readonly string[]>;
const NO_NAMES: Names = new Map();

/**
 * The number that a text may mean, without leading zeros. Full-width digits count, which Japanese keyboards write. `isMarked`: `#` marks
 * it as a number.
 */
export function numberIn(text: string): { readonly digits: string; readonly isMarked: boolean } | undefined {
  const [, mark, digits] = /^(#?)\s*(\d+)$/.exec(text.normalize('NFKC')) ?? [];
  return digits === undefined ? undefined : { digits: digits.replace(/^0+(?=\d)/, ''), isMarked: mark !== '' };
}

/**
 * Finds bookings by number or by name (docs/decisions/bookings.md). Looks names up in the read models of spaces (former names included),
 * brands and communities, then finds bookings by those ids.
 */
export function createBookingSearch({ readModels, personalData }: QueryDeps) {
  const parts = createBookingPages({ readModels });

  /** The names of the spaces that the account's bookings may be in. */
  async function spaceNames(account: Account): Promise<Names> {
    const documents = await readModels.collection(spaces).list(spacesSeenBy(account));
    return new Map(
      documents.map(({ spaceId, name, formerNames = [] }) => [spaceId, [name, ...formerNames].map(folded)]),
    );
  }

  /** The names of the other parties that the account's bookings may have. */
  async function partyNames(account: Account): Promise<Names> {
    if (account.kind === 'Community') {
      const documents = await readModels.collection(brands).list(brandsById());
      return new Map(documents.map(({ brandId, name }) => [brandId, [folded(name)]]));
    }
    const documents = await readModels.collection(communities).list(communitiesById());
    return new Map(documents.map(({ communityId, name }) => [communityId, [folded(name)]]));
  }

  async function byNumber(account: Account, text: string): Promise<BookingDocument | undefined> {
    const number = numberIn(text);
    if (number === undefined) return undefined;
    const booking = await readModels.collection(bookings).get(number.digits);
    return booking && isVisibleBooking(account, booking) ? booking : undefined;
  }

  /** The lists that a text finds, and the booking with that number. */
  async function search(account: Account, { text, list = {}, ...query }: ListQuery) {
    const words = numberIn(text)?.isMarked ? [] : [...new Set(wordsOf(text))];
    const [numbered, ofSpaces, ofParties] = await Promise.all([
      byNumber(account, text),
      words.length === 0 ? NO_NAMES : spaceNames(account),
      words.length === 0 ? NO_NAMES : partyNames(account),
    ]);
    const isName = isCalled([...ofSpaces.values(), ...ofParties.values()].flat(), words);
    const isAsked = numbered !== undefined && isListed(list, numbered) && isSearched(query, numbered);
    const lists = isName ? listsCalled(account, words, ofSpaces, ofParties).map((one) => ({ ...list, ...one })) : [];
    return { numbered, isName, isAsked, lists };
  }

  return {
    /** One page of the bookings that the account may see and that a text finds. */
    async page(account: Account, { text, list = {}, ...query }: SearchQuery): Promise<SearchedPage> {
      const { numbered, isName, isAsked, lists } = await search(account, { text, list, ...query });
      const part = await parts.page(account, { ...query, lists, except: numbered?.bookingId });
      // It is shown by itself.
      const isCountedTwice = isAsked && numbered !== undefined && lists.some((one) => isListed(one, numbered));
      const [first, ...rest] = await personalData.openBookings([...(numbered ? [numbered] : []), ...part.bookings]);
      const listed = numbered || first === undefined ? rest : [first, ...rest];
      return {
        ...part,
        ...(part.count !== undefined && { count: part.count - (isCountedTwice ? 1 : 0) }),
        bookings: listed,
        numbered: numbered && first && { booking: first, isAsked },
        isName,
      };
    },

    /** All of them, in pages that are read when they are asked for. A booking whose number was searched for comes first. */
    async *wholeList(account: Account, { text, list = {}, ...query }: ListQuery): AsyncGenerator<ReadableBooking[]> {
      const { numbered, isAsked, lists } = await search(account, { text, list, ...query });
      if (isAsked && numbered) yield await personalData.openBookings([numbered]);
      for await (const page of parts.pages(account, { ...query, lists, except: numbered?.bookingId }))
        yield await personalData.openBookings(page);
    },
  };
}

/**
 * The lists of bookings that have every word in the names of the space or of the other party. Spaces with the same words are in one list:
 * the party must have the others.
 */
function listsCalled(account: Account, words: readonly string[], ofSpaces: Names, ofParties: Names): BookingList[] {
  const party = account.kind === 'Community' ? 'brandId' : 'communityId';
  const missingIn = (names: readonly string[]) => words.filter((word) => !isCalled(names, [word]));
  const alike = Map.groupBy(ofSpaces, ([, names]) => missingIn(names).join(' '));
  return [...alike].flatMap(([missing, spaces]) => {
    const spaceId = { in: spaces.map(([id]) => id) };
    if (missing === '') return [{ spaceId }];
    const parties = [...ofParties].filter(([, names]) => isCalled(names, missing.split(' '))).map(([id]) => id);
    return parties.length === 0 ? [] : [{ spaceId, [party]: { in: parties } }];
  });
}
