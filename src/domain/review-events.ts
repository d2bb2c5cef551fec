import type { BookingId, BrandId, CommunityId, ReviewId, SpaceId } from './ids.ts';
import type { PersonalText } from './personal-text.ts';

export type ReviewEvents = {
  ReviewPosted: {
    readonly reviewId: ReviewId;
    readonly bookingId: BookingId;
    readonly communityId: CommunityId;
    readonly spaceId: SpaceId;
    readonly spaceName: string;
    readonly brandId: BrandId;
    readonly brandName: string;
    readonly rating: number;
    readonly title: PersonalText;
    readonly content: PersonalText;
    readonly isVerifiedBooking: boolean;
  };
  /** The community that a review is about has answered it, once. */
  ReviewAnswered: {
    readonly reviewId: ReviewId;
    readonly bookingId: BookingId;
    readonly communityId: CommunityId;
    readonly spaceId: SpaceId;
    readonly brandId: BrandId;
    readonly answer: PersonalText;
  };
};
