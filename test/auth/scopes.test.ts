import { expect, test } from 'vitest';
import { SCOPE_DESCRIPTIONS, SCOPES, whatScopesAllow } from '../../src/auth/scopes.ts';

const BRAND = { account: { kind: 'Brand' }, role: 'Manager' } as const;
const COMMUNITY = { account: { kind: 'Community' }, role: 'Manager' } as const;
const BRAND_ONLY = ['service.api.write', 'service.mcp'];
const COMMUNITY_ONLY = ['service.api.customers', 'service.mcp.customers'];

test('a brand sees every permission that an app requests once, but for customers, whom only communities have', () => {
  const described = Object.entries(SCOPE_DESCRIPTIONS).filter(([scope]) => !COMMUNITY_ONLY.includes(scope));
  expect(whatScopesAllow(SCOPES, [BRAND])).toEqual([...new Set(described.map(([, text]) => text))]);
});

test('a community does not see the permission to request bookings, which it cannot use', () => {
  expect(whatScopesAllow(['openid', 'service.api.read', 'service.api.write'], [COMMUNITY])).toEqual([
    'Know who you are',
    'Read availability, bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.mcp'], [COMMUNITY, COMMUNITY])).toEqual([
    'Let an AI assistant find spaces, and read bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.api.write'], [COMMUNITY])).toEqual([]);
});

test('a user who can still choose the account sees which scopes depend on it', () => {
  for (const scope of SCOPES) {
    const [told = ''] = whatScopesAllow([scope], [BRAND, COMMUNITY]);
    expect(told).toMatch(SCOPE_DESCRIPTIONS[scope] ?? '');
    expect([scope, told.endsWith(', if you choose a brand')]).toEqual([scope, BRAND_ONLY.includes(scope)]);
    expect([scope, told.endsWith(', if you choose a community')]).toEqual([scope, COMMUNITY_ONLY.includes(scope)]);
  }
});

test('a user sees only what the role allows, also if the app asks for more', () => {
  const viewer = { ...BRAND, role: 'Viewer' } as const;
  const coordinator = { ...BRAND, role: 'Coordinator' } as const;
  expect(whatScopesAllow(['service.api.read', 'service.api.write', 'service.api.webhooks'], [viewer])).toEqual([
    'Read availability, bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.api.write', 'service.api.webhooks'], [coordinator])).toEqual([
    'Request bookings on your behalf',
  ]);
  expect(whatScopesAllow(['service.mcp'], [viewer])).toEqual([
    'Let an AI assistant find spaces, and read bookings and reviews',
  ]);
  expect(whatScopesAllow(['service.api.write'], [viewer, BRAND])).toEqual([
    'Request bookings on your behalf, if you choose an account in which your role allows it',
  ]);
});
