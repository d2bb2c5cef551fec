import { brands } from '../../projections/brands.ts';
import { communities } from '../../projections/communities.ts';
import type { Account } from '../domain/account.ts';
import type { ReadModels } from '../read-models/read-models.ts';

export function createAccountQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** @returns undefined when there is no such account */
    async name({ kind, id }: Account): Promise<string | undefined> {
      const key = String(id);
      const found =
        kind === 'Brand'
          ? await readModels.collection(brands).get(key)
          : await readModels.collection(communities).get(key);
      return found?.document.name;
    },
  };
}
