import { randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { OIDC_RECORDS, withField } from '../../src/authorization-server/oidc-record.ts';
import { isRefusal } from '../../src/domain/decision.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { ask } from '../document-store/ask.ts';
import { documentEngines, type TestDatabase } from '../document-store/engines.ts';
import { replace } from '../document-store/replace.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { REDIRECT, TestApp } from './test-app.ts';

const secretKey = randomBytes(32);

describe.each(documentEngines)('the authorization server on %s', (_name, createDatabase) => {
  let database: TestDatabase;
  let running: RunningServer;
  let other: RunningServer;
  let consent: { email: string; password: string; account: string };

  beforeAll(async () => {
    database = await createDatabase();
    running = await runServer(await database.open(), { secretKey });
    // A second process of the same service: same issuer, same key, its own connection to the same store.
    other = await runServer(await database.open(), { secretKey, url: running.url });
  });
  afterAll(async () => {
    await running.close();
    await other.close();
    await database.remove();
  });
  beforeEach(() => {
    consent = { email: running.user.email, password: PASSWORD, account: 'Brand:7' };
  });

  test('openid-client completes the authorization code flow', async () => {
    const { url, user, server } = running;
    const app = await TestApp.register(url);
    const { client } = app;
    const tokens = await app.tokens(consent);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600 });
    expect(tokens.claims()).toMatchObject({ iss: url, aud: app.id, sub: user.id });
    expect(await oidc.fetchUserInfo(client, tokens.access_token, user.id)).toMatchObject({ email: user.email });
    expect(await server.accessTokens.authenticate(tokens.access_token)).toEqual({
      account: BRAND,
      role: 'Manager',
      permissions: 1 | 2 | 4 | 8,
      credential: { kind: 'client', id: app.id, userId: user.id },
    });

    const second = await app.refresh(tokens.refresh_token);
    const third = await app.refresh(second.refresh_token);
    expect(new Set([tokens, second, third].map((response) => response.refresh_token)).size).toBe(3);
    expect(await oidc.tokenIntrospection(client, third.access_token)).toMatchObject({
      active: true,
      aud: 'api',
      account: 'Brand:7',
      client_id: app.id,
      sub: user.id,
    });

    await oidc.tokenRevocation(client, third.access_token);
    expect(await oidc.tokenIntrospection(client, third.access_token)).toEqual({ active: false });
    expect(await server.accessTokens.authenticate(third.access_token)).toBeUndefined();
    await expect(oidc.fetchUserInfo(client, third.access_token, user.id)).rejects.toThrow();
  });

  test('revoking a token takes effect at once in another process that has already verified it', async () => {
    const app = await TestApp.register(running.url);
    const { access_token: token } = await app.tokens(consent);
    expect(await other.server.accessTokens.authenticate(token)).toMatchObject({ account: BRAND });
    await oidc.tokenRevocation(app.client, token);
    expect(await other.server.accessTokens.authenticate(token)).toBeUndefined();
  });

  test('reusing a refresh token ends the grant and every token issued under it', async () => {
    const app = await TestApp.register(running.url);
    const first = await app.tokens(consent);
    const second = await app.refresh(first.refresh_token);
    // Two processes of a client may share the token: for ten seconds both get the same one.
    const third = await app.refresh(first.refresh_token);
    expect(third.refresh_token).toBe(second.refresh_token);
    expect(await running.server.accessTokens.authenticate(third.access_token)).toBeDefined();
    running.shift(11_000);
    await expect(app.refresh(first.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(app.refresh(second.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    for (const { access_token: token } of [first, second, third])
      expect(await running.server.accessTokens.authenticate(token)).toBeUndefined();
    running.shift(0);
  });

  test.each([
    ['before its client goes on', 0],
    ['after its client has gone on', 1],
  ])('a refresh token stolen and used within ten seconds, %s, ends the grant at the next fork', async (_, later) => {
    const app = await TestApp.register(running.url);
    const { refresh_token: stolen } = await app.tokens(consent);
    let ours = await app.refresh(stolen);
    if (later === 1) ours = await app.refresh(ours.refresh_token);
    const theirs = await app.refresh(stolen);
    running.shift(60_000);
    ours = await app.refresh(ours.refresh_token);
    running.shift(120_000);
    await expect(app.refresh(theirs.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(app.refresh(ours.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    running.shift(0);
  });

  test('refuses a refresh token whose use was never answered, at any age, and keeps its grant', async () => {
    const app = await TestApp.register(running.url);
    const { access_token: token, refresh_token: used } = await app.tokens(consent);
    const store = await database.open();
    const records = await store.open(OIDC_RECORDS);
    for await (const { key, document, version } of records.find(withField('clientId', app.id)))
      if (document.model === 'RefreshToken')
        await replace(
          records,
          key,
          { ...document, consumedAt: new Date(Date.now() - 3_600_000).toISOString() },
          version,
        );
    await expect(app.refresh(used)).rejects.toMatchObject({ error: 'invalid_grant' });
    for (const { server } of [running, other]) expect(await server.accessTokens.authenticate(token)).toBeDefined();
  });

  test('refuses a second use only after answering the first, so that the client can continue with the new token', async () => {
    const app = await TestApp.register(running.url);
    const { refresh_token: used } = await app.tokens(consent);
    const store = await database.open();
    const records = await store.open(OIDC_RECORDS);
    const mark = async (state: object) => {
      for await (const { key, document, version } of records.find(withField('clientId', app.id)))
        if (document.model === 'RefreshToken') await replace(records, key, { ...document, ...state }, version);
    };
    await mark({ consumedAt: new Date(Date.now() - 60_000).toISOString() });
    const order: string[] = [];
    const refused = app.refresh(used).catch((error: { error?: string }) => {
      order.push('refused');
      return error;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    order.push('answered');
    await mark({ answered: true });
    expect(await refused).toMatchObject({ error: 'invalid_grant' });
    expect(order).toEqual(['answered', 'refused']);
  });

  test('each of ten parallel refreshes through two processes gets tokens', async () => {
    const app = await TestApp.register(running.url);
    for (let round = 0; round < 3; round += 1) {
      const { refresh_token: token } = await app.tokens(consent);
      const body = new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: token ?? '',
        client_id: app.id,
        resource: 'api',
      });
      const answers = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const origin = index % 2 === 0 ? running.url : other.listensOn;
          const response = await fetch(`${origin}/connect/token`, { method: 'POST', body });
          return `${response.status} ${response.ok ? '' : ((await response.json()) as { error: string }).error}`;
        }),
      );
      expect(new Set(answers)).toEqual(new Set(['200 ']));
    }
  });

  test('refuses a reused code and revokes the tokens it was exchanged for', async () => {
    const app = await TestApp.register(running.url);
    const { callback, verifier } = await app.allow(consent);
    const exchange = () =>
      oidc.authorizationCodeGrant(app.client, callback, { pkceCodeVerifier: verifier }, { resource: 'api' });
    const { access_token: token } = await exchange();
    await expect(exchange()).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(await running.server.accessTokens.authenticate(token)).toBeUndefined();
  });

  test('key rotation publishes a key before signing with it and keeps old tokens valid', async () => {
    const app = await TestApp.register(running.url);
    const before = await app.tokens(consent);
    const { kid } = await other.server.signingKeys.rotate();
    const published = async () => {
      const set = (await (await fetch(`${running.url}/.well-known/jwks`)).json()) as { keys: { kid: string }[] };
      return set.keys;
    };
    expect((await published()).map((key) => key.kid)).toContain(kid);
    expect(kidOf((await app.refresh(before.refresh_token)).access_token)).toBe(kidOf(before.access_token));
    running.shift(24 * 3_600_000);
    const after = await app.tokens(consent);
    expect(kidOf(after.access_token)).toBe(kid);
    for (const { access_token: token } of [before, after])
      expect(await running.server.accessTokens.authenticate(token)).toBeDefined();
    const { kid: urgent } = await running.server.signingKeys.rotate({ now: true });
    expect(kidOf((await app.tokens(consent)).access_token)).toBe(urgent);
    for (const key of await published())
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    running.shift(0);
  });

  test('a confidential client can act for its account until it is removed', async () => {
    const { clients, accessTokens } = running.server;
    const added = await clients.addClient({ account: BRAND, name: 'Nightly import' }, BY_OPERATOR);
    if (isRefusal(added)) throw new Error(added.details);
    const client = new oidc.Configuration(
      (await oidc.discovery(new URL(running.url), 'x', undefined, oidc.None(), insecure)).serverMetadata(),
      added.clientId,
      added.clientSecret,
    );
    oidc.allowInsecureRequests(client);
    const { access_token: token } = await oidc.clientCredentialsGrant(client, { resource: 'api' });
    expect(await accessTokens.authenticate(token)).toEqual({
      account: BRAND,
      permissions: 63,
      credential: { kind: 'client', id: added.clientId },
    });
    expect(await oidc.tokenIntrospection(client, token)).toMatchObject({ active: true, account: 'Brand:7' });
    const narrow = await oidc.clientCredentialsGrant(client, { resource: 'api', scope: 'service.api.read' });
    expect(await accessTokens.authenticate(narrow.access_token)).toMatchObject({ permissions: 1 | 2 | 8 });

    expect(await clients.listClients(BRAND)).toEqual([expect.objectContaining({ name: 'Nightly import' })]);
    expect(JSON.stringify(await clients.listClients())).not.toContain(added.clientSecret);
    expect(await clients.removeClient(added.clientId, BY_OPERATOR, BRAND)).toBe(true);
    expect(await other.server.accessTokens.authenticate(token)).toBeUndefined();
    await expect(oidc.clientCredentialsGrant(client, { resource: 'api' })).rejects.toMatchObject({
      error: 'invalid_client',
    });
  });

  test('a grant covers only the chosen account; choosing another account creates another grant', async () => {
    const { connectedApps, accessTokens } = running.server;
    const app = await TestApp.register(running.url, { client_name: 'Both sides' });
    const brand = await app.tokens(consent);
    const community = await app.tokens({ ...consent, account: 'Community:3' });
    expect(await accessTokens.authenticate(brand.access_token)).toMatchObject({ account: { kind: 'Brand', id: 7 } });
    expect(await accessTokens.authenticate(community.access_token)).toMatchObject({
      account: { kind: 'Community', id: 3 },
      permissions: 1 | 2 | 4 | 8,
    });
    const mine = (await connectedApps.grantsOf({ userId: running.user.id })).filter(
      ({ clientId }) => clientId === app.id,
    );
    expect(mine).toMatchObject([
      { clientName: 'Both sides', account: 'Brand:7', audiences: ['api'] },
      { clientName: 'Both sides', account: 'Community:3', scopes: ['service.api.read', 'service.api.write'] },
    ]);
    const [first] = mine;
    expect(
      await connectedApps.revokeGrant(
        first?.grantId ?? '',
        { account: { kind: 'Community', id: BRAND.id as never } },
        BY_OPERATOR,
      ),
    ).toBe(false);
    expect(await connectedApps.revokeGrant(first?.grantId ?? '', { account: BRAND }, BY_OPERATOR)).toBe(true);
    expect(await accessTokens.authenticate(brand.access_token)).toBeUndefined();
    await expect(app.refresh(brand.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(await accessTokens.authenticate(community.access_token)).toBeDefined();
  });

  test('removing a user ends all sessions, apps and tokens; leaving an account ends those of that account', async () => {
    const { users, server } = running;
    const user = await users.add(
      {
        email: 'leaver@example.com',
        password: PASSWORD,
        accounts: [BRAND, { ...BRAND, id: 8 as never }],
      },
      BY_OPERATOR,
    );
    if ('refused' in user) throw new Error(user.details);
    const app = await TestApp.register(running.url);
    const tokens = await app.tokens({ ...consent, email: user.email });
    expect(await server.accessTokens.authenticate(tokens.access_token)).toBeDefined();
    await users.removeAccount(user.id, BRAND, BY_OPERATOR);
    expect(await server.accessTokens.authenticate(tokens.access_token)).toBeUndefined();
    await expect(app.refresh(tokens.refresh_token)).rejects.toMatchObject({ error: 'invalid_grant' });
    const later = await app.tokens({ ...consent, account: 'Brand:8' });
    await users.remove(user.id, BY_OPERATOR);
    expect(await server.accessTokens.authenticate(later.access_token)).toBeUndefined();
    const page = await app.browser.open((await app.authorizationUrl()).url);
    expect(page.text).toContain('name="password"');
  });

  test('signing out by GET or POST needs confirmation and keeps apps connected', async () => {
    for (const method of ['GET', 'POST']) {
      const app = await TestApp.register(running.url, { post_logout_redirect_uris: ['http://127.0.0.1:9/bye'] });
      const tokens = await app.tokens(consent);
      const query = new URLSearchParams({
        id_token_hint: tokens.id_token ?? '',
        post_logout_redirect_uri: 'http://127.0.0.1:9/bye',
        state: 's1',
      });
      const page =
        method === 'GET'
          ? await app.browser.open(`/connect/logout?${query}`)
          : await app.browser.post('/connect/logout', query);
      expect(page.text).toContain('Sign out?');
      const { url } = await app.browser.send(page, '/logout/confirm', { logout: 'yes' });
      expect(url.href).toBe('http://127.0.0.1:9/bye?state=s1');
      expect((await app.browser.open((await app.authorizationUrl()).url)).text).toContain('name="password"');
      expect(await app.refresh(tokens.refresh_token)).toBeDefined();
    }
  });

  test('the console signs in without a consent page and gets no token that is valid for the API', async () => {
    const discovered = await oidc.discovery(new URL(running.url), 'console', undefined, oidc.None(), insecure);
    const verifier = oidc.randomPKCECodeVerifier();
    const url = oidc.buildAuthorizationUrl(discovered, {
      redirect_uri: `${running.url}/console/callback`,
      scope: 'openid',
      resource: 'api',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const browser = new Browser(running.url);
    const callback = await browser.send(await browser.open(url), '/sign-in', consent);
    expect(callback.url.pathname).toBe('/console/callback');
    const tokens = await oidc.authorizationCodeGrant(
      discovered,
      callback.url,
      { pkceCodeVerifier: verifier },
      { resource: 'api' },
    );
    expect(tokens.claims()?.sub).toBe(running.user.id);
    expect(await running.server.accessTokens.authenticate(tokens.access_token)).toBeUndefined();
    const shown = await running.server.connectedApps.grantsOf({ userId: running.user.id });
    expect(shown.filter(({ clientId }) => clientId === 'console')).toEqual([]);
  });

  test('startup fails with a secret key other than the one that sealed the data', async () => {
    await expect(runServer(await database.open(), { secretKey: randomBytes(32) })).rejects.toThrow('cannot be opened');
  });

  test('stores no code or secret in the clear', async () => {
    const app = await TestApp.register(running.url, { token_endpoint_auth_method: 'client_secret_basic' });
    const { callback } = await app.allow(consent);
    const code = callback.searchParams.get('code') ?? '';
    const secret = app.client.clientMetadata().client_secret;
    const store = await database.open();
    for (const name of ['oauthArtefacts', 'oauthClients']) {
      const documents = await store.open<object>({ name, kind: 'record', indexes: [] });
      for await (const stored of documents.find(ask())) {
        expect(JSON.stringify(stored)).not.toContain(code);
        expect(JSON.stringify(stored)).not.toContain(secret);
      }
    }
    expect(callback.href).toContain(REDIRECT);
  });
});

const insecure = { execute: [oidc.allowInsecureRequests] };
const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;
