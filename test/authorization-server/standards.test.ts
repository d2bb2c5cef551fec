import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser, type Page } from '../browser.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { API_SCOPE, REDIRECT, TestApp } from './test-app.ts';

/** Rules of RFCs that clients may rely on and oidc-provider alone does not follow. */

let database: TestDatabase;
let running: RunningServer;
beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey: randomBytes(32) });
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

const consentOf = () => ({ email: running.user.email, password: PASSWORD, account: 'Brand:7' });

/** A client of the brand's own, and how it authenticates. */
async function confidential() {
  const added = await running.server.clients.addClient({ account: BRAND, name: 'own' }, BY_OPERATOR);
  if (!('clientSecret' in added)) throw new Error(added.details);
  const credentials = Buffer.from(`${added.clientId}:${added.clientSecret}`).toString('base64');
  return { authorization: `Basic ${credentials}` };
}

async function post(path: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const response = await fetch(running.url + path, { method: 'POST', body: new URLSearchParams(form), headers });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

test.each([
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource/mcp',
  '/.well-known/jwks',
  '/connect/token',
  '/connect/revoke',
  '/connect/introspect',
  '/connect/userinfo',
  '/connect/register',
])('OPTIONS %s allows scripts of any origin, with and without the headers of a preflight', async (path) => {
  const preflight = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  for (const headers of [{}, preflight]) {
    const answer = await fetch(running.url + path, { method: 'OPTIONS', headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    // The asterisk alone does not include Authorization (Fetch, 4.9).
    expect(answer.headers.get('access-control-allow-headers')).toBe('authorization, *');
  }
});

describe('metadata (RFC 8414)', () => {
  test.each(['openid-configuration', 'oauth-authorization-server'])(
    '%s matches the behaviour of the server',
    async (name) => {
      const metadata = await (await fetch(`${running.url}/.well-known/${name}`)).json();
      const methods = ['client_secret_basic', 'client_secret_post', 'none'];
      expect(metadata).toMatchObject({
        token_endpoint_auth_methods_supported: methods,
        revocation_endpoint_auth_methods_supported: methods,
        introspection_endpoint_auth_methods_supported: methods,
        service_documentation: `${running.url}/docs`,
      });
      const app = await TestApp.register(running.url);
      const tokens = await app.tokens({ ...consentOf(), scope: `openid profile email ${API_SCOPE}` });
      expect(tokens.claims()?.sid).toBeUndefined();
      expect(metadata).toMatchObject({ claims_supported: expect.not.arrayContaining(['sid']) });
    },
  );

  test('the server accepts the advertised authentication methods for revocation and introspection', async () => {
    const basic = await confidential();
    const app = await TestApp.register(running.url);
    for (const path of ['/connect/revoke', '/connect/introspect']) {
      expect((await post(path, { token: 'x' }, basic)).status).toBe(200);
      expect((await post(path, { token: 'x', client_id: app.id })).status).toBe(200);
    }
  });
});

describe('parameters without a value (RFC 6749, 3.1 and 3.2)', () => {
  const EMPTY = ['scope', 'resource', 'state', 'nonce', 'prompt', 'max_age', 'login_hint'] as const;

  test('count as omitted by the authorization and the token endpoint', async () => {
    const app = await TestApp.register(running.url, { scope: 'service.api.read offline_access' });
    const { url, verifier } = await app.authorizationUrl(Object.fromEntries(EMPTY.map((name) => [name, ''])));
    const consent = await app.browser.send(await app.browser.open(url), '/sign-in', consentOf());
    const { url: back } = await app.browser.send(consent, '/consent', consentOf());
    expect(back.searchParams.has('state')).toBe(false);
    const client = { client_id: app.id, client_secret: '' };
    const code = {
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      code_verifier: verifier,
      redirect_uri: REDIRECT,
      resource: 'api',
      scope: '',
    };
    const tokens = await post('/connect/token', { ...client, ...code });
    expect([tokens.status, tokens.body.scope]).toEqual([200, 'service.api.read']);
  });

  test('count as omitted for a client without a user', async () => {
    const fields = { grant_type: 'client_credentials', scope: '' };
    const { body } = await post('/connect/token', { ...fields, resource: 'api' }, await confidential());
    expect(body.scope).toBe('service.api.read service.api.write service.api.webhooks service.api.customers');
    // A token needs a resource.
    const refused = await post('/connect/token', { ...fields, resource: '' }, await confidential());
    expect(refused.body).toMatchObject({ error: 'invalid_target' });
  });
});

describe('error codes (RFC 6749, 5.2; RFC 7662, 2.2)', () => {
  test('a grant type that the client may not use is unauthorized_client', async () => {
    const app = await TestApp.register(running.url);
    const ofOthers = await post('/connect/token', {
      grant_type: 'client_credentials',
      client_id: app.id,
      resource: 'api',
    });
    expect(ofOthers).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } });
    const code = { grant_type: 'authorization_code', code: 'x', redirect_uri: REDIRECT, resource: 'api' };
    expect((await post('/connect/token', code, await confidential())).body.error).toBe('unauthorized_client');
  });

  test('other errors keep their standard codes', async () => {
    const app = await TestApp.register(running.url);
    const asked = { client_id: app.id, resource: 'api' };
    const errorOf = async (form: Record<string, string>) => (await post('/connect/token', form)).body.error;
    expect(await errorOf({ ...asked, grant_type: 'password' })).toBe('unsupported_grant_type');
    expect(await errorOf({ ...asked, grant_type: 'authorization_code' })).toBe('invalid_request');
    expect(await errorOf({ ...asked, grant_type: 'refresh_token', refresh_token: 'x' })).toBe('invalid_grant');
    expect(await errorOf({ resource: 'api', grant_type: 'refresh_token', client_id: 'nobody' })).toBe('invalid_client');
  });

  test.each(['x', 'a.b', 'a.b.c', 'a.b.c.d.e', 'a.b.c.d.e.f', '....', ' ', '\u{1f600}'])(
    'a malformed token (%j) is inactive',
    async (token) => {
      const answer = await post('/connect/introspect', { token }, await confidential());
      expect(answer).toEqual({ status: 200, body: { active: false } });
    },
  );
});

test('a client that registered itself learns about its own tokens only, one that an account added about all', async () => {
  const confidentialApp = await TestApp.register(running.url, { token_endpoint_auth_method: 'client_secret_basic' });
  const { client_id: id, client_secret: secret } = confidentialApp.client.clientMetadata();
  const stranger = { authorization: `Basic ${btoa(`${id}:${secret}`)}` };
  const app = await TestApp.register(running.url);
  const { access_token: token } = await app.tokens({ ...consentOf(), resource: 'api' });
  const inspect = async (headers: Record<string, string>) =>
    (await post('/connect/introspect', { token }, headers)).body.active;
  expect(await inspect(stranger)).toBe(false);
  expect(await inspect(await confidential())).toBe(true);
  const own = await post('/connect/introspect', { token, client_id: app.id });
  expect(own.body.active).toBe(true);
});

describe('registration (RFC 7591, 2)', () => {
  async function register(metadata: object) {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', ...metadata });
    const response = await fetch(`${running.url}/connect/register`, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  }
  const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';

  test('omits an unsupported grant type, and the response lists the remaining ones', async () => {
    const grants = await register({ grant_types: ['authorization_code', DEVICE, 'refresh_token', 'implicit'] });
    expect(grants).toMatchObject({ status: 201, body: { grant_types: ['authorization_code', 'refresh_token'] } });
    const types = await register({ response_types: ['code', 'code id_token'] });
    expect(types).toMatchObject({ status: 201, body: { response_types: ['code'] } });
  });

  const OPTIONAL = [
    ...['client_name', 'client_uri', 'logo_uri', 'scope', 'contacts', 'tos_uri', 'policy_uri', 'jwks_uri', 'jwks'],
    ...['grant_types', 'response_types', 'response_modes', 'application_type', 'subject_type', 'default_max_age'],
    ...['token_endpoint_auth_method', 'post_logout_redirect_uris', 'id_token_signed_response_alg', 'software_id'],
  ];

  test.each<[string, object, object]>([
    ['a scope without a value', { scope: '' }, { scope: undefined }],
    ['an unknown scope', { scope: 'claudeai' }, { scope: undefined }],
    ['a scope of which some is known', { scope: 'claudeai service.mcp' }, { scope: 'service.mcp' }],
    [
      'a grant for clients without a user',
      { grant_types: ['authorization_code', 'client_credentials'] },
      { grant_types: ['authorization_code'] },
    ],
    ['another signature', { id_token_signed_response_alg: 'ES256' }, { id_token_signed_response_alg: 'RS256' }],
    ['ids that differ by client', { subject_type: 'pairwise' }, { subject_type: 'public' }],
    ['a way to answer that is not supported', { response_modes: ['jwt'] }, { response_modes: undefined }],
    ['levels of authentication', { default_acr_values: ['2fa'] }, { default_acr_values: undefined }],
    [
      'a key instead of a secret',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://app.example/keys' },
      { token_endpoint_auth_method: 'client_secret_basic', client_secret: expect.any(String) },
    ],
    ...OPTIONAL.flatMap((name): [string, object, object][] => [
      [`null for ${name}`, { [name]: null }, {}],
      [`nothing for ${name}`, { [name]: '' }, {}],
    ]),
  ])('reduces %s', async (_what, metadata, expected) => {
    const { status, body } = await register(metadata);
    expect({ status, body }).toMatchObject({ status: 201, body: { redirect_uris: [REDIRECT] } });
    for (const [name, value] of Object.entries(expected))
      if (value === undefined) expect(body).not.toHaveProperty(name);
      else expect(body).toHaveProperty(name, value);
  });

  test.each<[string, object]>([
    ['grants of which we have none', { grant_types: [DEVICE] }],
    ['response types of which we have none', { response_types: ['id_token'] }],
    ['a grant for accounts alone', { grant_types: ['client_credentials'] }],
    ['grants that are no list', { grant_types: 'authorization_code' }],
  ])('refuses %s', async (_what, metadata) => {
    expect(await register(metadata)).toMatchObject({ status: 400, body: { error: 'invalid_client_metadata' } });
  });

  test.each(['', '{', '[]', 'null', '"x"'])('refuses the body %j', async (body) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${running.url}/connect/register`, { method: 'POST', headers, body });
    expect(response.status).toBe(400);
  });
});

describe('revocation (RFC 7009, 2.1)', () => {
  const grantsOf = () => running.server.connectedApps.grantsOf({ userId: running.user.id });

  test('revoking an access token ends only that token; the app stays connected and can get another', async () => {
    const app = await TestApp.register(running.url);
    const tokens = await app.tokens(consentOf());
    await post('/connect/revoke', { token: tokens.access_token, client_id: app.id });
    expect(await running.server.accessTokens.authenticate(tokens.access_token)).toBeUndefined();
    expect((await grantsOf()).map(({ clientId }) => clientId)).toContain(app.id);
    const refreshed = await app.refresh(tokens.refresh_token);
    expect(await running.server.accessTokens.authenticate(refreshed.access_token)).toBeDefined();
  });

  test('revoking a refresh token disconnects the app', async () => {
    const app = await TestApp.register(running.url);
    const tokens = await app.tokens(consentOf());
    await post('/connect/revoke', { token: tokens.refresh_token ?? '', client_id: app.id });
    expect(await running.server.accessTokens.authenticate(tokens.access_token)).toBeUndefined();
    expect((await grantsOf()).map(({ clientId }) => clientId)).not.toContain(app.id);
    await expect(app.refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});

describe('a redirect to an address that no user has approved (RFC 9700, 4.11.2)', () => {
  const WEB = 'https://app.example/callback';
  const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback';

  /** An app that no user has allowed, with one address. */
  async function stranger(redirect: string) {
    const app = await TestApp.register(running.url, { redirect_uris: [redirect] });
    const ask = async (more: Record<string, string> = {}, browser = app.browser) =>
      browser.request((await app.authorizationUrl({ redirect_uri: redirect, ...more })).url);
    const silent = (browser: Browser, more: Record<string, string> = {}) => ask({ prompt: 'none', ...more }, browser);
    return { app, ask, silent };
  }

  /** The address behind the button of the page. */
  const linkOn = ({ text }: Page) => /<a class="button full" href="([^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');

  const MISTAKES: readonly [what: string, mistake: Record<string, string>, error: string][] = [
    ['no user is signed in', { prompt: 'none' }, 'login_required'],
    ['a scope that does not exist', { scope: 'admin' }, 'invalid_scope'],
    ['a resource that does not exist', { resource: 'other' }, 'invalid_target'],
    ['a response type that is not offered', { response_type: 'none' }, 'unsupported_response_type'],
    ['another PKCE method', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a contradictory prompt', { prompt: 'none login' }, 'invalid_request'],
  ];

  test.each(MISTAKES)('waits for a click with https and with a custom scheme: %s', async (_what, mistake, error) => {
    for (const redirect of [WEB, CURSOR])
      for (const mode of ['query', 'fragment']) {
        const page = await (await stranger(redirect)).ask({ ...mistake, response_mode: mode });
        expect([mode, page.status, page.location]).toEqual([mode, 200, undefined]);
        expect(page.title).toBe('Continue to the app? · Venue Booking');
        expect(page.text).toContain('<bdi>Test app</bdi>');
        expect(page.text).toContain(
          `<bdi dir="ltr" class="host">${redirect === WEB ? 'app.example' : 'cursor:'}</bdi>`,
        );
        expect(page.text).not.toContain('<script>');
        const link = linkOn(page) ?? '';
        expect(link.startsWith(redirect)).toBe(true);
        expect(link).toContain(`error=${error}`);
      }
  });

  test('waits for a click with response_mode=form_post', async () => {
    for (const [redirect, source] of [
      [WEB, 'https://app.example'],
      [CURSOR, 'cursor:'],
    ] as const) {
      const page = await (await stranger(redirect)).ask({ prompt: 'none', response_mode: 'form_post' });
      expect(page.text).not.toContain('<script>');
      expect(page.form(redirect).body.get('error')).toBe('login_required');
      expect(page.policy).toContain(`form-action 'self' ${source};`);
    }
  });

  test.each(['http://127.0.0.1:9/callback', 'http://localhost:9/callback', 'http://[::1]:9/callback'])(
    'is immediate to loopback: %s',
    async (redirect) => {
      for (const [, mistake, error] of MISTAKES) {
        const { location } = await (await stranger(redirect)).ask(mistake);
        expect(location?.href.startsWith(redirect)).toBe(true);
        expect(location?.searchParams.get('error')).toBe(error);
      }
      const posted = await (await stranger(redirect)).ask({ prompt: 'none', response_mode: 'form_post' });
      expect(posted.text).toContain('<script>');
      expect(posted.form(redirect).body.get('error')).toBe('login_required');
    },
  );

  test.each([WEB, CURSOR])('is immediate after the user has answered on our page: %s', async (redirect) => {
    const { app } = await stranger(redirect);
    const { url } = await app.authorizationUrl({ redirect_uri: redirect });
    const denied = await app.browser.send(await app.browser.open(url), '/cancel');
    expect(denied.url.href.startsWith(redirect)).toBe(true);
    expect(denied.url.searchParams.get('error')).toBe('access_denied');
    const consent = await app.browser.send(await app.browser.open(url), '/sign-in', consentOf());
    const allowed = await app.browser.send(consent, '/consent', consentOf());
    expect(allowed.url.href.startsWith(redirect)).toBe(true);
    expect(allowed.url.searchParams.get('code')).toBeTruthy();
  });

  test('waits for a click when parameters are repeated', async () => {
    for (const name of ['scope', 'prompt', 'state', 'response_mode']) {
      const { app } = await stranger(WEB);
      const { url } = await app.authorizationUrl({ redirect_uri: WEB, [name]: 'none' });
      url.searchParams.append(name, 'none');
      const page = await app.browser.request(url);
      expect([name, page.location]).toEqual([name, undefined]);
    }
  });

  test('waits for a click when the user has approved only another app', async () => {
    const other = await TestApp.register(running.url);
    await other.tokens(consentOf());
    const page = await (await stranger(WEB)).silent(other.browser);
    expect(page.title).toBe('Continue to the app? · Venue Booking');
  });

  test.each([WEB, CURSOR])('is immediate with prompt=none once the user has approved the app: %s', async (redirect) => {
    const { app, silent } = await stranger(redirect);
    const asked = { scope: 'openid service.api.read' };
    const { url } = await app.authorizationUrl({ redirect_uri: redirect, ...asked });
    const consent = await app.browser.send(await app.browser.open(url), '/sign-in', consentOf());
    await app.browser.send(consent, '/consent', consentOf());
    const answered = await silent(app.browser, asked);
    expect(answered.location?.href.startsWith(redirect)).toBe(true);
    // A native app's user always has to confirm (RFC 8252, 8.6), since another program may have taken its scheme.
    if (redirect === WEB) expect(answered.location?.searchParams.get('code')).toBeTruthy();
    else expect(answered.location?.searchParams.get('error')).toBe('interaction_required');
    const more = await silent(app.browser, { scope: 'openid service.api.write' });
    expect(more.location?.searchParams.get('error')).toMatch(redirect === WEB ? 'consent_required' : /_required$/);
    // A browser without a session, like a third party's frame.
    const stranded = await silent(new Browser(running.url));
    expect(stranded.location?.href.startsWith(redirect)).toBe(true);
    expect(stranded.location?.searchParams.get('error')).toBe('login_required');
  });
});

describe('signing out (RP-Initiated Logout 1.0)', () => {
  test('the Content-Security-Policy names a post-logout address only if it is registered', async () => {
    const app = await TestApp.register(running.url);
    const evil = 'https://evil.example';
    for (const query of [
      `post_logout_redirect_uri=${encodeURIComponent(evil)}`,
      `client_id=${app.id}&post_logout_redirect_uri=${encodeURIComponent(evil)}`,
    ]) {
      const page = await new Browser(running.url).request(`${running.url}/connect/logout?${query}`);
      expect(page.headers.get('content-security-policy')).toContain('form-action');
      expect(page.headers.get('content-security-policy')).not.toContain('evil.example');
    }
  });
});
