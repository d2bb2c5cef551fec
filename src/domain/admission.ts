import { type Decision, type Refusal, refuse } from './decision.ts';
import type { AdmissionEvent, BrandAdmitted, BrandTurnedAway, NewBrands } from './events.ts';
import type { BrandId, CommunityId } from './ids.ts';

/** What a community has decided about a brand. */
export type Admission = 'admitted' | 'turnedAway' | 'trusted' | undefined;

/**
 * How a brand stands with a community: its requests are approved at once, can be approved, wait for a look at the brand, or are not taken.
 */
export type Standing = 'trusted' | 'letIn' | 'waits' | 'turnedAway';

type OfBrand = { readonly communityId: CommunityId; readonly brandId: BrandId };

const AFTER: { readonly [T in AdmissionEvent['type']]: NonNullable<Admission> } = {
  BrandAdmitted: 'admitted',
  BrandTurnedAway: 'turnedAway',
  BrandTrusted: 'trusted',
};

export const evolveAdmission = (_: Admission, { type }: AdmissionEvent): Admission => AFTER[type];

/** @param known `admission`: what was decided; `isKnown`: whether a booking of the brand was ever approved by the community */
export function standingOf(
  { admission, isKnown = false }: { readonly admission?: Admission; readonly isKnown?: boolean },
  newBrands: NewBrands = 'askNothing',
): Standing {
  if (admission === 'turnedAway' || admission === 'trusted') return admission;
  return admission === 'admitted' || isKnown || newBrands === 'askNothing' ? 'letIn' : 'waits';
}

/** Lets a brand in, also one that was turned away. No event if it is let in, or trusted. */
export const admitBrand = (admission: Admission, { communityId, brandId }: OfBrand): Decision<BrandAdmitted> =>
  admission === 'admitted' || admission === 'trusted'
    ? []
    : [{ type: 'BrandAdmitted', data: { communityId, brandId } }];

/** Turns a brand away that is not let in. No event if it is turned away. */
export function turnBrandAway(
  admission: Admission,
  { communityId, brandId }: OfBrand,
  { isKnown }: { readonly isKnown: boolean },
): Decision<BrandTurnedAway> {
  if (admission === 'turnedAway') return [];
  if (admission !== undefined || isKnown)
    return refuse('ValidationError', `Brand ${brandId} is let in already. Decline its requests one by one.`);
  return [{ type: 'BrandTurnedAway', data: { communityId, brandId } }];
}

/** What a community can decide about a customer. */
export const CUSTOMER_STANDINGS = ['letIn', 'trusted', 'blocked'] as const;
export type CustomerStanding = (typeof CUSTOMER_STANDINGS)[number];

const DECIDED = { letIn: 'BrandAdmitted', trusted: 'BrandTrusted', blocked: 'BrandTurnedAway' } as const;

/** Decides about a brand that may be known. No event if that was decided before. */
export function setStanding(
  admission: Admission,
  { standing, communityId, brandId }: OfBrand & { readonly standing: CustomerStanding },
): Decision<AdmissionEvent> {
  const type = DECIDED[standing];
  // One about which nothing was decided is not blocked and not trusted.
  const isSame = AFTER[type] === admission || (standing === 'letIn' && admission === undefined);
  return isSame ? [] : [{ type, data: { communityId, brandId } }];
}

/** Whether requests of a brand can be approved. */
export const isLetIn = (standing: Standing): boolean => standing === 'letIn' || standing === 'trusted';

/** The refusal of requests of a brand that the community has turned away. */
export const TURNED_AWAY = refuse('BookingNotAllowed', 'The community does not take requests of this brand.');

/** Why a request cannot be approved. */
export function refuseApproval(standing: Standing): Refusal | undefined {
  if (isLetIn(standing)) return undefined;
  return refuse(
    'BookingNotAllowed',
    standing === 'waits'
      ? 'The brand is new to the community. A Manager lets it in first.'
      : 'The community has turned this brand away. A Manager lets it in first.',
  );
}
