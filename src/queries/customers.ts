import { type AdmissionDocument, admissionKey, admissions } from '../../projections/admissions.ts';
import { type CustomerRatingsDocument, customerRatings } from '../../projections/customer-ratings.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Brand } from '../domain/brand.ts';
import { AGREED_PRICES, type AgreedPrices } from '../domain/customer-details.ts';
import { defined } from '../domain/defined.ts';
import { type BrandId, type CommunityId, communityId } from '../domain/ids.ts';
import type { Opened } from '../domain/personal-text.ts';
import { picked } from '../domain/picked.ts';
import { foldedName, isCalled, wordsOf } from '../domain/searched-text.ts';
import { Unavailable } from '../runtime/unavailable.ts';
import type { QueryDeps } from './query-deps.ts';

/** A customer as its community reads it. */
export type Customer = Opened<AdmissionDocument> & Pick<Brand, 'name'>;

/** How a customer has rated its community. Undefined: it has rated nothing. */
export type RatingsOf = (customer: Customer) => CustomerRatingsDocument | undefined;

/** Customers that are read at a time while they are searched. */
const READ_TOGETHER = 200;

/** The place of a customer in the order of names. */
type Place = readonly [name: string, brandId: number];
const placeOf = ({ searchedName = '', brandId }: AdmissionDocument): Place => [searchedName, brandId];

/** A place as a cursor in an address, and back. Undefined for a text that is none. */
export const placeText = (place: Place): string => place.join(' ');
export function placeIn(text: string): Place | undefined {
  const [, name, id] = /^(.{0,400}) ([1-9]\d{0,14})$/.exec(text) ?? [];
  return name === undefined ? undefined : [name, Number(id)];
}

type Part = { readonly after?: Place | undefined; readonly limit: number };

const byName = declareQuery(
  admissions,
  (owner: CommunityId, { after, limit }: Part): Find<AdmissionDocument> => ({
    where: { communityId: owner, isCustomer: 'yes' },
    sort: [{ field: 'searchedName' }, { field: 'brandId' }],
    limit,
    ...defined({ after }),
  }),
  [communityId(1), { limit: 1 }],
  [communityId(1), { limit: 1, after: ['a', 1] }],
);

const called = declareQuery(
  admissions,
  (owner: CommunityId, searchedName: string): Find<AdmissionDocument> => ({
    where: { communityId: owner, isCustomer: 'yes', searchedName },
  }),
  [communityId(1), 'a'],
);

/** How a brand stands with a community, as far as the brand may know. */
export type StandingOfBrand = {
  /** The prices that were agreed with it. */
  readonly agreed: AgreedPrices;
  /** Whether its requests are not taken. */
  readonly isBlocked: boolean;
  /** Whether its requests are approved, and charged, as soon as they are made. */
  readonly isTrusted: boolean;
};

/** The customers of a community: brands that it looks after, or has approved a booking of. */
export function createCustomerQueries({ readModels, personalData }: Pick<QueryDeps, 'readModels' | 'personalData'>) {
  const documents = readModels.collection(admissions);

  async function readable(found: readonly AdmissionDocument[]): Promise<readonly Customer[]> {
    const opened = await personalData.openCustomers(found);
    return opened.map((each) => ({ ...each, name: each.name ?? `Brand ${each.brandId}` }));
  }

  /** A brand that is a customer of the community. */
  async function get(owner: CommunityId, brandId: BrandId): Promise<Customer | undefined> {
    const stored = await documents.get(admissionKey({ communityId: owner, brandId }));
    const [customer] = await readable(stored?.isCustomer === undefined ? [] : [stored]);
    return customer;
  }

  /**
   * Customers by name.
   * @param page `text`: words in their names; empty: all. `after`: the place at which the page before ended
   */
  async function page(
    owner: CommunityId,
    page: Part & { readonly text: string },
  ): Promise<{ readonly customers: readonly Customer[]; readonly next?: Place }> {
    const words = wordsOf(page.text);
    const isMeant = ({ searchedName = '' }: AdmissionDocument) => words.length === 0 || isCalled([searchedName], words);
    let found: readonly AdmissionDocument[] = [];
    let after = page.after;
    while (found.length <= page.limit) {
      const read = await documents.list(byName(owner, { after, limit: READ_TOGETHER }));
      found = found.concat(read.filter(isMeant));
      const last = read.at(-1);
      if (last === undefined || read.length < READ_TOGETHER) break;
      after = placeOf(last);
    }
    const shown = found.slice(0, page.limit);
    const last = shown.at(-1);
    return {
      customers: await readable(shown),
      ...(last !== undefined && found.length > page.limit && { next: placeOf(last) }),
    };
  }

  return {
    get,

    /** Reads how these customers have rated the community. */
    async ratings(customers: readonly Customer[]): Promise<RatingsOf> {
      const found = await readModels.collection(customerRatings).getMany(customers.map(admissionKey));
      return (customer) => found.get(admissionKey(customer));
    },

    /** A customer that was just added. @throws {Unavailable} if the read models do not show it yet */
    async added(owner: CommunityId, brandId: BrandId): Promise<Customer> {
      const customer = await get(owner, brandId);
      if (customer === undefined) throw new Unavailable(`The read models do not show customer ${brandId} yet`);
      return customer;
    },

    /** What a brand may know of how it stands with a community. */
    async asSeenBy(brandId: BrandId, owner: CommunityId): Promise<StandingOfBrand> {
      const stored = await documents.get(admissionKey({ communityId: owner, brandId }));
      return {
        agreed: stored === undefined ? {} : picked(stored, AGREED_PRICES),
        isBlocked: stored?.admission === 'turnedAway',
        isTrusted: stored?.admission === 'trusted',
      };
    },

    page,

    /** All customers whose names have these words, by name, in pages. */
    async *pages(owner: CommunityId, text: string): AsyncGenerator<readonly Customer[]> {
      let after: Part['after'];
      do {
        const { customers, next } = await page(owner, { text, after, limit: READ_TOGETHER });
        yield customers;
        after = next;
      } while (after !== undefined);
    },

    /** The customers with a name, whatever its case and accents. Usually one at most. */
    async called(owner: CommunityId, name: string): Promise<readonly Customer[]> {
      return readable(await documents.list(called(owner, foldedName(name))));
    },
  };
}
