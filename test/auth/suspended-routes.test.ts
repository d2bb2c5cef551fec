import { request } from 'node:http';
import * as oidc from 'openid-client';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { SUSPENDED } from '../../src/auth/suspension.ts';
import { accountKey } from '../../src/domain/account.ts';
import { ALL_PERMISSIONS } from '../../src/domain/permissions.ts';
import { accepted } from '../accepted.ts';
import { API_SCOPE, TestApp } from '../authorization-server/test-app.ts';
import { Browser } from '../browser.ts';
import { pathsOf } from '../printed-routes.ts';
import { CONTEXT, type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { BY_OPERATOR } from './change-log.ts';

/** A suspended brand at every route, with every credential, and with the links of its mails. */

const ada = { email: 'ada@example.com', password: 'correct horse battery' };
const SCOPE = `${API_SCOPE} service.mcp`;

let service: RunningService;
let url: string;
let brand: Awaited<ReturnType<RunningService['brand']>>;
let userId: string;
let browser: Browser;
let app: TestApp;
let tokens: Awaited<ReturnType<TestApp['tokens']>>;
let client: { readonly clientId: string; readonly clientSecret: string };
/** The headers of each credential of the brand. */
let credentials: Readonly<Record<string, Readonly<Record<string, string>>>>;

beforeAll(async () => {
  const running = await runServiceAt('127.0.0.1', {
    SIGN_UP: 'brands',
    TRUST_PROXY: '127.0.0.1',
    MAIL_INBOX: 'true',
    CONSOLE_WRITES_PER_MINUTE: '1000',
  });
  ({ url, service } = running);
  const { core } = service;
  brand = await service.brand();
  const community = await service.community();
  ({ id: userId } = accepted(
    await core.users.add({ ...ada, isConfirmed: true, accounts: [brand.account, community.account] }, BY_OPERATOR),
  ));
  await running.listen();
  app = await TestApp.register(url);
  const asBrand = { ...ada, account: accountKey(brand.account), scope: SCOPE };
  tokens = await app.tokens(asBrand);
  const mcp = await app.tokens({ ...asBrand, resource: 'mcp' });
  client = accepted(
    await core.authorizationServer.clients.addClient({ account: brand.account, name: 'Nightly' }, CONTEXT),
  );
  browser = new Browser(url);
  await browser.signIn(ada);
  const { access_token: ofClient } = Object(await (await tokenOfClient()).json());
  credentials = {
    'an API key': { authorization: `Bearer ${await service.key(brand.account, ALL_PERMISSIONS)}` },
    'an app': { authorization: `Bearer ${tokens.access_token}` },
    'a service client': { authorization: `Bearer ${ofClient}` },
    'an assistant': { authorization: `Bearer ${mcp.access_token}` },
    'a browser': { cookie: browser.cookiesFor(new URL('/console', url)), origin: url },
  };
});
afterEach(() => reinstate());
afterAll(() => service.stop());

const suspend = async () =>
  accepted(await service.core.commands.catalogue.suspendBrand({ brandId: brand.id }, CONTEXT));
const reinstate = async () =>
  accepted(await service.core.commands.catalogue.reinstateBrand({ brandId: brand.id }, CONTEXT));

const byClient = (path: string, fields: Readonly<Record<string, string>>) =>
  fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}` },
    body: new URLSearchParams(fields),
  });
const tokenOfClient = () =>
  byClient('/connect/token', { grant_type: 'client_credentials', resource: 'api', scope: 'service.api.read' });

let asked = 0;
/** From a network of its own, so that no limit of one answers first. */
function from() {
  asked += 1;
  return { accept: 'text/html', 'x-forwarded-for': `10.${asked >> 8}.${asked % 256}.1` };
}

type Answer = { readonly status: number; readonly location: string | undefined; readonly text: string };

/** One request, as it is. An event stream has no end, so only its beginning is read. */
const ask = (method: string, path: string, headers: Readonly<Record<string, string>>, body: string) =>
  new Promise<Answer>((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers: { ...from(), ...headers } }, (answer) => {
      const { statusCode: status = 0, headers: of } = answer;
      let text = '';
      const end = () => resolve({ status, location: of.location?.split('?', 1)[0], text });
      answer.on('data', (chunk) => {
        text += String(chunk);
      });
      answer.on('end', end);
      if (of['content-type']?.startsWith('text/event-stream')) {
        end();
        answer.destroy();
      }
    });
    asked.on('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`)));
    asked.end(body);
  });

/** What its users may still do: sign in and out, and act for their other accounts. */
const ALLOWED: readonly RegExp[] = [
  /^POST \/console\/(?:account|sign-out)$/,
  // A sign-in, and the page after it.
  /^GET \/console\/(?:sign-in|callback)$/,
  // Open pages end. 204 tells them so.
  /^GET \/console\/live$/,
  /^(?:GET|POST) \/connect\/logout(?:\/confirm)?$/,
];

test('with each credential of a suspended brand, every route refuses, or answers as to a stranger', {
  timeout: 120_000,
}, async () => {
  const paths = pathsOf(service.app.printRoutes({ commonPrefix: false })).map((path) =>
    path.replaceAll(/:\w+(\(.*?\))?/g, '1').replace('*', 'nope'),
  );
  expect(paths).toContain('/console/find/1');
  const { csrf } = await browser.open('/console');
  await suspend();
  const wrong: string[] = [];
  let refused = 0;
  for (const path of new Set(paths))
    for (const method of ['GET', 'POST', 'DELETE'] as const) {
      if (ALLOWED.some((route) => route.test(`${method} ${path}`))) continue;
      const isForm = path.startsWith('/console');
      const body = method !== 'POST' ? '' : isForm ? String(new URLSearchParams({ csrf })) : '{}';
      const type = method === 'POST' && {
        'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      };
      const stranger = await ask(method, path, { ...type, origin: url }, body);
      for (const [name, headers] of Object.entries(credentials)) {
        const { status, location, text } = await ask(method, path, { ...type, ...headers }, body);
        if (status >= 400 && text.includes('suspended')) refused += 1;
        else if (status !== stranger.status || location !== stranger.location)
          wrong.push(`${method} ${path} by ${name}: ${status} ${location}, ${stranger.status} to a stranger`);
      }
    }
  expect(wrong).toEqual([]);
  expect(refused).toBeGreaterThan(150);
});

test('its links join nobody and confirm nothing, and work again afterwards', async () => {
  const { invitations, contactConfirmation } = service.core;
  const other = await service.brand('Other');
  const bob = { email: 'bob@example.com', password: ada.password };
  accepted(await service.core.users.add({ ...bob, isConfirmed: true, accounts: [other.account] }, BY_OPERATOR));
  const linkFor = async (email: string) => {
    const invitation = accepted(
      await invitations.invite({ account: brand.account, role: 'Viewer', email }, undefined, BY_OPERATOR),
    );
    return invitations.mailed(invitation).url;
  };
  const [forNew, forBob] = [await linkFor('new@example.com'), await linkFor(bob.email)];
  expect(await contactConfirmation.request(brand.account, 'contact@example.com', userId)).toBeUndefined();
  const pending = await service.core.mailContent.contacts.pending(brand.account);
  if (pending === undefined) throw new Error('No address waits');
  const contact = contactConfirmation.mailed(brand.account, pending).url;
  const asBob = new Browser(url);
  await asBob.signIn(bob);
  const stranger = new Browser(url);
  const accept = async () => {
    const page = await asBob.open(forBob.replace('/invitation?', '/invitation/accept?'));
    return page.status === 200 ? asBob.send(page, '/accept') : page;
  };
  const join = async () => stranger.send(await stranger.open(forNew), '/invitation', { password: ada.password });
  const confirm = async () => stranger.send(await stranger.open(contact), /contact/);

  await suspend();
  for (const act of [accept, join, confirm]) {
    const page = await act();
    expect([page.status, page.text]).toEqual([403, expect.stringContaining(SUSPENDED.details)]);
  }
  expect((await service.core.users.list(brand.account)).map(({ email }) => email)).toEqual([ada.email]);
  expect(await service.core.mailContent.contacts.pending(brand.account)).toBeDefined();
  await reinstate();
  for (const act of [accept, join, confirm]) expect((await act()).status).toBe(200);
  expect(await service.core.users.list(brand.account)).toHaveLength(3);
});

test('it gets no token, and apps cannot be allowed to act for it; nothing is disconnected', async () => {
  const { url: address, verifier } = await app.authorizationUrl({ scope: SCOPE });
  const { url: late, verifier: lateVerifier } = await app.authorizationUrl({ scope: SCOPE });
  const consented = await app.browser.open(late);
  const code = consented.url.searchParams.has('code')
    ? consented.url
    : (await app.browser.send(consented, '/consent', { account: accountKey(brand.account) })).url;
  const exchange = (callback: URL, pkceCodeVerifier: string) =>
    oidc.authorizationCodeGrant(app.client, callback, { pkceCodeVerifier }, { resource: 'api' });
  await suspend();
  const denied = { error: 'access_denied', error_description: SUSPENDED.details };
  await expect(exchange(code, lateVerifier)).rejects.toMatchObject(denied);
  await expect(app.refresh(tokens.refresh_token)).rejects.toMatchObject(denied);
  const ofClient = await tokenOfClient();
  expect([ofClient.status, await ofClient.json()]).toEqual([400, denied]);
  const introspected = await byClient('/connect/introspect', { token: tokens.access_token });
  expect(await introspected.json()).toEqual(denied);
  const info = await fetch(`${url}/connect/userinfo`, {
    headers: { authorization: `Bearer ${tokens.access_token}` },
  });
  expect(info.status).toBeGreaterThanOrEqual(400);

  // The app has a grant, and is asked again for which account it may act.
  const page = await app.browser.open(address);
  expect(page.title).toContain('Allow this app?');
  const refused = await app.browser.send(page, '/consent', { account: accountKey(brand.account) });
  expect([refused.status, refused.flash]).toEqual([403, SUSPENDED.details]);

  await reinstate();
  const { url: callback } = await app.browser.send(refused, '/consent', { account: accountKey(brand.account) });
  expect((await exchange(callback, verifier)).access_token).toBeDefined();
  expect((await app.refresh(tokens.refresh_token)).access_token).toBeDefined();
  expect((await tokenOfClient()).status).toBe(200);
});
