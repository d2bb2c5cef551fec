import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONSOLE_CALLBACK_PATH } from '../../src/authorization-server/console-client.ts';
import { PATHS } from '../../src/authorization-server/paths.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { Browser } from '../browser.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';

/** What people without a login can send. Each attacker has an address of its own, the user another one. */
const USER = { email: 'ada@example.com', password: 'correct horse battery' };
const REQUESTS = 400;
const REQUESTS_AT_ONCE = 50;

let service: RunningService;
let url: string;
const lines: string[] = [];
let exchanges = 0;

beforeAll(async () => {
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const running = await runServiceAt('localhost', { TRUST_PROXY: '127.0.0.1' }, logger);
  ({ service, url } = running);
  const { account } = await service.brand();
  accepted(await service.core.users.add({ ...USER, accounts: [account] }, BY_OPERATOR));
  const { inject } = service.app;
  const counting: typeof inject = (...args: Parameters<typeof inject>) => {
    if (JSON.stringify(args).includes(PATHS.token)) exchanges += 1;
    return inject.apply(service.app, args);
  };
  Object.assign(service.app, { inject: counting });
  await running.listen();
});
afterAll(() => service.stop());

/**
 * Sends requests from one address, some at a time.
 * @returns how many were answered, by status, the texts of the pages, and the minutes that were begun meanwhile
 */
async function attack(from: string, send: (headers: Record<string, string>) => Promise<Response>) {
  const statuses: Record<number, number> = {};
  const pages = new Set<string>();
  const startedAt = performance.now();
  for (let sent = 0; sent < REQUESTS; sent += REQUESTS_AT_ONCE)
    await Promise.all(
      Array.from({ length: REQUESTS_AT_ONCE }, async () => {
        const answer = await send({ 'x-forwarded-for': from, accept: 'text/html', origin: url });
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        pages.add(await answer.text());
      }),
    );
  const minutes = Math.ceil((performance.now() - startedAt) / 60_000);
  return { statuses, pages: [...pages], minutes };
}

/** Expects that no more than so many in a minute got past the limit of a network. On a busy machine an attack takes minutes. */
function expectLimit({ statuses, minutes }: Awaited<ReturnType<typeof attack>>, status: number, perMinute: number) {
  expect(Object.keys(statuses)).toEqual([String(status), '429']);
  expect(statuses[status]).toBeGreaterThanOrEqual(perMinute);
  expect(statuses[status]).toBeLessThanOrEqual(perMinute * (minutes + 1));
}

async function begunSignIn(from: string): Promise<{ readonly cookie: string; readonly callback: string }> {
  const begun = await fetch(`${url}/console/sign-in`, { redirect: 'manual', headers: { 'x-forwarded-for': from } });
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state');
  const cookie = begun.headers.getSetCookie().map((line) => line.split(';', 1)[0]);
  return {
    cookie: cookie.join('; '),
    callback: `${url}${CONSOLE_CALLBACK_PATH}?code=x&state=${state}&iss=${encodeURIComponent(url)}`,
  };
}

/** The cookie of a session that its user has ended. */
async function endedSession(): Promise<string> {
  const browser = new Browser(url);
  await browser.signIn(USER);
  const cookie = `console=${browser.cookie('console')}`;
  await browser.send(await browser.open('/console'), '/sign-out');
  return cookie;
}

async function signIn(): Promise<number> {
  return (await new Browser(url).signIn(USER)).status;
}

test('a stranger who repeats the callback of one sign-in makes one exchange of a code, and users still sign in', async () => {
  const { cookie, callback } = await begunSignIn('203.0.113.1');
  exchanges = 0;
  const answered = await attack('203.0.113.1', (headers) => fetch(callback, { headers: { ...headers, cookie } }));
  expectLimit(answered, 400, 300);
  expect(exchanges).toBe(1);
  expect(await signIn()).toBe(200);
  // The only lines are about those who did sign in.
  expect(lines.filter((line) => line.includes('sign-in') && !line.includes('"credential":"user:'))).toEqual([]);
});

test('exchanges of a stranger with a new sign-in each time count for the stranger', async () => {
  exchanges = 0;
  const from = '203.0.113.2';
  const answered = await attack(from, async (headers) => {
    const { cookie, callback } = await begunSignIn(from);
    return fetch(callback, { headers: { ...headers, cookie } });
  });
  expectLimit(answered, 400, 300);
  expect(exchanges).toBe(answered.statuses[400]);
  expect(await signIn()).toBe(200);
});

test.each(['/console/spaces/new', '/console/webhooks', '/console/bookings/1/cancel'])(
  'a stranger, and one who has had a session, get 60 pages for forms to %s, which show no field that our forms do not have',
  async (path) => {
    const form = new URLSearchParams({ ['password'.repeat(1_000)]: 'x', secret: 'y', message: 'Hello' });
    const cookie = await endedSession();
    for (const [who, fields] of [
      [{}, []],
      [{ cookie }, ['Message']],
    ] as const) {
      const send = (headers: Record<string, string>) =>
        fetch(`${url}${path}`, { method: 'POST', headers: { ...headers, ...who }, body: form });
      const answered = await attack(`203.0.${fields.length}.${path.length}`, send);
      expectLimit(answered, 401, 60);
      const shown = answered.pages.flatMap((page) =>
        [...page.matchAll(/<label[^>]*>(.*?), as you typed it/g)].map(([, of]) => of),
      );
      expect(new Set(shown)).toEqual(new Set(fields));
    }
  },
);

test('one who has had a session gets 60 refusals of forms that cannot be read, and signed-in users of the same network are served', async () => {
  const from = '203.0.113.200';
  const body = `${'password'.repeat(8_000)}%0A=x`;
  const cookie = await endedSession();
  const send = (headers: Record<string, string>) =>
    fetch(`${url}/console/spaces/new`, {
      method: 'POST',
      headers: { ...headers, cookie, 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
  expectLimit(await attack(from, send), 400, 60);
  const browser = new Browser(url);
  await browser.signIn(USER);
  const page = await browser.open('/console/keys');
  const { target, body: form } = page.form('/console/keys', { label: '' });
  const headers = { 'x-forwarded-for': from };
  expect((await browser.request(target, { method: 'POST', body: form, headers })).status).toBe(422);
});

test('no text longer than any field takes is read, wherever it comes from', async () => {
  const long = 'a'.repeat(10_001);
  const { key } = await service.brand();
  const query = await service.get(`/bookings?startDate=${long}`, { key });
  expect(query.statusCode).toBe(400);
  expect(query.json()).toEqual({
    error: 'ValidationError',
    details: 'startDate must have at most 10000 characters.',
  });
  const body = await service.post('/bookings', { key, body: { spaceId: 1, message: long } });
  expect(body.json()).toEqual({ error: 'ValidationError', details: 'message must have at most 10000 characters.' });
  // In a name, too.
  const browser = new Browser(url);
  await browser.signIn(USER);
  for (const path of [`/console/bookings/1?at=${long}`, `/console/find?${long}=1`]) {
    const page = await browser.open(path);
    expect(page.status).toBe(400);
    expect(page.text).toContain('must have at most 10000 characters');
  }
  const form = { method: 'POST', body: new URLSearchParams({ [long]: 'x' }) } as const;
  expect((await browser.request('/console/account', form)).status).toBe(400);
});

test('a search for more words than a name has is refused', async () => {
  const browser = new Browser(url);
  await browser.signIn(USER);
  const page = await browser.open(`/console/find?name=${'ab+'.repeat(900)}`);
  expect(page.text).toContain('Search for at most 200 characters.');
});
