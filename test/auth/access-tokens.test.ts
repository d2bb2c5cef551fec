import { randomBytes, randomUUID } from 'node:crypto';
import { exportSPKI, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AccessTokens, createAccessTokens, storedTokenIds } from '../../src/auth/access-tokens.ts';
import type { Endings } from '../../src/auth/endings.ts';
import { createSigningKeys, type SigningKeys } from '../../src/auth/signing-keys.ts';
import { createUsers, type Users } from '../../src/auth/users.ts';
import { createOidcAdapter, type OidcAdapter } from '../../src/authorization-server/oidc-adapter.ts';
import { createRevocation } from '../../src/authorization-server/revocation.ts';
import type { Account } from '../../src/domain/account.ts';
import { brandId } from '../../src/domain/ids.ts';
import { isRole, type Role } from '../../src/domain/roles.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BY_OPERATOR, createChangeLog, NO_LOGGER } from './change-log.ts';

const issuer = 'https://venues.example';
const secretKey = randomBytes(32);
const now = Date.parse('2026-01-01T00:00:00Z');
let time = now;
let database: TestDatabase;
let signingKeys: SigningKeys;
let oidcAdapter: OidcAdapter;
let tokens: AccessTokens;
let users: Users;
let claimedRole: Role | undefined;

/** Of a process that dies before it ends what ends with a role. */
const INTERRUPTED: Endings = {
  async ofChange(_, { type }) {
    if (type === 'MemberRoleChanged') throw new Error('The process died');
  },
  ofUser: async () => {},
  ofAddress: async () => {},
  ofTexts: async () => {},
};

beforeAll(async () => {
  database = await createSqliteDatabase();
  const documents = await database.open();
  const clock = () => time;
  signingKeys = await createSigningKeys({ documents, secretKey, clock });
  const revocation = await createRevocation({ documents, log: createChangeLog(), clock, logger: NO_LOGGER });
  oidcAdapter = await createOidcAdapter({ documents, revocation, secretKey, clock });
  const log = createChangeLog();
  users = await createUsers({ documents, endings: INTERRUPTED, log, clock, logger: NO_LOGGER });
  const currentRoles: Pick<Users, 'roleIn'> = {
    // The role in the token, except of a user that there is.
    roleIn: async (id, account) => (id === 'usr_1' ? claimedRole : users.roleIn(id, account)),
  };
  tokens = createAccessTokens({ issuer, signingKeys, issuedTokens: oidcAdapter, currentRoles, secretKey, clock });
});
afterAll(() => database.remove());

type Mint = {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: Parameters<SignJWT['sign']>[0];
};

/** Creates a token that is stored as issued, so that a refusal must be due to the token itself. */
async function mint({ claims = {}, header = {}, key }: Mint = {}): Promise<string> {
  const [signing] = (await signingKeys.current()).keys;
  const jti = randomUUID();
  const seconds = now / 1000;
  const payload = {
    iss: issuer,
    aud: 'api',
    sub: 'usr_1',
    client_id: 'app',
    account: 'Brand:7',
    role: 'Manager',
    scope: 'openid service.api.read',
    iat: seconds,
    exp: seconds + 3600,
    jti,
    ...claims,
  };
  claimedRole = isRole(payload.role) ? payload.role : undefined;
  await oidcAdapter.adapter('AccessToken').upsert(storedTokenIds(secretKey)(String(payload.jti)), {}, 7200);
  return new SignJWT(payload as JWTPayload)
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: signing.kid, ...header })
    .sign(key ?? (await importJWK(signing.privateJwk, 'RS256')));
}

test('a valid token yields its account, the permissions of its scopes, its client and its user', async () => {
  expect(await tokens.authenticate(await mint())).toEqual({
    account: { kind: 'Brand', id: 7 },
    permissions: 1 | 2 | 8,
    role: 'Manager',
    credential: { kind: 'client', id: 'app', userId: 'usr_1' },
  });
  const all = 'service.api.read service.api.write service.api.webhooks';
  expect(await tokens.authenticate(await mint({ claims: { scope: all } }))).toMatchObject({ permissions: 31 });
  expect(await tokens.authenticate(await mint({ claims: { scope: 'service.api.admin toString' } }))).toMatchObject({
    permissions: 0,
  });
});

test('the role in a token limits its scopes', async () => {
  const scope = 'service.api.read service.api.write service.api.webhooks service.mcp';
  for (const [role, permissions] of [
    ['Viewer', 1 | 2 | 8],
    ['Coordinator', 1 | 2 | 4 | 8],
    ['Manager', 31],
  ] as const)
    expect(await tokens.authenticate(await mint({ claims: { scope, role } }))).toMatchObject({ permissions });
});

test.each<[string, Mint]>([
  ['another audience', { claims: { aud: 'mcp' } }],
  ['several audiences', { claims: { aud: ['api', 'mcp'] } }],
  ['an unknown audience', { claims: { aud: 'other' } }],
  ['another issuer', { claims: { iss: 'https://evil.example' } }],
  ['the issuer with a trailing slash', { claims: { iss: `${issuer}/` } }],
  ['expired', { claims: { exp: now / 1000 - 1 } }],
  ['not valid yet', { claims: { nbf: now / 1000 + 60 } }],
  ['no expiry', { claims: { exp: undefined } }],
  ['no client', { claims: { client_id: undefined } }],
  ['no account', { claims: { account: undefined } }],
  ['a role that only a later release knows', { claims: { role: 'Owner' } }],
  ['no name of a role', { claims: { role: 7 } }],
  ['null as the role', { claims: { role: null } }],
  ['a user without a role', { claims: { role: undefined } }],
  ['a role that is a property of Object', { claims: { role: 'toString' } }],
  ['an unknown kind of account', { claims: { account: 'Admin:1' } }],
  ['an account that is an object', { claims: { account: { kind: 'Brand', id: 7 } } }],
  ['an ID token', { header: { typ: 'JWT' } }],
  ['no kid', { header: { kid: undefined } }],
  ['an unknown kid', { header: { kid: 'nobody' } }],
  ['a kid that is a path', { header: { kid: '../../../../dev/null' } }],
  ['a kid that is a property of Object', { header: { kid: '__proto__' } }],
])('refuses %s', async (_what, wrong) => {
  expect(await tokens.authenticate(await mint(wrong))).toBeUndefined();
});

test('refuses a token signed by another key, with any key reference in its header', async () => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = await crypto.subtle.exportKey('jwk', publicKey);
  for (const header of [{}, { jwk }, { jku: 'https://evil.example/jwks' }, { x5u: 'https://evil.example/cert' }])
    expect(await tokens.authenticate(await mint({ key: privateKey, header }))).toBeUndefined();
});

test('refuses the public key as a shared secret, another algorithm and no algorithm', async () => {
  const [signing] = (await signingKeys.current()).keys;
  const publicKey = await importJWK(signing.publicJwk, 'RS256', { extractable: true });
  if (publicKey instanceof Uint8Array) throw new Error('Not a public key');
  const secret = new TextEncoder().encode(await exportSPKI(publicKey));
  expect(await tokens.authenticate(await mint({ header: { alg: 'HS256' }, key: secret }))).toBeUndefined();
  const pss = await importJWK({ ...signing.privateJwk, alg: 'PS256' }, 'PS256');
  expect(await tokens.authenticate(await mint({ header: { alg: 'PS256' }, key: pss }))).toBeUndefined();

  const [header = '', payload] = (await mint()).split('.');
  const decoded = JSON.parse(Buffer.from(header, 'base64url').toString());
  for (const alg of ['none', 'None', 'NONE', '']) {
    const none = Buffer.from(JSON.stringify({ ...decoded, alg })).toString('base64url');
    expect(await tokens.authenticate(`${none}.${payload}.`)).toBeUndefined();
  }
});

test('refuses a modified token and a malformed one', async () => {
  const [header = '', payload = '', signature = ''] = (await mint()).split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const richer = Buffer.from(JSON.stringify({ ...claims, account: 'Brand:8' })).toString('base64url');
  for (const wrong of [
    `${header}.${richer}.${signature}`,
    `${header}.${payload}.`,
    `${header}.${payload}`,
    `${header}.${payload}.${signature}.${signature}`,
    '..',
    'x',
    '',
    'e30.e30.e30',
    'a'.repeat(100_000),
  ])
    expect(await tokens.authenticate(wrong)).toBeUndefined();
});

test('a verified token still expires and can still be revoked', async () => {
  const [expiring, revoked] = [await mint(), await mint()];
  expect(await tokens.authenticate(expiring)).toBeDefined();
  expect(await tokens.authenticate(revoked)).toBeDefined();
  const id = await tokens.storedId(revoked);
  await oidcAdapter.adapter('AccessToken').destroy(id ?? '');
  expect(await tokens.authenticate(revoked)).toBeUndefined();
  time = now + 3600_000;
  expect(await tokens.authenticate(expiring)).toBeUndefined();
  time = now;
});

test('a token of a former role is refused once the record of the user has changed, before anything has ended', async () => {
  const account: Account = { kind: 'Brand', id: brandId(7) };
  const add = async (email: string): Promise<string> => {
    const user = await users.add({ email, password: 'a long password', accounts: [account] }, { correlationId: 'x' });
    return 'id' in user ? user.id : '';
  };
  const [userId] = [await add('ada@example.com'), await add('bo@example.com')];
  const token = await mint({ claims: { sub: userId } });
  expect(await tokens.authenticate(token)).toMatchObject({ role: 'Manager' });
  await expect(users.setRole(userId, account, 'Viewer', BY_OPERATOR)).rejects.toThrow('The process died');
  expect(await tokens.authenticate(token)).toBeUndefined();
});

test('the id under which a token is stored cannot be derived from its content', async () => {
  const token = await mint({ claims: { jti: 'known' } });
  expect(await tokens.storedId(token)).not.toContain('known');
  expect(storedTokenIds(randomBytes(32))('known')).not.toBe(await tokens.storedId(token));
});
