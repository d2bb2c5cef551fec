import type { AccountKind } from './account.ts';
import type { BookingId, BrandId, CommunityId, SpaceId } from './ids.ts';
import type { PersonalText } from './personal-text.ts';

type OfThread = {
  readonly bookingId: BookingId;
  readonly communityId: CommunityId;
  readonly brandId: BrandId;
  readonly spaceId: SpaceId;
};

/** What a brand asked about a space, without a booking, or what its community answered. */
export type QuestionEvents = {
  QuestionSent: Omit<OfThread, 'bookingId'> & { readonly from: AccountKind; readonly text: PersonalText };
};

/** What is written about a booking. */
export type ThreadEvents = {
  /** A party of a booking wrote to the other one. */
  MessageSent: OfThread & { readonly from: AccountKind; readonly text: PersonalText };
  /** A community wrote something down about a booking, for itself. */
  BookingNoted: OfThread & { readonly note: PersonalText };
};
