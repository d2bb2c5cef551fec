import { type Decision, type Refusal, refuse } from './decision.ts';
import type { AdmissionEvent, BrandAdmitted, BrandTurnedAway, NewBrands } from './events.ts';
import type { BrandId, CommunityId } from './ids.ts';

/** What a community has decided about a brand. */
export type Admission = 'admitted' | 'turnedAway' | undefined;

/** How a brand stands with a community: its requests can be approved, wait for a look at the brand, or are not taken. */
export type Standing = 'letIn' | 'waits' | 'turnedAway';

type OfBrand = { readonly communityId: CommunityId; readonly brandId: BrandId };

export const evolveAdmission = (_: Admission, { type }: AdmissionEvent): Admission =>
  type === 'BrandAdmitted' ? 'admitted' : 'turnedAway';

/** @param known `admission`: what was decided; `isKnown`: whether a booking of the brand was ever approved by the community */
export function standingOf(
  { admission, isKnown = false }: { readonly admission?: Admission; readonly isKnown?: boolean },
  newBrands: NewBrands = 'askNothing',
): Standing {
  if (admission === 'turnedAway') return 'turnedAway';
  return admission === 'admitted' || isKnown || newBrands === 'askNothing' ? 'letIn' : 'waits';
}

/** Lets a brand in, also one that was turned away. No event if it is let in. */
export const admitBrand = (admission: Admission, { communityId, brandId }: OfBrand): Decision<BrandAdmitted> =>
  admission === 'admitted' ? [] : [{ type: 'BrandAdmitted', data: { communityId, brandId } }];

/** Turns a brand away that is not let in. No event if it is turned away. */
export function turnBrandAway(
  admission: Admission,
  { communityId, brandId }: OfBrand,
  { isKnown }: { readonly isKnown: boolean },
): Decision<BrandTurnedAway> {
  if (admission === 'turnedAway') return [];
  if (admission === 'admitted' || isKnown)
    return refuse('ValidationError', `Brand ${brandId} is let in already. Decline its requests one by one.`);
  return [{ type: 'BrandTurnedAway', data: { communityId, brandId } }];
}

/** The refusal of requests of a brand that the community has turned away. */
export const TURNED_AWAY = refuse('BookingNotAllowed', 'The community does not take requests of this brand.');

/** Why a request cannot be approved. */
export function refuseApproval(standing: Standing): Refusal | undefined {
  if (standing === 'letIn') return undefined;
  return refuse(
    'BookingNotAllowed',
    standing === 'waits'
      ? 'The brand is new to the community. A Manager lets it in first.'
      : 'The community has turned this brand away. A Manager lets it in first.',
  );
}
