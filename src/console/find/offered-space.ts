import { type AgreedPrices, agreedFee } from '../../domain/customer-details.ts';
import { priceOf } from '../../domain/pricing.ts';
import type { Space } from '../../domain/space.ts';
import type { StandingOfBrand } from '../../queries/customers.ts';
import { asOffered as offeredTo } from '../../queries/spaces.ts';
import type { PageDeps } from '../parts/routes.ts';
import type { BrandVisit } from '../parts/visit.ts';

/** A space as it is offered to a brand. */
export type OfferedSpace = Space & StandingOfBrand;

/** With the prices that were agreed with the brand. To a brand whose requests the community does not take, it is closed. */
export async function asOffered(
  { customers }: Pick<PageDeps['queries'], 'customers'>,
  { account }: BrandVisit,
  space: Space,
): Promise<OfferedSpace> {
  const standing = await customers.asSeenBy(account.id, space.communityId);
  return { ...offeredTo(space, standing.isBlocked), ...standing };
}

/** What an event costs the brand. @param space with the terms of its day */
export const priceIn = (
  { settings: { serviceFeePercent, currency } }: BrandVisit,
  { spaceId, eventFee }: Space,
  agreed: AgreedPrices,
) => ({ ...priceOf(agreedFee(agreed, spaceId, eventFee), serviceFeePercent), currency });

/** What becomes of requests of a brand that the community trusts. */
export const AT_ONCE = 'This community trusts you, so free hours are approved and charged at once.';
