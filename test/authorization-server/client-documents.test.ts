import { randomBytes } from 'node:crypto';
import * as oidc from 'openid-client';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { Browser } from '../browser.ts';
import { ask } from '../document-store/ask.ts';
import { createSqliteDatabase, type TestDatabase } from '../document-store/engines.ts';
import { certificate, type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { PASSWORD, type RunningServer, runServer } from './running-server.ts';

/** Clients whose id is the URL of their metadata document (OAuth Client ID Metadata Document). */

const secretKey = randomBytes(32);
let database: TestDatabase;
let running: RunningServer;
let publisher: Receiver;
const documents = new Map<string, unknown>();
/** How the publisher fails, if at all. */
let down: number | 'cut' | undefined;

beforeAll(async () => {
  database = await createSqliteDatabase();
  publisher = await startReceiver(
    ({ path = '' }, response) => {
      const document = documents.get(path);
      if (down !== undefined) return down === 'cut' ? void response.destroy() : void response.writeHead(down).end();
      if (document === undefined) response.writeHead(302, { location: '/elsewhere' }).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    },
    { tls: true },
  );
  const clientDocuments = { allowPrivate: true, tls: { ca: certificate } };
  running = await runServer(await database.open(), { secretKey, clientDocuments });
});
afterAll(async () => {
  await running.close();
  await publisher.close();
  await database.remove();
});

let published = 0;
function publish(metadata: object): string {
  published += 1;
  const id = `https://localhost:${publisher.port}/client-${published}.json`;
  documents.set(new URL(id).pathname, {
    client_id: id,
    client_name: 'Published app',
    token_endpoint_auth_method: 'none',
    ...metadata,
  });
  return id;
}

async function open(clientId: string, redirect: string, process = running) {
  const insecure = { execute: [oidc.allowInsecureRequests] };
  const client = await oidc.discovery(new URL(process.url), clientId, undefined, oidc.None(), insecure);
  const verifier = oidc.randomPKCECodeVerifier();
  const url = oidc.buildAuthorizationUrl(client, {
    redirect_uri: redirect,
    scope: 'service.mcp',
    resource: `${process.url}/mcp`,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const browser = new Browser(process.url);
  return { client, verifier, browser, page: await browser.open(url) };
}

/** A client that a user has allowed. */
async function connect(process = running) {
  const redirect = 'http://127.0.0.1:4711/callback';
  const grants = ['authorization_code', 'refresh_token'];
  const id = publish({ redirect_uris: ['http://127.0.0.1/callback'], grant_types: grants });
  const { client, verifier, browser, page } = await open(id, redirect, process);
  const consent = await browser.send(page, '/sign-in', { email: process.user.email, password: PASSWORD });
  const { url: callback } = await browser.send(consent, '/consent', { account: 'Brand:7' });
  const resource = `${process.url}/mcp`;
  const tokens = await oidc.authorizationCodeGrant(client, callback, { pkceCodeVerifier: verifier }, { resource });
  return { id, token: tokens.refresh_token ?? '' };
}

const refreshAt = (process: RunningServer, client_id: string, refresh_token: string) =>
  fetch(`${process.listensOn}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token, client_id, resource: 'mcp' }),
  });

test('the metadata announces support for such clients', async () => {
  const metadata = await (await fetch(`${running.url}/.well-known/oauth-authorization-server`)).json();
  expect(metadata).toMatchObject({ client_id_metadata_document_supported: true });
});

test('an unregistered client gets tokens on any loopback port', async () => {
  const id = publish({ redirect_uris: ['http://127.0.0.1/callback'] });
  const { client, verifier, browser, page } = await open(id, 'http://127.0.0.1:4711/callback');
  const consent = await browser.send(page, '/sign-in', { email: running.user.email, password: PASSWORD });
  expect(consent.text).toContain('Published app');
  expect(consent.text).toContain(`localhost:${publisher.port}`);
  const { url: callback } = await browser.send(consent, '/consent', { account: 'Brand:7' });
  const resource = `${running.url}/mcp`;
  const tokens = await oidc.authorizationCodeGrant(client, callback, { pkceCodeVerifier: verifier }, { resource });
  expect(await running.server.accessTokens.verify(tokens.access_token)).toMatchObject({
    audience: 'mcp',
    clientId: id,
  });
  const [app] = await running.server.connectedApps.grantsOf({ userId: running.user.id });
  expect(app).toMatchObject({ clientId: id, clientName: `localhost:${publisher.port}` });
});

test.each<[string, object]>([
  ['another client’s id', { client_id: 'https://localhost/other.json' }],
  ['plain http to another host', { redirect_uris: ['http://app.example/callback'] }],
  ['client credentials', { grant_types: ['client_credentials'] }],
  ['an account of its own', { account_id: 'Brand:7' }],
  ['a secret', { client_secret: 'x' }],
  ['a name that turns the page round', { client_name: 'App \u202e' }],
  ['too many bytes', { client_name: 'x', padding: 'x'.repeat(6_000) }],
])('refuses a document with %s', async (_what, metadata) => {
  const redirect = 'http://127.0.0.1/callback';
  const { page } = await open(publish({ redirect_uris: [redirect], ...metadata }), redirect);
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(page.text).toContain('This request cannot be completed');
});

describe('while its publisher is down', () => {
  afterEach(() => {
    down = undefined;
    vi.useRealTimers();
  });

  /** A process that has not seen the document yet. */
  async function anotherProcess<R>(work: (refresh: (id: string, token: string) => Promise<Response>) => Promise<R>) {
    const clientDocuments = { allowPrivate: true, tls: { ca: certificate } };
    const other = await runServer(await database.open(), { secretKey, url: running.url, clientDocuments });
    try {
      return await work((id, token) => refreshAt(other, id, token));
    } finally {
      await other.close();
    }
  }

  test.each<[string, number | 'cut']>([
    ['answers 500', 500],
    ['answers 429', 429],
    ['cuts the connection', 'cut'],
  ])('(it %s) a client with consent can still refresh its tokens', async (_how, how) => {
    const { id, token } = await connect();
    down = how;
    await anotherProcess(async (refresh) => {
      expect(publisher.received.length).toBeGreaterThan(0);
      const refreshed = await refresh(id, token);
      expect(refreshed.status).toBe(200);
      expect(await refreshed.json()).toMatchObject({ refresh_token: expect.any(String) });
    });
  });

  test('a client still works after a month in which the publisher was up only occasionally', async () => {
    let { id, token } = await connect();
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    for (const how of [undefined, undefined, 500] as const) {
      vi.setSystemTime(Date.now() + 25 * 24 * 3_600_000);
      down = how;
      token = await anotherProcess(async (refresh) => {
        const refreshed = await refresh(id, token);
        expect(refreshed.status).toBe(200);
        const tokens: { readonly refresh_token?: string } = JSON.parse(await refreshed.text());
        return tokens.refresh_token ?? '';
      });
    }
  });

  test('a document without a copy is reported as unavailable, without a penalty for the client', async () => {
    const { id, token } = await connect();
    const copies = await (await database.open()).open({ name: 'clientDocuments', kind: 'record', indexes: [] });
    for await (const { key } of copies.find(ask())) await copies.delete(key);
    down = 500;
    await anotherProcess(async (refresh) => {
      const refused = await refresh(id, token);
      expect(refused.status).toBe(503);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await refused.json()).toMatchObject({ error: 'temporarily_unavailable' });
    });
    down = undefined;
    await anotherProcess(async (refresh) => expect((await refresh(id, token)).status).toBe(200));
    down = 500;
    const { page } = await open(publish({ redirect_uris: ['http://127.0.0.1/callback'] }), 'http://127.0.0.1/callback');
    expect(page.status).toBe(503);
    expect(page.text).toContain('cannot be fetched at the moment');
  });

  test('a consent page that cannot be built is a page, too', async () => {
    const redirect = 'http://127.0.0.1/callback';
    const { browser, page } = await open(publish({ redirect_uris: [redirect] }), redirect);
    const consent = await browser.send(page, '/sign-in', { email: running.user.email, password: PASSWORD });
    expect(consent.status).toBe(200);
    down = 500;
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 });
    const answer = await browser.open(consent.url);
    expect(answer).toMatchObject({ status: 503, text: expect.stringContaining('cannot be fetched at the moment') });
  });

  test('withdrawing the document ends the client', async () => {
    const { id, token } = await connect();
    down = 404;
    await anotherProcess(async (refresh) => {
      const refused = await refresh(id, token);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({ error: 'invalid_client' });
    });
  });
});

test('an unusable document is fetched once per request', async () => {
  const id = publish({ redirect_uris: ['http://127.0.0.1/callback'], grant_types: ['client_credentials'] });
  const { pathname } = new URL(id);
  const fetched = () => publisher.received.filter(({ path }) => path === pathname).length;
  await open(id, 'http://127.0.0.1/callback');
  expect(fetched()).toBe(1);
  await open(id, 'http://127.0.0.1/callback');
  expect(fetched()).toBe(2);
});

test('all processes share a limit on fetches from one host, and clients with consent use stored copies', async () => {
  const own = await createSqliteDatabase();
  const options = {
    secretKey,
    limits: { documentFetches: 5 },
    clientDocuments: { allowPrivate: true, tls: { ca: certificate } },
  };
  const first = await runServer(await own.open(), options);
  const second = await runServer(await own.open(), { ...options, url: first.url });
  const sent = () => publisher.received.filter(({ path }) => path?.startsWith('/flood')).length;
  const authorize = (process: RunningServer, host: string, path: string) => {
    const query = new URLSearchParams({
      client_id: `https://${host}:${publisher.port}/${path}`,
      response_type: 'code',
    });
    return fetch(`${process.listensOn}/connect/authorize?${query}`, { headers: { accept: 'text/html' } });
  };
  const { id, token } = await connect(first);
  for (let count = 0; count < 20; count += 1)
    await authorize(count % 2 === 0 ? first : second, count % 3 === 0 ? 'localhost' : 'LOCALHOST', `flood-${count}`);
  // One fetch was for the connected client.
  expect(sent()).toBe(4);
  const before = publisher.connections();
  const refused = await authorize(first, 'localhost.', 'flood-refused');
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
  expect(await refused.text()).toContain('cannot be fetched at the moment');
  expect((await refreshAt(second, id, token)).status).toBe(200);
  expect([sent(), publisher.connections()]).toEqual([4, before]);

  await authorize(first, '127.0.0.1', 'flood-of-another-host');
  first.shift(61_000);
  await authorize(first, 'localhost', 'flood-later');
  expect(sent()).toBe(6);
  await Promise.all([first.close(), second.close()]);
  await own.remove();
});

test('does not follow redirects', async () => {
  const { page } = await open(`https://localhost:${publisher.port}/moved.json`, 'http://127.0.0.1/callback');
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(publisher.received.map(({ path }) => path)).toContain('/moved.json');
  expect(publisher.received.map(({ path }) => path)).not.toContain('/elsewhere');
});

test('does not contact private addresses unless they are allowed for development', async () => {
  const guarded = await runServer(await database.open(), { secretKey });
  const before = publisher.connections();
  for (const id of [publish({ redirect_uris: ['http://127.0.0.1/callback'] }), 'https://169.254.169.254/x.json']) {
    const query = new URLSearchParams({
      client_id: id,
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1/callback',
    });
    const page = await new Browser(guarded.url).open(`/connect/authorize?${query}`);
    // A name that is not in the public DNS may be there later; an address that is not public is refused for good.
    expect(page.status).toBe(id.startsWith('https://localhost') ? 503 : 400);
  }
  expect(publisher.connections()).toBe(before);
  await guarded.close();
});

test('a name with a private address is answered as an unknown one', async () => {
  const logged: object[] = [];
  const guarded = await runServer(await database.open(), {
    secretKey,
    clientDocuments: {
      allowPrivate: false,
      onForbidden: (refused) => logged.push(refused),
      async resolve(hostname) {
        if (hostname === 'unknown.example') throw new Error('ENOTFOUND');
        return [{ address: '10.20.30.40', family: 4 }];
      },
    },
  });
  const answerTo = async (name: string) => {
    const client_id = `https://${name}.example/x`;
    const query = new URLSearchParams({ client_id, response_type: 'code', redirect_uri: 'http://127.0.0.1/callback' });
    const page = await new Browser(guarded.url).open(`/connect/authorize?${query}`);
    const token = { client_id, grant_type: 'refresh_token', refresh_token: 'x', resource: 'api' };
    const answer = await fetch(`${guarded.url}/connect/token`, { method: 'POST', body: new URLSearchParams(token) });
    return { page: [page.status, page.text.replaceAll(name, 'NAME')], token: [answer.status, await answer.json()] };
  };
  const unknown = await answerTo('unknown');
  expect([unknown.page[0], unknown.token[0]]).toEqual([503, 503]);
  expect(await answerTo('private')).toEqual(unknown);
  expect(logged).toContainEqual({ hostname: 'private.example', address: '10.20.30.40' });
  await guarded.close();
});
