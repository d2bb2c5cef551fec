import { type Account, accountKey } from '../domain/account.ts';
import { isRole, type Role } from '../domain/roles.ts';

/** An account that a user acts for, and what the user may do for it. */
export type Membership = { readonly account: Account; readonly role: Role };

/** A membership as the record of a user stores it. A role that this release does not know allows nothing. */
export type StoredMembership = { readonly account: Account; readonly role: string };
type HasMemberships = { readonly memberships: readonly StoredMembership[] };

/** The memberships of a record in roles that this release knows. */
export const membershipsIn = ({ memberships }: HasMemberships): readonly Membership[] =>
  memberships.flatMap(({ account, role }) => (isRole(role) ? { account, role } : []));

/** The accounts of a record, in any role. */
export const accountsIn = ({ memberships }: HasMemberships): readonly Account[] =>
  memberships.map(({ account }) => account);

type Member = { readonly memberships: readonly Membership[] };

/** The role of a user in an account; undefined if the user does not belong to it. */
export const roleIn = ({ memberships }: Member, account: Account): Role | undefined =>
  memberships.find((one) => accountKey(one.account) === accountKey(account))?.role;

/** Whether the user belongs to the account, in any role. */
export const belongsTo = (user: Member, account: Account): boolean => roleIn(user, account) !== undefined;
