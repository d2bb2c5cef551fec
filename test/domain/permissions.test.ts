import { describe, expect, test } from 'vitest';
import { isOutsideRole, refuseAccess } from '../../src/auth/access.ts';
import { defined } from '../../src/domain/defined.ts';
import { brandId, communityId } from '../../src/domain/ids.ts';
import { keysOf } from '../../src/domain/keys-of.ts';
import {
  ALL_PERMISSIONS,
  Permission,
  permissionNames,
  SCOPE_PERMISSIONS,
  scopesGranting,
  usablePermissions,
} from '../../src/domain/permissions.ts';
import { isAtLeast, isRole, ROLE_PERMISSIONS, ROLES, seesAmounts } from '../../src/domain/roles.ts';

const READS = ['ReadAvailability', 'ReadBookings', 'ReadReviews'] as const;
const ALL = ['ReadAvailability', 'ReadBookings', 'WriteBookings', 'ReadReviews', 'Webhooks', 'Customers'] as const;

test('each permission has the value that the specification gives it, and a sum of them names them', () => {
  const specified = { ReadAvailability: 1, ReadBookings: 2, WriteBookings: 4, ReadReviews: 8, Webhooks: 16 };
  expect(Permission).toEqual({ ...specified, Customers: 32 });
  expect(ALL_PERMISSIONS).toBe(63);
  for (let mask = 0; mask <= 63; mask += 1) {
    const names = ALL.filter((_, index) => Math.floor(mask / 2 ** index) % 2 === 1);
    expect(permissionNames(mask)).toEqual(names);
  }
});

test('a community cannot use the permission to book, nor a brand that for customers', () => {
  expect(permissionNames(usablePermissions('Brand'))).toEqual(ALL.filter((name) => name !== 'Customers'));
  expect(permissionNames(usablePermissions('Community'))).toEqual([...READS, 'Webhooks', 'Customers']);
});

test('scopes grant what the specification says', () => {
  expect(Object.entries(SCOPE_PERMISSIONS).map(([scope, mask]) => [scope, permissionNames(mask)])).toEqual([
    ['service.api.read', READS],
    ['service.api.write', ['WriteBookings']],
    ['service.api.webhooks', ['Webhooks']],
    ['service.api.customers', ['Customers']],
  ]);
  const granting = Object.fromEntries(ALL.map((name) => [name, scopesGranting(name)]));
  expect(granting).toEqual({
    ...Object.fromEntries(READS.map((name) => [name, ['service.api.read']])),
    WriteBookings: ['service.api.write'],
    Webhooks: ['service.api.webhooks'],
    Customers: ['service.api.customers'],
  });
});

describe('roles', () => {
  test('allow more, one after the other', () => {
    const handles = ['ReadAvailability', 'ReadBookings', 'WriteBookings', 'ReadReviews', 'Customers'];
    expect(ROLES.map((role) => [role, permissionNames(ROLE_PERMISSIONS[role])])).toEqual([
      ['ViewerWithoutAmounts', READS],
      ['Viewer', READS],
      ['CoordinatorWithoutAmounts', handles],
      ['Coordinator', handles],
      ['Manager', ALL],
    ]);
    const least = ['Viewer', 'Coordinator', 'Manager'] as const;
    const allowed = ROLES.map((role) => least.filter((one) => isAtLeast(role, one)).length);
    expect(allowed).toEqual([1, 1, 2, 2, 3]);
    for (const one of least) expect(isAtLeast(undefined, one)).toBe(false);
  });
  test('show amounts, unless their name says otherwise; so does no role, which is that of a key', () => {
    expect(ROLES.filter((role) => !seesAmounts(role))).toEqual(['ViewerWithoutAmounts', 'CoordinatorWithoutAmounts']);
    expect(seesAmounts(undefined)).toBe(true);
  });
  test('are those five', () => {
    for (const role of ROLES) expect(isRole(role)).toBe(true);
    for (const other of ['Owner', 'manager', '', undefined, null, 1]) expect(isRole(other)).toBe(false);
  });
});

/** Every kind of caller, for every operation. */
const ACCOUNTS = [
  { kind: 'Brand', id: brandId(1) },
  { kind: 'Community', id: communityId(1) },
] as const;
test.each(ACCOUNTS)(
  'a call of a $kind needs the permission, by its role as well, and then the kind of account',
  (account) => {
    for (const role of [undefined, ...ROLES])
      for (let permissions = 0; permissions <= ALL_PERMISSIONS; permissions += 1)
        for (const permission of keysOf(Permission))
          for (const scope of [undefined, 'Brand', 'Community'] as const) {
            const caller = {
              account,
              permissions,
              credential: { kind: 'apiKey', id: 'k' } as const,
              ...defined({ role }),
            };
            const isOutside = role !== undefined && !permissionNames(ROLE_PERMISSIONS[role]).includes(permission);
            expect(isOutsideRole(caller, permission)).toBe(isOutside);
            const refusal = refuseAccess(caller, { permission, ...defined({ scope }) });
            const isAllowed = !isOutside && permissionNames(permissions).includes(permission);
            const wrongKind = scope !== undefined && scope !== account.kind;
            expect(refusal?.refused).toBe(
              isAllowed ? (wrongKind ? 'ScopeViolation' : undefined) : 'InsufficientPermissions',
            );
            expect(refusal?.details.includes('can change the role') ?? false).toBe(isOutside);
          }
  },
);
