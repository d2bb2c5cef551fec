import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import { type BookingDocument, bookings } from '../../projections/bookings.ts';
import { brands } from '../../projections/brands.ts';
import { spaces } from '../../projections/spaces.ts';
import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import { type Account, accountKey } from '../domain/account.ts';
import type { Brand } from '../domain/brand.ts';
import { communityId as toCommunityId } from '../domain/ids.ts';
import type { Space } from '../domain/space.ts';
import type { ReadModels } from '../read-models/read-models.ts';

/**
 * Queries of the operator, who sees everything. For the command line only: anything that acts for an account goes through the
 * other queries, which apply the visibility rules.
 */
export function createOperatorQueries({ readModels }: { readonly readModels: ReadModels }) {
  const ofAccount = (account: Account | undefined) => (account === undefined ? {} : { account: accountKey(account) });

  return {
    /** By id. */
    async brands(): Promise<Brand[]> {
      const found = readModels.collection(brands).find({ sort: [{ field: 'brandId' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },

    async space(spaceId: number): Promise<Space | undefined> {
      return (await readModels.collection(spaces).get(String(spaceId)))?.document;
    },

    /** Every space, or those of one community, by id. */
    async spaces(communityId?: number): Promise<Space[]> {
      const where = communityId === undefined ? {} : { communityId: toCommunityId(communityId) };
      const found = readModels.collection(spaces).find({ where, sort: [{ field: 'spaceId' }] });
      return Array.fromAsync(found, ({ document }) => document);
    },

    async booking(bookingId: number): Promise<BookingDocument | undefined> {
      return (await readModels.collection(bookings).get(String(bookingId)))?.document;
    },

    /** Every API key, or those of one account, including revoked ones; by account, oldest first. */
    async apiKeys(account?: Account): Promise<ApiKeyDocument[]> {
      const sort = [{ field: 'account' }, { field: 'issuedAt' }] as const;
      const found = readModels.collection(apiKeys).find({ where: ofAccount(account), sort });
      return Array.fromAsync(found, ({ document }) => document);
    },

    /** Every webhook registration, or those of one account; by account, oldest first. */
    async webhooks(account?: Account): Promise<WebhookDocument[]> {
      const sort = [{ field: 'account' }, { field: 'createdAt' }] as const;
      const found = readModels.collection(webhooks).find({ where: ofAccount(account), sort });
      return Array.fromAsync(found, ({ document }) => document);
    },
  };
}
