import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as EarlierClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as EarlierTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NAME } from '../../src/domain/limits.ts';
import { accepted } from '../accepted.ts';
import { BY_OPERATOR } from '../auth/change-log.ts';
import { API_SCOPE, TestApp } from '../authorization-server/test-app.ts';
import { type RunningService, runServiceAt } from '../running-service.fixture.ts';
import { ClientMemory, connect } from './connected-client.ts';

const user = { email: 'ada@example.com', password: 'correct horse battery' };
let service: RunningService;
let url: string;
let asBrand: { email: string; password: string; account: string };
let asCommunity: { email: string; password: string; account: string };
let brandKey: string;
let communityId: number;
let spaceId: number;
let brandTools: Client;
let communityTools: Client;

beforeAll(async () => {
  const running = await runServiceAt();
  ({ url, service } = running);
  const brand = await service.brand();
  const community = await service.community();
  const accounts = [brand.account, community.account];
  accepted(await service.core.users.add({ ...user, accounts }, BY_OPERATOR));
  asBrand = { ...user, account: `Brand:${brand.id}` };
  asCommunity = { ...user, account: `Community:${community.id}` };
  brandKey = brand.key;
  communityId = community.id;
  spaceId = await service.space(community);
  await running.listen();
  ({ client: brandTools } = await connect(url, asBrand));
  ({ client: communityTools } = await connect(url, asCommunity));
});
afterAll(() => service.stop());

/** Calls a tool and returns its result, or the text of its error. */
async function call(client: Client, name: string, input: Record<string, unknown>): Promise<unknown> {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: input });
  if (!isError) return structuredContent;
  const [first] = content;
  return first?.type === 'text' ? first.text : content;
}

const post = (body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };

async function mcpToken(scope = 'service.mcp'): Promise<string> {
  const app = await TestApp.register(url);
  return (await app.tokens({ ...asBrand, resource: 'mcp', scope })).access_token;
}

test('the SDK client connects on its own: it gets a 401, discovers the authorization server, registers and is authorized', async () => {
  const { client, memory } = await connect(url, asBrand);
  expect(memory.sentTo?.searchParams.get('resource')).toBe(`${url}/mcp`);
  expect(memory.sentTo?.searchParams.get('scope')).toBe('service.mcp offline_access');
  expect(client.getServerVersion()).toMatchObject({ name: 'venue-booking' });
  expect(await call(client, 'find_spaces', {})).toMatchObject({ spaces: [{ spaceId, communityName: 'Harbour' }] });

  const before = memory.tokens();
  if (before === undefined) throw new Error('No tokens');
  memory.saveTokens({ ...before, access_token: 'expired' });
  expect(await call(client, 'find_spaces', {})).toMatchObject({ spaces: [{ spaceId }] });
  expect(memory.tokens()?.refresh_token).not.toBe(before.refresh_token);
});

test('speaks the current protocol and the earlier ones', async () => {
  const token = await mcpToken();
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const current = new Client(
    { name: 'current', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await current.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
  expect(current.getNegotiatedProtocolVersion()).toBe('2026-07-28');
  expect((await current.listTools()).tools).toHaveLength(11);
  expect(await call(current, 'find_spaces', {})).toMatchObject({ spaces: [{ spaceId }] });

  const earlier = new EarlierClient({ name: 'earlier', version: '1' });
  const transport = new EarlierTransport(new URL(`${url}/mcp`), { requestInit });
  // Its types do not follow exactOptionalPropertyTypes.
  await earlier.connect(transport as Parameters<typeof earlier.connect>[0]);
  expect((await earlier.listTools()).tools).toHaveLength(11);
  expect(await earlier.callTool({ name: 'find_spaces', arguments: {} })).toMatchObject({
    structuredContent: { spaces: [{ spaceId }] },
  });

  for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
    const answer = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params }, requestInit.headers);
    expect(await answer.text()).toContain(`"protocolVersion":"${protocolVersion}"`);
  }
});

const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
test.each<[string, string, object | undefined, string]>([
  ['initialize', 'without a version', { ...HELLO, protocolVersion: undefined }, 'params.protocolVersion'],
  ['initialize', 'with a version that is no text', { ...HELLO, protocolVersion: 7 }, 'params.protocolVersion'],
  ['initialize', 'without parameters', undefined, 'params'],
  ['tools/list', 'with a cursor that is no text', { cursor: 7 }, 'params.cursor'],
  ['tools/call', 'without a name', {}, 'params.name'],
  ['tools/call', 'with arguments that are no object', { name: 'find_spaces', arguments: 7 }, 'params.arguments'],
])('%s %s is an invalid-params error', async (method, _what, params, path) => {
  const headers = { authorization: `Bearer ${await mcpToken()}` };
  const answer = await post({ jsonrpc: '2.0', id: 'a', method, ...(params && { params }) }, headers);
  expect(await answer.json()).toMatchObject({
    jsonrpc: '2.0',
    id: 'a',
    error: { code: -32602, message: expect.stringContaining(`${path}: `) },
  });
});

test('every tool has a description, both schemas and a read-only hint', async () => {
  const { tools } = await brandTools.listTools();
  const READING = [
    'who_am_i',
    'find_spaces',
    'check_availability',
    'find_open_days',
    'list_bookings',
    'booking_history',
    'list_reviews',
  ];
  expect(new Set(tools.map(({ name }) => name))).toEqual(
    new Set([...READING, 'request_booking', 'move_booking', 'end_move', 'cancel_booking']),
  );
  for (const { name, description, inputSchema, outputSchema, annotations } of tools) {
    expect(description?.length).toBeGreaterThan(40);
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(outputSchema).toMatchObject({ type: 'object' });
    expect(annotations).toMatchObject({
      readOnlyHint: READING.includes(name),
      destructiveHint: ['cancel_booking', 'end_move'].includes(name),
      idempotentHint: true,
    });
  }
  expect(tools.find(({ name }) => name === 'find_spaces')?.inputSchema.properties).toMatchObject({
    name: { anyOf: [{ type: 'string', maxLength: NAME.max }, { type: 'null' }] },
  });
  const schemas = JSON.stringify(tools.map(({ inputSchema }) => inputSchema));
  expect(schemas).not.toMatch(/"format":|"uniqueItems":/);
  for (const { inputSchema } of tools)
    for (const [property, schema] of Object.entries(inputSchema.properties ?? {})) {
      const isOptional = !inputSchema.required?.includes(property);
      expect(schema).toMatchObject(isOptional ? { anyOf: [{}, { type: 'null' }] } : { type: expect.any(String) });
      if (property.endsWith('Id')) expect(JSON.stringify(schema)).toContain('"minimum":1,');
    }
});

test('a booking made with a tool is identical over REST and visible to its community', async () => {
  const day = { spaceId, date: '2026-12-10' };
  const request = { ...day, startHour: 10, message: 'For forty', idempotencyKey: 'mcp-1' };
  const booked = await call(brandTools, 'request_booking', request);
  expect(booked).toMatchObject({ spaceId, status: 'Pending', startHour: 10, endHour: 14, totalPrice: 230 });
  expect(await call(brandTools, 'request_booking', request)).toEqual(booked);

  const { id } = booked as { id: number };
  const [overRest] = (await service.get('/bookings', { key: brandKey })).json();
  const { brandName, message, ...facts } = overRest;
  expect({ brandName, message }).toEqual({ brandName: 'Acme', message: 'For forty' });
  expect(await call(brandTools, 'list_bookings', {})).toMatchObject({ bookings: [facts], more: false });
  expect(await call(communityTools, 'list_bookings', { status: 'Pending' })).toMatchObject({ bookings: [{ id }] });
  expect(await call(communityTools, 'booking_history', { bookingId: id })).toMatchObject({
    history: [
      { event: 'BookingRequested', actor: { kind: 'account', name: expect.any(String), account: { kind: 'Brand' } } },
    ],
  });

  const { timeSlots } = (await call(brandTools, 'check_availability', day)) as {
    timeSlots: { hour: number; isAvailable: boolean }[];
  };
  expect(timeSlots.find(({ hour }) => hour === 10)?.isAvailable).toBe(false);
  expect(timeSlots.find(({ hour }) => hour === 14)?.isAvailable).toBe(true);
});

test('refusals state the cause and what to do', async () => {
  const taken = { spaceId, date: '2026-12-11', startHour: 12, message: 'x' };
  await call(brandTools, 'request_booking', { ...taken, idempotencyKey: 'mcp-2' });
  expect(await call(brandTools, 'request_booking', { ...taken, idempotencyKey: 'mcp-3' })).toMatch(
    /^SlotUnavailable: .* Call check_availability/,
  );
  expect(await call(brandTools, 'request_booking', { ...taken, startHour: 16, idempotencyKey: 'mcp-2' })).toMatch(
    /^BookingNotAllowed: .* new idempotencyKey/,
  );
  expect(await call(brandTools, 'check_availability', { spaceId: 999, date: '2026-12-11' })).toMatch(
    /^ResourceNotFound: .* find_spaces/,
  );
  expect(await call(brandTools, 'check_availability', { spaceId, date: '2026-11-30' })).toMatch(
    /^ValidationError: .* Choose a later date\.$/,
  );
  for (const half of [{ message: 'x \ud800' }, { idempotencyKey: '\udfff' }])
    expect(await call(brandTools, 'request_booking', { ...taken, idempotencyKey: 'mcp-5', ...half })).toMatch(
      /^ValidationError: .* must be Unicode text/,
    );
  expect(await call(brandTools, 'find_spaces', { name: 'Hall \ud83d' })).toMatch(
    /^ValidationError: name must be Unicode text/,
  );
  expect(await call(brandTools, 'booking_history', { bookingId: 999 })).toMatch(/^ResourceNotFound: /);
  // Without a completed booking there it is not found, as over REST.
  expect(await call(brandTools, 'list_reviews', { communityId })).toMatch(/^ResourceNotFound: /);
  expect(await call(communityTools, 'list_reviews', { communityId })).toMatchObject({ reviews: [] });
});

const DAY = { spaceId: 1, date: '2026-12-11' };
const WANTED = { ...DAY, startHour: 10, idempotencyKey: 'k' };
test.each<[string, string, Record<string, unknown>, string]>([
  [
    'an invalid date',
    'check_availability',
    { spaceId: 1, date: '2026-02-30' },
    'date must be a date in the form YYYY-MM-DD, not "2026-02-30".',
  ],
  ['text for a number', 'check_availability', { ...DAY, spaceId: 'one' }, 'spaceId must be a whole number, not "one".'],
  [
    'an unknown property',
    'check_availability',
    { ...DAY, day: 'Saturday' },
    'There is no property "day": check_availability takes spaceId, date.',
  ],
  [
    'an unknown status',
    'list_bookings',
    { status: 'pending' },
    'status must be one of Pending, Approved, Cancelled, Completed, not "pending".',
  ],
  [
    'everything that is wrong at once',
    'request_booking',
    { spaceId: 1, day: '2026-12-11', startHour: 24 },
    'date is required. idempotencyKey is required. There is no property "day": request_booking takes spaceId, date, startHour, guests, message, series, idempotencyKey. startHour must be a whole number, 0 to 23, not 24.',
  ],
  [
    'a fraction',
    'request_booking',
    { ...WANTED, startHour: 10.5 },
    'startHour must be a whole number, 0 to 23, not 10.5.',
  ],
  [
    'an empty text',
    'request_booking',
    { ...WANTED, idempotencyKey: '' },
    'idempotencyKey must have 1 to 255 characters, not 0.',
  ],
  [
    'a message that is too long',
    'request_booking',
    { ...WANTED, message: '🎉'.repeat(501) },
    'message must have at most 500 characters, not 501.',
  ],
  ['a limit out of range', 'list_bookings', { limit: 0 }, 'limit must be a whole number, 1 to 500, not 0.'],
  ['a list for a text', 'find_spaces', { name: ['a'] }, 'name must be a string, not ["a"].'],
  ['a text for a flag', 'find_spaces', { includeInactive: 'yes' }, 'includeInactive must be true or false, not "yes".'],
  ['a value without end', 'list_bookings', { status: 'x'.repeat(5_000) }, `not "${'x'.repeat(40)}…".`],
])('invalid input is a tool error that describes valid input: %s', async (_what, name, input, expected) => {
  const refused = await call(brandTools, name, input);
  expect(refused).toMatch(/^ValidationError: /);
  // The message ends here: only refusals by a rule carry advice.
  expect(String(refused).slice(-expected.length)).toBe(expected);
});

test('dates in the wrong order are refused', async () => {
  const input = { startDate: '2026-12-11', endDate: '2026-12-10' };
  expect(await call(brandTools, 'list_bookings', input)).toBe('ValidationError: startDate must not be after endDate.');
});

test('the list states whether there are more bookings', async () => {
  expect(await call(brandTools, 'list_bookings', { limit: 1 })).toMatchObject({ bookings: [{}], more: true });
});

test('a brand cannot see the bookings of another brand', async () => {
  const other = await service.brand('Other');
  accepted(await service.core.users.add({ ...user, email: 'bea@example.com', accounts: [other.account] }, BY_OPERATOR));
  const { client } = await connect(url, { ...user, email: 'bea@example.com', account: `Brand:${other.id}` });
  expect(await call(client, 'list_bookings', {})).toEqual({ bookings: [], more: false });
  const { bookings } = (await call(brandTools, 'list_bookings', {})) as { bookings: { id: number }[] };
  expect(await call(client, 'booking_history', { bookingId: bookings[0]?.id })).toMatch(/^ResourceNotFound/);
});

test.each(['/mcp', '/mcp/'])(
  'the metadata of %s names the resource and its authorization server exactly',
  async (path) => {
    const response = await fetch(`${url}/.well-known/oauth-protected-resource${path}`);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.json()).toMatchObject({
      // A client discards metadata that names another address than the one it asked (RFC 9728, 3.3).
      resource: `${url}${path}`,
      authorization_servers: [url],
      scopes_supported: ['service.mcp', 'service.mcp.customers'],
    });
  },
);

test.each(['/mcp', '/mcp/'])(
  '%s without a token: 401 with the resource metadata and the scope to request',
  async (path) => {
    for (const method of ['POST', 'GET', 'HEAD', 'DELETE']) {
      const response = await fetch(`${url}${path}`, { method });
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource${path}", scope="service.mcp"`,
      );
    }
  },
);

test('a slash at the end of the path changes nothing, and HEAD answers as GET', async () => {
  const headers = { authorization: `Bearer ${await mcpToken()}`, accept: 'application/json, text/event-stream' };
  for (const path of ['/mcp', '/mcp/']) {
    expect(
      (await service.call('POST', path, { headers: { ...headers, host: new URL(url).host }, body: PING })).statusCode,
    ).toBe(200);
    const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => fetch(`${url}${path}`, { method, headers })));
    expect([head?.status, head?.headers.get('content-type')]).toEqual([get?.status, get?.headers.get('content-type')]);
  }
});

test('refuses an API key, a token for the API and an unknown token; a missing scope is 403', async () => {
  const refusal = async (token: string) => {
    const response = await post(PING, { authorization: `Bearer ${token}` });
    const { error, error_description: description } = (await response.json()) as Record<string, string>;
    return { status: response.status, error, description, challenge: response.headers.get('www-authenticate') };
  };
  expect(await refusal(brandKey)).toMatchObject({ status: 401, description: expect.stringContaining('API keys') });
  const app = await TestApp.register(url);
  const { access_token: forApi } = await app.tokens({ ...asBrand, scope: API_SCOPE });
  expect(await refusal(forApi)).toMatchObject({
    status: 401,
    error: 'invalid_token',
    description: expect.stringContaining('audience'),
  });
  expect(await refusal('nothing')).toMatchObject({ status: 401, error: 'invalid_token' });
  const small = await refusal(await mcpToken('openid'));
  expect(small).toMatchObject({ status: 403, error: 'insufficient_scope' });
  expect(small.challenge).toContain('error="insufficient_scope"');
  expect(small.challenge).toContain('scope="service.mcp"');
});

test('the REST API refuses a token for the MCP server', async () => {
  const response = await service.get('/bookings', { key: await mcpToken() });
  expect([response.statusCode, response.json().error]).toEqual([401, 'InvalidApiKey']);
});

test('refuses another host name or a foreign origin before any other check', async () => {
  const authorization = `Bearer ${await mcpToken()}`;
  const status = async (headers: Record<string, string>) =>
    (await service.call('POST', '/mcp', { headers: { authorization, ...headers }, body: PING })).statusCode;
  expect(await status({ host: 'evil.example' })).toBe(403);
  expect(await status({ host: '127.0.0.1:3000', origin: 'https://evil.example' })).toBe(403);
  expect(await status({ host: '127.0.0.1:3000', origin: 'null' })).toBe(403);
  expect(await status({ host: '127.0.0.1:3000', origin: 'http://localhost:6274' })).not.toBe(403);
  const preflight = await fetch(`${url}/mcp`, {
    method: 'OPTIONS',
    headers: { origin: 'http://localhost:6274', 'access-control-request-method': 'POST' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
    204,
    'http://localhost:6274',
  ]);
});

test('malformed messages get the errors of the protocol', async () => {
  const authorization = `Bearer ${await mcpToken()}`;
  for (const [body, headers, status] of [
    ['{', {}, 400],
    ['[]', {}, 400],
    [PING, { 'content-type': 'text/plain' }, 415],
    [{ ...PING, params: 'x'.repeat(2_000_000) }, {}, 413],
  ] as const) {
    const response = await post(body, { authorization, ...headers });
    expect(response.status).toBe(status);
  }
  expect((await fetch(`${url}/mcp`, { headers: { authorization } })).status).toBe(405);
});

test('disconnecting an app revokes its access immediately', async () => {
  const { client, memory } = await connect(url, asBrand, new ClientMemory());
  const { connectedApps } = service.core.authorizationServer;
  const account = (await service.core.users.byEmail(user.email))?.memberships[0]?.account;
  if (account === undefined) throw new Error('No account');
  const apps = await connectedApps.grantsOf({ account });
  const ours = apps.find(({ clientId }) => clientId === memory.clientInformation()?.client_id);
  expect(ours).toMatchObject({ clientName: 'MCP test client', audiences: ['mcp'], scopes: ['service.mcp'] });
  expect(await connectedApps.revokeGrant(ours?.grantId ?? '', { account }, BY_OPERATOR)).toBe(true);
  await expect(client.callTool({ name: 'find_spaces', arguments: {} })).rejects.toThrow('grant request is invalid');
});

test('refuses HTTP methods that the protocol does not define, even with a valid token', async () => {
  const authorization = `Bearer ${await mcpToken()}`;
  const status = async (method: string) => (await fetch(`${url}/mcp`, { method, headers: { authorization } })).status;
  expect(await status('PUT')).toBe(404);
  expect(await status('GET')).toBe(405);
});

describe('what clients of other makers send', () => {
  const EARLIER = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];
  const SERVED = ['2026-07-28', ...EARLIER];
  const envelope = (version: string) => ({
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  });
  /** The answer to a message, whether it comes as JSON or as an event stream. */
  async function answerTo(message: object | string, headers: Record<string, string> = {}) {
    const authorization = `Bearer ${await mcpToken()}`;
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json', accept: '*/*', ...headers },
      body: typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    });
    const text = await response.text();
    const [, data = text] = /^data: (.*)$/m.exec(text) ?? [];
    return { status: response.status, body: JSON.parse(data) };
  }
  const list = { method: 'tools/list' };
  const listed = { result: { tools: expect.any(Array) } };

  test.each([{ params: null }, { params: { cursor: null } }, { params: { cursor: '' } }, { params: { _meta: null } }])(
    'null and empty members are absent: %j',
    async (members) => {
      expect(await answerTo({ ...list, ...members })).toMatchObject({ status: 200, body: listed });
    },
  );

  test('null for the arguments of a tool means none', async () => {
    const call = { method: 'tools/call', params: { name: 'find_spaces', arguments: null, _meta: null } };
    expect(await answerTo(call)).toMatchObject({
      status: 200,
      body: { result: { structuredContent: { spaces: [{}] } } },
    });
  });

  test('an unknown cursor of the list of tools is invalid', async () => {
    expect(await answerTo({ ...list, params: { cursor: 'x' } })).toMatchObject({
      body: { id: 1, error: { code: -32602 } },
    });
  });

  test.each(['*/*', 'application/*, text/*', 'Application/JSON;q=0.9, text/event-stream; charset=utf-8'])(
    'Accept is parsed: %s',
    async (accept) => {
      expect(await answerTo(list, { accept })).toMatchObject({ status: 200, body: listed });
    },
  );

  test.each(['application/json', 'text/event-stream, application/json;q=0', 'text/html'])(
    'a client that cannot read both forms is refused: %s',
    async (accept) => {
      expect((await answerTo(list, { accept })).status).toBe(406);
    },
  );

  test('a request may name any revision that is served, and both places that list them name all', async () => {
    for (const version of EARLIER) {
      const asked = { ...list, params: { _meta: envelope(version) } };
      expect(await answerTo(asked, { 'mcp-protocol-version': version }), version).toMatchObject({
        status: 200,
        body: listed,
      });
    }
    for (const version of SERVED) {
      const discover = { method: 'server/discover', params: { _meta: envelope(version) } };
      const headers = { 'mcp-protocol-version': version, 'mcp-method': 'server/discover' };
      expect((await answerTo(discover, headers)).body, version).toMatchObject({
        result: { supportedVersions: SERVED },
      });
    }
    const unknown = { ...list, params: { _meta: envelope('2031-01-01') } };
    expect(await answerTo(unknown, { 'mcp-protocol-version': '2031-01-01' })).toMatchObject({
      status: 400,
      body: { error: { code: -32022, data: { supported: SERVED, requested: '2031-01-01' } } },
    });
  });

  test('initialize negotiates, and no header changes that', async () => {
    const hello = { method: 'initialize', params: HELLO };
    for (const version of ['2026-07-28', '2031-01-01'])
      expect(await answerTo(hello, { 'mcp-protocol-version': version })).toMatchObject({
        body: { result: { protocolVersion: HELLO.protocolVersion } },
      });
  });

  test('an id that JSON cannot keep is not echoed changed', async () => {
    const large = '{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}';
    expect(await answerTo(large)).toMatchObject({
      status: 400,
      body: { id: null, error: { code: -32600, message: expect.stringContaining('2^53') } },
    });
  });
});
