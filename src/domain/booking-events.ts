import type { Account } from './account.ts';
import type { BookingDetails, RepeatedField, StoredDetails } from './booking-details.ts';
import type { BookingId, BrandId, Cents, CommunityId, MoveId, PlainDate, SpaceId, Timestamp } from './ids.ts';
import type { PersonalText } from './personal-text.ts';

/** What happens to bookings. */

/** Repeated in every booking event, so that readers need no look-ups. */
export type BookingFacts = Pick<BookingDetails, RepeatedField> & {
  readonly bookingId: BookingId;
  readonly spaceName: string;
  readonly communityId: CommunityId;
  readonly brandId: BrandId;
  readonly brandName: string;
  readonly endHour: number;
  readonly durationHours: number;
  /** Hours left inside the window; present only if the event runs past its end (docs/decisions/bookings.md). */
  readonly usageHours?: number;
  /** Flat event fee plus service fee. */
  readonly totalPrice: Cents;
  /** ISO 4217. */
  readonly currency: string;
};

/** What a brand requests, with prices and times as of the request. */
export type BookingTerms = StoredDetails &
  BookingFacts & {
    readonly eventFee: Cents;
    readonly serviceFee: Cents;
    readonly serviceFeePercent: number;
    readonly timeZone: string;
    /** Hour at which the space is free again; may be fractional. */
    readonly freeFrom: number;
    /** This and the next two follow the time-zone rules of the day of the request; `booking-moments.ts` uses the current rules. */
    readonly startsAt: Timestamp;
    readonly endsAt: Timestamp;
    /**
     * When the request expires unanswered: after the space's answer time, or at the start of the event if that is sooner.
     */
    readonly expiresAt: Timestamp;
    /** How many hours before the start the brand may still cancel. Absent: until the start. */
    readonly cancelHours?: number;
    /** Why it was approved at once. Absent: it waits for an answer. */
    readonly approval?: ApprovedAtOnce;
  };

/** Why a request was approved at once: the community entered it for its customer, or trusts the brand. */
export type ApprovedAtOnce = 'entered' | 'trusted';

export type CancelledBy = 'Brand' | 'Community' | 'System';

export type BookingEvents = {
  BookingRequested: BookingTerms & {
    readonly idempotencyKey?: string;
    /** HMAC of the request. Only with an idempotency key and personal details, which are sealed. */
    readonly fingerprint?: string;
  };
  BookingApproved: BookingFacts & {
    readonly charge: Cents;
    /** Present if the community asked for less than at the request. `totalPrice` is then the lower one, too. */
    readonly lowered?: { readonly eventFee: Cents; readonly serviceFee: Cents };
  };
  BookingCancelled: BookingFacts & {
    readonly cancelledBy: CancelledBy;
    readonly reason?: PersonalText;
    /** What was charged; zero for a request that was not approved. A booking may also have cost nothing. */
    readonly refund: Cents;
  };
  BookingCompleted: BookingFacts;
  /** A party wants the booking at another time or in another space of the community. The booking stays where it is (docs/decisions/moves.md). */
  BookingMoveAsked: BookingMove & { readonly reason?: PersonalText };
  /** Both parties agree to the move to another space or day, whose stream now decides whether the hours are free. */
  BookingMoveAgreed: BookingMove;
  /** The move was declined, withdrawn or, by `System`, not possible any more. The booking stays where it is. */
  BookingMoveEnded: BookingFacts & {
    readonly moveId: MoveId;
    readonly endedBy: CancelledBy;
    readonly reason?: PersonalText;
  };
  /** In the stream of the new space and day, with the terms there, and the price of the request or of the move. */
  BookingMoved: BookingTerms & {
    readonly moveId: MoveId;
    readonly movedBy: MovedBy;
    readonly status: 'Pending' | 'Approved';
    readonly from: MovePlace;
  };
};

/** The party that asked for a move. */
export type MovedBy = Account['kind'];

/** Where a booking is, or would be, as people read it. */
export type MovePlace = Pick<BookingFacts, 'spaceId' | 'spaceName' | 'date' | 'startHour'>;

/** What a booking costs. */
export type BookingPrice = Pick<BookingTerms, 'eventFee' | 'serviceFee' | 'totalPrice'>;

type BookingMove = BookingFacts & {
  readonly moveId: MoveId;
  readonly askedBy: MovedBy;
  readonly to: MovePlace;
  /** What the request costs there, if that was asked for and is another price. Absent: as agreed at the request. */
  readonly newPrice?: BookingPrice;
};

export type MoveEvents = {
  /** A booking has moved to another space or day, so that its hours here are free. */
  HoursLeft: MoveOfDay & { readonly to: MovePlace };
  /** A booking cannot move here, now or later: a process that is late must not bring it. */
  HoursRefused: MoveOfDay & { readonly reason: string };
};

type MoveOfDay = {
  readonly spaceId: SpaceId;
  readonly communityId: CommunityId;
  readonly date: PlainDate;
  readonly bookingId: BookingId;
  readonly moveId: MoveId;
};
