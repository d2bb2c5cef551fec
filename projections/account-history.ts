import { type AccountKey, accountKey } from '../src/domain/account.ts';
import { accountChange, type Topic } from '../src/domain/account-change.ts';
import type {
  ApiKeyEvent,
  BrandAdded,
  CommunityAdded,
  MembershipEvent,
  Recorded,
  SpaceEvent,
  SubjectForgotten,
  WebhookEvent,
} from '../src/domain/events.ts';
import type { Timestamp } from '../src/domain/ids.ts';
import { projection } from './projection.ts';

/** Where in the log a change for an account is. What changed, by whom, is in the event alone. */
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

/** Everything that changes for an account now and then. Bookings and reviews are many, and have lists of their own. */
type Changing =
  | CommunityAdded
  | BrandAdded
  | SpaceEvent
  | ApiKeyEvent
  | WebhookEvent
  | MembershipEvent
  | SubjectForgotten;

function placeOf(_: AccountHistoryDocument | undefined, event: Recorded<Changing>): AccountHistoryDocument | undefined {
  const change = accountChange(event);
  const [account] = change?.accounts ?? [];
  if (change === undefined || account === undefined) return undefined;
  const { position, stream, revision, metadata } = event;
  return {
    account: accountKey(account),
    topic: change.topic,
    of: `${change.of.kind}:${change.of.id}`,
    ...{ position, stream, revision, at: metadata.at },
  };
}

/** Where the history of each account is, so that a page of it is not searched for in the whole log. */
export const accountHistory = projection<AccountHistoryDocument, Changing>({
  name: 'accountHistory',
  version: 1,
  indexes: [
    { fields: ['account', 'position'] },
    { fields: ['account', 'topic', 'position'] },
    { fields: ['account', 'of', 'position'] },
  ],
  key: ({ id }) => id,
  on: {
    CommunityAdded: placeOf,
    BrandAdded: placeOf,
    SpaceAdded: placeOf,
    SpaceChanged: placeOf,
    SpaceClosed: placeOf,
    SpaceOpened: placeOf,
    ApiKeyIssued: placeOf,
    ApiKeyRevoked: placeOf,
    WebhookRegistered: placeOf,
    WebhookSecretRotated: placeOf,
    WebhookDisabled: placeOf,
    WebhookEnabled: placeOf,
    WebhookRemoved: placeOf,
    MemberAdded: placeOf,
    MemberRemoved: placeOf,
    PasswordChanged: placeOf,
    AppConnected: placeOf,
    AppDisconnected: placeOf,
    ClientAdded: placeOf,
    ClientRemoved: placeOf,
    SubjectForgotten: placeOf,
  },
});
