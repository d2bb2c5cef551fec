import type { AccountKind } from './account.ts';
import { keysOf } from './keys-of.ts';
import { sumOf } from './limits.ts';

/** Permission flags (docs/guides/rest-api.md#permissions). A credential holds the sum of its flags. */
export const Permission = {
  ReadAvailability: 1,
  ReadBookings: 2,
  WriteBookings: 4,
  ReadReviews: 8,
  Webhooks: 16,
  Customers: 32,
} as const;
export type PermissionName = keyof typeof Permission;

/**
 * All flags; either kind of account may hold them. A Community key may carry WriteBookings too: it moves bookings with it, but
 * requesting one is answered with ScopeViolation (docs/decisions/accounts.md).
 */
export const ALL_PERMISSIONS = sumOf(Permission);

export const allows = (mask: number, permission: PermissionName) => (mask & Permission[permission]) !== 0;

/**
 * The flags that a kind of account can use. Only brands request bookings, and only communities have customers, even if a credential has the
 * permission.
 */
export const usablePermissions = (kind: AccountKind): number =>
  ALL_PERMISSIONS & ~(kind === 'Brand' ? Permission.Customers : Permission.WriteBookings);

export const permissionNames = (mask: number): PermissionName[] =>
  keysOf(Permission).filter((name) => allows(mask, name));

/** OAuth scopes and the flags they grant (docs/guides/oauth.md#scopes). */
export const SCOPE_PERMISSIONS: Readonly<Record<string, number>> = {
  'service.api.read': Permission.ReadAvailability | Permission.ReadBookings | Permission.ReadReviews,
  'service.api.write': Permission.WriteBookings,
  'service.api.webhooks': Permission.Webhooks,
  'service.api.customers': Permission.Customers,
};

/** The scopes that grant a permission. */
export const scopesGranting = (permission: PermissionName): readonly string[] =>
  Object.keys(SCOPE_PERMISSIONS).filter((scope) => allows(SCOPE_PERMISSIONS[scope] ?? 0, permission));
