import { expect, test } from 'vitest';
import { SCOPE_DESCRIPTIONS, SCOPES, whatScopesAllow } from '../../src/auth/scopes.ts';

const BRAND_ONLY = ['service.api.write', 'service.mcp'];

test('a brand sees every permission that an app requests once', () => {
  expect(whatScopesAllow(SCOPES, ['Brand'])).toEqual([...new Set(Object.values(SCOPE_DESCRIPTIONS))]);
});

test('a community does not see the permission to request bookings, which it cannot use', () => {
  expect(whatScopesAllow(['openid', 'service.api.read', 'service.api.write'], ['Community'])).toEqual([
    'Know who you are',
    'Read availability, bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.mcp'], ['Community', 'Community'])).toEqual([
    'Let an AI assistant find spaces, and read bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.api.write'], ['Community'])).toEqual([]);
});

test('a user who can still choose the account sees which scopes depend on it', () => {
  for (const scope of SCOPES) {
    const [told = ''] = whatScopesAllow([scope], ['Brand', 'Community']);
    expect(told).toMatch(SCOPE_DESCRIPTIONS[scope] ?? '');
    expect([scope, told.endsWith(', if you choose a brand')]).toEqual([scope, BRAND_ONLY.includes(scope)]);
  }
});
