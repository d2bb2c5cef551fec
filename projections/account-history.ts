import { type AccountKey, accountKey } from '../src/domain/account.ts';
import { accountChange, type Topic } from '../src/domain/account-change.ts';
import type {
  AdmissionEvent,
  ApiKeyEvent,
  BrandEvent,
  CalendarFeedEvent,
  ClosureEvent,
  CommunityEvent,
  CustomerDescribed,
  MembershipEvent,
  Recorded,
  SpaceEvent,
  SubjectForgotten,
  WebhookEvent,
} from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** The log position of a change of an account. Only the event has the change itself and its actor. */
export type AccountHistoryDocument = {
  readonly account: AccountKey;
  readonly topic: Topic;
  /** What changed: `space:3`. */
  readonly of: string;
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly at: Timestamp;
};

/**
 * The events of an account except bookings, messages and reviews, which are many and have lists of their own, and the single days that a closure
 * closes.
 */
type Changing =
  | CommunityEvent
  | BrandEvent
  | AdmissionEvent
  | CustomerDescribed
  | SpaceEvent
  | ClosureEvent
  | ApiKeyEvent
  | CalendarFeedEvent
  | WebhookEvent
  | MembershipEvent
  | SubjectForgotten;

function entryOf(_: AccountHistoryDocument | undefined, event: Recorded<Changing>): AccountHistoryDocument | undefined {
  const change = accountChange(event);
  const [account] = change?.accounts ?? [];
  if (change === undefined || account === undefined) return undefined;
  const { position, stream, revision, metadata } = event;
  return {
    account: accountKey(account),
    topic: change.topic,
    of: `${change.of.kind}:${change.of.id}`,
    position,
    stream,
    revision,
    at: metadata.at,
  };
}

/** An index of the changes of each account, so that a page of its history needs no search of the log. */
export const accountHistory = projection<AccountHistoryDocument, Changing>({
  name: 'accountHistory',
  version: 11,
  indexes: [
    { fields: ['account', 'position'] },
    { fields: ['account', 'topic', 'position'] },
    { fields: ['account', 'of', 'position'] },
  ],
  key: ({ id }) => id,
  on: {
    CommunityAdded: entryOf,
    CommunityChanged: entryOf,
    CommunityDescribed: entryOf,
    CommunityPhotosChanged: entryOf,
    CommunityNewBrandsChanged: entryOf,
    BrandAdded: entryOf,
    BrandSuspended: entryOf,
    BrandReinstated: entryOf,
    BrandAdmitted: entryOf,
    BrandTurnedAway: entryOf,
    BrandTrusted: entryOf,
    CustomerDescribed: entryOf,
    SpaceAdded: entryOf,
    SpaceChanged: entryOf,
    SpaceClosed: entryOf,
    SpaceOpened: entryOf,
    SpaceDescribed: entryOf,
    SpacePhotosChanged: entryOf,
    ClosureAdded: entryOf,
    ClosureDateLeftOut: entryOf,
    // The entry of the one that replaced it tells of the change.
    ClosureEnded: (_, event) => (event.data.replacedBy === undefined ? entryOf(_, event) : undefined),
    ApiKeyIssued: entryOf,
    ApiKeyRevoked: entryOf,
    CalendarFeedAdded: entryOf,
    CalendarFeedEnded: entryOf,
    WebhookRegistered: entryOf,
    WebhookSecretRotated: entryOf,
    WebhookDisabled: entryOf,
    WebhookEnabled: entryOf,
    WebhookRemoved: entryOf,
    MemberAdded: entryOf,
    MemberRoleChanged: entryOf,
    MemberRemoved: entryOf,
    PasswordChanged: entryOf,
    EmailChanged: entryOf,
    AppConnected: entryOf,
    AppDisconnected: entryOf,
    ClientAdded: entryOf,
    ClientRemoved: entryOf,
    MemberInvited: entryOf,
    InvitationWithdrawn: entryOf,
    SubjectForgotten: entryOf,
  },
});
