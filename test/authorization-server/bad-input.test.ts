import { createHash, randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pageHeaders } from '../../src/html/layout.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, Page } from '../browser.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { API_SCOPE, REDIRECT, TestApp } from './test-app.ts';

const secretKey = randomBytes(32);
let database: TestDatabase;
let running: RunningServer;
let app: TestApp;
let consent: { email: string; password: string; account: string };

beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey });
  app = await TestApp.register(running.url);
  consent = { email: running.user.email, password: PASSWORD, account: 'Brand:7' };
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

type Answer = { readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers };

async function send(path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(running.url + path, { redirect: 'manual', ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, body: isJson ? JSON.parse(text) : { text }, headers: response.headers };
}
const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  send(path, { method: 'POST', body: new URLSearchParams(fields), headers });
const register = (metadata: unknown, headers: Record<string, string> = { 'content-type': 'application/json' }) =>
  send('/connect/register', {
    method: 'POST',
    headers,
    body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
  });

describe('authorization requests', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ['an unknown resource', { resource: 'https://other.example/api' }, 'invalid_target'],
    ['a resource that is not a URI', { resource: 'API' }, 'invalid_target'],
    ['PKCE plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a challenge without its method', { code_challenge_method: undefined }, 'invalid_request'],
    ['a disabled response type', { response_type: 'none' }, 'unsupported_response_type'],
    ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
  ])('returns the error to the app: %s', async (_what, parameters, error) => {
    const { url } = await app.authorizationUrl(parameters);
    const back = await app.answerTo(url);
    expect(back.href.startsWith(REDIRECT)).toBe(true);
    expect(back.searchParams.get('error')).toBe(error);
    expect(back.searchParams.get('iss')).toBe(running.url);
    expect(back.searchParams.get('code')).toBeNull();
  });

  test('a trailing slash does not bypass the limit and the rules of the endpoint', async () => {
    const { url } = await app.authorizationUrl({ resource: `${running.url}/api/v1` });
    for (const path of ['/connect/authorize/', '/connect/authorize//', '/connect/Authorize'])
      expect((await send(path + url.search)).status).toBe(404);
    expect((await send(url.pathname + url.search)).status).toBe(303);
  });

  test('refuses two resources at once, because a refresh token would be valid for both', async () => {
    const { url } = await app.authorizationUrl();
    url.searchParams.append('resource', 'mcp');
    expect((await app.answerTo(url)).searchParams.get('error')).toBe('invalid_target');
  });

  test.each<[string, Record<string, string | undefined>]>([
    ['a foreign redirect', { redirect_uri: 'https://evil.example/callback' }],
    ['a redirect with a longer path', { redirect_uri: `${REDIRECT}/more` }],
    ['an unknown client', { client_id: 'nobody' }],
    ['no client', { client_id: undefined }],
  ])('shows the error to the user and never redirects: %s', async (_what, parameters) => {
    const { url } = await app.authorizationUrl(parameters);
    const page = await new Browser(running.url).open(url);
    expect(page.url.origin).toBe(running.url);
    expect(page.status).toBe(400);
    expect(page.text).toContain('This request cannot be completed');
  });

  test('the short name, the absolute URI and the URI with a trailing slash mean the same resource', async () => {
    for (const resource of ['api', `${running.url}/api/v1`, `${running.url}/api/v1/`]) {
      const tokens = await app.tokens({ ...consent, resource });
      expect(await running.server.accessTokens.authenticate(tokens.access_token)).toMatchObject({ account: BRAND });
    }
  });
});

describe('token requests', () => {
  const exchange = ({ callback, verifier }: Awaited<ReturnType<TestApp['allow']>>, fields: Record<string, string>) =>
    form('/connect/token', {
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      client_id: app.id,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      ...fields,
    });

  test.each<[string, Record<string, string>, string]>([
    ['another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['another redirect', { redirect_uri: 'http://127.0.0.1:9/other' }, 'invalid_grant'],
    ['another resource', { resource: 'mcp' }, 'invalid_target'],
    ['an unknown client', { client_id: 'nobody' }, 'invalid_client'],
    ['an unknown code', { code: 'nothing' }, 'invalid_grant'],
    ['an unknown grant', { grant_type: 'password', username: 'ada', password: 'x' }, 'unsupported_grant_type'],
    ['a grant that the client does not have', { grant_type: 'client_credentials' }, 'unauthorized_client'],
  ])('%s: %j → %s', async (_what, fields, error) => {
    const { status, body } = await exchange(await app.allow(consent), { resource: 'api', ...fields });
    expect([status, body.error]).toEqual([error === 'invalid_client' ? 401 : 400, error]);
  });

  test('a wrong or missing resource uses up neither the code nor the refresh token; a refresh needs none', async () => {
    const allowed = await app.allow(consent);
    for (const wrong of [{}, { resource: 'mcp' }, { resource: 'https://other.example/' }])
      expect((await exchange(allowed, wrong)).body.error).toBe('invalid_target');
    const token = String((await exchange(allowed, { resource: 'api' })).body.refresh_token);

    const refresh = (fields: Record<string, string>) =>
      form('/connect/token', { grant_type: 'refresh_token', refresh_token: token, client_id: app.id, ...fields });
    expect((await refresh({ resource: 'mcp' })).body.error).toBe('invalid_target');
    const renewed = await refresh({});
    expect(renewed.status).toBe(200);
    expect((await running.server.accessTokens.verify(String(renewed.body.access_token)))?.audience).toBe('api');
  });

  test("another client's refresh token is refused and stays valid for its own client", async () => {
    const stranger = await TestApp.register(running.url);
    const tokens = await app.tokens(consent);
    await expect(stranger.refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(app.refresh(tokens.refresh_token)).resolves.toBeDefined();
  });

  test('without offline_access there is no refresh token', async () => {
    const tokens = await app.tokens({ ...consent, scope: 'openid service.api.read' });
    expect(tokens.refresh_token).toBeUndefined();
  });

  test('refuses a body that is not a form or is too large', async () => {
    const json = await send('/connect/token', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    });
    expect([json.status, json.body.error]).toEqual([400, 'invalid_request']);
    const large = await form('/connect/token', { grant_type: 'refresh_token', refresh_token: 'x'.repeat(100_000) });
    expect([large.status, large.body.error]).toEqual([413, 'invalid_request']);
  });
});

describe('registration', () => {
  const good = { redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' };

  test('returns what was registered, to any origin', async () => {
    const { status, body, headers } = await register({ ...good, client_name: 'Mine' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ client_name: 'Mine', redirect_uris: [REDIRECT], application_type: 'native' });
    expect(body.client_secret).toBeUndefined();
    expect(headers.get('access-control-allow-origin')).toBe('*');
    const preflight = await send('/connect/register', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
  });

  test('a name has 1 to 200 characters, and an emoji counts as one', async () => {
    const named = async (client_name: string) => register({ ...good, client_name });
    expect((await named('🎉'.repeat(200))).status).toBe(201);
    const { body } = await named('🎉'.repeat(201));
    expect(body.error_description).toBe('client_name must have 1 to 200 characters.');
  });

  test.each<[string, unknown, string]>([
    ['nothing', {}, 'invalid_redirect_uri'],
    ['no redirects', { ...good, redirect_uris: [] }, 'invalid_redirect_uri'],
    ['redirects that are not a list', { ...good, redirect_uris: REDIRECT }, 'invalid_redirect_uri'],
    ['redirects that are not URIs', { ...good, redirect_uris: ['nowhere', 7] }, 'invalid_redirect_uri'],
    ['plain http to another host', { ...good, redirect_uris: ['http://app.example/cb'] }, 'invalid_redirect_uri'],
    ['a javascript: URL as a redirect', { ...good, redirect_uris: ['javascript:alert(1)'] }, 'invalid_redirect_uri'],
    ['a fragment', { ...good, redirect_uris: [`${REDIRECT}#x`] }, 'invalid_redirect_uri'],
    ['client credentials', { ...good, grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    ['the implicit grant', { ...good, grant_types: ['implicit'] }, 'invalid_client_metadata'],
    ['an account of its own', { ...good, account_id: 'Brand:7' }, 'invalid_client_metadata'],
    ['an overlong name', { ...good, client_name: 'x'.repeat(201) }, 'invalid_client_metadata'],
    ['a name with half of a surrogate pair', { ...good, client_name: 'My \ud83d app' }, 'invalid_client_metadata'],
    ['a blank name', { ...good, client_name: ' ' }, 'invalid_client_metadata'],
    ['too many redirects', { ...good, redirect_uris: Array(21).fill(REDIRECT) }, 'invalid_client_metadata'],
    ['not an object', [1], 'invalid_request'],
    ['broken JSON', '{', 'invalid_request'],
  ])('%s → %s', async (_what, metadata, error) => {
    const { status, body } = await register(metadata);
    expect([status, body.error]).toEqual([400, error]);
  });

  test('refuses a body that is too large or has another content type', async () => {
    expect((await register({ ...good, client_name: 'x'.repeat(100_000) })).status).toBe(413);
    expect((await register('a=b', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(400);
  });

  test('URLs in the metadata are neither fetched nor stored', async () => {
    const { status, body } = await register({
      ...good,
      jwks_uri: 'http://169.254.169.254/latest',
      sector_identifier_uri: 'https://169.254.169.254/latest',
    });
    expect(status).toBe(201);
    expect(body).not.toHaveProperty('jwks_uri');
    expect(body).not.toHaveProperty('sector_identifier_uri');
  });

  test('other spellings of the path are 404, so they cannot bypass the rate limit', async () => {
    for (const path of ['/connect/Register', '/connect/register/', '/CONNECT/REGISTER', '//connect/register'])
      expect(
        (await send(path, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })).status,
      ).toBe(404);
  });
});

describe('introspection, revocation, userinfo', () => {
  test('a foreign token is inactive, and revoking it does nothing', async () => {
    const { access_token: token } = await app.tokens(consent);
    const [header, payload] = token.split('.');
    for (const wrong of ['nothing', 'a.b.c', `${header}.${payload}.AAAA`]) {
      const fields = { token: wrong, client_id: app.id };
      expect((await form('/connect/introspect', fields)).body).toEqual({ active: false });
      expect((await form('/connect/revoke', fields)).status).toBe(200);
      expect((await send('/connect/userinfo', { headers: { authorization: `Bearer ${wrong}` } })).status).toBe(401);
    }
    expect((await form('/connect/introspect', { token })).status).toBe(400);
    expect((await form('/connect/introspect', { token, client_id: 'nobody' })).status).toBe(401);
  });

  test('another client learns nothing about a token and cannot revoke it', async () => {
    const stranger = await TestApp.register(running.url);
    const { access_token: token } = await app.tokens(consent);
    expect((await form('/connect/introspect', { token, client_id: stranger.id })).body).toEqual({ active: false });
    await form('/connect/revoke', { token, client_id: stranger.id });
    expect(await running.server.accessTokens.authenticate(token)).toBeDefined();
  });

  test('userinfo requires the scope openid', async () => {
    const { access_token: token } = await app.tokens({ ...consent, scope: 'service.api.read' });
    const { status, headers } = await send('/connect/userinfo', { headers: { authorization: `Bearer ${token}` } });
    expect(status).toBe(403);
    expect(headers.get('www-authenticate')).toContain('insufficient_scope');
  });
});

describe('sign-in and consent', () => {
  async function signInPage() {
    const browser = new Browser(running.url);
    const page = await browser.open((await app.authorizationUrl()).url);
    return { browser, page };
  }
  const credentials = { email: 'ada@example.com', password: PASSWORD };

  test('the form accepts every permitted e-mail and password', async () => {
    const { page } = await signInPage();
    expect(page.text).toMatch(/name="email"[^>]* maxlength="254"/);
    // A browser counts an emoji twice, the rule for passwords once.
    expect(page.text).toMatch(/name="password"[^>]* maxlength="512"/);
  });

  test('an unknown e-mail and a wrong password get the same response', async () => {
    const answers = [];
    for (const fields of [
      { ...credentials, password: 'wrong password' },
      { email: 'nobody@example.com', password: PASSWORD },
    ]) {
      const { browser, page } = await signInPage();
      const { status, text } = await browser.send(page, '/sign-in', fields);
      const same = text
        .replaceAll(fields.email, 'EMAIL')
        .replaceAll(/interaction\/[\w-]+/g, '')
        .replaceAll(/value="[\w-]{43}"/g, '');
      answers.push({ status, same });
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.status).toBe(422);
  });

  test('a forged form does nothing: no token, another user’s token, another origin, another browser', async () => {
    const { browser, page } = await signInPage();
    const { page: otherPage } = await signInPage();
    const token = /name="form_token" value="([^"]+)"/.exec(otherPage.text)?.[1] ?? '';
    expect((await browser.send(page, '/sign-in', { ...credentials, form_token: '' })).status).toBe(403);
    expect((await browser.send(page, '/sign-in', { ...credentials, form_token: token })).status).toBe(403);
    const foreign = { origin: 'https://evil.example' };
    expect((await browser.send(page, '/sign-in', credentials, foreign)).status).toBe(403);
    expect((await new Browser(running.url).send(page, '/sign-in', credentials)).status).toBe(400);
    expect((await new Browser(running.url).open(page.url)).status).toBe(400);
  });

  test('the consent page cannot be skipped, or submitted before signing in', async () => {
    const { browser, page } = await signInPage();
    const jumped = page.url.pathname;
    const forged = new Page({ ...page, text: page.text.replace('/sign-in', '/consent') });
    const early = await browser.send(forged, '/consent', { account: 'Brand:7' });
    expect(early.status).toBe(400);
    expect((await browser.open(jumped)).text).toContain('name="password"');
  });

  test('an account the user does not belong to cannot be chosen', async () => {
    const { browser, page } = await signInPage();
    const consentPage = await browser.send(page, '/sign-in', credentials);
    for (const account of ['Brand:8', 'Community:7', '', 'Admin:1'])
      expect((await browser.send(consentPage, '/consent', { account })).status).toBe(422);
  });

  test('denying access returns to the app with access_denied', async () => {
    const { browser, page } = await signInPage();
    const consentPage = await browser.send(page, '/sign-in', credentials);
    const { url } = await browser.send(consentPage, '/cancel');
    expect(url.searchParams.get('error')).toBe('access_denied');
  });

  test('the consent page shows the name of the app as text, where it redirects to and what it asks for', async () => {
    const evil = await TestApp.register(running.url, { client_name: '<script>alert(1)</script>' });
    const page = await evil.browser.open((await evil.authorizationUrl({ scope: API_SCOPE })).url);
    const { text } = await evil.browser.send(page, '/sign-in', credentials);
    expect(text).not.toContain('<script>alert');
    expect(text).toContain('&lt;script&gt;');
    expect(text).toContain('127.0.0.1:9');
    expect(text).toContain('Request bookings on your behalf, if you choose a brand');
    expect(text).toMatch(/type="radio" name="account" value="Brand:7".*value="Community:3"/s);
  });

  test('no page may be framed, use the camera or run inline scripts', async () => {
    const { page } = await signInPage();
    for (const path of [page.url.pathname, '/connect/logout', '/connect/authorize']) {
      const { headers } = await send(path, { headers: { accept: 'text/html' } });
      for (const [name, value] of Object.entries(pageHeaders()))
        if (name !== 'content-security-policy') expect(headers.get(name), `${path} ${name}`).toBe(value);
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('content-security-policy')).not.toContain('unsafe-inline');
    }
  });
});

describe('self-submitting pages', () => {
  /** The policy lets the page run its one script, submit its form and follow the redirect, and nothing else. */
  function expectToWork({ text, policy }: Page, targets: readonly string[]) {
    const [, script = ''] = /<script>(.*?)<\/script>/s.exec(text) ?? [];
    const hash = createHash('sha256').update(script).digest('base64');
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}'`);
    for (const target of targets) expect(/form-action ([^;]*)/.exec(policy)?.[1]?.split(' ')).toContain(target);
    expect(text).toMatch(/<button[^>]*type="submit">Continue/);
  }

  test('response_mode=form_post posts the response to the app', async () => {
    const { url } = await app.authorizationUrl({ response_mode: 'form_post' });
    const browser = new Browser(running.url);
    const asked = await browser.send(await browser.open(url), '/sign-in', consent);
    const page = await browser.send(asked, '/consent', { account: 'Brand:7' });
    expectToWork(page, ["'self'", new URL(REDIRECT).origin]);
    expect(page.text).toContain(`<form method="post" action="${REDIRECT}">`);
    expect(page.text).toMatch(/name="code" value="[\w-]{40,}"/);
  });

  test('signing in as another user signs the first user out and asks the second for consent', async () => {
    const bea = await running.users.add(
      { email: 'bea@example.com', password: PASSWORD, accounts: [BRAND] },
      BY_OPERATOR,
    );
    expect(bea).toMatchObject({ email: 'bea@example.com' });
    const browser = new Browser(running.url);
    const { url } = await app.authorizationUrl();
    const asked = await browser.send(await browser.open(url), '/sign-in', consent);
    const link = /<a href="([^"]+)">Sign in as someone else/.exec(asked.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const signedIn = { ...consent, email: 'bea@example.com' };
    const page = await browser.send(await browser.open(link), '/sign-in', signedIn);
    expectToWork(page, ["'self'"]);
    expect((await browser.send(page, '/logout/confirm')).text).toContain(
      'You are signed in as <bdi>bea@example.com</bdi>',
    );
  });
});

describe('limits', () => {
  test('wrong passwords block only their network, in every process, and the response states for how long', async () => {
    const options = { secretKey, limits: { perEmail: 3 }, trustProxy: true };
    const processes = await Promise.all([1, 2].map(async () => runServer(await database.open(), options)));
    try {
      const attempt = async (process: number, email: string, password: string, from = '192.0.2.1') => {
        const { url = '' } = processes[process] ?? {};
        const browser = new Browser(url);
        const page = await browser.open((await (await TestApp.register(url)).authorizationUrl()).url);
        return browser.send(page, '/sign-in', { email, password }, { 'x-forwarded-for': from });
      };
      const statuses = [];
      for (let count = 0; count < 3; count += 1)
        // Some proxies add the port of the connection, which differs each time.
        statuses.push(
          (await attempt(count % 2, 'ADA@example.com', 'wrong password', `192.0.2.1:${5_000 + count}`)).status,
        );
      expect(statuses).toEqual([422, 422, 422]);
      const refused = await attempt(0, 'ada@example.com', PASSWORD);
      expect(refused.status).toBe(429);
      expect(refused.text).toContain('Too many wrong passwords');
      expect(refused.text).toMatch(/Try again in 1[45] minutes/);
      const seconds = Number(refused.headers.get('retry-after'));
      expect(seconds).toBeGreaterThan(14 * 60);
      expect(seconds).toBeLessThanOrEqual(15 * 60);
      // The user is not locked out by a stranger elsewhere, nor are others here.
      expect((await attempt(1, 'ada@example.com', PASSWORD, '192.0.2.2')).status).toBe(200);
      expect((await attempt(1, 'else@example.com', PASSWORD)).status).toBe(422);
    } finally {
      await Promise.all(processes.map((process) => process.close()));
    }
  });

  test('refuses too many registrations from one network across processes', async () => {
    const options = { secretKey, limits: { registrations: 3 }, trustProxy: true };
    const processes = await Promise.all([1, 2].map(async () => runServer(await database.open(), options)));
    const from = async (address: string, process: number, body: unknown = { redirect_uris: [REDIRECT] }) =>
      fetch(`${processes[process]?.url}/connect/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
        body: JSON.stringify(body),
      });
    try {
      expect((await from('2001:db8::1', 0)).status).toBe(201);
      expect((await from('2001:db8::2', 1)).status).toBe(201);
      // Refused documents were fetched too.
      expect((await from('2001:db8::3', 0, {})).status).toBe(400);
      for (const process of [0, 1]) {
        const refused = await from('2001:db8::4', process);
        expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([429, '*']);
        const seconds = Number(refused.headers.get('retry-after'));
        expect(seconds).toBeGreaterThan(59 * 60);
        expect(seconds).toBeLessThanOrEqual(60 * 60);
        const { error_description } = (await refused.json()) as { error_description: string };
        expect(error_description).toMatch(/^too many registrations from this address, try again in \d+ seconds$/);
      }
      expect((await from('2001:db8:0:1::1', 1)).status).toBe(201);
      // An hour after the first.
      for (const process of processes) process.shift(60 * 60_000);
      expect((await from('2001:db8::1', 1)).status).toBe(201);
    } finally {
      await Promise.all(processes.map((process) => process.close()));
    }
  });

  test('removes a registered client without consent after a day, and keeps one with consent', async () => {
    const used = await TestApp.register(running.url);
    const unused = await TestApp.register(running.url);
    await used.tokens(consent);
    running.shift(25 * 3_600_000);
    expect((await used.browser.open((await used.authorizationUrl()).url)).status).toBe(200);
    expect((await unused.browser.open((await unused.authorizationUrl()).url)).status).toBe(400);
    running.shift(0);
  });
});

test('the metadata uses the URLs of the issuer with any Host and forwarding headers', async () => {
  const forged = {
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'https',
    'x-forwarded-port': '444',
    forwarded: 'host=evil.example;proto=https',
  };
  for (const path of ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']) {
    const honest = (await send(path)).body;
    expect((await send(path, { headers: forged })).body).toEqual(honest);
    const paths = Object.entries(honest).filter(([name]) => /_endpoint$|_uri$/.test(name));
    expect(Object.fromEntries(paths)).toEqual({
      authorization_endpoint: `${running.url}/connect/authorize`,
      token_endpoint: `${running.url}/connect/token`,
      registration_endpoint: `${running.url}/connect/register`,
      userinfo_endpoint: `${running.url}/connect/userinfo`,
      revocation_endpoint: `${running.url}/connect/revoke`,
      introspection_endpoint: `${running.url}/connect/introspect`,
      end_session_endpoint: `${running.url}/connect/logout`,
      jwks_uri: `${running.url}/.well-known/jwks`,
    });
    expect(honest).toMatchObject({
      issuer: running.url,
      code_challenge_methods_supported: ['S256'],
      response_types_supported: ['code'],
      scopes_supported: expect.arrayContaining(['openid', 'offline_access', 'service.api.read', 'service.mcp']),
    });
  }
  const { url } = await app.browser.open((await app.authorizationUrl()).url);
  expect(url.origin).toBe(running.url);
});

test('openid-client still works after all this', async () => {
  expect(await oidc.fetchUserInfo(app.client, (await app.tokens(consent)).access_token, running.user.id)).toBeDefined();
});

test('over https every cookie is Secure, HttpOnly and SameSite=Lax', async () => {
  const served = await runServer(await database.open(), { secretKey, url: 'https://venues.example' });
  try {
    const registered = await fetch(`${served.listensOn}/connect/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' }),
    });
    const { client_id: id } = (await registered.json()) as { client_id: string };
    const { url } = await app.authorizationUrl({ client_id: id });
    const answer = await fetch(`${served.listensOn}${url.pathname}${url.search}`, { redirect: 'manual' });
    expect(answer.headers.get('location')).toMatch(/^\/connect\/interaction\//);
    const cookies = answer.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(1);
    for (const cookie of cookies)
      expect(cookie).toMatch(/; secure; httponly; samesite=lax|; samesite=lax; secure; httponly/i);
  } finally {
    await served.close();
  }
});
