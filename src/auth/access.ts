import type { AccountKind } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { allows, type PermissionName } from '../domain/permissions.ts';
import type { Caller } from './caller.ts';

/** What an operation requires of its caller, over REST and MCP alike. */
export type Access = { readonly permission: PermissionName; readonly scope?: AccountKind };

/**
 * Checks whether a caller has access. Refuses `InsufficientPermissions` before `ScopeViolation`. Authentication (401) comes
 * before, validation of the request after (docs/decisions/rest-api.md).
 */
export function refuseAccess({ permissions, account }: Caller, { permission, scope }: Access): Refusal | undefined {
  if (!allows(permissions, permission))
    return refuse('InsufficientPermissions', `This call requires the permission ${permission}.`);
  if (scope !== undefined && account.kind !== scope)
    return refuse('ScopeViolation', `This call is for ${scope} accounts; you act for a ${account.kind} account.`);
  return undefined;
}
