import { type Account, accountInWords, communityOf, partiesOf } from './account.ts';
import type { Community } from './community.ts';
import { EVENT_TYPES } from './event-types.ts';
import type { ClosureAdded, ClosureKind, DomainEvent, EventType, Recorded } from './events.ts';
import type { BrandId, CommunityId } from './ids.ts';
import { accountOfSubject, type Opened, type Readable } from './personal-text.ts';
import type { NamedActor } from './shown-actor.ts';
import type { Space } from './space.ts';

/** Changes of an account, by topic. */
const TOPIC_NAMES = [
  'account',
  'bookings',
  'reviews',
  'spaces',
  'keys',
  'feeds',
  'webhooks',
  'members',
  'apps',
] as const;
export const TOPICS: readonly Topic[] = TOPIC_NAMES;
export type Topic = (typeof TOPIC_NAMES)[number];

/** What an event changed. */
type ChangedThing = {
  readonly kind:
    | 'account'
    | 'brand'
    | 'booking'
    | 'review'
    | 'space'
    | 'closure'
    | 'apiKey'
    | 'calendarFeed'
    | 'webhook'
    | 'user'
    | 'invitation'
    | 'client';
  readonly id: string;
};

/** A change for one or two accounts. */
export type AccountChange = {
  readonly topic: Topic;
  /** The accounts concerned: for a booking, both parties. */
  readonly accounts: readonly Account[];
  readonly of: ChangedThing;
};

/** A change of an account with its event, its actor and the name of what changed. */
export type NamedChange = AccountChange & {
  readonly event: Readable<Recorded>;
  readonly by: NamedActor;
  /** The name of a space, key or app, the URL of a webhook or the e-mail address of a member. Absent if it is no longer known. */
  readonly name?: string;
  /** For a change of a space or a community: what it was before. */
  readonly before?: Space | Community;
  /** For a change of a closed time or an own event: which of the two it is. */
  readonly closureKind?: ClosureKind;
  /** For a closed time that changes another one: that one. */
  readonly replaced?: Opened<ClosureAdded['data']>;
};

/** The change of an event and the accounts concerned; undefined for internal events. */
export function accountChange(event: DomainEvent): AccountChange | undefined {
  switch (event.type) {
    case 'BookingRequested':
    case 'BookingApproved':
    case 'BookingCancelled':
    case 'BookingCompleted':
    case 'BookingMoveAsked':
    case 'BookingMoveAgreed':
    case 'BookingMoveEnded':
    case 'BookingMoved': {
      const { bookingId } = event.data;
      return { topic: 'bookings', accounts: partiesOf(event.data), of: { kind: 'booking', id: String(bookingId) } };
    }
    case 'ReviewPosted':
    case 'ReviewAnswered': {
      const { reviewId } = event.data;
      return { topic: 'reviews', accounts: partiesOf(event.data), of: { kind: 'review', id: String(reviewId) } };
    }
    case 'MessageSent': {
      const { bookingId } = event.data;
      return { topic: 'bookings', accounts: partiesOf(event.data), of: { kind: 'booking', id: String(bookingId) } };
    }
    case 'QuestionSent': {
      const { spaceId } = event.data;
      return { topic: 'bookings', accounts: partiesOf(event.data), of: { kind: 'space', id: String(spaceId) } };
    }
    // Brands never learn of it.
    case 'BookingNoted': {
      const { bookingId } = event.data;
      const accounts = [communityOf(event.data)];
      return { topic: 'bookings', accounts, of: { kind: 'booking', id: String(bookingId) } };
    }
    case 'CommunityAdded':
    case 'CommunityChanged':
    case 'CommunityDescribed':
    case 'CommunityPhotosChanged':
    case 'CommunityNewBrandsChanged':
      return ofAccount({ kind: 'Community', id: event.data.communityId });
    case 'BrandAdded': {
      const { brandId, keptBy } = event.data;
      if (keptBy === undefined) return ofAccount({ kind: 'Brand', id: brandId });
      return ofCustomer({ communityId: keptBy, brandId });
    }
    case 'BrandSuspended':
    case 'BrandReinstated':
      return ofAccount({ kind: 'Brand', id: event.data.brandId });
    case 'BrandAdmitted':
    case 'BrandTurnedAway':
    case 'BrandTrusted':
    case 'CustomerDescribed':
      return ofCustomer(event.data);
    case 'SubjectForgotten': {
      const account = accountOfSubject(event.data.subject);
      return account && ofAccount(account);
    }
    case 'SpaceAdded':
    case 'SpaceChanged':
    case 'SpaceClosed':
    case 'SpaceOpened':
    case 'SpaceDescribed':
    case 'SpacePhotosChanged':
    case 'TimeClosed':
    case 'TimeReopened':
    case 'HoursLeft':
    case 'HoursRefused': {
      const { spaceId } = event.data;
      return ofSpaces(communityOf(event.data), { kind: 'space', id: String(spaceId) });
    }
    case 'ClosureAdded':
    case 'ClosureDateLeftOut':
    case 'ClosureEnded': {
      const { closureId } = event.data;
      return ofSpaces(communityOf(event.data), { kind: 'closure', id: closureId });
    }
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
      return { topic: 'keys', accounts: [event.data.account], of: { kind: 'apiKey', id: event.data.apiKeyId } };
    case 'CalendarFeedAdded':
    case 'CalendarFeedEnded':
      return { topic: 'feeds', accounts: [event.data.account], of: { kind: 'calendarFeed', id: event.data.feedId } };
    case 'WebhookRegistered':
    case 'WebhookSecretRotated':
    case 'WebhookDisabled':
    case 'WebhookEnabled':
    case 'WebhookRemoved': {
      const { owner, webhookId } = event.data;
      return { topic: 'webhooks', accounts: [owner.account], of: { kind: 'webhook', id: webhookId } };
    }
    case 'MemberAdded':
    case 'MemberRoleChanged':
    case 'MemberRemoved':
    case 'PasswordChanged':
    case 'EmailChanged':
      return { topic: 'members', accounts: [event.data.account], of: { kind: 'user', id: event.data.userId } };
    case 'MemberInvited':
    case 'InvitationWithdrawn':
      return {
        topic: 'members',
        accounts: [event.data.account],
        of: { kind: 'invitation', id: event.data.invitationId },
      };
    case 'AppConnected':
    case 'AppDisconnected':
    case 'ClientAdded':
    case 'ClientRemoved':
      return { topic: 'apps', accounts: [event.data.account], of: { kind: 'client', id: event.data.clientId } };
    case 'IdsReserved':
    case 'LogCreated':
    case 'ProjectionEventSkipped':
      return undefined;
    default:
      return event satisfies never;
  }
}

/** A brand, for the community that decides about it. */
const ofCustomer = (of: { readonly communityId: CommunityId; readonly brandId: BrandId }): AccountChange => ({
  topic: 'account',
  accounts: [communityOf(of)],
  of: { kind: 'brand', id: String(of.brandId) },
});

const ofSpaces = (owner: Account, of: ChangedThing): AccountChange => ({ topic: 'spaces', accounts: [owner], of });

const ofAccount = (account: Account): AccountChange => ({
  topic: 'account',
  accounts: [account],
  of: { kind: 'account', id: accountInWords(account) },
});

/** The event types that a history can be filtered by. */
export const AUDITED_TYPES: readonly EventType[] = EVENT_TYPES.filter(
  (type) => !['IdsReserved', 'LogCreated', 'ProjectionEventSkipped'].includes(type),
);
