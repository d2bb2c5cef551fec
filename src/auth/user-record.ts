import { randomBytes, randomUUID } from 'node:crypto';
import type { Collection } from '../document-store/document-store.ts';
import { type Account, accountKey } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import type { MembershipEvent } from '../domain/events.ts';
import type { SpaceId } from '../domain/ids.ts';
import { MAX_SHORTLIST } from '../domain/limits.ts';
import { picked } from '../domain/picked.ts';
import type { Role } from '../domain/roles.ts';
import { type ReadMarks, type ReadMessage, withMark } from '../domain/thread.ts';
import { accountsIn, type Membership, membershipsIn, roleIn, type StoredMembership } from './memberships.ts';
import { type ChangeContext, UNLOGGED_INDEX, type WithUnlogged, withChanges } from './unlogged-changes.ts';

/** A person who signs in with e-mail and password. Belongs to one or more accounts (docs/decisions/accounts.md). */
export type User = {
  readonly id: string;
  /** Normalised: trimmed, lower case. */
  readonly email: string;
  /** The accounts that the user acts for, each once, and the role there. */
  readonly memberships: readonly Membership[];
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** ISO 8601, UTC. Sessions started before have ended. */
  readonly passwordChangedAt: string;
  /** When the user proved to read mail at the address. Absent: not proved. */
  readonly emailConfirmedAt?: string;
  /** The address that replaces the current one once it is confirmed. */
  readonly pendingEmail?: string;
  /** The spaces that the user keeps to choose from, the last one first. */
  readonly shortlist?: readonly SpaceId[];
  /** When the last message was written that the user has read, by booking. Those of messages that count as unread for so long at most. */
  readonly read?: ReadMarks;
};

/** A user as stored. */
export type UserDocument = Omit<User, 'memberships'> &
  WithUnlogged & {
    /** Each account once. */
    readonly memberships: readonly StoredMembership[];
    readonly passwordHash: string;
    /** Set when the user is removed, until the log has the event. The record then has no personal data, and lookups skip it. */
    readonly isRemoved?: true;
  };

export const USERS: Collection<UserDocument> = {
  name: 'users',
  kind: 'record',
  indexes: [{ fields: ['email'], unique: true }, UNLOGGED_INDEX],
};

/** A record may outlive its user, until the log has the event. */
export const isUser = ({ isRemoved }: UserDocument): boolean => isRemoved !== true;

/** A user as others see it: without the hash of the password. */
export const withoutHash = (user: UserDocument): User => {
  const { id, email, createdAt, passwordChangedAt } = user;
  const memberships = membershipsIn(user);
  return {
    id,
    email,
    memberships,
    createdAt,
    passwordChangedAt,
    ...picked(user, ['emailConfirmedAt', 'pendingEmail', 'shortlist', 'read']),
  };
};

const NO_MEMBER = refuse('ResourceNotFound', 'The user does not belong to this account.');

export const roleOf = (user: UserDocument, account: Account): Role | undefined =>
  roleIn({ memberships: membershipsIn(user) }, account);
/** The accounts that the user manages. */
export const managedBy = (user: UserDocument): readonly Account[] =>
  membershipsIn(user).flatMap(({ account, role }) => (role === 'Manager' ? account : []));

const isSame = (a: Account, b: Account): boolean => accountKey(a) === accountKey(b);

export const isOnlyAccount = (user: UserDocument, account: Account): boolean =>
  accountsIn(user).every((one) => isSame(one, account)) && roleOf(user, account) !== undefined;

/** A user after a change, with the changes for the log. Without changes, the user stays as it was. */
export type Changed = { readonly user: UserDocument; readonly changes: readonly MembershipEvent[] };

export const newUserId = (): string => `usr_${randomBytes(12).toString('base64url')}`;

/** @param id of a user who signs up; default: a new one */
export function newUser(
  email: string,
  memberships: readonly Membership[],
  passwordHash: string,
  at: string,
  id = newUserId(),
): Changed {
  const user = { id, email, createdAt: at, passwordChangedAt: at, passwordHash, memberships };
  return { user, changes: memberships.map((membership) => memberAdded(user, membership)) };
}

/** Takes back a change of the address, too: another person with the former password may have asked for it. */
export const withPassword = (
  { pendingEmail: _, ...user }: UserDocument,
  passwordHash: string,
  passwordChangedAt: string,
): Changed => ({
  user: { ...user, passwordHash, passwordChangedAt },
  changes: accountsIn(user).map((account) => ({ type: 'PasswordChanged', data: changeOf(user, account) })),
});

const without = ({ memberships }: UserDocument, account: Account): readonly StoredMembership[] =>
  memberships.filter((one) => !isSame(one.account, account));

export const withAccount = (user: UserDocument, membership: Membership): Changed =>
  roleOf(user, membership.account) !== undefined
    ? { user, changes: [] }
    : {
        user: { ...user, memberships: [...without(user, membership.account), membership] },
        changes: [memberAdded(user, membership)],
      };

/** @param was the role that the sender saw; undefined: any */
export function withRole(user: UserDocument, { account, role }: Membership, was?: string): Changed | Refusal {
  const before = roleOf(user, account);
  if (before === undefined) return NO_MEMBER;
  if (was !== undefined && was !== before)
    return refuse('ValidationError', `This member is a ${before} by now. Nothing was changed: choose again.`);
  if (before === role) return { user, changes: [] };
  const memberships = user.memberships.map((one) => (isSame(one.account, account) ? { account, role } : one));
  return {
    user: { ...user, memberships },
    changes: [{ type: 'MemberRoleChanged', data: { ...changeOf(user, account), role } }],
  };
}

export function withoutAccount(user: UserDocument, account: Account): Changed | Refusal {
  if (roleOf(user, account) === undefined) return { user, changes: [] };
  const memberships = without(user, account);
  return memberships.length > 0
    ? { user: { ...user, memberships }, changes: [memberRemoved(user, account)] }
    : refuse('ValidationError', 'A user must belong to at least one account. Remove the user instead.');
}

/** Adds a space to the shortlist of a user, or removes it. */
export function withShortlisted(user: UserDocument, spaceId: SpaceId, isWanted: boolean): Changed | Refusal {
  const { shortlist = [] } = user;
  if (shortlist.includes(spaceId) === isWanted) return { user, changes: [] };
  if (isWanted && shortlist.length >= MAX_SHORTLIST)
    return refuse('ValidationError', `The shortlist has ${MAX_SHORTLIST} spaces. Remove one first.`);
  const rest = shortlist.filter((id) => id !== spaceId);
  return { user: { ...user, shortlist: isWanted ? [spaceId, ...rest] : rest }, changes: [] };
}

/** Remembers the last message about a booking or a space that a user has read. */
export function withRead(user: UserDocument, message: ReadMessage): Changed {
  const { read = {} } = user;
  const marks = withMark(read, message);
  return marks === read ? { user, changes: [] } : { user: { ...user, read: marks }, changes: [] };
}

export const withoutUser = (user: UserDocument): Changed => ({
  user: removed(user),
  changes: accountsIn(user).map((account) => memberRemoved(user, account)),
});

/** A removed user until its event is in the log: no personal data and no credentials. */
const removed = ({ id, createdAt, passwordChangedAt, unlogged = [] }: UserDocument): UserDocument => ({
  id,
  createdAt,
  passwordChangedAt,
  unlogged,
  email: id,
  memberships: [],
  passwordHash: '',
  isRemoved: true,
});

const changeOf = ({ id: userId }: Pick<User, 'id'>, account: Account) => ({
  changeId: randomUUID(),
  account,
  userId,
});
const memberAdded = (user: Pick<User, 'id'>, { account, role }: Membership): MembershipEvent => ({
  type: 'MemberAdded',
  data: { ...changeOf(user, account), role },
});
const memberRemoved = (user: Pick<User, 'id'>, account: Account): MembershipEvent => ({
  type: 'MemberRemoved',
  data: changeOf(user, account),
});

export const emailChanged = (user: Pick<User, 'id'>, account: Account): MembershipEvent => ({
  type: 'EmailChanged',
  data: changeOf(user, account),
});

/** What the user did is shown to each account as done by its own member: no account learns of the others. */
export const withOwnChanges = (user: UserDocument, changes: readonly MembershipEvent[], context: ChangeContext) =>
  changes.reduce<UserDocument>((changed, change) => {
    const { actor } = context;
    const isOwn = actor.kind === 'user' && actor.id === user.id;
    return withChanges(
      changed,
      [change],
      isOwn ? { ...context, actor: { ...actor, account: change.data.account } } : context,
    );
  }, user);

type SignIn = Pick<User, 'passwordChangedAt' | 'email' | 'pendingEmail' | 'emailConfirmedAt'>;

/** What must be as it was for a link about the user's address to work. Changes with the password, too. */
export const signInState = ({ passwordChangedAt, email, pendingEmail = '', emailConfirmedAt = '' }: SignIn) => [
  ...[passwordChangedAt, email, pendingEmail, emailConfirmedAt],
];
