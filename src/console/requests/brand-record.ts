import type { BrandRecord } from '../../queries/bookings.ts';

/**
 * What became of a brand's bookings at a community, in words for the community. What the community declined, and what nobody
 * answered, is not held against the brand.
 */
export function recordText({ completed, approved, byBrand, byCommunity, expired }: BrandRecord): string {
  const parts = [
    completed > 0 && `${completed} completed`,
    approved > 0 && `${approved} approved`,
    byBrand > 0 && `${byBrand} cancelled by the brand`,
    byCommunity > 0 && `${byCommunity} declined or cancelled by you`,
    expired > 0 && `${expired} expired without an answer`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? 'no earlier bookings.' : `${parts.join(', ')}.`;
}
