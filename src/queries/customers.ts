import { type AdmissionDocument, admissionKey, admissions } from '../../projections/admissions.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Brand } from '../domain/brand.ts';
import { defined } from '../domain/defined.ts';
import { type BrandId, type CommunityId, communityId } from '../domain/ids.ts';
import type { Opened } from '../domain/personal-text.ts';
import { foldedName, isCalled, wordsOf } from '../domain/searched-text.ts';
import type { QueryDeps } from './query-deps.ts';

/** A customer as its community reads it. */
export type Customer = Opened<AdmissionDocument> & Pick<Brand, 'name'>;

/** Customers that are read at a time while they are searched. */
const READ_TOGETHER = 200;

type Part = { readonly after?: readonly (string | number)[] | undefined; readonly limit: number };

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

const allOf = declareQuery(
  admissions,
  (owner: CommunityId): Find<AdmissionDocument> => ({ where: { communityId: owner, isCustomer: 'yes' } }),
  [communityId(1)],
);

/** The place of a customer in the order of names. */
const placeOf = ({ searchedName = '', brandId }: AdmissionDocument) => [searchedName, brandId] as const;

/** The customers of a community: brands that it looks after, or has approved a booking of. */
export function createCustomerQueries({ readModels, personalData }: Pick<QueryDeps, 'readModels' | 'personalData'>) {
  const documents = readModels.collection(admissions);

  const readable = async (found: readonly AdmissionDocument[]): Promise<readonly Customer[]> =>
    (await personalData.openCustomers(found)).map((each) => ({ ...each, name: each.name ?? `Brand ${each.brandId}` }));

  return {
    /** A brand that is a customer of the community. */
    async get(owner: CommunityId, brandId: BrandId): Promise<Customer | undefined> {
      const stored = await documents.get(admissionKey({ communityId: owner, brandId }));
      const [customer] = await readable(stored?.isCustomer === undefined ? [] : [stored]);
      return customer;
    },

    count: (owner: CommunityId): Promise<number> => documents.count(allOf(owner)),

    /**
     * Customers by name.
     * @param page `text`: words in their names; empty: all. `after`: the place at which the page before ended
     */
    async page(
      owner: CommunityId,
      page: Part & { readonly text: string },
    ): Promise<{ readonly customers: readonly Customer[]; readonly next?: readonly (string | number)[] }> {
      const words = wordsOf(page.text);
      const isMeant = ({ searchedName = '' }: AdmissionDocument) =>
        words.length === 0 || isCalled([searchedName], words);
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
    },

    /** The customers with a name, whatever its case and accents. Usually one at most. */
    async called(owner: CommunityId, name: string): Promise<readonly Customer[]> {
      return readable(await documents.list(called(owner, foldedName(name))));
    },
  };
}
