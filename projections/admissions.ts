import { type Admission, evolveAdmission } from '../src/domain/admission.ts';
import type { AdmissionEvent, BookingApproved } from '../src/domain/events.ts';
import type { BrandId, CommunityId } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** What a community knows of a brand. */
export type AdmissionDocument = {
  readonly communityId: CommunityId;
  readonly brandId: BrandId;
  readonly admission?: Admission;
  /** Whether a booking of the brand was ever approved. */
  readonly isKnown: boolean;
};

type OfBrand = Pick<AdmissionDocument, 'communityId' | 'brandId'>;

export const admissionKey = ({ communityId, brandId }: OfBrand): string => `${communityId}:${brandId}`;

const NEW = { isKnown: false };

const decided = (document: AdmissionDocument | undefined, event: AdmissionEvent): AdmissionDocument => ({
  ...(document ?? NEW),
  communityId: event.data.communityId,
  brandId: event.data.brandId,
  admission: evolveAdmission(document?.admission, event),
});

/** The brands that a community has let in, turned away, or approved a booking of. */
export const admissions = projection<AdmissionDocument, AdmissionEvent | BookingApproved>({
  name: 'admissions',
  version: 1,
  indexes: [{ fields: ['communityId', 'admission', 'brandId'] }],
  key: ({ data }) => admissionKey(data),
  on: {
    BrandAdmitted: decided,
    BrandTurnedAway: decided,
    BookingApproved(document, { data: { communityId, brandId } }) {
      return document?.isKnown ? document : { ...document, communityId, brandId, isKnown: true };
    },
  },
});
