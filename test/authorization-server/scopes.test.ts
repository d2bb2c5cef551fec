import { randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/domain/decision.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { BRAND, PASSWORD, type RunningServer, runServer } from './running-server.ts';
import { REDIRECT, TestApp } from './test-app.ts';

/** Requested scopes, granted scopes, and their resource. */

let database: TestDatabase;
let running: RunningServer;
let app: TestApp;
let consent: { email: string; password: string; account: string };

beforeAll(async () => {
  database = await createSqliteDatabase();
  running = await runServer(await database.open(), { secretKey: randomBytes(32) });
  app = await TestApp.register(running.url);
  consent = { email: running.user.email, password: PASSWORD, account: 'Brand:7' };
});
afterAll(async () => {
  await running.close();
  await database.remove();
});

const form = async (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) => {
  const response = await fetch(running.url + path, { method: 'POST', body: new URLSearchParams(fields), headers });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
};

/** Consents to an authorization request and exchanges its code. */
async function tokensFor(parameters: Record<string, string | undefined>, resource: string, client = app) {
  const { url, verifier } = await client.authorizationUrl({ scope: undefined, resource: undefined, ...parameters });
  let page = await client.browser.open(url);
  if (page.text.includes('name="password"')) page = await client.browser.send(page, '/sign-in', consent);
  const { url: callback } = await client.browser.send(page, '/consent', { account: consent.account });
  const exchange = (fields: Record<string, string>) =>
    form('/connect/token', {
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      client_id: client.id,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      ...fields,
    });
  return { page, exchange, answer: (await exchange({ resource })).body };
}

async function refusalOf(parameters: Record<string, string | undefined>, client = app) {
  const { url } = await client.authorizationUrl({ scope: undefined, resource: undefined, ...parameters });
  const back = await client.answerTo(url);
  expect(back.href.startsWith(REDIRECT), back.href).toBe(true);
  const [error, description] = ['error', 'error_description'].map((name) => back.searchParams.get(name));
  return { error, description };
}

describe('the authorization endpoint checks the scopes against the resource', () => {
  test.each<[string, string, string]>([
    ['an unknown scope', 'api', 'admin'],
    ['a scope of the other resource', 'mcp', 'service.api.read'],
    ['a scope of the other resource', 'api', 'service.mcp'],
    ['a scope of the other resource and the user’s identity', 'api', 'openid service.mcp'],
    ['nothing but a refresh token', 'api', 'offline_access'],
    ['characters that a scope cannot have', 'api', '"admin"'],
  ])('%s: invalid_scope, before the user is asked anything (%s, %s)', async (_what, resource, scope) => {
    expect(await refusalOf({ resource, scope })).toMatchObject({ error: 'invalid_scope' });
  });

  test('the refusal lists the available scopes', async () => {
    const { description } = await refusalOf({ resource: 'mcp', scope: 'service.api.read' });
    expect(description).toBe(
      'a requested scope is unknown or not available for this resource, which has service.mcp, service.mcp.customers, openid, profile, email, offline_access',
    );
  });

  test('a client that asks for everything gets the scopes of the resource, on the consent page and in the token response', async () => {
    const all = 'openid profile email offline_access service.api.read service.api.write service.mcp';
    const { page, answer } = await tokensFor({ resource: 'mcp', scope: all }, 'mcp');
    expect(page.text).toContain('Let an AI assistant find spaces');
    expect(page.text).not.toContain('Read availability, bookings and reviews');
    expect(answer.scope).toBe('openid profile email service.mcp offline_access');
    expect((await running.server.accessTokens.verify(answer.access_token ?? ''))?.scopes).toEqual(
      new Set(['openid', 'profile', 'email', 'service.mcp']),
    );
  });

  test.each([
    ['openid phone service.api.read', 'openid service.api.read'],
    ['service.api.read admin', 'service.api.read'],
  ])('ignores the unknown scopes of %s, and the response names the rest', async (scope, granted) => {
    const { answer } = await tokensFor({ resource: 'api', scope }, 'api');
    expect(answer.scope).toBe(granted);
  });

  test('the same rules apply to client credentials', async () => {
    const { clients } = running.server;
    const added = await clients.addClient({ account: BRAND, name: 'Import' }, BY_OPERATOR);
    if (isRefusal(added)) throw new Error(added.details);
    const authorization = `Basic ${btoa(`${added.clientId}:${added.clientSecret}`)}`;
    const ask = (fields: Record<string, string>) =>
      form('/connect/token', { grant_type: 'client_credentials', resource: 'api', ...fields }, { authorization });
    for (const scope of ['admin', 'service.mcp', 'openid'])
      expect([scope, (await ask({ scope })).body.error]).toEqual([scope, 'invalid_scope']);
    for (const scope of ['service.api.read service.mcp', 'service.api.read admin'])
      expect((await ask({ scope })).body.scope).toBe('service.api.read');
    expect((await ask({})).body.scope).toBe(
      'service.api.read service.api.write service.api.webhooks service.api.customers',
    );
  });

  test('refuses a refresh without a granted scope of the resource, and does not use up the token', async () => {
    const { refresh_token: token = '' } = await app.tokens({
      ...consent,
      scope: 'offline_access service.api.read service.api.write',
    });
    const refresh = (scope: string) => oidc.refreshTokenGrant(app.client, token, { resource: 'api', scope });
    await expect(refresh('offline_access')).rejects.toMatchObject({ error: 'invalid_scope' });
    await expect(refresh('service.api.webhooks')).rejects.toMatchObject({ error: 'invalid_scope' });
    const narrow = await refresh('service.api.read');
    expect(narrow.scope).toBe('service.api.read offline_access');
    // A narrower access token does not narrow the grant (RFC 6749, 6).
    const next = await oidc.refreshTokenGrant(app.client, narrow.refresh_token ?? '', { resource: 'api' });
    expect(next.scope).toBe('service.api.read service.api.write offline_access');
  });
});

describe('without a scope', () => {
  test.each([
    ['api', 'service.api.read'],
    ['mcp', 'service.mcp offline_access'],
  ])('the default for %s is %s', async (resource, scope) => {
    expect((await tokensFor({ resource }, resource)).answer.scope).toBe(scope);
  });

  test('the default is the registered scopes of the resource', async () => {
    const registered = await TestApp.register(running.url, { scope: 'service.api.write service.mcp openid' });
    const { answer } = await tokensFor({ resource: 'api' }, 'api', registered);
    expect(answer.scope).toBe('service.api.write openid');
    expect(answer.refresh_token).toBeUndefined();
  });
});

describe('without a resource, the authorization endpoint derives it from the scopes', () => {
  test.each([
    ['mcp', 'service.mcp'],
    ['mcp', 'openid service.mcp'],
    ['api', 'service.api.read service.api.write openid'],
  ])('derives %s from %s, and the token endpoint still requires the parameter', async (resource, scope) => {
    const { exchange, answer } = await tokensFor({ scope }, resource);
    const verified = await running.server.accessTokens.verify(answer.access_token ?? '');
    expect(verified?.audience).toBe(resource);
    expect((await exchange({})).body.error).not.toBeUndefined();

    const again = await app.authorizationUrl({ scope, resource: undefined });
    const asked = await app.browser.open(again.url);
    const { url: callback } = await app.browser.send(asked, '/consent', { account: consent.account });
    const without = await form('/connect/token', {
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      client_id: app.id,
      redirect_uri: REDIRECT,
      code_verifier: again.verifier,
    });
    expect([without.status, without.body.error]).toEqual([400, 'invalid_target']);
  });

  test('uses the registered scopes when the request has none', async () => {
    const registered = await TestApp.register(running.url, { scope: 'service.mcp' });
    const { answer } = await tokensFor({}, 'mcp', registered);
    expect(answer.scope).toBe('service.mcp offline_access');
  });

  test.each([
    ['scopes of both', 'service.api.read service.mcp'],
    ['nothing', undefined],
  ])('returns invalid_target for %s', async (_what, scope) => {
    expect(await refusalOf({ scope })).toMatchObject({ error: 'invalid_target' });
  });

  test('refuses a repeated parameter', async () => {
    for (const name of ['scope', 'prompt']) {
      const { url } = await app.authorizationUrl({ scope: 'service.mcp', prompt: 'login', resource: undefined });
      url.searchParams.append(name, 'openid');
      const back = await app.answerTo(url);
      expect(back.searchParams.get('error')).toBe('invalid_request');
    }
  });
});
