import type { AccountKind } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { allows, type PermissionName } from '../domain/permissions.ts';
import type { Caller } from './caller.ts';

/** What an operation asks of its caller: a route of the REST API and the MCP tool that does the same ask the same. */
export type Access = { readonly permission: PermissionName; readonly scope?: AccountKind };

/**
 * Whether a caller may do it. Refuses `InsufficientPermissions` before `ScopeViolation`; a call without a caller was
 * answered with 401 before, and what the request says is looked at after.
 */
export function refuseAccess({ permissions, account }: Caller, { permission, scope }: Access): Refusal | undefined {
  if (!allows(permissions, permission))
    return refuse('InsufficientPermissions', `This call needs the permission ${permission}.`);
  if (scope !== undefined && account.kind !== scope)
    return refuse('ScopeViolation', `This call is for ${scope} accounts; you act for a ${account.kind} account.`);
  return undefined;
}
