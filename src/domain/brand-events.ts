import type { Changes } from './changed-values.ts';
import type { CustomerDetails } from './customer-details.ts';
import type { BrandId, CommunityId } from './ids.ts';
import type { PersonalText } from './personal-text.ts';

/** What happens to brands, and what communities decide and keep about them. */

type OfAdmission = { readonly communityId: CommunityId; readonly brandId: BrandId };

export type AdmissionEvents = {
  /** A community has let a brand in: its requests can be approved. */
  BrandAdmitted: OfAdmission;
  /** A community takes no requests of a brand. */
  BrandTurnedAway: OfAdmission;
  /** A community approves the requests of a brand at once. */
  BrandTrusted: OfAdmission;
};

export type CustomerEvents = {
  /** What a community keeps about a customer changed. Absent: as before; null: nothing any more. */
  CustomerDescribed: Changes<CustomerDetails<PersonalText>> & OfAdmission;
};

export type BrandEvents = {
  BrandAdded: {
    readonly brandId: BrandId;
    readonly name: string;
    /** By itself, not by the operator. */
    readonly signedUp?: true;
    /** The community that looks after the brand as its customer. */
    readonly keptBy?: CommunityId;
  };
  /** The operator has switched a brand off: everything that it may do is refused, and nothing is lost. */
  BrandSuspended: { readonly brandId: BrandId; readonly reason?: PersonalText };
  BrandReinstated: { readonly brandId: BrandId };
};
