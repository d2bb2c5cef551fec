import type { AccountKind } from '../domain/account.ts';
import { type Refusal, refuse } from '../domain/decision.ts';
import { allows, type PermissionName } from '../domain/permissions.ts';
import { ROLE_NAMES, ROLE_PERMISSIONS, seesAmounts } from '../domain/roles.ts';
import { isAboutAmounts } from '../domain/shown-amounts.ts';
import type { Caller } from './caller.ts';

/** What an operation requires of its caller, over REST and MCP alike. */
export type Access = { readonly permission: PermissionName; readonly scope?: AccountKind };

/** A right that was lost must not be used for longer than two seconds, of which half may pass until every process knows. */
const CHECK_HOLDS_MS = 1_000;

/** Whether a check of a caller has to be repeated because the request waited since, for its body or its turn. By `performance.now()`. */
export const isCheckOld = (checkedAt: number): boolean => performance.now() - checkedAt >= CHECK_HOLDS_MS;

/** Refuses an input that gives an amount, or chooses by one, to an app of a user who does not see amounts. */
export const refuseAmounts = ({ role }: Caller, ...inputs: readonly unknown[]): Refusal | undefined =>
  role !== undefined && !seesAmounts(role) && inputs.some(isAboutAmounts)
    ? refuse(
        'InsufficientPermissions',
        `This call gives an amount or chooses by one, which the role ${ROLE_NAMES[role]} does not show. A Manager of the account can change the role.`,
      )
    : undefined;

/** Whether the role of the caller's user does not have a permission, so that no scope can grant it. */
export const isOutsideRole = ({ role }: Caller, permission: PermissionName): boolean =>
  role !== undefined && !allows(ROLE_PERMISSIONS[role], permission);

/**
 * Checks whether a caller has access. Refuses `InsufficientPermissions` before `ScopeViolation`. Authentication (401) comes
 * before, validation of the request after (docs/decisions/rest-api.md).
 */
export function refuseAccess(caller: Caller, { permission, scope }: Access): Refusal | undefined {
  const { permissions, account, role } = caller;
  if (role !== undefined && isOutsideRole(caller, permission))
    return refuse(
      'InsufficientPermissions',
      `This call requires the permission ${permission}, which the role ${ROLE_NAMES[role]} does not have. A Manager of the account can change the role.`,
    );
  if (!allows(permissions, permission))
    return refuse('InsufficientPermissions', `This call requires the permission ${permission}.`);
  if (scope !== undefined && account.kind !== scope)
    return refuse('ScopeViolation', `This call is for ${scope} accounts; you act for a ${account.kind} account.`);
  return undefined;
}
