import type { Account, Actor } from './account.ts';
import type { BookingDetails, RepeatedField, StoredDetails } from './booking-details.ts';
import type { Weekday } from './calendar.ts';
import type {
  ApiKeyId,
  BookingId,
  BrandId,
  Cents,
  ClosureId,
  CommunityId,
  FeedId,
  PlainDate,
  ReviewId,
  SpaceId,
  Timestamp,
  WebhookId,
} from './ids.ts';
import type { PersonalText, Subject } from './personal-text.ts';
import type { Role } from './roles.ts';

/** Version of the event shapes below, stored with each event. A release knows this one and lower ones (`known-event.ts`). */
export const SCHEMA = 1;

/** The trace of the request that led to an event (docs/decisions/event-log.md). */
export type EventTrace = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** Only if the sender of the request does not record the trace. */
  readonly traceFlags?: '00';
};

/** The trace in metadata, or in the context of a command, if it has one. */
export const traceIn = ({ traceId, traceFlags }: Partial<EventTrace>): EventTrace | undefined =>
  traceId === undefined ? undefined : { traceId, ...(traceFlags !== undefined && { traceFlags }) };

/** The metadata of every event (docs/decisions/event-log.md). Without a trace if no request led to it. */
export type EventMetadata = Partial<EventTrace> & {
  readonly at: Timestamp;
  readonly actor: Actor;
  /** One per external request, shared by every event that follows from it. */
  readonly correlationId: string;
  /** Id of the event that led to this one. Absent if a request or the clock did. */
  readonly causationId?: string;
  readonly schema: number;
};

type Event<T extends string, D> = { readonly type: T; readonly data: D };

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
  };

export type BookingRequested = Event<
  'BookingRequested',
  BookingTerms & {
    readonly idempotencyKey?: string;
    /** HMAC of the request. Only with an idempotency key and personal details, which are sealed. */
    readonly fingerprint?: string;
  }
>;
export type BookingApproved = Event<'BookingApproved', BookingFacts & { readonly charge: Cents }>;
export type CancelledBy = 'Brand' | 'Community' | 'System';
export type BookingCancelled = Event<
  'BookingCancelled',
  BookingFacts & {
    readonly cancelledBy: CancelledBy;
    readonly reason?: PersonalText;
    /** What was charged; zero for a request that was not approved. A booking may also have cost nothing. */
    readonly refund: Cents;
  }
>;
export type BookingCompleted = Event<'BookingCompleted', BookingFacts>;
export type BookingEvent = BookingRequested | BookingApproved | BookingCancelled | BookingCompleted;

/** What a community is called, and the IANA zone of its clock. */
export type CommunityFacts = { readonly name: string; readonly timeZone: string };
export type CommunityAdded = Event<'CommunityAdded', CommunityFacts & { readonly communityId: CommunityId }>;
export type CommunityChanged = Event<
  'CommunityChanged',
  Partial<CommunityFacts> & { readonly communityId: CommunityId }
>;
export type CommunityEvent = CommunityAdded | CommunityChanged;
export type BrandAdded = Event<'BrandAdded', { readonly brandId: BrandId; readonly name: string }>;

/** The opening hours of a weekday or a date, and its fee if it has one of its own. */
export type DayHours = { readonly windowStart: number; readonly windowEnd: number; readonly eventFee?: Cents };

/** The terms that a community sets for a space. Hours are on the 24-hour clock. Optional terms are absent if they were never set. */
export type SpaceTerms = {
  readonly name: string;
  readonly windowStart: number;
  readonly windowEnd: number;
  readonly durationHours: number;
  readonly eventFee: Cents;
  /** How many hours a request may wait for an answer before it expires. */
  readonly answerHours: number;
  /** The hours of each weekday, Monday first. Absent, or empty: those above on every day. */
  readonly week?: readonly (DayHours | 'closed')[];
  /** Hours to keep free before and after each booking. */
  readonly gapHours?: number;
  /** How many hours before its start an event must be requested. */
  readonly noticeHours?: number;
  /** How many days ahead bookings are taken. */
  readonly horizonDays?: number;
  /** How many hours before the start a brand may still cancel. */
  readonly cancelHours?: number;
};
export type SpaceAdded = Event<
  'SpaceAdded',
  SpaceTerms & { readonly spaceId: SpaceId; readonly communityId: CommunityId; readonly timeZone: string }
>;
/** `none`: the date has the hours of its weekday again. */
export type DateHours = { readonly date: PlainDate; readonly hours: DayHours | 'none' };
export type SpaceChanged = Event<
  'SpaceChanged',
  // The zone follows that of the community.
  Partial<SpaceTerms> & {
    readonly timeZone?: string;
    /** The hours of single dates instead of those of their weekday. */
    readonly dates?: readonly DateHours[];
    readonly spaceId: SpaceId;
    readonly communityId: CommunityId;
  }
>;
export type SpaceClosed = Event<'SpaceClosed', { readonly spaceId: SpaceId; readonly communityId: CommunityId }>;
export type SpaceOpened = Event<'SpaceOpened', { readonly spaceId: SpaceId; readonly communityId: CommunityId }>;
export type SpaceEvent = SpaceAdded | SpaceChanged | SpaceClosed | SpaceOpened;

/** `OwnEvent`: an event of the community itself, on hours that were free. */
export type ClosureKind = 'Closure' | 'OwnEvent';
/** From `start` up to, not including, `until`: 0 to 24 for a whole day. */
type ClosedHours = { readonly kind: ClosureKind; readonly start: number; readonly until: number };

/** Hours of a space on a date are closed to requests. Bookings that are there stay. */
export type TimeClosed = Event<
  'TimeClosed',
  ClosedHours & {
    readonly spaceId: SpaceId;
    readonly communityId: CommunityId;
    readonly date: PlainDate;
    readonly closureId: ClosureId;
    readonly title?: PersonalText;
  }
>;
/** The closure does not close this day, and never will again: a process that is late must not close it. */
export type TimeReopened = Event<
  'TimeReopened',
  {
    readonly spaceId: SpaceId;
    readonly communityId: CommunityId;
    readonly date: PlainDate;
    readonly closureId: ClosureId;
  }
>;
type TimeEvent = TimeClosed | TimeReopened;
/** The events of a space on one day. */
export type SpaceDayEvent = BookingEvent | TimeEvent;

/** A community wants hours closed on a range of dates. Each day of each space then gets a `TimeClosed`. */
export type ClosureAdded = Event<
  'ClosureAdded',
  ClosedHours & {
    readonly closureId: ClosureId;
    readonly communityId: CommunityId;
    readonly spaceIds: readonly SpaceId[];
    /** Both inclusive. */
    readonly from: PlainDate;
    readonly to: PlainDate;
    /** Absent: every day of the range. */
    readonly weekdays?: readonly Weekday[];
    readonly title?: PersonalText;
    /** Identifies the line of an imported file, so that importing it again adds nothing. */
    readonly importKey?: string;
    /** The closed time that it changes: it takes over its days with other hours or another title. */
    readonly replaces?: ReplacedClosure;
  }
>;
type ReplacedClosure = {
  readonly closureId: ClosureId;
  /** What calendar programs know its days by. */
  readonly calendarId: ClosureId;
  /** When the first one of those that replaced each other was added. */
  readonly firstAddedAt: Timestamp;
};
export type ClosureEnded = Event<
  'ClosureEnded',
  {
    readonly closureId: ClosureId;
    readonly communityId: CommunityId;
    /** The closed time that has taken over its last day. */
    readonly replacedBy?: ClosureId;
  }
>;
/** A community leaves out a date, on all spaces and for good. Each of them then gets a `TimeReopened`. */
export type ClosureDateLeftOut = Event<
  'ClosureDateLeftOut',
  { readonly closureId: ClosureId; readonly communityId: CommunityId; readonly date: PlainDate }
>;
export type ClosureEvent = ClosureAdded | ClosureDateLeftOut | ClosureEnded;

export type ReviewPosted = Event<
  'ReviewPosted',
  {
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
  }
>;

/** What is stored of an API key, or of the secret in the address of a calendar feed. It cannot be made from this again. */
type StoredSecret = {
  /** SHA-256 in hex. */
  readonly hash: string;
  /** The first characters, so that people can tell theirs apart. */
  readonly preview: string;
};

export type ApiKeyIssued = Event<
  'ApiKeyIssued',
  {
    readonly apiKeyId: ApiKeyId;
    readonly account: Account;
    /** Sum of permission flags. */
    readonly permissions: number;
    readonly label: string;
  } & StoredSecret
>;
export type ApiKeyRevoked = Event<
  'ApiKeyRevoked',
  { readonly apiKeyId: ApiKeyId; readonly account: Account; readonly hash: string }
>;
export type ApiKeyEvent = ApiKeyIssued | ApiKeyRevoked;

/** What a calendar feed shows of its account. */
export type FeedContent = {
  /** Only the times of one space of a community. Absent: of all spaces. */
  readonly spaceId?: SpaceId;
  /** False: only when something is busy. */
  readonly showsNames: boolean;
};
/** A user may read the times of an account at an address, which is a credential. */
export type CalendarFeedAdded = Event<
  'CalendarFeedAdded',
  FeedContent &
    StoredSecret & {
      readonly feedId: FeedId;
      readonly userId: string;
      readonly account: Account;
    }
>;
/** The address was revoked, or its user left the account. */
export type CalendarFeedEnded = Event<
  'CalendarFeedEnded',
  { readonly feedId: FeedId; readonly userId: string; readonly account: Account }
>;
export type CalendarFeedEvent = CalendarFeedAdded | CalendarFeedEnded;

/** The credential that owns a webhook registration: an API key, an OAuth client acting for an account, or a user of the console. */
export type WebhookOwner = {
  readonly credential: `apiKey:${string}` | `client:${string}` | `user:${string}`;
  readonly account: Account;
};
export type WebhookRegistered = Event<
  'WebhookRegistered',
  {
    readonly webhookId: WebhookId;
    readonly owner: WebhookOwner;
    readonly url: string;
    /** Sum of event values. */
    readonly events: number;
    /** The signing secret, encrypted under SECRET_KEY. */
    readonly sealedSecret: string;
  }
>;
export type WebhookSecretRotated = Event<
  'WebhookSecretRotated',
  {
    readonly webhookId: WebhookId;
    readonly owner: WebhookOwner;
    readonly sealedSecret: string;
    /** Until then, deliveries are also signed with the old secret. */
    readonly previousUntil: Timestamp;
  }
>;
export type WebhookDisabled = Event<
  'WebhookDisabled',
  { readonly webhookId: WebhookId; readonly owner: WebhookOwner; readonly reason: string }
>;
export type WebhookEnabled = Event<'WebhookEnabled', { readonly webhookId: WebhookId; readonly owner: WebhookOwner }>;
export type WebhookRemoved = Event<'WebhookRemoved', { readonly webhookId: WebhookId; readonly owner: WebhookOwner }>;
export type WebhookEvent = WebhookRegistered | WebhookSecretRotated | WebhookDisabled | WebhookEnabled | WebhookRemoved;

/**
 * Shared by all events about members, their apps and an account's own clients. They record changes to records, which hold the
 * credentials; they contain no name or e-mail address (docs/decisions/accounts.md).
 */
type MembershipChange = {
  /** The change to the record. Recorded once, even if several processes take up unfinished work. */
  readonly changeId: string;
  readonly account: Account;
};
/** A user may act for the account from now on: as a new user, or as one of another account. */
type MemberAdded = Event<'MemberAdded', MembershipChange & { readonly userId: string; readonly role: Role }>;
/** What a user may do for the account changed. */
type MemberRoleChanged = Event<
  'MemberRoleChanged',
  MembershipChange & { readonly userId: string; readonly role: Role }
>;
/** A user may not act for the account any more. A user who is removed leaves every account. */
type MemberRemoved = Event<'MemberRemoved', MembershipChange & { readonly userId: string }>;
/** A user's password changed. One event per account, so that the history of each is complete. */
type PasswordChanged = Event<'PasswordChanged', MembershipChange & { readonly userId: string }>;

/** A user's address changed, once the new one was confirmed. One event per account, as for a password. */
type EmailChanged = Event<'EmailChanged', MembershipChange & { readonly userId: string }>;

type ConnectedApp = MembershipChange & {
  readonly userId: string;
  readonly clientId: string;
  readonly grantId: string;
};
/** A user allowed an app to act for the account, or granted it more scopes. */
export type AppConnected = Event<'AppConnected', ConnectedApp & { readonly scopes: readonly string[] }>;
/** An app's grant ended early. */
type AppDisconnected = Event<'AppDisconnected', ConnectedApp>;
/** The events of one user. */
type MemberEvent =
  | MemberAdded
  | MemberRoleChanged
  | MemberRemoved
  | PasswordChanged
  | EmailChanged
  | AppConnected
  | AppDisconnected;

/** An OAuth client of the account's own, which acts for it without a user. */
type ClientAdded = Event<
  'ClientAdded',
  MembershipChange & {
    readonly clientId: string;
    /** The account's name for it, like the label of an API key. */
    readonly name: string;
  }
>;
type ClientRemoved = Event<'ClientRemoved', MembershipChange & { readonly clientId: string }>;
type ClientEvent = ClientAdded | ClientRemoved;

/** A person may become a member by accepting. The address is in the record of the invitation alone, which ends with it. */
type MemberInvited = Event<'MemberInvited', MembershipChange & { readonly invitationId: string; readonly role: Role }>;
/** The invitation can no longer be accepted. */
type InvitationWithdrawn = Event<'InvitationWithdrawn', MembershipChange & { readonly invitationId: string }>;
type InvitationEvent = MemberInvited | InvitationWithdrawn;
export type MembershipEvent = MemberEvent | ClientEvent | InvitationEvent;

/** Reserves a block of integer ids, both ends inclusive, for the process that appended it (docs/decisions/event-log.md). */
export type IdsReserved = Event<
  'IdsReserved',
  { readonly sequence: string; readonly from: number; readonly to: number }
>;

/** Identifies the log and the format of the store, to detect another log (docs/decisions/processes.md#one-store-one-identity). */
export type LogCreated = Event<'LogCreated', { readonly logId: string; readonly format: number }>;

/** An operator made a read model skip an event that it cannot fold (docs/decisions/read-models.md). */
export type ProjectionEventSkipped = Event<
  'ProjectionEventSkipped',
  {
    readonly readModel: string;
    readonly version: number;
    readonly eventId: string;
    readonly eventType: string;
    readonly reason: string;
  }
>;

/** The key of a subject was destroyed: its texts read as erased from then on, in every copy of the log. */
export type SubjectForgotten = Event<'SubjectForgotten', { readonly subject: Subject }>;

export type DomainEvent =
  | BookingEvent
  | CommunityEvent
  | BrandAdded
  | SpaceEvent
  | TimeEvent
  | ClosureEvent
  | ReviewPosted
  | ApiKeyEvent
  | CalendarFeedEvent
  | WebhookEvent
  | MembershipEvent
  | IdsReserved
  | LogCreated
  | ProjectionEventSkipped
  | SubjectForgotten;

export type EventType = DomainEvent['type'];

/** The kinds of events that this release knows. */
export const EVENT_TYPES: { readonly [T in EventType]: true } = {
  BookingRequested: true,
  BookingApproved: true,
  BookingCancelled: true,
  BookingCompleted: true,
  CommunityAdded: true,
  CommunityChanged: true,
  BrandAdded: true,
  SpaceAdded: true,
  SpaceChanged: true,
  SpaceClosed: true,
  SpaceOpened: true,
  TimeClosed: true,
  TimeReopened: true,
  ClosureAdded: true,
  ClosureDateLeftOut: true,
  ClosureEnded: true,
  ReviewPosted: true,
  ApiKeyIssued: true,
  ApiKeyRevoked: true,
  CalendarFeedAdded: true,
  CalendarFeedEnded: true,
  WebhookRegistered: true,
  WebhookSecretRotated: true,
  WebhookDisabled: true,
  WebhookEnabled: true,
  WebhookRemoved: true,
  MemberAdded: true,
  MemberRoleChanged: true,
  MemberRemoved: true,
  PasswordChanged: true,
  EmailChanged: true,
  AppConnected: true,
  AppDisconnected: true,
  ClientAdded: true,
  ClientRemoved: true,
  MemberInvited: true,
  InvitationWithdrawn: true,
  IdsReserved: true,
  LogCreated: true,
  ProjectionEventSkipped: true,
  SubjectForgotten: true,
};

/** An event as the log holds it. */
export type Recorded<E extends DomainEvent = DomainEvent> = E & {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly metadata: EventMetadata;
};
