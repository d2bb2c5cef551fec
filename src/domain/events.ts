import type { Account, Actor } from './account.ts';
import type { BookingEvents, MoveEvents } from './booking-events.ts';
import type { AdmissionEvents, BrandEvents, CustomerEvents } from './brand-events.ts';
import type { Weekday } from './calendar.ts';
import type { Changes } from './changed-values.ts';
import type { HouseDescription, SpaceDescription } from './description.ts';
import type { EventTrace } from './event-trace.ts';
import type {
  ApiKeyId,
  Cents,
  ClosureId,
  CommunityId,
  FeedId,
  PlainDate,
  SpaceId,
  Timestamp,
  WebhookId,
} from './ids.ts';
import type { MembershipEvents } from './membership-events.ts';
import type { PersonalText, Subject } from './personal-text.ts';
import type { PhotoList } from './photos.ts';
import type { ReviewEvents } from './review-events.ts';
import type { QuestionEvents, ThreadEvents } from './thread-events.ts';

/** Version of the event shapes below, stored with each event. A release knows this one and lower ones (`known-event.ts`). */
export const SCHEMA = 1;

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

/** What a community is called, and the IANA zone of its clock. */
export type CommunityFacts = { readonly name: string; readonly timeZone: string };

type CommunityEvents = {
  CommunityAdded: CommunityFacts & { readonly communityId: CommunityId };
  CommunityChanged: Partial<CommunityFacts> & { readonly communityId: CommunityId };
  CommunityNewBrandsChanged: { readonly communityId: CommunityId; readonly newBrands: NewBrands };
  /** What a community says of itself changed. Absent: as before; null: nothing any more. */
  CommunityDescribed: Changes<HouseDescription<PersonalText>> & { readonly communityId: CommunityId };
  CommunityPhotosChanged: PhotoList & { readonly communityId: CommunityId };
};

/** What a community does with requests of brands that it does not know: they wait until a Manager lets the brand in, or not. */
export type NewBrands = 'wait' | 'askNothing';

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

/** `none`: the date has the hours of its weekday again. */
export type DateHours = { readonly date: PlainDate; readonly hours: DayHours | 'none' };

type OfSpace = { readonly spaceId: SpaceId; readonly communityId: CommunityId };

type SpaceEvents = {
  SpaceAdded: SpaceTerms & OfSpace & { readonly timeZone: string };
  // The zone follows that of the community.
  SpaceChanged: Partial<SpaceTerms> &
    OfSpace & {
      readonly timeZone?: string;
      /** The hours of single dates instead of those of their weekday. */
      readonly dates?: readonly DateHours[];
    };
  SpaceClosed: OfSpace;
  SpaceOpened: OfSpace;
  /** What a community says of a space changed. Absent: as before; null: nothing any more. */
  SpaceDescribed: Changes<SpaceDescription<PersonalText>> & OfSpace;
  SpacePhotosChanged: PhotoList & OfSpace;
};

/** `OwnEvent`: an event of the community itself, on hours that were free. */
export type ClosureKind = 'Closure' | 'OwnEvent';
/** From `start` up to, not including, `until`: 0 to 24 for a whole day. */
type ClosedHours = { readonly kind: ClosureKind; readonly start: number; readonly until: number };

type TimeEvents = {
  /** Hours of a space on a date are closed to requests. Bookings that are there stay. */
  TimeClosed: ClosedHours &
    OfSpace & { readonly date: PlainDate; readonly closureId: ClosureId; readonly title?: PersonalText };
  /** The closure does not close this day, and never will again: a process that is late must not close it. */
  TimeReopened: OfSpace & { readonly date: PlainDate; readonly closureId: ClosureId };
};

type OfClosure = { readonly closureId: ClosureId; readonly communityId: CommunityId };

type ClosureEvents = {
  /** A community wants hours closed on a range of dates. Each day of each space then gets a `TimeClosed`. */
  ClosureAdded: ClosedHours &
    OfClosure & {
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
    };
  /** A community leaves out a date, on all spaces and for good. Each of them then gets a `TimeReopened`. */
  ClosureDateLeftOut: OfClosure & { readonly date: PlainDate };
  /** With the closed time that has taken over its last day. */
  ClosureEnded: OfClosure & { readonly replacedBy?: ClosureId };
};

type ReplacedClosure = {
  readonly closureId: ClosureId;
  /** What calendar programs know its days by. */
  readonly calendarId: ClosureId;
  /** When the first one of those that replaced each other was added. */
  readonly firstAddedAt: Timestamp;
};

/** What is stored of an API key, or of the secret in the address of a calendar feed. It cannot be made from this again. */
type StoredSecret = {
  /** SHA-256 in hex. */
  readonly hash: string;
  /** The first characters, so that people can tell theirs apart. */
  readonly preview: string;
};

type ApiKeyEvents = {
  ApiKeyIssued: StoredSecret & {
    readonly apiKeyId: ApiKeyId;
    readonly account: Account;
    /** Sum of permission flags. */
    readonly permissions: number;
    readonly label: string;
  };
  ApiKeyRevoked: { readonly apiKeyId: ApiKeyId; readonly account: Account; readonly hash: string };
};

/** What a calendar feed shows of its account. */
export type FeedContent = {
  /** Only the times of one space of a community. Absent: of all spaces. */
  readonly spaceId?: SpaceId;
  /** False: only when something is busy. */
  readonly showsNames: boolean;
  /** Read as a sheet at the door of the space, instead of as a calendar. */
  readonly isDoor?: true;
};

type OfFeed = { readonly feedId: FeedId; readonly userId: string; readonly account: Account };

type CalendarFeedEvents = {
  /** A user may read the times of an account at an address, which is a credential. */
  CalendarFeedAdded: FeedContent & StoredSecret & OfFeed;
  /** The address was revoked, or its user left the account. */
  CalendarFeedEnded: OfFeed;
};

/** The credential that owns a webhook registration: an API key, an OAuth client acting for an account, or a user of the console. */
export type WebhookOwner = {
  readonly credential: `apiKey:${string}` | `client:${string}` | `user:${string}`;
  readonly account: Account;
};

type OfWebhook = { readonly webhookId: WebhookId; readonly owner: WebhookOwner };

type WebhookEvents = {
  WebhookRegistered: OfWebhook & {
    readonly url: string;
    /** Sum of event values. */
    readonly events: number;
    /** The signing secret, encrypted under SECRET_KEY. */
    readonly sealedSecret: string;
  };
  WebhookSecretRotated: OfWebhook & {
    readonly sealedSecret: string;
    /** Until then, deliveries are also signed with the old secret. */
    readonly previousUntil: Timestamp;
  };
  WebhookDisabled: OfWebhook & { readonly reason: string };
  WebhookEnabled: OfWebhook;
  WebhookRemoved: OfWebhook;
};

type OtherEvents = {
  /** Reserves a block of integer ids, both ends inclusive, for the process that appended it (docs/decisions/event-log.md). */
  IdsReserved: { readonly sequence: string; readonly from: number; readonly to: number };
  /** Identifies the log and the format of the store, to detect another log (docs/decisions/processes.md#one-store-one-identity). */
  LogCreated: { readonly logId: string; readonly format: number };
  /** An operator made a read model skip an event that it cannot fold (docs/decisions/read-models.md). */
  ProjectionEventSkipped: {
    readonly readModel: string;
    readonly version: number;
    readonly eventId: string;
    readonly eventType: string;
    readonly reason: string;
  };
  /** The key of a subject was destroyed: its texts read as erased from then on, in every copy of the log. */
  SubjectForgotten: { readonly subject: Subject };
};

/** What each kind of event holds. */
type EventData = BookingEvents &
  MoveEvents &
  CommunityEvents &
  SpaceEvents &
  TimeEvents &
  ClosureEvents &
  ApiKeyEvents &
  CalendarFeedEvents &
  WebhookEvents &
  MembershipEvents &
  BrandEvents &
  AdmissionEvents &
  CustomerEvents &
  ThreadEvents &
  QuestionEvents &
  ReviewEvents &
  OtherEvents;

export type EventType = keyof EventData;

/** An event of one of these kinds. */
type EventOf<T extends EventType> = { [K in T]: { readonly type: K; readonly data: EventData[K] } }[T];

export type DomainEvent = EventOf<EventType>;

export type BookingEvent = EventOf<keyof BookingEvents>;
export type BookingRequested = EventOf<'BookingRequested'>;
export type BookingApproved = EventOf<'BookingApproved'>;
export type BookingCancelled = EventOf<'BookingCancelled'>;
export type BookingCompleted = EventOf<'BookingCompleted'>;
export type BookingMoveAsked = EventOf<'BookingMoveAsked'>;
export type BookingMoveAgreed = EventOf<'BookingMoveAgreed'>;
export type BookingMoveEnded = EventOf<'BookingMoveEnded'>;
export type BookingMoved = EventOf<'BookingMoved'>;
export type HoursLeft = EventOf<'HoursLeft'>;
export type HoursRefused = EventOf<'HoursRefused'>;
export type CommunityEvent = EventOf<keyof CommunityEvents>;
export type CommunityAdded = EventOf<'CommunityAdded'>;
export type CommunityChanged = EventOf<'CommunityChanged'>;
export type CommunityDescribed = EventOf<'CommunityDescribed'>;
export type CommunityPhotosChanged = EventOf<'CommunityPhotosChanged'>;
export type CommunityNewBrandsChanged = EventOf<'CommunityNewBrandsChanged'>;
export type AdmissionEvent = EventOf<keyof AdmissionEvents>;
export type BrandAdmitted = EventOf<'BrandAdmitted'>;
export type BrandTurnedAway = EventOf<'BrandTurnedAway'>;
export type CustomerDescribed = EventOf<'CustomerDescribed'>;
export type ThreadEvent = EventOf<keyof ThreadEvents>;
export type MessageSent = EventOf<'MessageSent'>;
export type BookingNoted = EventOf<'BookingNoted'>;
export type QuestionSent = EventOf<'QuestionSent'>;
export type BrandEvent = EventOf<keyof BrandEvents>;
export type BrandAdded = EventOf<'BrandAdded'>;
export type BrandSuspended = EventOf<'BrandSuspended'>;
export type BrandReinstated = EventOf<'BrandReinstated'>;
export type SpaceEvent = EventOf<keyof SpaceEvents>;
export type SpaceAdded = EventOf<'SpaceAdded'>;
export type SpaceChanged = EventOf<'SpaceChanged'>;
export type SpaceClosed = EventOf<'SpaceClosed'>;
export type SpaceOpened = EventOf<'SpaceOpened'>;
export type SpaceDescribed = EventOf<'SpaceDescribed'>;
export type SpacePhotosChanged = EventOf<'SpacePhotosChanged'>;
/** The events of a space on one day. */
export type SpaceDayEvent = EventOf<keyof BookingEvents | keyof MoveEvents | keyof TimeEvents>;
export type TimeClosed = EventOf<'TimeClosed'>;
export type TimeReopened = EventOf<'TimeReopened'>;
export type ClosureEvent = EventOf<keyof ClosureEvents>;
export type ClosureAdded = EventOf<'ClosureAdded'>;
export type ClosureEnded = EventOf<'ClosureEnded'>;
export type ClosureDateLeftOut = EventOf<'ClosureDateLeftOut'>;
export type ReviewEvent = EventOf<keyof ReviewEvents>;
export type ReviewPosted = EventOf<'ReviewPosted'>;
export type ReviewAnswered = EventOf<'ReviewAnswered'>;
export type ApiKeyEvent = EventOf<keyof ApiKeyEvents>;
export type ApiKeyIssued = EventOf<'ApiKeyIssued'>;
export type ApiKeyRevoked = EventOf<'ApiKeyRevoked'>;
export type CalendarFeedEvent = EventOf<keyof CalendarFeedEvents>;
export type CalendarFeedAdded = EventOf<'CalendarFeedAdded'>;
export type CalendarFeedEnded = EventOf<'CalendarFeedEnded'>;
export type WebhookEvent = EventOf<keyof WebhookEvents>;
export type WebhookRegistered = EventOf<'WebhookRegistered'>;
export type WebhookSecretRotated = EventOf<'WebhookSecretRotated'>;
export type WebhookDisabled = EventOf<'WebhookDisabled'>;
export type WebhookEnabled = EventOf<'WebhookEnabled'>;
export type WebhookRemoved = EventOf<'WebhookRemoved'>;
export type MembershipEvent = EventOf<keyof MembershipEvents>;
export type AppConnected = EventOf<'AppConnected'>;
export type IdsReserved = EventOf<'IdsReserved'>;
export type LogCreated = EventOf<'LogCreated'>;
export type ProjectionEventSkipped = EventOf<'ProjectionEventSkipped'>;
export type SubjectForgotten = EventOf<'SubjectForgotten'>;

/** An event as the log holds it. */
export type Recorded<E extends DomainEvent = DomainEvent> = E & {
  readonly id: string;
  readonly stream: string;
  readonly revision: number;
  readonly position: string;
  readonly metadata: EventMetadata;
};
