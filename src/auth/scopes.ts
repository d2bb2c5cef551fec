import { Permission, SCOPE_PERMISSIONS } from '../domain/permissions.ts';

/** The `aud` of an access token (docs/decisions/oauth-resources.md). */
export type Audience = 'api' | 'mcp';

export const MCP_SCOPE = 'service.mcp';
/** Asks for a refresh token. */
export const OFFLINE_SCOPE = 'offline_access';
/** These identify the user and are not bound to a resource. */
export const IDENTITY_SCOPES = ['openid', 'profile', 'email'] as const;
export const API_SCOPES = ['service.api.read', 'service.api.write', 'service.api.webhooks'] as const;
/** All scopes (docs/specification.md#scopes). */
export const SCOPES = [...IDENTITY_SCOPES, OFFLINE_SCOPE, ...API_SCOPES, MCP_SCOPE] as const;

/** The scopes that a token for an audience may carry. */
export const AUDIENCE_SCOPES: Readonly<Record<Audience, readonly string[]>> = {
  api: API_SCOPES,
  mcp: [MCP_SCOPE],
};

/** Everything but webhooks, for which there is no MCP tool (docs/decisions/mcp.md). */
const MCP_PERMISSIONS =
  Permission.ReadAvailability | Permission.ReadBookings | Permission.WriteBookings | Permission.ReadReviews;

/** The permission flags granted by a space-separated list of scopes. */
export const permissionsOf = (scope: string): number =>
  scope
    .split(' ')
    .reduce((mask, name) => mask | (name === MCP_SCOPE ? MCP_PERMISSIONS : (SCOPE_PERMISSIONS[name] ?? 0)), 0);

/** What a scope lets an app do, for the consent page and the list of connected apps. */
export const SCOPE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  openid: 'Know who you are',
  profile: 'See your e-mail address',
  email: 'See your e-mail address',
  [OFFLINE_SCOPE]: 'Keep its access while you are away, until you disconnect it',
  'service.api.read': 'Read availability, bookings and reviews',
  'service.api.write': 'Request bookings on your behalf',
  'service.api.webhooks': 'Manage webhooks that receive booking and review events',
  [MCP_SCOPE]:
    'Let an AI assistant find spaces, read bookings and reviews, and request and cancel bookings on your behalf',
};
