import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkBeforeBodies } from '../src/api/incoming-requests.ts';
import { LINK_PATHS, SIGN_UP_PATH } from '../src/auth/links.ts';
import { PATHS } from '../src/authorization-server/paths.ts';
import type { Account } from '../src/domain/account.ts';
import type { Role } from '../src/domain/roles.ts';
import { accepted } from './accepted.ts';
import { BY_OPERATOR } from './auth/change-log.ts';
import { Browser } from './browser.ts';
import { eventually } from './eventually.ts';
import { pathsOf } from './printed-routes.ts';
import { type RunningService, runServiceAt } from './running-service.fixture.ts';

/**
 * Sends bodies that never end without a credential. Who sends a request, and whether it may, is decided before its body is read, so the answer
 * does not wait for it.
 */

/** Routes that strangers may send a body to, because the credential is in it, with what a network may send them in a minute or an hour. */
const FOR_STRANGERS: ReadonlyMap<string, number> = new Map([
  [`POST ${PATHS.token}`, 600],
  [`POST ${PATHS.revocation}`, 600],
  [`POST ${PATHS.introspection}`, 600],
  [`POST ${PATHS.userinfo}`, 600],
  [`POST ${PATHS.registration}`, 120],
  [`POST ${PATHS.authorization}`, 300],
  [`POST ${PATHS.logout}`, 300],
  [`POST ${PATHS.logout}/confirm`, 300],
  [`POST ${LINK_PATHS.forgottenPassword}`, 300],
  [`POST ${LINK_PATHS.newPassword}`, 300],
  [`POST ${LINK_PATHS.invitation}`, 300],
  [`POST ${LINK_PATHS.address}`, 300],
  [`POST ${LINK_PATHS.contact}`, 300],
  [`POST ${LINK_PATHS.signUp}`, 300],
  [`POST ${SIGN_UP_PATH}`, 300],
  [`POST ${LINK_PATHS.unsubscribe}`, 300],
]);

const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'] as const;
const TYPES = ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'] as const;
/** What a request says that its body has. The limit of most routes is above it. */
const LENGTH = 5_000;
const FORMS_PER_MINUTE = 8;
/** Turns of the event loop in which a request that does not wait is answered. */
const TURNS = 500;

let service: RunningService;
let url: string;
const sockets = new Set<Socket>();

beforeAll(async () => {
  const running = await runServiceAt('localhost', {
    TRUST_PROXY: '127.0.0.1',
    CONSOLE_WRITES_PER_MINUTE: String(FORMS_PER_MINUTE),
    SIGN_UP: 'brands',
    MAIL_INBOX: 'true',
  });
  ({ service, url } = running);
  await running.listen();
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await service.stop();
});

type Asked = {
  readonly method: string;
  readonly path: string;
  readonly type: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Begins a request whose body never ends. @returns the status and the text of the answer */
async function begin({ method, path, type, headers = {} }: Asked) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  sockets.add(socket);
  await once(socket, 'connect');
  const all = {
    host: `${hostname}:${port}`,
    origin: url,
    'x-forwarded-for': '203.0.113.1',
    'content-type': type,
    'content-length': LENGTH,
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n--x\r\nConten`);
  const [chunk]: Buffer[] = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => [Buffer.of()])]);
  socket.destroy();
  sockets.delete(socket);
  const text = String(chunk);
  // A request that does not arrive in time is refused after 30 s.
  const status = text.includes('did not arrive in time') ? 'waited for the body' : Number(text.split(' ', 2)[1]);
  return { status, text };
}

const everyPath = () => [
  ...new Set(
    pathsOf(service.app.printRoutes({ commonPrefix: false }))
      .concat('/nope', '/api/v1/nope', '/api/v1')
      .map((path) => path.replaceAll(/:\w+(\(.*?\))?/g, '1').replace('*', 'nope')),
  ),
];

test('no route waits for the body of a stranger', { timeout: 120_000 }, async () => {
  const paths = everyPath();
  expect(paths).toContain('/console/calendar/closures/import');
  const wrong: string[] = [];
  for (const type of TYPES)
    await Promise.all(
      METHODS.flatMap((method) =>
        paths.map(async (path) => {
          if (FOR_STRANGERS.has(`${method} ${path}`)) return;
          const { status } = await begin({ method, path, type });
          if (typeof status === 'string' || status >= 500) wrong.push(`${method} ${path}, ${type}: ${status}`);
        }),
      ),
    );
  expect(wrong).toEqual([]);
});

test.each([...FOR_STRANGERS])(
  'beyond the limit of a network, %s is answered before its body is read',
  { timeout: 60_000 },
  async (route, max) => {
    const [method = '', path = ''] = route.split(' ');
    const headers = { 'x-forwarded-for': '203.0.113.2' };
    const body = { method: 'POST', headers: { ...headers, 'content-type': TYPES[1] }, body: 'x=y' } as const;
    for (let sent = 0; sent < max; sent += 20)
      await Promise.all(
        Array.from({ length: 20 }, async () => {
          const answer = await fetch(`${url}${path}`, { ...body, redirect: 'manual' });
          expect(answer.status).toBeLessThan(500);
          await answer.body?.cancel();
        }),
      );
    for (const type of TYPES) expect((await begin({ method, path, type, headers })).status).toBe(429);
  },
);

describe('of those who may do less, the body is not read', () => {
  const PASSWORD = 'correct horse battery';
  const headersOf = (browser: Browser) => ({
    cookie: `console=${browser.cookie('console')}`,
    'x-forwarded-for': '203.0.113.3',
  });
  async function signedIn(account: Account, role: Role): Promise<Browser> {
    const email = `${role}.${account.kind}.${account.id}@example.com`.toLowerCase();
    accepted(await service.core.users.add({ email, password: PASSWORD, accounts: [account], role }, BY_OPERATOR));
    return Browser.signedIn(url, { email, password: PASSWORD });
  }

  test('nor that of a form which is for another role or another kind of account', async () => {
    const [{ account: community }, { account: brand }] = [await service.community(), await service.brand()];
    const [viewer, manager, other] = [
      await signedIn(community, 'Viewer'),
      await signedIn(community, 'Manager'),
      await signedIn(brand, 'Manager'),
    ];
    const path = '/console/calendar/closures/import';
    for (const type of TYPES) {
      const by = (browser: Browser, more = {}) =>
        begin({ method: 'POST', path, type, headers: { ...headersOf(browser), ...more } });
      expect((await by(viewer)).status).toBe(403);
      expect((await by(other)).status).toBe(404);
      expect((await by(manager, { origin: 'https://evil.example' })).status).toBe(403);
    }
    // A file is taken only where one is expected.
    const file = { method: 'POST', path: '/console/spaces/new', type: TYPES[2], headers: headersOf(manager) };
    expect((await begin(file)).status).toBe(415);
  });

  test('nor that of a file once an account has sent too many forms', async () => {
    const browser = await signedIn((await service.community()).account, 'Manager');
    const form = { method: 'POST', body: new URLSearchParams() } as const;
    for (let sent = 0; sent < FORMS_PER_MINUTE; sent += 1)
      expect((await browser.request('/console/calendar/closures/import', form)).status).toBe(403);
    const path = '/console/calendar/closures/import';
    expect((await begin({ method: 'POST', path, type: TYPES[2], headers: headersOf(browser) })).status).toBe(429);
  });

  test('nor that of a third file of an account while two arrive', async () => {
    const browser = await signedIn((await service.community()).account, 'Manager');
    const path = '/console/calendar/closures/import';
    const reading = vi.spyOn(IncomingMessage.prototype, 'resume');
    onTestFinished(() => reading.mockRestore());
    const file = { method: 'POST', path, type: TYPES[2], headers: headersOf(browser) };
    const arriving = [begin(file), begin(file)];
    const forms = () =>
      new Set(reading.mock.contexts.filter((one) => one instanceof IncomingMessage && one.method === 'POST')).size;
    await eventually(() => expect(forms()).toBe(2));
    const third = browser.upload(await browser.open('/console/calendar/closures/import'), path);
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    expect(forms()).toBe(2);
    for (const socket of sockets) socket.destroy();
    expect((await third).status).toBe(422);
    await Promise.all(arriving);
  });

  test.each(['REST', 'MCP'] as const)('nor that of a 33rd call of an account over %s while 32 arrive', async (face) => {
    const { account } = await service.brand();
    const { authorizationServer } = service.core;
    const client = accepted(await authorizationServer.clients.addClient({ account, name: 'Assistant' }, BY_OPERATOR));
    const token = face === 'MCP' ? await tokenOf(client) : await service.key(account);
    const path = face === 'MCP' ? '/mcp' : '/api/v1/webhooks';
    const headers = { authorization: `Bearer ${token}` };
    const reading = vi.spyOn(IncomingMessage.prototype, 'resume');
    onTestFinished(() => reading.mockRestore());
    const bodies = () => reading.mock.contexts.filter((one) => one instanceof IncomingMessage && one.url === path);
    const call = { method: 'POST', path, type: 'application/json', headers };
    const arriving = Array.from({ length: 32 }, () => begin(call));
    await eventually(() => expect(new Set(bodies()).size).toBe(32));
    const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: '{}' };
    const last = fetch(`${url}${path}`, options);
    for (let turn = 0; turn < TURNS; turn += 1) await nextTurn();
    expect(new Set(bodies()).size).toBe(32);
    for (const socket of sockets) socket.destroy();
    expect((await last).status).toBeGreaterThanOrEqual(400);
    await Promise.all(arriving);
  });

  async function tokenOf({ clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string }) {
    const grant = { grant_type: 'client_credentials', resource: 'mcp', scope: 'service.mcp' };
    const answer = await fetch(`${url}${PATHS.token}`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}`, 'x-forwarded-for': '203.0.113.4' },
      body: new URLSearchParams(grant),
    });
    return String(JSON.parse(await answer.text()).access_token);
  }

  test('nor that of a call without the permission', async () => {
    const { account } = await service.brand();
    const headers = { authorization: `Bearer ${await service.key(account, 1)}` };
    for (const type of TYPES)
      expect((await begin({ method: 'POST', path: '/api/v1/bookings', type, headers })).status).toBe(403);
  });
});

test('a route that would read bodies before any check keeps the service from starting', async () => {
  const app = Fastify();
  checkBeforeBodies(app);
  app.post('/checked', { onRequest: async () => {} }, async () => 'checked');
  await app.register(async (scope) => void scope.post('/unchecked', async () => 'unchecked'));
  await expect(app.ready()).rejects.toThrow('POST /unchecked would read bodies before any check');
});
