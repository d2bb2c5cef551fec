import { type ApiKeyDocument, apiKeys } from '../../projections/api-keys.ts';
import { bookings, type ReadableBooking } from '../../projections/bookings.ts';
import { type BrandDocument, brands } from '../../projections/brands.ts';
import { type ClosureDocument, closures } from '../../projections/closures.ts';
import { spaces } from '../../projections/spaces.ts';
import { type WebhookDocument, webhooks } from '../../projections/webhooks.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { streamsOf } from '../domain/booking-days.ts';
import { communityId as toCommunityId } from '../domain/ids.ts';
import type { Subject } from '../domain/personal-text.ts';
import type { Space } from '../domain/space.ts';
import { streamOf } from '../domain/streams.ts';
import { brandsById } from './accounts.ts';
import { keysByAccount } from './api-keys.ts';
import type { QueryDeps } from './query-deps.ts';
import { spacesById } from './spaces.ts';
import { webhooksByAccount } from './webhooks.ts';

/**
 * Queries of the operator, who sees everything. For the command line only: anything that acts for an account goes through the
 * other queries, which apply the visibility rules.
 */
export function createOperatorQueries({ readModels, personalData }: QueryDeps) {
  return {
    isSubject: (subject: Subject): Promise<boolean> => personalData.isKnown(subject),

    /** By id. */
    brands: (): Promise<BrandDocument[]> => readModels.collection(brands).list(brandsById()),

    async brand(brandId: number): Promise<BrandDocument | undefined> {
      return await readModels.collection(brands).get(String(brandId));
    },

    /** A closed time or an own event, without its title. */
    async closure(closureId: string): Promise<ClosureDocument | undefined> {
      return await readModels.collection(closures).get(closureId);
    },

    async space(spaceId: number): Promise<Space | undefined> {
      return await readModels.collection(spaces).get(String(spaceId));
    },

    /** Every space, or those of one community, by id. */
    async spaces(communityId?: number): Promise<Space[]> {
      const of = communityId === undefined ? undefined : toCommunityId(communityId);
      return readModels.collection(spaces).list(spacesById(of));
    },

    /** The streams with the events of a booking, or undefined if there is no such booking. */
    async streamsOf(bookingId: number): Promise<readonly string[] | undefined> {
      const stored = await readModels.collection(bookings).get(String(bookingId));
      if (stored === undefined) return undefined;
      return [...streamsOf(stored), streamOf.review(bookingId)];
    },

    async booking(bookingId: number): Promise<ReadableBooking | undefined> {
      const stored = await readModels.collection(bookings).get(String(bookingId));
      const [booking] = await personalData.openBookings(stored === undefined ? [] : [stored]);
      return booking;
    },

    /** Every API key, or those of one account, including revoked ones; by account, oldest first. */
    apiKeys: (account?: Account): Promise<ApiKeyDocument[]> =>
      readModels.collection(apiKeys).list(keysByAccount(account && accountKey(account))),

    /** Every webhook registration, or those of one account; by account, oldest first. */
    webhooks: (account?: Account): Promise<WebhookDocument[]> =>
      readModels.collection(webhooks).list(webhooksByAccount(account && accountKey(account))),
  };
}
