import type { Account, AccountKind } from '../domain/account.ts';
import {
  allows,
  Permission,
  type PermissionName,
  SCOPE_PERMISSIONS,
  usablePermissions,
} from '../domain/permissions.ts';
import { ROLE_PERMISSIONS, type Role } from '../domain/roles.ts';

/** The `aud` of an access token (docs/decisions/oauth.md). */
export type Audience = 'api' | 'mcp';
const AUDIENCES: readonly Audience[] = ['api', 'mcp'];

export const MCP_SCOPE = 'service.mcp';
/** Asked for apart, because it shows who the customers of a community are. */
const MCP_CUSTOMERS_SCOPE = 'service.mcp.customers';
/** Asks for a refresh token. */
export const OFFLINE_SCOPE = 'offline_access';
/** These identify the user and are not bound to a resource. */
export const IDENTITY_SCOPES = ['openid', 'profile', 'email'] as const;
export const API_SCOPES = [
  'service.api.read',
  'service.api.write',
  'service.api.webhooks',
  'service.api.customers',
] as const;
export const MCP_SCOPES = [MCP_SCOPE, MCP_CUSTOMERS_SCOPE] as const;
/** All scopes (docs/guides/oauth.md#scopes). */
export const SCOPES = [...IDENTITY_SCOPES, OFFLINE_SCOPE, ...API_SCOPES, ...MCP_SCOPES] as const;

/** The scopes that a token for an audience may carry. */
export const AUDIENCE_SCOPES: Readonly<Record<Audience, readonly string[]>> = {
  api: API_SCOPES,
  mcp: MCP_SCOPES,
};

/** The default scopes of a request, unless its client registered others (RFC 6749, 3.3). */
export const DEFAULT_SCOPE: Readonly<Record<Audience, string>> = { api: 'service.api.read', mcp: MCP_SCOPE };

const KNOWN: ReadonlySet<string> = new Set(SCOPES);
export const isKnownScope = (scope: string): boolean => KNOWN.has(scope);
const audiencesOf = (scope: string) => AUDIENCES.filter((audience) => AUDIENCE_SCOPES[audience].includes(scope));

/** The only resource with any of these scopes; undefined if none or both have one. */
export function resourceOfScopes(scopes: readonly string[]): Audience | undefined {
  const audiences = new Set(scopes.flatMap(audiencesOf));
  const [only] = audiences;
  return audiences.size === 1 ? only : undefined;
}

/**
 * The requested scopes that a resource has. Other scopes are dropped as long as some remain, because clients request every scope in the
 * metadata, and some that only other servers have.
 * @returns undefined if the request must be refused (`invalid_scope`)
 */
export function fittingScopes(scopes: readonly string[], audience: Audience): Set<string> | undefined {
  const ours = scopes.filter((scope) => KNOWN.has(scope));
  const ofResources = ours.filter((scope) => audiencesOf(scope).length > 0);
  const fitting = new Set(
    ours.filter((scope) => !ofResources.includes(scope) || audiencesOf(scope).includes(audience)),
  );
  if (ofResources.length > 0 && !ofResources.some((scope) => fitting.has(scope))) return undefined;
  const grantsSomething = [...fitting].some((scope) => scope !== OFFLINE_SCOPE);
  return grantsSomething ? fitting : undefined;
}

/** Whether a request only identifies the user: no scope of a resource, so no token for one. */
export function isIdentityOnly(scopes: readonly string[]): boolean {
  const ours = scopes.filter((scope) => KNOWN.has(scope));
  return ours.includes('openid') && ours.every((scope) => audiencesOf(scope).length === 0);
}

/** Everything but webhooks, for which there is no MCP tool (docs/guides/mcp.md), and customers, which have a scope of their own. */
const MCP_PERMISSIONS: Readonly<Record<string, number>> = {
  [MCP_SCOPE]:
    Permission.ReadAvailability | Permission.ReadBookings | Permission.WriteBookings | Permission.ReadReviews,
  [MCP_CUSTOMERS_SCOPE]: Permission.Customers,
};

/** The permission flags granted by a space-separated list of scopes. */
export const permissionsOf = (scope: string): number =>
  scope.split(' ').reduce((mask, name) => mask | (MCP_PERMISSIONS[name] ?? SCOPE_PERMISSIONS[name] ?? 0), 0);

/** What a scope lets an app do. */
export const SCOPE_DESCRIPTIONS: Readonly<Record<string, string>> = {
  openid: 'Know who you are',
  profile: 'See your e-mail address',
  email: 'See your e-mail address',
  [OFFLINE_SCOPE]: 'Keep its access while you are away, until you disconnect it',
  'service.api.read': 'Read availability, bookings and reviews',
  'service.api.write': 'Request bookings on your behalf',
  'service.api.webhooks': 'Manage webhooks that receive booking and review events',
  'service.api.customers': 'Read and add customers of your community, with their contacts and notes',
  [MCP_CUSTOMERS_SCOPE]: 'Let an AI assistant read and add customers of your community',
  [MCP_SCOPE]:
    'Let an AI assistant find spaces, read bookings and reviews, and request and cancel bookings on your behalf',
};

/** What a scope grants beyond reading. */
const NEEDED: Readonly<Record<string, PermissionName>> = {
  'service.api.write': 'WriteBookings',
  'service.api.webhooks': 'Webhooks',
  'service.api.customers': 'Customers',
  [MCP_SCOPE]: 'WriteBookings',
  [MCP_CUSTOMERS_SCOPE]: 'Customers',
};

/** The description without that. Absent where nothing is left. */
const WITHOUT_NEEDED: Readonly<Record<string, string>> = {
  [MCP_SCOPE]: 'Let an AI assistant find spaces, and read bookings and reviews',
};

/** An account that the user may choose, and the user's role there. */
export type AccountChoice = { readonly account: Pick<Account, 'kind'>; readonly role: Role };

/**
 * Describes to the user what the scopes let an app do, without repetition.
 * @param choices the accounts among which the user may still choose
 */
export function whatScopesAllow(scopes: readonly string[], choices: readonly AccountChoice[]): readonly string[] {
  const described = scopes.flatMap((scope) => {
    const description = SCOPE_DESCRIPTIONS[scope] ?? scope;
    const needed = NEEDED[scope];
    if (needed === undefined) return description;
    const isAble = ({ account, role }: AccountChoice) =>
      allows(ROLE_PERMISSIONS[role] & usablePermissions(account.kind), needed);
    if (choices.every(isAble)) return description;
    if (!choices.some(isAble)) return WITHOUT_NEEDED[scope] ?? [];
    const isAbout = (kind: AccountKind) => choices.every((one) => isAble(one) === (one.account.kind === kind));
    const others = isAbout('Community') ? 'a community' : 'an account in which your role allows it';
    return `${description}, if you choose ${isAbout('Brand') ? 'a brand' : others}`;
  });
  return [...new Set(described)];
}
