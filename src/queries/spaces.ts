import { communities } from '../../projections/communities.ts';
import { spaces } from '../../projections/spaces.ts';
import type { Account } from '../domain/account.ts';
import type { Community } from '../domain/community.ts';
import type { Space } from '../domain/space.ts';
import type { ReadModels } from '../read-models/read-models.ts';

/** A community sees its own spaces, a brand every space (docs/decisions/visibility.md). */
export const isVisibleSpace = (account: Account, space: Space): boolean =>
  account.kind === 'Brand' || space.communityId === account.id;

export function createSpaceQueries({ readModels }: { readonly readModels: ReadModels }) {
  return {
    /** The space, or undefined if the account may not see it. */
    async get(account: Account, spaceId: number): Promise<Space | undefined> {
      const found = await readModels.collection(spaces).get(String(spaceId));
      return found && isVisibleSpace(account, found.document) ? found.document : undefined;
    },

    /** Every space that the account may see, by id. */
    async list(account: Account): Promise<Space[]> {
      const where = account.kind === 'Community' ? { communityId: account.id } : {};
      const found = readModels.collection(spaces).find({ where, sort: [{ field: 'spaceId' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },

    async community(communityId: number): Promise<Community | undefined> {
      return (await readModels.collection(communities).get(String(communityId)))?.document;
    },

    async communities(): Promise<Community[]> {
      const found = readModels.collection(communities).find({ sort: [{ field: 'communityId' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },
  };
}
