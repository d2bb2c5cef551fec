import type { BrandId, CommunityId } from '../../domain/ids.ts';
import type { PageDeps } from '../parts/routes.ts';

/** What a brand should know before it asks a community that does not know it yet. */
export const WAITS_FOR_LOOK = 'This community looks at brands that are new to it first, so its answer may take longer.';

/** The same, if the requests of this brand wait. */
export async function newBrandNote(
  { admissions }: Pick<PageDeps['queries'], 'admissions'>,
  { communityId, brandId }: { readonly communityId: CommunityId; readonly brandId: BrandId },
): Promise<string | undefined> {
  const brands = await admissions.ofBrands(communityId, [brandId]);
  return brands.get(brandId)?.standing === 'waits' ? WAITS_FOR_LOOK : undefined;
}
