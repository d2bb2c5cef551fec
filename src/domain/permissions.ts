/** Permission flags (SPEC: API keys). A credential holds the sum of its flags. */
export const Permission = {
  ReadAvailability: 1,
  ReadBookings: 2,
  WriteBookings: 4,
  ReadReviews: 8,
  Webhooks: 16,
} as const;
export type PermissionName = keyof typeof Permission;

export const ALL_PERMISSIONS = 31;

/** What each kind of account may hold: only brands create booking requests (SPEC: Permission flags). */
export const GRANTABLE = { Community: ALL_PERMISSIONS & ~Permission.WriteBookings, Brand: ALL_PERMISSIONS } as const;

export const allows = (mask: number, permission: PermissionName) => (mask & Permission[permission]) !== 0;

export const permissionNames = (mask: number): PermissionName[] =>
  (Object.keys(Permission) as PermissionName[]).filter((name) => allows(mask, name));

/** OAuth scopes and the flags they grant (SPEC: OAuth 2.1 / OIDC, Scopes). */
export const SCOPE_PERMISSIONS: Readonly<Record<string, number>> = {
  'service.api.read': Permission.ReadAvailability | Permission.ReadBookings | Permission.ReadReviews,
  'service.api.write': Permission.WriteBookings,
  'service.api.webhooks': Permission.Webhooks,
};
