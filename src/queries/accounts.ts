import { type BrandDocument, brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import type { Find } from '../document-store/document-store.ts';
import { declareQuery } from '../document-store/queries.ts';
import type { Account } from '../domain/account.ts';
import { isStranger } from '../domain/brand.ts';
import type { Timestamp } from '../domain/ids.ts';
import type { ReadModels } from '../read-models/read-models.ts';

export const brandsById = declareQuery(brands, (): Find<BrandDocument> => ({ sort: [{ field: 'brandId' }] }), []);

export function createAccountQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** @returns undefined when there is no such account */
    async name({ kind, id }: Account): Promise<string | undefined> {
      const key = String(id);
      const stored =
        kind === 'Brand'
          ? await readModels.collection(brands).get(key)
          : await readModels.collection(communities).get(key);
      return stored?.name;
    },

    /** Whether it is a brand that signed up by itself and that no community knows yet. */
    async isOfStranger({ kind, id }: Account): Promise<boolean> {
      const brand = kind === 'Brand' ? await readModels.collection(brands).get(String(id)) : undefined;
      return brand !== undefined && isStranger(brand);
    },

    /** The name that an account had before it was renamed within a time; undefined if it has the same. */
    async formerName({ kind, id }: Account, since: Timestamp): Promise<string | undefined> {
      // Brands keep their names.
      const stored = kind === 'Brand' ? undefined : await readModels.collection(communities).get(String(id));
      const { name, renamed } = stored ?? {};
      return renamed !== undefined && renamed.at > since && renamed.from !== name ? renamed.from : undefined;
    },
  };
}
