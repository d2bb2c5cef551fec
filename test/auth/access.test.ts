import { expect, test, vi } from 'vitest';
import { isCheckOld, refuseAccess } from '../../src/auth/access.ts';
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

test('a check holds for less than a second', () => {
  const now = vi.spyOn(performance, 'now').mockReturnValue(5_000);
  expect([5_000, 4_001, 4_000, 3_000].map(isCheckOld)).toEqual([false, false, true, true]);
  now.mockRestore();
});
