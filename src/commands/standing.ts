import { admissionKey, admissions } from '../../projections/admissions.ts';
import { communities } from '../../projections/communities.ts';
import { type Standing, standingOf } from '../domain/admission.ts';
import type { BrandId, CommunityId } from '../domain/ids.ts';
import type { ReadModels } from '../read-models/read-models.ts';

/** How a brand stands with a community. */
export async function standingIn(
  readModels: ReadModels,
  of: { readonly communityId: CommunityId; readonly brandId: BrandId },
): Promise<Standing> {
  const [owner, known] = await Promise.all([
    readModels.collection(communities).get(String(of.communityId)),
    readModels.collection(admissions).get(admissionKey(of)),
  ]);
  return standingOf(known ?? {}, owner?.newBrands);
}
