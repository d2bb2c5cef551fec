import { keysOf } from './keys-of.ts';
import { ALL_PERMISSIONS, Permission } from './permissions.ts';

/**
 * What a user may do for an account (docs/decisions/accounts.md#roles). Viewer: reads. Coordinator: also answers requests, books and
 * cancels, closes times and writes reviews. Manager: everything.
 */
export type Role = 'Viewer' | 'Coordinator' | 'Manager';
/** A role below Manager. Stored in a field that earlier releases do not read, so that these roles are nothing to them. */
export type LimitedRole = Exclude<Role, 'Manager'>;

/** A role as the log holds it: Managers are `Member`, the only role of earlier releases. */
export type MemberRole = 'Member' | LimitedRole;
export const roleOf = (role: MemberRole): Role => (role === 'Member' ? 'Manager' : role);
export const memberRoleOf = (role: Role): MemberRole => (role === 'Manager' ? 'Member' : role);

const READS = Permission.ReadAvailability | Permission.ReadBookings | Permission.ReadReviews;

/** The permission flags that a role allows, from the least role to the highest. A token has no other, even if its scopes grant more. */
export const ROLE_PERMISSIONS: Readonly<Record<Role, number>> = {
  Viewer: READS,
  Coordinator: READS | Permission.WriteBookings,
  Manager: ALL_PERMISSIONS,
};

/** From the least to the highest. */
export const ROLES: readonly Role[] = keysOf(ROLE_PERMISSIONS);

/** Whether a text is the name of a role of this release. */
export const isRole = (name: unknown): name is Role => ROLES.some((role) => role === name);
export const isLimitedRole = (name: unknown): name is LimitedRole => isRole(name) && name !== 'Manager';

/** Whether a role allows what is declared for `least`. Without a role, nothing is allowed. */
export const isAtLeast = (role: Role | undefined, least: Role): boolean =>
  role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(least);
