import { Agent, request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defined } from '../src/domain/defined.ts';
import { ALL_PERMISSIONS } from '../src/domain/permissions.ts';
import { accepted } from './accepted.ts';
import { BY_OPERATOR } from './auth/change-log.ts';
import { TestApp } from './authorization-server/test-app.ts';
import { Browser } from './browser.ts';
import { pathsOf } from './printed-routes.ts';
import { type RunningService, runServiceAt } from './running-service.fixture.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY', 'PROPFIND'] as const;
const USER = { email: 'ana@acme.example', password: 'correct horse battery' };

let service: RunningService;
let url: string;
/** The headers of each kind of caller. */
let callers: Readonly<Record<string, Readonly<Record<string, string>>>>;
const agent = new Agent({ keepAlive: true });

beforeAll(async () => {
  const running = await runServiceAt('127.0.0.1', { SIGN_UP: 'brands', MAIL_INBOX: 'true' });
  ({ service, url } = running);
  await running.listen();
  const { account } = await service.brand();
  accepted(await service.core.users.add({ ...USER, accounts: [account] }, BY_OPERATOR));
  const app = await TestApp.register(url);
  const consent = { ...USER, account: `Brand:${account.id}`, resource: 'mcp', scope: 'service.mcp' };
  const { access_token: token } = await app.tokens(consent);
  const browser = new Browser(url);
  await browser.signIn(USER);
  callers = {
    stranger: {},
    'API key': { authorization: `Bearer ${await service.key(account, ALL_PERMISSIONS)}` },
    assistant: { authorization: `Bearer ${token}` },
    browser: { cookie: `console=${browser.cookie('console')}`, accept: 'text/html', origin: url },
  };
});
afterAll(async () => {
  agent.destroy();
  await service.stop();
});

/** The status of the answer. An event stream has no end, so only its beginning is read. */
const statusOf = (method: string, path: string, headers: Readonly<Record<string, string>>, body: string) =>
  new Promise<number>((resolve, reject) => {
    const asked = request(`${url}${path}`, { method, headers, agent }, (answer) => {
      resolve(answer.statusCode ?? 0);
      if (method === 'GET' && answer.headers['content-type']?.startsWith('text/event-stream')) answer.destroy();
      else answer.resume();
    });
    asked.on('error', (error) => reject(new Error(`${method} ${path}: ${error.message}`)));
    asked.end(body);
  });

/** The ways to ask for a path: its parameters as a number and as text, with a slash at its end, with a query. */
function waysTo(path: string): string[] {
  const urls = new Set(['1', 'x'].map((id) => path.replaceAll(/:\w+(\(.*?\))?/g, id).replace('*', 'nope')));
  return [...urls].flatMap((url) => [url, `${url}/`, `${url}?date=x&id=1&id=2`]);
}

const BODIES = [
  { type: 'application/json', body: '{}' },
  { type: 'application/x-www-form-urlencoded', body: 'id=1&id=2' },
] as const;

const NO_BODY = [{ type: undefined, body: '' }] as const;

test('no path answers a 500, by any method, to any caller', { timeout: 240_000 }, async () => {
  const paths = pathsOf(service.app.printRoutes({ commonPrefix: false }));
  expect(paths).toContain('/api/v1/bookings');
  expect(paths).toContain('/console/webhooks/:id/deliveries/:delivery/resend');
  expect(paths).toContain('/.well-known/oauth-authorization-server');
  const failed: string[] = [];
  async function tryAs([caller, own]: [string, Readonly<Record<string, string>>], method: string, path: string) {
    for (const { type, body } of method === 'POST' ? BODIES : NO_BODY) {
      const status = await statusOf(method, path, { ...own, ...defined({ 'content-type': type }) }, body);
      if (status >= 500) failed.push(`${method} ${path} by ${caller}: ${status}`);
    }
  }
  for (const path of paths.flatMap(waysTo))
    for (const method of METHODS) await Promise.all(Object.entries(callers).map((one) => tryAs(one, method, path)));
  expect(failed).toEqual([]);
});
