import type { DomainEvent, EventType } from './events.ts';
import { keysOf } from './keys-of.ts';

/**
 * The kinds of events that this release knows, and which count towards the daily quota of the account that causes them. Not those of which
 * there is at most one for each that does, such as the end of a key: a key that has leaked can be revoked after any number of events. Nor
 * those that tell of a change which is stored already.
 */
const IS_COUNTED: { readonly [T in EventType]: boolean } = {
  BookingRequested: true,
  BookingApproved: false,
  BookingCancelled: false,
  BookingCompleted: false,
  BookingMoveAsked: true,
  BookingMoveAgreed: true,
  BookingMoveEnded: false,
  BookingMoved: true,
  HoursLeft: false,
  HoursRefused: false,
  CommunityAdded: true,
  CommunityChanged: true,
  CommunityDescribed: true,
  CommunityPhotosChanged: true,
  CommunityNewBrandsChanged: true,
  BrandAdded: true,
  BrandSuspended: false,
  BrandReinstated: false,
  BrandAdmitted: true,
  BrandTurnedAway: false,
  BrandTrusted: true,
  CustomerDescribed: true,
  MessageSent: true,
  BookingNoted: true,
  QuestionSent: true,
  SpaceAdded: true,
  SpaceChanged: true,
  SpaceClosed: true,
  SpaceOpened: true,
  SpaceDescribed: true,
  SpacePhotosChanged: true,
  TimeClosed: true,
  TimeReopened: false,
  ClosureAdded: true,
  ClosureDateLeftOut: false,
  ClosureEnded: false,
  ReviewPosted: true,
  ReviewAnswered: false,
  ApiKeyIssued: true,
  ApiKeyRevoked: false,
  CalendarFeedAdded: true,
  CalendarFeedEnded: false,
  WebhookRegistered: true,
  WebhookSecretRotated: true,
  WebhookDisabled: false,
  WebhookEnabled: true,
  WebhookRemoved: false,
  MemberAdded: false,
  MemberRoleChanged: false,
  MemberRemoved: false,
  PasswordChanged: false,
  EmailChanged: false,
  AppConnected: false,
  AppDisconnected: false,
  ClientAdded: false,
  ClientRemoved: false,
  MemberInvited: false,
  InvitationWithdrawn: false,
  IdsReserved: false,
  LogCreated: false,
  ProjectionEventSkipped: false,
  SubjectForgotten: false,
};

/** Whether an event counts towards the daily quota of its account (docs/decisions/accounts.md). */
export const isCountedEvent = ({ type }: Pick<DomainEvent, 'type'>): boolean => IS_COUNTED[type];

export const EVENT_TYPES: readonly EventType[] = keysOf(IS_COUNTED);

/** Whether this release knows a kind of event. */
export const isEventType = (type: string): type is EventType => Object.hasOwn(IS_COUNTED, type);
