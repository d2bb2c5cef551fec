import { admissionKey, admissions } from '../../projections/admissions.ts';
import { communities } from '../../projections/communities.ts';
import { type Standing, standingOf } from '../domain/admission.ts';
import type { AgreedPrices } from '../domain/customer-details.ts';
import type { BrandId, CommunityId } from '../domain/ids.ts';
import type { ReadModels } from '../read-models/read-models.ts';

type Of = { readonly communityId: CommunityId; readonly brandId: BrandId };

/** How a brand stands with a community, and what was agreed with it. */
export async function termsIn(
  readModels: ReadModels,
  of: Of,
): Promise<{ readonly standing: Standing; readonly agreed: AgreedPrices }> {
  const [owner, known = {}] = await Promise.all([
    readModels.collection(communities).get(String(of.communityId)),
    readModels.collection(admissions).get(admissionKey(of)),
  ]);
  return { standing: standingOf(known, owner?.newBrands), agreed: known };
}

/** How a brand stands with a community. */
export const standingIn = async (readModels: ReadModels, of: Of): Promise<Standing> =>
  (await termsIn(readModels, of)).standing;
