import { expect, test } from 'vitest';
import { refuseAccess } from '../../src/auth/access.ts';
import type { Caller } from '../../src/auth/caller.ts';
import { brandId } from '../../src/domain/ids.ts';
import { Permission } from '../../src/domain/permissions.ts';

const caller = (permissions: number): Caller => ({
  account: { kind: 'Brand', id: brandId(1) },
  permissions,
  credential: { kind: 'apiKey', id: 'key_1' },
});

test('a caller needs the permission and the kind of account; the permission is checked first', () => {
  const { ReadBookings, WriteBookings } = Permission;
  const access = { permission: 'WriteBookings', scope: 'Community' } as const;
  expect(refuseAccess(caller(WriteBookings), { permission: 'WriteBookings' })).toBeUndefined();
  expect(refuseAccess(caller(WriteBookings), { ...access, scope: 'Brand' })).toBeUndefined();
  expect(refuseAccess(caller(ReadBookings), access)?.refused).toBe('InsufficientPermissions');
  expect(refuseAccess(caller(WriteBookings), access)?.refused).toBe('ScopeViolation');
});
