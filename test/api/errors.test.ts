import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import api from '../../docs/openapi.json' with { type: 'json' };
import { createAccessHooks } from '../../src/api/access.ts';
import { handleError } from '../../src/api/errors.ts';
import { defined } from '../../src/domain/defined.ts';
import { RELEASE } from '../../src/release.ts';
import { Unavailable } from '../../src/runtime/unavailable.ts';
import { eventually } from '../eventually.ts';
import { CONTEXT, type RunningService, runService } from '../running-service.fixture.ts';

let service: RunningService;
let brand: Awaited<ReturnType<RunningService['brand']>>;

beforeAll(async () => {
  service = await runService();
  brand = await service.brand();
});
afterAll(() => service.stop());

/** Sends bytes as they are. @returns the connection, and what has arrived so far */
async function sending(request: string) {
  const { server } = service.app;
  if (!server.listening) await service.app.listen({ host: '127.0.0.1', port: 0 });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  const socket = connect(address.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'connect');
  // What is written before a slow connection is made would come first.
  socket.write(request);
  return { socket, answer: () => text };
}

const shape = (error: string) => ({ error, details: expect.stringMatching(/\S/) });

type Operation = {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
};

test('an unknown query parameter is a 400 that names it and those that the operation takes', async () => {
  const paths: Record<string, { get?: Operation; post?: Operation; delete?: Operation }> = api.paths;
  const community = await service.community();
  for (const [path, { get, post, delete: remove }] of Object.entries(paths)) {
    for (const [method, operation] of [
      ['GET', get],
      ['POST', post],
      ['DELETE', remove],
    ] as const) {
      if (operation === undefined) continue;
      const names = (operation.parameters ?? []).filter((each) => each.in === 'query').map(({ name }) => name);
      const url = `/api/v1${path.replaceAll(/\{\w+\}/g, '1')}?Status=Pending`;
      const { key } = method === 'GET' || path === '/customers' ? community : brand;
      const answer = await service.call(method, url, { key, ...(method === 'POST' && { body: {} }) });
      const taken = names.length === 0 ? 'takes no query parameters' : `takes ${names.join(', ')}`;
      const details = `The query parameter Status is unknown: this path ${taken}.`;
      expect([url, answer.statusCode, answer.json()]).toEqual([url, 400, { error: 'ValidationError', details }]);
    }
  }
  const lists = await service.get('/bookings?status[]=Pending', { key: brand.key });
  expect(lists.json().details).toBe(
    'The query parameter status[] is unknown: this path takes startDate, endDate, status.',
  );
  const long = await service.get(`/bookings?${'x'.repeat(200)}=1`, { key: brand.key });
  expect(long.json().details).toBe('A query parameter is unknown: this path takes startDate, endDate, status.');
  expect((await service.get('/bookings?Status=Pending')).statusCode).toBe(401);
});

describe('every error has the same shape', () => {
  test.each([
    ['an unknown route', 'GET', '/api/v1/nothing', 404, 'ResourceNotFound'],
    ['an unknown route outside the API', 'GET', '/nothing', 404, 'ResourceNotFound'],
    ['another version', 'GET', '/api/v2/bookings', 404, 'ResourceNotFound'],
    ['an unsupported method', 'PUT', '/api/v1/bookings', 404, 'ResourceNotFound'],
    ['an empty id', 'GET', '/api/v1/bookings//history', 404, 'ResourceNotFound'],
    ['an empty id at the end', 'GET', '/api/v1/spaces/', 404, 'ResourceNotFound'],
    ['a folder', 'GET', '/assets/', 404, 'ResourceNotFound'],
    ['a file outside the folder', 'GET', '/assets/%2e%2e/assets.ts', 404, 'ResourceNotFound'],
    ['an overlong id', 'DELETE', `/api/v1/webhooks/${'x'.repeat(300)}`, 404, 'ResourceNotFound'],
    ['broken percent-encoding', 'GET', '/api/v1/webhooks/%ff%', 400, 'ValidationError'],
  ] as const)('%s', async (_, method, url, status, error) => {
    const answer = await service.call(method, url, { key: brand.key });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toEqual(shape(error));
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
  });

  const JSON_TYPE = 'application/json';
  const saying = (message: string) => `{"spaceId":1,"startTime":"2026-12-10","startHour":9,"message":"${message}"}`;
  const bytes = (...each: readonly number[]) => Buffer.from([...Buffer.from('{"message":"'), ...each, 0x22, 0x7d]);

  test.each<[string, string | Buffer, string, string?]>([
    ['broken JSON', '{"spaceId":', 'not valid JSON'],
    ['an empty body', '', 'A body is required'],
    ['a JSON array', '[]', 'object'],
    ['null', 'null', 'object'],
    ['another content type', 'spaceId=1', JSON_TYPE, 'application/x-www-form-urlencoded'],
    ['plain text', '{"spaceId":1}', JSON_TYPE, 'text/plain'],
    ['a body too large', JSON.stringify({ message: 'x'.repeat(100_000) }), 'too large'],
    ['a prototype', '{"__proto__":{"x":1}}', 'The body has a property that is not allowed: __proto__'],
    ['a constructor', '{"constructor":{"prototype":{}}}', 'The body has a property that is not allowed'],
    // Text that not every store can hold.
    ['half of a surrogate pair', saying('\\ud800'), 'message'],
    ['the other half', '{"message":"x \\uDC00 y"}', 'message'],
    ['half of one in a name', '{"\\udfff":1}', 'Unicode'],
    ['half of one deep within', '{"a":[{"b":"\\ud83d"}]}', 'b'],
    ['half of one deeper than a stack', `{"a":${'['.repeat(25_000)}"\\ud83d"${']'.repeat(25_000)}}`, 'a'],
    ['U+0000', saying('a\\u0000b'), 'U+0000'],
    ['U+0000 in a name', '{"a":{"\\u0000":1}}', 'A name in a must not'],
    ['bytes that are not UTF-8', bytes(0xff), 'UTF-8'],
    ['a surrogate in UTF-8', bytes(0xed, 0xa0, 0x80), 'UTF-8'],
    ['UTF-16', Buffer.from('{"spaceId":1}', 'utf16le'), 'JSON'],
  ])('%s', async (_, payload, named, type = JSON_TYPE) => {
    const answer = await service.app.inject({
      method: 'POST',
      url: '/api/v1/bookings',
      headers: { authorization: `Bearer ${brand.key}`, 'content-type': type },
      payload,
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ error: 'ValidationError', details: expect.stringContaining(named) });
  });

  test('on every path, a compressed body gets an error that names its encoding', async () => {
    const payload = gzipSync('{"spaceId":1,"startTime":"2026-12-10","startHour":9}');
    const send = (url: string, headers: Record<string, string>, encoding = 'gzip') =>
      service.app.inject({ method: 'POST', url, payload, headers: { ...headers, 'content-encoding': encoding } });
    const json = { 'content-type': 'application/json' };
    const details = 'Content-Encoding: gzip is not accepted. Send the body as it is.';
    const authorization = `Bearer ${brand.key}`;
    const refused = await send('/api/v1/bookings', { ...json, authorization });
    expect([refused.statusCode, refused.json()]).toEqual([400, { error: 'ValidationError', details }]);
    expect((await send('/api/v1/bookings', json)).statusCode).toBe(401);
    const registered = await send('/connect/register', json);
    expect([registered.statusCode, registered.json().error_description]).toEqual([415, details]);
    expect((await send('/api/v1/bookings', { ...json, authorization }, 'identity')).json().details).toMatch(/UTF-8/);
    const get = { authorization, 'content-encoding': 'gzip' };
    expect((await service.call('GET', '/api/v1/bookings', { headers: get })).statusCode).toBe(200);
  });

  test('accepts any valid Unicode text, escaped or not, including emoji and backslashes', async () => {
    const community = await service.community();
    const spaceId = await service.space(community);
    for (const [message, startHour] of [
      ['"\\ud83c\\udf89 \u{1f389} \\\\ud800"', 9],
      ['"\\u00e9\\u0001"', 15],
    ] as const) {
      const body = `{"spaceId":${spaceId},"startTime":"2026-12-10","startHour":${startHour},"message":${message}}`;
      expect((await service.post('/bookings', { key: brand.key, body })).statusCode).toBe(201);
    }
  });

  test('an unexpected error is a 500 that reveals no internals', async () => {
    const queries = service.core.queries as { availability: unknown };
    const before = queries.availability;
    queries.availability = async () => {
      throw new Error('secret detail of /etc/passwd');
    };
    const answer = await service.get('/spaces/1/availability?date=2026-12-10', { key: brand.key });
    queries.availability = before;
    expect(answer.statusCode).toBe(500);
    expect(answer.json()).toEqual(shape('InternalError'));
    expect(answer.body).not.toMatch(/secret|passwd|at .*\.ts/);
  });

  test('responses without an entity tag, errors included, are not cacheable, and none can be sniffed as another type', async () => {
    for (const [url, key] of [
      ['/bookings', undefined],
      ['/bookings?status=none', brand.key],
      ['/webhooks', brand.key],
      ['/bookings', brand.key],
    ] as const) {
      const { headers } = await service.get(url, defined({ key }));
      expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
      expect(headers).not.toHaveProperty('etag');
      // This service is at an http address.
      expect(headers).not.toHaveProperty('strict-transport-security');
    }
    const { headers } = await service.get('/spaces', { key: brand.key });
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' });
  });

  test.each([
    ['headers', 'POST /api/v1/bookings HTTP/1.1\r\nHost: x\r\n'],
    ['body', 'POST /connect/token HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nx'],
  ])('a request with slow %s is cut after 30 s', async (_, request) => {
    const { server } = service.app;
    expect([server.requestTimeout, server.headersTimeout]).toEqual([30_000, 30_000]);
    // Otherwise a client that sends nothing more would be disconnected without an answer.
    expect(server.timeout).toBeGreaterThan(30_000 + 2_000);
    onTestFinished(() => {
      server.requestTimeout = 30_000;
      server.headersTimeout = 30_000;
    });
    server.requestTimeout = 200;
    server.headersTimeout = 200;
    const { socket, answer } = await sending(request);
    const dripping = setInterval(() => socket.write('x'), 50);
    onTestFinished(() => clearInterval(dripping));
    await eventually(() => expect(answer()).toContain('The request did not arrive in time.'));
  });

  const LONG = 'x'.repeat(20_000);
  const GET = 'GET /api/v1/bookings HTTP/1.1\r\n';
  test.each([
    ['with headers that are too long', `${GET}Host: x\r\nCookie: ${LONG}\r\n\r\n`, 400, 'The headers are'],
    ['with a URL that is too long', `GET /api/v1/bookings?q=${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`, 400, 'The URL is'],
    ['with both', `GET /${LONG.slice(0, 9_000)} HTTP/1.1\r\nHost: x\r\nA: ${LONG}\r\n\r\n`, 400, 'too long'],
    ['that begins HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'not valid HTTP/1.1'],
    ['that is not HTTP', 'NONSENSE\r\n\r\n', 400],
    ['without a Host', `${GET}\r\n`, 400],
    ['without a Host, for a page', 'GET /console HTTP/1.1\r\nAccept: text/html\r\n\r\n', 400],
    ['with two Hosts', `${GET}Host: x\r\nhost: y\r\n\r\n`, 400],
    ['with two Hosts, for a page', 'GET /console HTTP/1.1\r\nHost: x\r\nHost: x\r\nAccept: text/html\r\n\r\n', 400],
    ['without a Host, in HTTP/1.0', 'GET /api/v1/bookings HTTP/1.0\r\nOrigin: https://app.example\r\n\r\n', 401],
    ['with an unsupported expectation', `${GET}Host: x\r\nExpect: foo\r\n\r\n`, 400, 'Expect'],
    ['for a tunnel', 'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n', 404],
  ])('a request %s', async (_, request, status, words = '') => {
    const sent = await sending(request);
    await once(sent.socket, 'close');
    const answer = sent.answer();
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toMatch(/\r\ncontent-type: application\/json; charset=utf-8\r\n/i);
    expect(answer).toMatch(/\r\nx-request-id: [\w-]+\r\n/i);
    expect(answer).toMatch(/\r\naccess-control-allow-origin: \*\r\n/i);
    expect(JSON.parse(answer.slice(answer.indexOf('{'))).details).toContain(words);
    expect(JSON.parse(answer.slice(answer.indexOf('{')))).toEqual(
      shape({ 400: 'ValidationError', 401: 'InvalidApiKey', 404: 'ResourceNotFound' }[status] ?? ''),
    );
  });
});

const BOOKING = { spaceId: 1, startTime: '2026-12-10', startHour: 9 };
const WEBHOOK = { url: 'https://a.example', events: '15' };

test.each<[string, string, object?]>([
  ['spaceId must be a whole number, not a string.', '/bookings', { ...BOOKING, spaceId: '1' }],
  ['startHour must be a whole number.', '/bookings', { ...BOOKING, startHour: null }],
  ['startTime must be a string.', '/bookings', { ...BOOKING, startTime: 7 }],
  ['message must be a string.', '/bookings', { ...BOOKING, message: 7 }],
  ['events must be a whole number, not a string.', '/webhooks', WEBHOOK],
  ['spaceId must be a whole number, 0 to 9007199254740991.', '/spaces/one/availability?date=2026-12-10'],
  ['status must be given only once.', '/bookings?status=Pending&status=Approved'],
])('an error names the type of a value in words: %s', async (details, path, body) => {
  const method = body === undefined ? 'GET' : 'POST';
  const answer = await service.call(method, `/api/v1${path}`, { key: brand.key, ...defined({ body }) });
  expect([answer.statusCode, answer.json().details]).toEqual([400, details]);
});

describe('cross-origin requests', () => {
  const options = (headers: Record<string, string>) =>
    service.app.inject({ method: 'OPTIONS', url: '/api/v1/webhooks/wh_1', headers });

  test('may use every method, with a credential in a header', async () => {
    const answer = await options({
      origin: 'https://app.example',
      'access-control-request-method': 'DELETE',
      'access-control-request-headers': 'authorization',
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    expect(answer.headers['access-control-allow-methods']).toBe('GET, HEAD, POST, DELETE');
    expect(answer.headers['access-control-allow-headers']).toMatch(/authorization/);
    expect(answer.headers['access-control-max-age']).toBe('3600');
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });

  test('may read every response, including errors and 304', async () => {
    const ask = (headers: Record<string, string>) =>
      service.app.inject({ url: '/api/v1/spaces', headers: { origin: 'https://app.example', ...headers } });
    const refused = await ask({});
    const whole = await ask({ authorization: `Bearer ${brand.key}` });
    const held = { authorization: `Bearer ${brand.key}`, 'if-none-match': String(whole.headers.etag) };
    const unchanged = await ask(held);
    expect([refused, whole, unchanged].map(({ statusCode }) => statusCode)).toEqual([401, 200, 304]);
    for (const { headers } of [refused, whole, unchanged])
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-expose-headers': 'WWW-Authenticate, ETag, X-Request-Id, Retry-After',
      });
    // A cache must not serve a copy without these headers to another origin.
    expect(whole.headers.vary).toMatch(/\bOrigin\b/);
  });

  test('may read that a path is unknown', async () => {
    for (const url of ['/api/v1/nothing', '/api/v1', '/api/v1/bookings/1/nothing']) {
      const answer = await service.call('GET', url, { headers: { origin: 'https://app.example' } });
      expect([answer.statusCode, answer.json()]).toEqual([404, shape('ResourceNotFound')]);
      expect(answer.headers).toMatchObject({ 'access-control-allow-origin': '*', 'cache-control': 'no-store' });
    }
  });

  test('OPTIONS without preflight headers gets 204 too', async () => {
    expect((await options({})).statusCode).toBe(204);
  });
});

describe('a request with an unreadable path', () => {
  const UNREADABLE = [
    ['broken percent-encoding', 'DELETE', '/api/v1/webhooks/%ff%'],
    ['broken percent-encoding of a number', 'GET', '/api/v1/bookings/%zz/history'],
    ['an id that is too long', 'DELETE', `/api/v1/webhooks/${'abc'.repeat(700)}`],
    ['a number that is too long', 'GET', `/api/v1/bookings/${'123'.repeat(700)}/history`],
  ] as const;

  test.each(UNREADABLE)(
    '%s: 401 with a challenge and CORS headers when there is no valid credential',
    async (_, method, url) => {
      for (const key of [undefined, 'vbs_live_short']) {
        const headers = { origin: 'https://app.example' };
        const answer = await service.call(method, url, { ...defined({ key }), headers });
        expect([answer.statusCode, answer.json()]).toEqual([401, shape('InvalidApiKey')]);
        expect(answer.headers).toMatchObject({
          'www-authenticate': expect.stringMatching(/^Bearer/),
          'cache-control': 'no-store',
          'access-control-allow-origin': '*',
        });
      }
    },
  );

  test.each(UNREADABLE)(
    '%s: 400 with a valid credential, and the message does not echo the path',
    async (_, method, url) => {
      const answer = await service.call(method, url, { key: brand.key });
      expect([answer.statusCode, answer.json()]).toEqual([400, shape('ValidationError')]);
      expect(answer.json().details).not.toMatch(/%|abc|123/);
    },
  );

  test('outside the API, gets 400 without a credential', async () => {
    const answer = await service.call('GET', '/%zz');
    expect([answer.statusCode, answer.json()]).toEqual([400, shape('ValidationError')]);
  });

  test.each([
    ['an id that could not be one', 'DELETE', `/api/v1/webhooks/${'abc'.repeat(100)}`],
    ['an id that is markup', 'DELETE', '/api/v1/webhooks/%3Cscript%3Eabc'],
    ['a path', 'GET', `/api/v1/${'abc'.repeat(100)}`],
  ] as const)('%s is 404, and the message does not echo it', async (_, method, url) => {
    const answer = await service.call(method, url, { key: brand.key });
    expect([answer.statusCode, answer.json()]).toEqual([404, shape('ResourceNotFound')]);
    expect(answer.json().details).not.toContain('abc');
  });

  test.each(['QUERY', 'PROPFIND', 'TRACE', 'PATCH'])('the method %s is 404 with any body', async (method) => {
    for (const [headers, payload] of [
      [{}, undefined],
      [{ 'content-type': 'application/json' }, '{'],
      [{ 'content-type': 'text/plain' }, 'x'],
    ] as const)
      for (const url of ['/api/v1/bookings', '/nothing']) {
        const answer = await service.app.inject({ method: method as 'PATCH', url, headers, ...defined({ payload }) });
        expect([answer.statusCode, answer.json()], `${url} ${payload}`).toEqual([404, shape('ResourceNotFound')]);
      }
  });
});

describe('an empty body', () => {
  const TYPES = [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    ';;;',
    'json',
  ];
  test.each(TYPES)('counts as missing with the Content-Type %s', async (type) => {
    const url = 'https://example.com/hooks';
    const { id } = (await service.post('/webhooks', { key: brand.key, body: { url, events: 1 } })).json();
    const headers = { 'content-type': type };
    const removed = await service.delete(`/webhooks/${id}`, { key: brand.key, headers });
    expect([removed.statusCode, removed.body]).toEqual([204, '']);
    const missing = await service.post('/bookings', { key: brand.key, headers });
    expect([missing.statusCode, missing.json().details]).toEqual([400, 'A body is required: a JSON object.']);
  });

  test('counts as missing when chunked', async () => {
    const headers = { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' };
    const answer = await service.delete('/webhooks/wh_none', { key: brand.key, headers });
    expect(answer.statusCode).toBe(404);
  });
});

describe('credentials', () => {
  const ask = (authorization?: string) =>
    service.app.inject({ url: '/api/v1/bookings', headers: authorization === undefined ? {} : { authorization } });

  test.each([
    ['none', undefined],
    ['an empty one', ''],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['no token', 'Bearer '],
    ['a malformed key', 'Bearer vbs_live_short'],
    ['a key with a wrong checksum', `Bearer vbs_live_${'A'.repeat(38)}`],
    ['something that is neither key nor token', 'Bearer x.y.z'],
  ])('%s is 401 InvalidApiKey with a challenge', async (_, authorization) => {
    const answer = await ask(authorization);
    expect(answer.statusCode).toBe(401);
    expect(answer.json()).toEqual(shape('InvalidApiKey'));
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/);
  });

  test('are checked first, before any other error', async () => {
    const answer = await service.call('DELETE', `/api/v1/webhooks/${'x'.repeat(300)}`);
    expect([answer.statusCode, answer.json()]).toEqual([401, shape('InvalidApiKey')]);
  });

  test('the scheme is case-insensitive', async () => {
    expect((await ask(`bearer ${brand.key}`)).statusCode).toBe(200);
    expect((await ask(`BEARER ${brand.key}`)).statusCode).toBe(200);
  });

  test('a revoked key stops working at once', async () => {
    const { commands } = service.core;
    const issued = await commands.apiKeys.issue(
      { account: brand.account, permissions: 2, label: 'Short-lived' },
      CONTEXT,
    );
    if ('refused' in issued) throw new Error(issued.details);
    expect((await ask(`Bearer ${issued.key}`)).statusCode).toBe(200);
    await commands.apiKeys.revoke({ apiKeyId: issued.apiKeyId }, CONTEXT);
    expect((await ask(`Bearer ${issued.key}`)).json()).toEqual(shape('InvalidApiKey'));
  });

  test.each([
    [1, 'GET', '/spaces/1/availability?date=2026-12-10'],
    [2, 'GET', '/bookings'],
    [2, 'GET', '/bookings/1/history'],
    [4, 'POST', '/bookings'],
    [8, 'GET', '/communities/1/reviews'],
    [16, 'GET', '/webhooks'],
    [16, 'POST', '/webhooks'],
    [16, 'DELETE', '/webhooks/wh_1'],
  ] as const)('permission %i, and no other, grants %s %s', async (permission, method, url) => {
    const without = await service.key(brand.account, 31 - permission);
    const refused = await service.call(method, `/api/v1${url}`, { key: without });
    expect([refused.statusCode, refused.json()]).toEqual([403, shape('InsufficientPermissions')]);
    const only = await service.key(brand.account, permission);
    expect((await service.call(method, `/api/v1${url}`, { key: only })).statusCode).not.toBe(403);
  });
});

test('the liveness and readiness checks pass', async () => {
  expect((await service.call('GET', '/healthz')).json()).toEqual({ status: 'ok', release: RELEASE });
  const ready = await service.call('GET', '/readyz');
  expect([ready.statusCode, ready.json()]).toEqual([
    200,
    { status: 'ready', eventStore: 'ok', documentStore: 'ok', eventsBehind: 0 },
  ]);
});

test('temporary unavailability is InternalError with Retry-After, never InvalidApiKey', async () => {
  const app = Fastify();
  app.setErrorHandler(handleError);
  const authenticate = () => Promise.reject(new Unavailable('The event log cannot be read'));
  const { check: onRequest } = createAccessHooks({ authenticate, isSuspended: async () => false, challenge: 'Bearer' })(
    { permission: 'ReadBookings' },
  );
  app.get('/', { onRequest }, async () => ({}));
  const answer = await app.inject({ url: '/', headers: { authorization: 'Bearer vbs_live_x' } });
  expect(answer.statusCode).toBe(500);
  expect(answer.json()).toEqual(shape('InternalError'));
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  expect(answer.body).not.toContain('event log');
  await app.close();
});
