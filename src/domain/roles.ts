import { keysOf } from './keys-of.ts';
import { ALL_PERMISSIONS, Permission } from './permissions.ts';

/**
 * What a user may do for an account (docs/decisions/accounts.md#roles). Viewer: reads. Coordinator: also answers requests, books and
 * cancels, closes times, writes reviews and keeps customers. Manager: everything.
 */
export type Role = 'Viewer' | 'Coordinator' | 'Manager';

const READS = Permission.ReadAvailability | Permission.ReadBookings | Permission.ReadReviews;

/** The permission flags that a role allows, from the least role to the highest. A token has no other, even if its scopes grant more. */
export const ROLE_PERMISSIONS: Readonly<Record<Role, number>> = {
  Viewer: READS,
  Coordinator: READS | Permission.WriteBookings | Permission.Customers,
  Manager: ALL_PERMISSIONS,
};

/** From the least to the highest. */
export const ROLES: readonly Role[] = keysOf(ROLE_PERMISSIONS);

/** Whether a text is the name of a role of this release. */
export const isRole = (name: unknown): name is Role => ROLES.some((role) => role === name);

/** Whether a role allows what is declared for `least`. Without a role, nothing is allowed. */
export const isAtLeast = (role: Role | undefined, least: Role): boolean =>
  role !== undefined && ROLES.indexOf(role) >= ROLES.indexOf(least);
