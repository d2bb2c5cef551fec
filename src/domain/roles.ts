import { keysOf } from './keys-of.ts';
import { ALL_PERMISSIONS, Permission } from './permissions.ts';

/** What pages, forms and mails are declared for. */
export type LeastRole = 'Viewer' | 'Coordinator' | 'Manager';

/**
 * What a user may do for an account (docs/decisions/accounts.md#roles). Viewer: reads. Coordinator: also answers requests, books and
 * cancels, closes times, writes reviews and keeps customers. Manager: everything. Without amounts: the same, but sees no money.
 */
export type Role = LeastRole | 'ViewerWithoutAmounts' | 'CoordinatorWithoutAmounts';

const READS = Permission.ReadAvailability | Permission.ReadBookings | Permission.ReadReviews;
const HANDLES = READS | Permission.WriteBookings | Permission.Customers;

/** The permission flags that a role allows, from the least role to the highest. A token has no other, even if its scopes grant more. */
export const ROLE_PERMISSIONS: Readonly<Record<Role, number>> = {
  ViewerWithoutAmounts: READS,
  Viewer: READS,
  CoordinatorWithoutAmounts: HANDLES,
  Coordinator: HANDLES,
  Manager: ALL_PERMISSIONS,
};

/** From the least to the highest. */
export const ROLES: readonly Role[] = keysOf(ROLE_PERMISSIONS);

/** Whether a text is the name of a role of this release. */
export const isRole = (name: unknown): name is Role => ROLES.some((role) => role === name);

/** What each role is called in texts. */
export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  ViewerWithoutAmounts: 'Viewer without amounts',
  Viewer: 'Viewer',
  CoordinatorWithoutAmounts: 'Coordinator without amounts',
  Coordinator: 'Coordinator',
  Manager: 'Manager',
};

/** The role that a role without amounts is like in everything else. */
const LIKE: Readonly<Record<Role, LeastRole>> = {
  ViewerWithoutAmounts: 'Viewer',
  Viewer: 'Viewer',
  CoordinatorWithoutAmounts: 'Coordinator',
  Coordinator: 'Coordinator',
  Manager: 'Manager',
};

/** Whether a role allows what is declared for `least`. Without a role, nothing is allowed. */
export const isAtLeast = (role: Role | undefined, least: LeastRole): boolean =>
  role !== undefined && ROLES.indexOf(LIKE[role]) >= ROLES.indexOf(least);

/** Whether prices, earnings and charges are shown. API keys and service clients have no role: they belong to the account, and see all. */
export const seesAmounts = (role: Role | undefined): boolean => role === undefined || LIKE[role] === role;
