import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { REDIRECT, TestApp } from './test-app.ts';

/** What client libraries of other makers send and expect (docs/guides/client-libraries.md). */

let database: TestDatabase;
let running: RunningServer;
let app: TestApp;
const secretKey = randomBytes(32);

beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey });
  app = await TestApp.register(running.url);
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

const consent = () => ({ email: running.user.email, password: PASSWORD, account: 'Brand:7' });
const post = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(running.url + path, { method: 'POST', body: new URLSearchParams(fields), headers });
const register = async (metadata: object) => {
  const response = await fetch(`${running.url}/connect/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [REDIRECT], ...metadata }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

async function serviceClient() {
  const added = await running.server.clients.addClient({ account: BRAND, name: 'Import' }, BY_OPERATOR);
  if (isRefusal(added)) throw new Error(added.details);
  const authorization = `Basic ${btoa(`${added.clientId}:${added.clientSecret}`)}`;
  return { id: added.clientId, headers: { authorization } };
}

/** Allows the app for these scopes, without a resource. @returns the code exchange, and the address that the browser came back to */
async function allowed(scope: string, parameters: Record<string, string | undefined> = {}) {
  const { url, verifier } = await app.authorizationUrl({ scope, resource: undefined, ...parameters });
  let page = await app.browser.open(url);
  if (page.text.includes('name="password"')) page = await app.browser.send(page, '/sign-in', consent());
  const { url: back } = await app.browser.send(page, '/consent', consent());
  const code = back.searchParams.get('code') ?? '';
  const fields = { grant_type: 'authorization_code', code, client_id: app.id, redirect_uri: REDIRECT };
  const exchange = async (more: Record<string, string> = {}) => {
    const response = await post('/connect/token', { ...fields, code_verifier: verifier, ...more });
    return (await response.json()) as Record<string, string>;
  };
  return exchange;
}

test.each(['text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2', 'application/json;q=0.5, */*', 'text/html'])(
  'programs that accept %s get errors as JSON',
  async (accept) => {
    const answers = [
      await post('/connect/token', { grant_type: 'authorization_code', code: 'x', client_id: app.id }, { accept }),
      await post('/connect/revoke', {}, { accept }),
      await post('/connect/introspect', {}, { accept }),
      await fetch(`${running.url}/connect/register`, { method: 'POST', body: '[]', headers: { accept } }),
      await fetch(`${running.url}/connect/userinfo`, { headers: { accept, authorization: 'Bearer x' } }),
    ];
    for (const answer of answers) {
      expect(answer.headers.get('content-type'), answer.url).toMatch(/^application\/json/);
      expect(await answer.json()).toHaveProperty('error');
    }
  },
);

describe('an id_token_hint', () => {
  const unsigned = (claims: object) =>
    `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;
  const answerTo = (hint: string) =>
    fetch(`${running.url}/connect/logout?id_token_hint=${hint}`, {
      redirect: 'manual',
      headers: { accept: 'text/html' },
    });

  test('is checked before anything that it names is looked up', async () => {
    const { id_token: own = '' } = await (await allowed('openid'))();
    const [head, , signature] = own.split('.');
    const altered = Buffer.from(JSON.stringify({ ...claimsOf(own), aud: 'https://app.example/c' })).toString(
      'base64url',
    );
    for (const hint of [
      unsigned({ aud: 'https://app.example/client.json', iss: running.url }),
      `${head}.${altered}.${signature}`,
      'x',
      `${head}.e30.`,
    ]) {
      const answer = await answerTo(hint);
      expect([answer.status, hint]).toEqual([400, hint]);
      expect(await answer.text()).toContain('not an ID token of this service');
    }
    expect((await answerTo(own)).status).toBeLessThan(400);
  });
});

describe('an authorization that only identifies the user', () => {
  test('needs no resource; its token opens userinfo and nothing else, and the ID token has the claims', async () => {
    const exchange = await allowed('openid profile email offline_access', { nonce: 'n1' });
    expect((await exchange({ resource: 'api' })).error).toBe('invalid_target');
    const tokens = await exchange();
    const { access_token: token = '', id_token: idToken = '', refresh_token: refreshToken = '' } = tokens;
    expect(await running.server.accessTokens.authenticate(token)).toBeUndefined();
    const userinfo = await fetch(`${running.url}/connect/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    const identity = { name: running.user.email, email: running.user.email, email_verified: false };
    expect(await userinfo.json()).toMatchObject(identity);
    expect(claimsOf(idToken)).toMatchObject({ ...identity, nonce: 'n1' });

    const refreshed = await post('/connect/token', {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      client_id: app.id,
    });
    const { id_token: later = '' } = (await refreshed.json()) as Record<string, string>;
    expect(claimsOf(later)).not.toHaveProperty('nonce');
  });

  test('the claim email_verified says whether the user has confirmed the address', async () => {
    const claims = async () => {
      const { id_token: idToken = '' } = await app.tokens({ ...consent(), scope: 'openid email' });
      return claimsOf(idToken);
    };
    expect(await claims()).toMatchObject({ email_verified: false });
    const known = await running.users.get(running.user.id);
    if (known === undefined) throw new Error('The user is gone');
    await running.users.confirmEmail(known, BY_OPERATOR);
    expect(await claims()).toMatchObject({ email_verified: true });
  });

  test('an ID token beside a token for the API has the same claims', async () => {
    const { id_token: idToken } = await app.tokens({ ...consent(), scope: 'openid profile email service.api.read' });
    expect(claimsOf(idToken ?? '')).toMatchObject({ email: running.user.email, name: running.user.email });
  });
});

test('prompt=select_account asks to sign in', async () => {
  await app.tokens(consent());
  const { url } = await app.authorizationUrl({ prompt: 'select_account' });
  expect((await app.browser.open(url)).text).toContain('name="password"');
});

test('a finished sign-in leaves no cookie of its interaction', async () => {
  const other = await TestApp.register(running.url);
  await other.tokens(consent());
  expect(other.browser.cookieNames().filter((name) => /interaction|resume/.test(name))).toEqual([]);
});

describe('registration', () => {
  test('an empty list counts as absent', async () => {
    const { status, body } = await register({ response_types: [], contacts: [], grant_types: ['authorization_code'] });
    expect({ status, body }).toMatchObject({ status: 201, body: { response_types: ['code'] } });
  });

  test('a web application with a secret on loopback stays one; without a secret it is native', async () => {
    const local = { application_type: 'web', redirect_uris: ['http://localhost:3001/callback'] };
    expect((await register(local)).body.application_type).toBe('web');
    expect((await register({ ...local, token_endpoint_auth_method: 'none' })).body.application_type).toBe('native');
  });

  test('the consent page links what an app says of itself, and the logo is left out of the answer', async () => {
    const about = { policy_uri: 'https://app.example/privacy', tos_uri: 'https://app.example/terms' };
    const other = await TestApp.register(running.url, { ...about, logo_uri: 'https://app.example/logo.png' });
    expect(other.client.clientMetadata()).not.toHaveProperty('logo_uri');
    const { url } = await other.authorizationUrl();
    const page = await other.browser.send(await other.browser.open(url), '/sign-in', consent());
    for (const address of Object.values(about)) expect(page.text).toContain(`<a href="${address}" target="_blank"`);
  });
});

test('a public client may send its id as Basic with an empty password', async () => {
  const tokens = await app.tokens({ ...consent(), scope: 'offline_access service.api.read' });
  const basic = { authorization: `Basic ${btoa(`${app.id}:`)}` };
  const answer = await post(
    '/connect/token',
    { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' },
    basic,
  );
  expect(answer.status).toBe(200);
  const service = await serviceClient();
  const guessed = { authorization: `Basic ${btoa(`${service.id}:`)}` };
  expect((await post('/connect/token', { grant_type: 'client_credentials', resource: 'api' }, guessed)).status).toBe(
    401,
  );
});

test('introspection of a token without a user has a subject, and an empty revocation no type', async () => {
  const { headers, id } = await serviceClient();
  const granted = await post('/connect/token', { grant_type: 'client_credentials', resource: 'api' }, headers);
  const { access_token: token } = (await granted.json()) as { access_token: string };
  const introspected = await post('/connect/introspect', { token }, headers);
  expect(await introspected.json()).toMatchObject({ active: true, sub: id });
  const revoked = await post('/connect/revoke', { token }, headers);
  expect([revoked.status, revoked.headers.get('content-type')]).toEqual([200, null]);
});

test('no error description has a character that RFC 6749 forbids', async () => {
  const answers = [
    await post('/connect/token', { grant_type: 'a"b\\c', client_id: app.id }),
    await post('/connect/token', { grant_type: 'client_credentials' }, (await serviceClient()).headers),
    await post('/connect/token', { grant_type: 'authorization_code', client_id: 'x"y' }),
  ];
  for (const answer of answers) {
    const { error_description: text } = (await answer.json()) as { error_description: string };
    expect(text).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
  }
});

test('too many requests are answered as temporarily unavailable, readable for scripts', async () => {
  const limited = await runServer(await database.open(), {
    secretKey,
    limits: { tokenRequests: 1, registrations: 1 },
  });
  try {
    const asks = [
      () => fetch(`${limited.url}/connect/token`, { method: 'POST', body: new URLSearchParams({ client_id: 'x' }) }),
      () =>
        fetch(`${limited.url}/connect/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        }),
    ];
    for (const ask of asks) {
      await ask();
      const answer = await ask();
      expect(answer.status).toBe(429);
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('access-control-expose-headers')).toContain('retry-after');
      expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' });
    }
  } finally {
    await limited.close();
  }
});
