import { type Account, accountKey } from '../domain/account.ts';
import { isLimitedRole, type Role } from '../domain/roles.ts';

/** An account that a user acts for, and what the user may do for it. */
export type Membership = { readonly account: Account; readonly role: Role };

/** The memberships as the record of a user stores them. */
export type StoredMemberships = {
  /** The accounts that the user manages. Releases without roles read only these. */
  readonly accounts: readonly Account[];
  /** The accounts in which the user has a lesser role. A release that does not know this field, or the role, sees no membership. */
  readonly members?: readonly { readonly account: Account; readonly role: string }[];
};

/** The memberships of a record, each account once. If a record names an account twice, the lesser role counts. */
export function membershipsIn({ accounts, members = [] }: StoredMemberships): readonly Membership[] {
  const limited = new Set(members.map(({ account }) => accountKey(account)));
  return [
    ...accounts.filter((account) => !limited.has(accountKey(account))).map(manages),
    ...members.flatMap(({ account, role }) => (isLimitedRole(role) ? [{ account, role }] : [])),
  ];
}

const manages = (account: Account): Membership => ({ account, role: 'Manager' });

/** The accounts of a record, in any role, even one that only a later release knows. */
export const accountsIn = ({ accounts, members = [] }: StoredMemberships): readonly Account[] => [
  ...new Map([...accounts, ...members.map(({ account }) => account)].map((one) => [accountKey(one), one])).values(),
];

/** The fields of a record with these memberships. What `before` has of roles that only a later release knows stays. */
export function storedMemberships(
  memberships: readonly Membership[],
  { members: before = [] }: Partial<StoredMemberships> = {},
): StoredMemberships {
  const later = before.filter(({ account, role }) => !isLimitedRole(role) && !belongsTo({ memberships }, account));
  const members = [...memberships.filter(({ role }) => role !== 'Manager'), ...later];
  const accounts = memberships.filter(({ role }) => role === 'Manager').map(({ account }) => account);
  return { accounts, ...(members.length > 0 && { members }) };
}

type Member = { readonly memberships: readonly Membership[] };

/** The role of a user in an account; undefined if the user does not belong to it. */
export const roleIn = ({ memberships }: Member, account: Account): Role | undefined =>
  memberships.find((one) => accountKey(one.account) === accountKey(account))?.role;

/** Whether the user belongs to the account, in any role. */
export const belongsTo = (user: Member, account: Account): boolean => roleIn(user, account) !== undefined;
